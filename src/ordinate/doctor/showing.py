"""Findings for people: worst first, on one screen, in colour where a terminal shows it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from ordinate.doctor.finding import CANNOT, ORDER, Diagnosis, worst_first

COLOURS = {"error": "31;1", "warning": "33;1", "note": "36"}
MOST_NOTES = 8
MOST_LINES = 2


def lines_of(found: Sequence[Diagnosis], targets: Sequence[str], *, colour: bool, quiet: bool, width: int = 100) -> list[str]:
    """Write findings out.

    Args:
        found: in any order.
        targets: that were looked at.
        colour: whether severities are coloured.
        quiet: whether notes are left out.
        width: of the screen.

    Returns:
        Lines.

    Example:
        >>> lines_of([], ["config.json"], colour=False, quiet=False)
        ['config.json: nothing found']
    """
    ordered = worst_first(list(found))
    loud = [each for each in ordered if each.severity != "note"]
    notes = [] if quiet else [each for each in ordered if each.severity == "note"]
    lines = [line for each in loud for line in _whole(each, colour=colour, width=width)]
    several = len(targets) > 1
    lines += [line for each in notes[:MOST_NOTES] for line in _short(each, named=several, colour=colour, width=width)]
    if len(notes) > MOST_NOTES:
        lines.append(f"and {len(notes) - MOST_NOTES} more notes: --json has all of them")
    return [*lines, f"{_named(targets)}: {_counts(ordered)}"]


def _painted(severity: str, text: str, colour: bool) -> str:
    return f"\x1b[{COLOURS[severity]}m{text}\x1b[0m" if colour else text


def _whole(found: Diagnosis, *, colour: bool, width: int) -> list[str]:
    kind = f"  [{found.kind}]" if found.kind else ""
    head = f"{_painted(found.severity, f'{found.code} {found.severity}', colour)}  {found.target}{kind}"
    lines = [head]
    for name, text in (("", found.message), ("evidence: ", found.evidence), ("remedy: ", found.remedy)):
        if text:
            lines += textwrap.wrap(
                f"{name}{text}", width, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False
            )
    return lines


def _short(found: Diagnosis, *, named: bool, colour: bool, width: int) -> list[str]:
    target = f"{found.target}: " if named else ""
    where = f"{found.where}: " if found.where and not found.message.startswith(found.where) else ""
    evidence = f" ({found.evidence})" if found.evidence else ""
    first, *rest = textwrap.wrap(f"{found.code} note  {target}{where}{found.message}{evidence}", width, subsequent_indent=" " * 13)
    return [first.replace(f"{found.code} note", _painted("note", f"{found.code} note", colour), 1), *rest[:MOST_LINES]]


def _named(targets: Sequence[str]) -> str:
    return ", ".join(targets) if len(targets) <= 3 else f"{len(targets)} targets"


def _counts(found: Sequence[Diagnosis]) -> str:
    counts = Counter(each.severity for each in found if each.code != CANNOT)
    said = [f"{counts[name]} {name}{'s' if counts[name] > 1 else ''}" for name in ORDER if counts[name]]
    failed = sum(each.code == CANNOT for each in found)
    said += [f"{failed} could not be looked at"] if failed else []
    return ", ".join(said) or "nothing found"
