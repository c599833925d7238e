"""Code that exits, or raises an error without words, ends no check of any kind."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ordinate.testing import check_bias, check_frequencies, check_input, check_packed


class WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def exits(*_: Any) -> Any:
    sys.exit(3)


def wordless(*_: Any) -> Any:
    raise WordlessError


def once() -> Any:
    calls = []

    def by_length(length: int) -> list[float]:
        calls.append(length)
        if len(calls) > 1:
            raise WordlessError
        return [1.0, 0.1, 0.01, 0.001]

    return by_length


@pytest.mark.parametrize(("fn", "said"), [(exits, "SystemExit: 3"), (wordless, "WordlessError")])
def test_a_finding_that_names_the_error(fn: Any, said: str) -> None:
    for report in (
        check_frequencies(fn, rule="default", width=8),
        check_packed(fn),
        check_bias(lambda q_positions, k_positions: fn(), scheme="alibi", n_heads=2, causal=True),  # noqa: ARG005
        check_input(lambda positions: fn(), scheme="sinusoidal", d_model=8),  # noqa: ARG005
    ):
        assert said in str(report.broken[0].actual), str(report)


def test_a_second_call_that_fails() -> None:
    assert check_frequencies(once(), rule="default", width=8).broken[0].actual == "WordlessError"
