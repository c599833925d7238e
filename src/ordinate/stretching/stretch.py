"""A run: every cell in turn, kept step by step, and the needle for the checkpoint's own rule and the best one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.stretching.journal import Journal
from ordinate.stretching.results import Results, versions
from ordinate.stretching.rules import NATIVE, setting_of
from ordinate.stretching.settings import DRIFT, NEEDLE, PHASES, PPL, SHIFT, Cell, Settings
from ordinate.stretching.subject import Subject
from ordinate.stretching.work import FAILED

CELLS = "cells"
Record = dict[str, Any]
Run = Callable[[Cell, list[Record]], Iterator[Record]]
Left = tuple[Cell, list[Record]]
Found = tuple[Cell, Record]


@dataclass(frozen=True)
class Step:
    """What has just been found.

    Attributes:
        cell: where.
        record: the line.
    """

    cell: Cell
    record: dict[str, Any]


def first_cells(settings: Settings, subject: Subject) -> list[Cell]:
    """Give the cells that are known before anything runs, the short ones first.

    Args:
        settings: rules, lengths and tests.
        subject: the shift test needs a rotation, and the others a model that predicts.

    Returns:
        Cells.
    """
    found = []
    by_length = subject.native_rule is not None and subject.native_rule.needs_length
    if SHIFT in settings.tests and subject.kind == "rotary" and not by_length:  # whose angles change with positions by themselves
        found += [Cell(SHIFT, phases, subject.trained) for phases in PHASES]
    if DRIFT in settings.tests:
        resized = [rule for rule in settings.rules if rule != NATIVE]
        found += [Cell(DRIFT, rule, length) for length in settings.lengths for rule in resized]
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
    return not subject.kind.endswith("table") or rule != NATIVE or length <= subject.trained


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
    subject = results.subject
    rule = setting_of(cell.rule, subject, cell.length).rule if subject.kind == "rotary" and cell.test != SHIFT else None
    run = {
        "model": subject.checkpoint.name,
        "files": subject.fingerprint,
        "versions": {name: version for name, version in versions().items() if name in ("torch", "transformers")},
        "trained": subject.trained,
        "text": results.text.sha256,
        "test": cell.test,
        "rule": cell.rule if rule is None else f"{cell.rule} {rule!r}",
        "length": cell.length,
        **kept,
    }
    return Journal(folder / CELLS / cell.file, run)


def stretched(results: Results, runs: Sequence[Run], folder: Path) -> Iterator[Step]:
    """Run all cells that have not ended; results fill.

    Args:
        results: fills.
        runs: what runs a cell, one a worker: each takes the next cell that is left.
        folder: of the report, where journals are kept.

    Yields:
        Steps, as they are found.
    """
    yield from _through(results, first_cells(results.settings, results.subject), runs, folder)
    yield from _through(results, needle_cells(results), runs, folder)


def _through(results: Results, cells: list[Cell], runs: Sequence[Run], folder: Path) -> Iterator[Step]:
    journals = {cell: journal_of(results, cell, folder) for cell in cells}
    results.cells |= {cell: list(journal.lines) for cell, journal in journals.items()}
    left = [(cell, journal.lines[:]) for cell, journal in journals.items() if not journal.has_ended]
    for cell, record in _one_by_one(left, runs[0]) if len(runs) == 1 else _side_by_side(left, runs):
        if FAILED not in record:  # a failed cell is tried again by the next run
            journals[cell].add(record)
        results.cells[cell].append(record)
        yield Step(cell, record)


def _one_by_one(left: list[Left], run: Run) -> Iterator[Found]:
    for cell, done in left:
        for record in run(cell, done):
            yield cell, record


def _side_by_side(left: list[Left], runs: Sequence[Run]) -> Iterator[Found]:
    """A thread a worker, which waits for it; what they find comes through one queue."""
    waiting: queue.SimpleQueue[Left] = queue.SimpleQueue()
    found: queue.SimpleQueue[Found | BaseException | None] = queue.SimpleQueue()
    for both in left:
        waiting.put(both)

    def work(run: Run) -> None:
        try:
            while True:
                cell, done = waiting.get_nowait()
                for record in run(cell, done):
                    found.put((cell, record))
        except queue.Empty:
            found.put(None)
        except BaseException as fault:
            found.put(fault)

    for run in runs:
        threading.Thread(target=work, args=(run,), daemon=True).start()
    for _ in runs:
        while (item := found.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
