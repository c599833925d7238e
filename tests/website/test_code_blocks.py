"""Every Python block of every page runs, in order, and gives no warning that its page does not announce."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from blocks import PAGES, ROOT, Block, blocks_of

# The code of README.md and README.ru.md is run by tests/test_examples.py.
WITH_CODE = [
    page for page in PAGES if page.startswith("docs/") and any(block.kind in ("python", "py") for block in blocks_of(page))
]


def run(page: str, block: Block, names: dict[str, Any]) -> None:
    """A traceback names the page and the line."""
    code = compile("\n" * (block.line - 1) + block.code, str(ROOT / page), "exec")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if block.warns:
            warnings.filterwarnings("ignore", message=block.warns)
        exec(code, names)


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")  # a real one: compilers look names up in the module of a function
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks_of(page):
        if block.kind in ("python", "py"):
            run(page, block, vars(module))
