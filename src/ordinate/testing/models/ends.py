"""The declared length: the last position works, and one more is refused clearly where positions come from a table."""

from __future__ import annotations

import traceback

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.subject import LONGEST, Subject
from ordinate.testing.models.watching import Read, Watching

PROPERTY = "the longest sequence"
TABLE, ANGLES = "table-range-and-base", "cos-sin-range"
CLEAR = (ValueError, IndexError, AssertionError)
EXTRA = 3  # rows before position 0 in fairseq's line
REMEDY = "check positions against the number of rows before indexing, and raise a ValueError with both numbers"


def ends_clearly(subject: Subject) -> Finding:
    """Ask at the last position and one after it.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    maximum = subject.maximum
    if maximum is None:
        return not_asked(PROPERTY, "give maximum=, the longest sequence")
    if subject.positions is None and maximum > LONGEST:
        return not_asked(PROPERTY, f"{maximum} tokens are many, and forward takes no positions")
    last, table, error = _run(subject, maximum)
    if error is not None:
        kind = ANGLES if table is None or not table.learned else TABLE
        return broken(
            PROPERTY,
            kind,
            "the last position that is declared fails",
            smallest=_told(subject, maximum),
            expected=f"logits at position {maximum - 1}",
            actual=_line(error),
        )
    _, beyond, error = _run(subject, maximum + 1)
    if error is not None:
        return _refused(subject, maximum, last, error)
    if beyond is None:
        return not_asked(PROPERTY, f"no table of {maximum} rows is read: positions go on")
    wrong = {0: "wraps to row 0", maximum - 1: "stays at the last row"}
    first = beyond.rows - maximum
    said = wrong.get(beyond.last - first, f"reads row {beyond.last}")
    return broken(
        PROPERTY,
        TABLE if beyond.learned else ANGLES,
        f"a position past the end of the table {said}, without an error",
        smallest=_told(subject, maximum + 1),
        expected=f"ValueError: {maximum + 1} > {maximum}",
        actual=f"row {beyond.last} of {beyond.rows}",
        remedy=REMEDY,
    )


def _run(subject: Subject, length: int) -> tuple[bool, Read | None, Exception | None]:
    """A call that ends there: whether a learned table was read, the table of about so many rows, and the error."""
    asked, few = subject.fresh(), subject.length
    maximum = subject.maximum or length
    with Watching() as watching:
        try:
            if subject.positions is not None:
                ids = subject.rows(1, few)
                asked.logits(ids, positions=subject.at(ids, length - few))
            else:
                asked.logits(subject.rows(1, length))
            error = None
        except Exception as raised:  # what a model raises at its end is what is asked for
            error = raised
    tables = [read for read in watching.seen.reads if maximum <= read.rows <= maximum + EXTRA]
    positional = tables[1:] if subject.vocabulary in range(maximum, maximum + EXTRA + 1) else tables
    return any(read.learned for read in positional), positional[0] if positional else None, error


def _refused(subject: Subject, maximum: int, learned: bool, error: Exception) -> Finding:
    if isinstance(error, CLEAR) and not _from_a_kernel(error):
        return holds(PROPERTY, f"{maximum} tokens work, one more raises {_line(error)}")
    if subject.of_transformers:
        return holds(PROPERTY, f"{maximum} tokens work, one more raises {_line(error)}; on a GPU the process may end with it")
    return broken(
        PROPERTY,
        TABLE if learned else ANGLES,
        "one token past the end fails inside a kernel: on a GPU this is an assert that ends the process"
        if isinstance(error, IndexError)
        else "one token past the end fails without saying what is wrong",
        smallest=_told(subject, maximum + 1),
        expected=f"ValueError before any kernel: {maximum + 1} > {maximum}",
        actual=_line(error),
        remedy=REMEDY,
    )


def _from_a_kernel(error: Exception) -> bool:
    """Whether PyTorch raised it, not a check in Python."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    return last is not None and ("/torch/" in last.filename.replace("\\", "/") or last.name == "__torch_dispatch__")


def _told(subject: Subject, length: int) -> str:
    return f"position {length - 1}" if subject.positions is not None else f"{length} tokens"


def _line(error: Exception) -> str:
    failed = attempt(lambda: _raise(error))
    return str(failed) if isinstance(failed, Failed) else ""


def _raise(error: Exception) -> torch.Tensor:
    raise error
