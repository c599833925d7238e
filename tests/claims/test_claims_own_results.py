"""Claims about trained models, judged by other results than the package's: what they say, and when they say nothing."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable

import pytest

from ordinate.claims import CLAIMS, Claim, Settled, Verdict, find, settle
from ordinate.cli.claims_text import measured
from ordinate.lab.kept import read_comparison
from ordinate.lab.results import Comparison

TRAINED = [claim for claim in CLAIMS if "results" in inspect.signature(claim.check).parameters]
LONGER = [claim.name for claim in TRAINED if "{times}" in claim.shown.en or "{multiple}" in claim.shown.en]


def by(claim: Claim, results: Comparison) -> Settled:
    return settle(dataclasses.replace(claim, check=functools.partial(claim.check, results=results)))


def at_lengths(*multiples: int, places: tuple[int, ...]) -> Comparison:
    """The package's results as if they were measured at other multiples: losses from some places of the row."""
    results = read_comparison()
    budget = dataclasses.replace(results.settings.budget, multiples=multiples)
    results.settings = dataclasses.replace(results.settings, budget=budget)
    for cell, outcome in results.outcomes.items():
        if cell.task != "order":
            results.outcomes[cell] = dataclasses.replace(outcome, losses=tuple(outcome.losses[place] for place in places))
    return results


def without(leave_out: Callable[..., bool]) -> Comparison:
    results = read_comparison()
    results.outcomes = {cell: outcome for cell, outcome in results.outcomes.items() if not leave_out(cell)}
    return results


def said(settled: Settled) -> str:
    return measured(settled, "en") + "\n" + measured(settled, "ru")


def test_there_are_such_claims() -> None:
    assert len(TRAINED) == 17
    assert len(LONGER) == 11


@pytest.mark.parametrize("claim", TRAINED, ids=lambda claim: claim.name)
def test_whose_results_they_are_is_said(claim: Claim) -> None:
    own, theirs = said(by(claim, read_comparison())), said(settle(claim))
    assert "your results" in own
    assert "ваши результаты" in own
    assert "kept measurement" not in own
    assert "сохранённое" not in own
    assert "kept measurement" in theirs
    assert "сохранённое измерение" in theirs
    assert own == theirs.replace("kept measurement", "your results").replace("сохранённое измерение", "ваши результаты")


@pytest.mark.parametrize("name", LONGER)
def test_lengths_are_those_of_the_results(name: str) -> None:
    claim = find(name)
    settled = by(claim, at_lengths(1, 3, places=(0, 3)))
    assert settled.measured.values.get("times", settled.measured.values.get("multiple")) == 3
    assert "3 times" in measured(settled, "en")
    assert "3-кратной" in measured(settled, "ru").replace("3-кратная", "3-кратной")
    assert settled.as_recorded  # losses at the longest length are the same


def test_other_losses_at_other_lengths() -> None:
    found = by(find("row-rope"), at_lengths(1, 5, 7, places=(0, 2, 3))).measured.values
    cells = read_comparison().outcomes.items()
    beyond = [outcome.losses[2] for cell, outcome in cells if (cell.task, cell.scheme) == ("text", "rope")]
    assert found["times"] == 5
    assert found["beyond"] == pytest.approx(math.fsum(map(float, filter(None, beyond))) / 2)


@pytest.mark.parametrize("name", LONGER)
@pytest.mark.parametrize(("multiples", "places"), [((1,), (0,)), ((2, 4), (1, 2))])
def test_without_the_lengths_nothing_is_settled(name: str, multiples: tuple[int, ...], places: tuple[int, ...]) -> None:
    settled = by(find(name), at_lengths(*multiples, places=places))
    assert settled.measured.verdict is Verdict.UNSETTLED
    assert f"got multiples {', '.join(map(str, multiples))}" in measured(settled, "en")
    assert "кратности" in measured(settled, "ru")


@pytest.mark.parametrize("claim", TRAINED, ids=lambda claim: claim.name)
def test_without_the_rows_nothing_is_settled(claim: Claim) -> None:
    for results in (without(lambda _: True), without(lambda cell: cell.task in ("text", "shift", "order")), _one_scheme("xpos")):
        settled = by(claim, results)
        if claim.name == "order-must-be-added" and results.outcomes and "nope" in results.settings.schemes:
            continue  # rests on the one task that is left
        assert settled.measured.verdict is Verdict.UNSETTLED
        assert "needed results of" in measured(settled, "en") or "needed results on" in measured(settled, "en")
        assert "нужны результаты" in measured(settled, "ru")
        assert "Error" not in said(settled)


def _one_scheme(name: str) -> Comparison:
    results = without(lambda _: True)
    results.settings = dataclasses.replace(results.settings, schemes=(name,))
    return results


@pytest.mark.parametrize(
    ("name", "task", "scheme"),
    [
        ("learned-as-good-as-sinusoids", "last", "learned"),
        ("table-optimal", "last", "sinusoidal"),
        ("absolute-do-not-extrapolate", "shift", "sinusoidal"),
        ("relative-bias-extrapolates", "shift", "t5"),
        ("relative-universal", "last", "alibi"),
        ("worse-beyond-training", "last", "sinusoidal"),
        ("scales-automatically", "shift", "sinusoidal"),
        ("relative-distances", "shift", "sinusoidal"),
        ("projection-selects-offset", "shift", "sinusoidal"),
        ("recurrent-any-length", "shift", "gru"),
        ("recurrent-any-length", "last", "rope"),
        ("recurrent-order", "order", "gru"),
        ("order-must-be-added", "last", "nope"),
        ("explicit-positions", "order", "sinusoidal"),
        ("explicit-positions", "shift", "sinusoidal"),
    ],
)
def test_a_model_near_chance_is_not_judged(name: str, task: str, scheme: str) -> None:
    results = read_comparison()
    for cell, outcome in results.outcomes.items():
        if (cell.task, cell.scheme) == (task, scheme):
            results.outcomes[cell] = dataclasses.replace(outcome, losses=(2.7,) * len(outcome.losses))
    settled = by(find(name), results)
    assert settled.measured.verdict is Verdict.UNSETTLED
    assert f"got {scheme!r} near chance on {task!r}" in measured(settled, "en")
    assert "близка к угадыванию" in measured(settled, "ru")


def test_the_best_of_models_near_chance_is_none() -> None:
    results = read_comparison()
    for cell, outcome in results.outcomes.items():
        if cell.task == "last":
            results.outcomes[cell] = dataclasses.replace(outcome, losses=(2.0, 2.0, 2.0, 2.0))
    assert "near chance on 'last'" in measured(by(find("best-scheme-is-open"), results), "en")


def test_one_seed_does_not_tell_the_best() -> None:
    one = without(lambda cell: cell.seed > 0)
    of_one = without(lambda cell: cell.seed > 0)
    of_one.settings = dataclasses.replace(of_one.settings, seeds=1)
    for results in (one, of_one):  # also where a second was begun
        settled = by(find("best-scheme-is-open"), results)
        assert settled.measured.verdict is Verdict.UNSETTLED
        assert "needed two seeds or more, got 1" in measured(settled, "en")
        assert "двух" in measured(settled, "ru")


def test_one_scheme_does_not_differ() -> None:
    results = read_comparison()
    results.settings = dataclasses.replace(results.settings, schemes=("rope", "gru"))
    assert "needed results of two schemes or more, got rope" in measured(by(find("scheme-decides"), results), "en")
