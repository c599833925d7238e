"""The picture: what is drawn in every panel is what was found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from lab_tools import full, loss, ordered, outcome

from ordinate.lab import curves
from ordinate.lab.results import ORDER, Cell
from ordinate.lab.rows import ROWS

LENGTHS = ("text", "shift", "last")


def panels(figure: Any) -> list[Any]:
    return [panel for panel in figure.axes if panel.axison]


def mean(task: str, scheme: str, index: int) -> float:
    return (loss(task, scheme, 0, index) + loss(task, scheme, 1, index)) / 2


def rises(made: Any) -> Any:
    """The panel of the rises and its data."""
    (panel,) = (panel for panel in panels(curves.draw(made)) if panel.images)
    return panel, panel.images[0].get_array()


def test_one_panel_a_task_then_the_rises_then_word_order() -> None:
    titles = [panel.get_title() for panel in panels(curves.draw(full()))]
    assert [title.split(":")[0] for title in titles] == ["text", "shift", "last", titles[3].split(":")[0], "order"]
    assert titles[3] == "what 8 times the training length costs: rise from 1x, nats"


@pytest.mark.parametrize(
    ("tasks", "multiples", "count"),
    [
        (("text",), (1, 8), 1),
        (("text", "last"), (1, 8), 3),
        (("text", "last"), (4,), 2),
        ((ORDER,), (1, 8), 1),
        (("text", ORDER), (1, 8), 2),
    ],
)
def test_panels_for_what_was_run(tasks: tuple[str, ...], multiples: tuple[int, ...], count: int) -> None:
    assert len(panels(curves.draw(full(tasks=tasks, multiples=multiples)))) == count


def test_lines_are_means_and_bands_reach_from_lowest_to_highest() -> None:
    for task, panel in zip(LENGTHS, panels(curves.draw(full())), strict=False):
        lines = {line.get_label(): line for line in panel.lines if line.get_label() in ROWS}
        assert set(lines) == set(ROWS)
        for scheme, line in lines.items():
            assert line.get_xdata().tolist() == [64, 128, 256, 512]
            np.testing.assert_allclose(line.get_ydata(), [mean(task, scheme, index) for index in range(4)])
        for scheme, band in zip(ROWS, panel.collections, strict=True):
            corners = {(x, round(y, 9)) for x, y in band.get_paths()[0].vertices.tolist()}
            expected = {(64.0 * 2**index, round(loss(task, scheme, seed, index), 9)) for index in range(4) for seed in (0, 1)}
            assert corners == expected
        names = {text.get_text() for text in panel.texts}
        assert names == {*ROWS} | ({"chance"} if task != "text" else set())


def test_chance_is_a_line_where_there_is_one() -> None:
    dotted = {}
    for task, panel in zip(LENGTHS, panels(curves.draw(full())), strict=False):
        dotted[task] = [float(line.get_ydata()[0]) for line in panel.lines if line.get_linestyle() == ":"]
    assert dotted == {"text": [], "shift": [pytest.approx(2.772588722)], "last": [pytest.approx(2.079441542)]}


def test_rises_are_the_figures_and_their_numbers() -> None:
    panel, data = rises(full())
    expected = np.array([[mean(task, scheme, 3) - mean(task, scheme, 0) for task in LENGTHS] for scheme in ROWS])
    np.testing.assert_allclose(data.filled(np.nan), expected)
    written = {text.get_position(): text.get_text() for text in panel.texts}
    near_chance = {"text": math.inf, "shift": 0.8 * math.log(16), "last": 0.8 * math.log(8)}
    for (row, column), value in np.ndenumerate(expected):
        unlearned = mean(LENGTHS[column], ROWS[row], 0) > near_chance[LENGTHS[column]]
        assert written.pop((column, row)) == ("not learned" if unlearned else f"{value:+.2f}")
        hatched = [patch for patch in panel.patches if patch.get_xy() == (column - 0.5, row - 0.5)]
        assert [patch.get_hatch() for patch in hatched] == ["///"] * unlearned
    assert written == {}
    assert [tick.get_text() for tick in panel.get_yticklabels()] == list(ROWS)
    assert [tick.get_text() for tick in panel.get_xticklabels()] == list(LENGTHS)


def test_a_refused_length_has_no_rise() -> None:
    made = full(tasks=("text", "shift"))
    for seed in (0, 1):
        made.outcomes[Cell("shift", "learned", seed)] = outcome((1.0, None, None, None))
    panel, data = rises(made)
    place = ROWS.index("learned")
    assert np.argwhere(np.ma.getmaskarray(data)).tolist() == [[place, 1]]
    assert [text.get_text() for text in panel.texts if text.get_position() == (1, place)] == ["refused"]


def test_bars_of_word_order_are_as_long_as_the_accuracies() -> None:
    panel = panels(curves.draw(full()))[-1]
    bars = [(round(bar.get_y() + bar.get_height() / 2, 6), bar.get_width()) for bar in panel.patches]
    expected = {}
    for row in range(9):
        expected[round(row - 0.2, 6)] = 0.5 + 0.01 * row
        expected[round(row + 0.2, 6)] = 0.65 + 0.02 * row
    assert dict(bars) == pytest.approx(expected)
    assert len(bars) == 18
    assert [tick.get_text() for tick in panel.get_yticklabels()] == list(ROWS)
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ['"dog bites man"', '"dog bites man ."']
    # The first form stands above the second, and rows run downwards.
    assert panel.yaxis_inverted()


def test_word_order_alone_is_drawn() -> None:
    (panel,) = panels(curves.draw(ordered({"nope": [0.0], "rope": [1.0]}, accuracies=(0.5, 0.9))))
    assert sorted(bar.get_width() for bar in panel.patches) == [0.5, 0.5, 0.9, 0.9]


def test_every_row_has_a_colour_and_a_marker_of_its_own() -> None:
    assert set(curves.STYLES) == set(ROWS)
    assert len({color for color, _ in curves.STYLES.values()}) == len({marker for _, marker in curves.STYLES.values()}) == 9
