"""A run: every cell in turn, kept step by step, and the needle for the checkpoint's own rule and the best one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.stretching.journal import Journal
from ordinate.stretching.results import Results
from ordinate.stretching.rules import NATIVE
from ordinate.stretching.settings import NEEDLE, PHASES, PPL, SHIFT, Cell, Settings
from ordinate.stretching.subject import Subject

CELLS = "cells"
Run = Callable[[Cell, list[dict[str, Any]]], Iterator[dict[str, Any]]]


@dataclass(frozen=True)
class Step:
    """What has just been found.

    Attributes:
        cell: where.
        record: the line; None when a cell begins.
    """

    cell: Cell
    record: dict[str, Any] | None


def first_cells(settings: Settings, subject: Subject) -> list[Cell]:
    """Give the cells that are known before anything runs, the short ones first.

    Args:
        settings: rules, lengths and tests.
        subject: the shift test needs a rotation, and the others a model that predicts.

    Returns:
        Cells.
    """
    found = []
    if SHIFT in settings.tests and subject.kind == "rotary":
        found += [Cell(SHIFT, phases, subject.trained) for phases in PHASES]
    if PPL in settings.tests:
        found += [Cell(PPL, rule, length) for length in settings.lengths for rule in settings.rules if runs(rule, subject, length)]
    return found


def needle_cells(results: Results) -> list[Cell]:
    """Give the needle's cells: the checkpoint's own rule and the best one at every length; all rules where no loss was measured.

    Args:
        results: with the losses.

    Returns:
        Cells.
    """
    settings = results.settings
    if NEEDLE not in settings.tests:
        return []
    found = []
    for length in settings.lengths:
        winner = results.winner(length)
        rules = settings.rules if PPL not in settings.tests else tuple(dict.fromkeys((NATIVE, winner or NATIVE)))
        found += [Cell(NEEDLE, rule, length) for rule in rules if runs(rule, results.subject, length)]
    return found


def runs(rule: str, subject: Subject, length: int) -> bool:
    """Whether a rule can run at a length at all: a learned table as it is ends where it ends.

    Args:
        rule: as the command takes it.
        subject: the checkpoint.
        length: in tokens.

    Returns:
        True or False.
    """
    return subject.kind in ("rotary", "fixed") or rule != NATIVE or length <= subject.trained


def journal_of(results: Results, cell: Cell, folder: Path) -> Journal:
    """Open a cell's journal.

    Args:
        results: for what the cell's figures depend on.
        cell: which one.
        folder: of the report.

    Returns:
        The journal, with what an earlier run has found.

    Raises:
        ValueError: if its file belongs to another run.
    """
    settings = results.settings
    own = {"windows", "protocol", "stride"} if cell.test == PPL else {"depths"} if cell.test == NEEDLE else set()
    kept = {key: value for key, value in settings.as_json().items() if key in {"start", "chunk", "dtype", *own}}
    run = {
        "model": results.subject.checkpoint.name,
        "trained": results.subject.trained,
        "text": results.text.sha256,
        "test": cell.test,
        "rule": cell.rule,
        "length": cell.length,
        **kept,
    }
    return Journal(folder / CELLS / cell.file, run)


def stretched(results: Results, run: Run, folder: Path) -> Iterator[Step]:
    """Run all cells that have not ended; results fill.

    Args:
        results: fills.
        run: of a worker.
        folder: of the report, where journals are kept.

    Yields:
        Steps, as they are found.
    """
    for cell in first_cells(results.settings, results.subject):
        yield from _through(results, cell, run, folder)
    for cell in needle_cells(results):
        yield from _through(results, cell, run, folder)


def _through(results: Results, cell: Cell, run: Run, folder: Path) -> Iterator[Step]:
    journal = journal_of(results, cell, folder)
    results.cells[cell] = lines = list(journal.lines)
    yield Step(cell, None)
    if journal.has_ended:
        return
    for record in run(cell, list(journal.lines)):
        if "failed" not in record:  # a failed cell is tried again by the next run
            journal.add(record)
        lines.append(record)
        yield Step(cell, record)
