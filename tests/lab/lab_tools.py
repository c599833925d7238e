"""Comparisons made by hand, whose every figure the tests know."""

from __future__ import annotations

import io
import re
from typing import Any

from rich.console import Console

from ordinate.lab.results import ORDER, Cell, Comparison, Settings
from ordinate.lab.rows import ROWS, Budget
from ordinate.lab.train import Outcome

BUDGET = Budget(multiples=(1, 8))
SMALL = Budget(d_model=16, n_layers=1, n_heads=2, batch_size=4, length=16, steps=3, multiples=(1, 2), windows=4)
# The largest change of a word's vector that the order task of ``full`` found, by row.
CHANGES = {name: 3e-7 if name in ("nope", "alibi") else 1.25 for name in ROWS}
POSITIONS = {"learned": 4096, "shaw": 1056, "t5": 128, "deberta": 4096}


def outcome(losses: tuple[float | None, ...], **others: Any) -> Outcome:
    return Outcome(losses, **{"parameters": 1000, "position_parameters": 0, "seconds": 1.5, **others})


def comparison(losses: dict[str, list[tuple[float | None, ...]]], task: str = "shift") -> Comparison:
    """Losses by scheme, a tuple a seed."""
    seeds = len(next(iter(losses.values())))
    made = Comparison(Settings((task,), tuple(losses), seeds, BUDGET), None, "ordinate compare <script>")
    for scheme, rows in losses.items():
        for seed, row in enumerate(rows):
            made.outcomes[Cell(task, scheme, seed)] = outcome(row)
    return made


def ordered(changes: dict[str, list[float]], accuracies: tuple[float, float] = (0.5, 0.75)) -> Comparison:
    """Word order only: the vectors' changes by scheme, one a seed."""
    seeds = len(next(iter(changes.values())))
    made = Comparison(Settings((ORDER,), tuple(changes), seeds, BUDGET), None, "ordinate compare --task order")
    for scheme, of_seeds in changes.items():
        for seed, change in enumerate(of_seeds):
            reached = tuple(value + 0.1 * seed for value in accuracies)
            made.outcomes[Cell(ORDER, scheme, seed)] = outcome((0.7, 0.6), accuracies=reached, difference=change)
    return made


def loss(task: str, scheme: str, seed: int, index: int) -> float:
    """What ``full`` holds: every figure another."""
    row, column = ROWS.index(scheme), ("text", "shift", "last").index(task)
    return 1.0 + 0.37 * row + 0.01 * column + 0.12 * seed + (0.6 - 0.2 * column + 0.05 * row) * index


def full(tasks: tuple[str, ...] = ("text", "shift", "last", ORDER), multiples: tuple[int, ...] = (1, 2, 4, 8)) -> Comparison:
    """All rows, two seeds, every figure known."""
    made = Comparison(Settings(tasks, ROWS, 2, Budget(multiples=multiples)), None, "ordinate compare")
    for cell in made.settings.cells():
        count = POSITIONS.get(cell.scheme, 0)
        if cell.task == ORDER:
            reached = (0.5 + 0.01 * ROWS.index(cell.scheme), 0.6 + 0.02 * ROWS.index(cell.scheme) + 0.1 * cell.seed)
            done = outcome((0.7, 0.6), position_parameters=count, accuracies=reached, difference=CHANGES[cell.scheme])
        else:
            losses = tuple(loss(cell.task, cell.scheme, cell.seed, index) for index in range(len(multiples)))
            done = outcome(losses, position_parameters=count)
        made.outcomes[cell] = done
    made.milliseconds.update({name: 0.0123 + 0.1 * row for row, name in enumerate(ROWS)})
    return made


def console(*, width: int = 80, terminal: bool = False) -> Console:
    return Console(width=width, height=24, file=io.StringIO(), force_terminal=terminal, color_system=None)


def printed(screen: Console) -> str:
    """All that was written, without the terminal's control codes."""
    assert isinstance(screen.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.file.getvalue())
