"""What is said of a comparison: every word and number of the rows, and sentences only where the figures bear them out."""

from __future__ import annotations

import dataclasses

import pytest
from lab_tools import BUDGET, CHANGES, comparison, full, ordered

from ordinate.lab.results import Comparison, Settings
from ordinate.lab.rows import ROWS
from ordinate.lab.said import (
    NOTES_COLUMNS,
    ORDER_COLUMNS,
    all_findings,
    beyond_the_table,
    findings,
    notes_row,
    order_findings,
    order_row,
)

NOPE = "Without positions both sentences give the same three vectors"
ALIBI = "Two-way ALiBi knows how far words are apart, not on which side"
EMPTY = Comparison(Settings(("shift", "order"), ROWS, 2, BUDGET), None, "")


def test_notes_rows_hold_what_the_classes_say_and_what_was_measured() -> None:
    rows = {name: notes_row(full(), name) for name in ROWS}
    assert rows == {
        "nope": ("nope", "nowhere", "0", "none", "nothing", "yes", "0.012"),
        "sinusoidal": (
            "sinusoidal",
            "input",
            "0",
            "none in principle",
            "absolute position, with shift structure",
            "yes",
            "0.11",
        ),
        "learned": ("learned", "input", "4,096", "max_length", "absolute position", "yes", "0.21"),
        "shaw": ("shaw", "scores", "1,056", "none; far distances share a vector", "relative shift, by content", "yes", "0.31"),
        "t5": ("t5", "scores", "128", "none; far distances share a bucket", "relative shift", "yes", "0.41"),
        "deberta": (
            "deberta",
            "scores",
            "4,096",
            "none; far distances share a vector",
            "relative shift, by content",
            "yes",
            "0.51",
        ),
        "alibi": ("alibi", "scores", "0", "none; reaches beyond training", "relative shift, as a penalty", "yes", "0.61"),
        "rope": (
            "rope",
            "queries and keys",
            "0",
            "the training length, extendable",
            "relative shift, in the dot product",
            "yes",
            "0.71",
        ),
        "gru": (
            "gru",
            "reading order",
            "within its weights",
            "any, with a weak memory",
            "the order of reading",
            "no",
            "0.81",
        ),
    }
    assert {len(row) for row in rows.values()} == {len(NOTES_COLUMNS)}


def test_what_is_not_measured_yet_is_left_blank() -> None:
    assert notes_row(EMPTY, "shaw")[2::4] == ("", "")
    assert order_row(EMPTY, "shaw") == ("shaw", "...", "...", "...")


def test_order_rows_are_means_and_the_largest_change() -> None:
    made = ordered({"rope": [0.5, 1.239], "nope": [2e-7, 4.4e-7]}, accuracies=(0.7, 0.85))
    assert order_row(made, "rope") == ("rope", "75%", "90%", "1.24")
    assert order_row(made, "nope") == ("nope", "75%", "90%", "none (4e-07)")
    assert len(ORDER_COLUMNS) == 4


@pytest.mark.parametrize("nope", [[0.0, 9e-5], [0.0, 2e-4]])
@pytest.mark.parametrize("alibi", [[1e-6, 1e-6], [0.3, 1e-6]])
def test_sentences_of_blindness_are_said_exactly_where_no_vector_changes(nope: list[float], alibi: list[float]) -> None:
    said = order_findings(ordered({"nope": nope, "alibi": alibi, "rope": [1.0, 1.0]}))
    assert any(line.startswith(NOPE) for line in said) is (max(nope) < 1e-4)
    assert any(line.startswith(ALIBI) for line in said) is (max(alibi) < 1e-4)
    seeing = [name for name, changes in (("nope", nope), ("alibi", alibi), ("rope", [1.0])) if max(changes) > 1e-4]
    assert said[-1] == f"Order reaches the vectors of {', '.join(seeing)}."


def test_nothing_is_said_of_rows_that_were_not_run() -> None:
    assert order_findings(ordered({"rope": [1.0]})) == ["Order reaches the vectors of rope."]
    only = order_findings(ordered({"nope": [0.0]}))
    assert len(only) == 1
    assert only[0].startswith(NOPE)
    assert order_findings(EMPTY) == []


def test_all_findings_have_their_tasks_before_them() -> None:
    made = full()
    said = all_findings(made)
    expected = [f"{task}: {line}" for task in ("text", "shift", "last") for line in findings(made, task)]
    assert said == expected + [f"order: {line}" for line in order_findings(made)]
    assert said[-1] == f"order: Order reaches the vectors of {', '.join(name for name in ROWS if CHANGES[name] > 1)}."
    assert [line.split(":")[0] for line in all_findings(full(tasks=("last",)))] == ["last"] * len(findings(made, "last"))


def test_findings_of_known_figures() -> None:
    # Neighbouring rows lie 0.37 apart and seeds 0.12: they can be told from each other.
    assert findings(full(), "last") == [
        "At 1x, nope is lowest (1.08 nats).",
        "At 8x, nope is lowest (1.68 nats).",
        # chance is ln 8 = 2.08: what starts above 80 % of it has nothing to lose
        "From 1x to 8x, nope rises least (+0.60 nats), sinusoidal most (+0.75).",
        f"Still near chance at 1x, so that longer contexts cost nothing: {', '.join(ROWS[2:])}.",
    ]
    assert "rises" not in " ".join(findings(comparison({"rope": [(1.0, 2.0)]}), "shift"))
    # one seed, or rises that seeds scatter as widely: none is called least
    for losses in (
        {"rope": [(1.0, 2.0)], "nope": [(1.0, 5.0)]},
        {"rope": [(1.0, 2.0), (1.0, 4.0)], "nope": [(1.0, 3.0), (1.0, 5.0)]},
    ):
        assert "rises" not in " ".join(findings(comparison(losses), "shift"))


@pytest.mark.parametrize(
    ("overflow", "meaning"),
    [
        ("wrap", "positions start again at 0"),
        ("clamp", "every position reads the last row"),
        ("error", "it refuses to run"),
    ],
)
def test_what_a_table_does_beyond_its_end(overflow: str, meaning: str) -> None:
    budget = dataclasses.replace(BUDGET, overflow=overflow)  # type: ignore[arg-type]
    assert beyond_the_table(budget) == f"A learned table has 64 rows; beyond them {meaning}."
