"""What docs/attach.md shows, run."""

import re
from pathlib import Path
from typing import Any

import torch

PAGE = Path(__file__).parents[2] / "docs" / "attach.md"


def test_the_page_runs_and_gives_what_it_says() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert torch.equal(names["same"], names["own"])
    assert 0 < (names["exact"] - names["own"]).abs().max() < 1e-4
    assert names["stretched"].shape == (1, 56)


def test_links_of_the_page_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).exists(), target
