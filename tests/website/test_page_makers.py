"""The functions that make pages, one by one."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import griffe
import pytest

from website import docstrings, sources

MODULES = sorted(path.stem for path in (Path(__file__).parents[2] / "website").glob("[a-z]*.py"))
DOCSTRING = """Turns q * k by [B, H] and ``a * b``.

    w_i = base^(-2i / d) * p

Args:
    rotary_dim: entries that turn * 2,
        even.
    *others: more.

Shape:
    q [B, H] -> k [B, H]
    x -> y

Raises:
    ValueError: if a_b * c.

Example:
    >>> 2 * 3
    6

Differs from:
    others: a * b.
"""


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_the_package_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"website.{module}"), optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_a_docstring_keeps_its_signs_and_all_its_sections() -> None:
    parsed = griffe.Docstring(docstrings.rewritten(DOCSTRING)).parse("google", warnings=False)
    by_kind = {section.kind.value if section.kind.value != "admonition" else section.title: section.value for section in parsed}
    assert list(by_kind) == ["text", "parameters", "Shape", "raises", "examples", "Differs from"]
    assert by_kind["text"] == "Turns q \\* k by \\[B, H\\] and ``a * b``.\n\n    w_i = base^(-2i / d) * p"
    assert [each.name for each in by_kind["parameters"]] == ["rotary_dim", "*others"]
    assert by_kind["parameters"][0].description == "entries that turn \\* 2,\neven."
    assert by_kind["Shape"].contents == "```text\nq [B, H] -> k [B, H]\nx -> y\n```"
    assert by_kind["raises"][0].description == "if a_b \\* c."
    assert by_kind["examples"][0][1] == ">>> 2 * 3\n6"
    assert by_kind["Differs from"].contents == "others: a \\* b."


def test_source_is_shown_whole_and_results_are_copied() -> None:
    root = Path(__file__).parents[2]
    shown = sources.content("examples/small_model.py")
    assert isinstance(shown, str)
    assert (root / "examples/small_model.py").read_text(encoding="utf-8") in shown
    assert sources.uri("examples/small_model.py") == "source/examples/small_model.py.md"
    results = "benchmarks/results/stretch_smollm2_202612.json"
    assert sources.content(results) == (root / results).read_bytes()
    assert sources.uri(results) == f"source/{results}"
    assert sources.uri("Makefile") == "source/Makefile.md"
