"""The speed of a forward pass, told by a clock of our own: what is timed, how it is summed up, and what is left as it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lab_tools import SMALL

from ordinate.lab import speed
from ordinate.lab.rows import ROWS, Budget
from ordinate.lab.speed import milliseconds_a_token


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_every_row_has_a_positive_number_and_the_threads_are_as_before() -> None:
    taken = milliseconds_a_token(ROWS, SMALL)
    assert list(taken) == list(ROWS)
    assert all(0 < value < float("inf") for value in taken.values())
    assert torch.get_num_threads() == 2


class Clocked:
    """A model that takes the seconds it is told, the first time a hundred times as many."""

    def __init__(self, clock: list[float], seconds: list[float], called: list[tuple[Any, ...]]) -> None:
        self.clock, self.seconds, self.called = clock, [100.0, *seconds], called

    def __call__(self, tokens: torch.Tensor, positions: range) -> None:
        self.called.append((id(self), tuple(tokens.shape), len(positions), torch.get_num_threads(), torch.is_grad_enabled()))
        self.clock[0] += self.seconds.pop(0)


def clocked(monkeypatch: pytest.MonkeyPatch, seconds: dict[str, list[float]]) -> list[tuple[Any, ...]]:
    clock = [0.0]
    called: list[tuple[Any, ...]] = []
    monkeypatch.setattr(speed, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    monkeypatch.setattr(speed, "build_row", lambda name, *_, **__: (Clocked(clock, seconds[name], called), 0))
    return called


def test_the_figure_is_the_median_after_the_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"nope": [7.0, 1.0, 2.0, 3.0, 50.0, 4.0, 5.0], "rope": [0.5] * 7}
    called = clocked(monkeypatch, seconds)
    taken = milliseconds_a_token(("nope", "rope"), SMALL)
    # Four sequences of 32 tokens, the longest that is tested.
    assert taken == pytest.approx({"nope": 4000.0 / (4 * 32), "rope": 500.0 / (4 * 32)})
    assert {call[1:] for call in called} == {((4, 32), 32, 1, False)}
    assert len(called) == 2 * 8
    assert torch.get_num_threads() == 2


def test_rounds_have_every_row_once_in_changing_order(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("nope", "rope", "gru", "alibi")
    called = [call[0] for call in clocked_run(monkeypatch, names)]
    rounds = [tuple(called[start : start + 4]) for start in range(0, len(called), 4)]
    assert all(len(set(one)) == 4 for one in rounds)
    assert len(set(rounds)) > 1


def clocked_run(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    called = clocked(monkeypatch, {name: [random.Random(name).random()] * 7 for name in names})
    milliseconds_a_token(names, SMALL)
    return called


def test_no_more_than_512_tokens_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    called = clocked(monkeypatch, {"nope": [1.0] * 7})
    milliseconds_a_token(("nope",), Budget(length=1000, multiples=(1, 8)))
    assert {call[1] for call in called} == {(4, 512)}


def test_a_table_that_would_refuse_the_length_is_timed_too() -> None:
    budget = Budget(**{**SMALL.__dict__, "overflow": "error"})
    assert milliseconds_a_token(("learned",), budget)["learned"] > 0


def test_threads_are_as_before_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(tokens: torch.Tensor, positions: range) -> None:
        raise RuntimeError(f"{len(tokens)} {len(positions)}")

    monkeypatch.setattr(speed, "build_row", lambda *_, **__: (fail, 0))
    with pytest.raises(RuntimeError, match="4 32"):
        milliseconds_a_token(("nope",), SMALL)
    assert torch.get_num_threads() == 2
