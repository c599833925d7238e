"""The ledger as text: entries wrapped to the terminal, and the same as JSON."""

from __future__ import annotations

import dataclasses
import math
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from ordinate.claims import Claim, Note, Settled, Text, Verdict
from ordinate.claims.claim import TITLES, VERDICTS, Language

WIDEST, NARROWEST = 100, 24
MARKS = {Verdict.HOLDS: "✓", Verdict.CONDITION: "±", Verdict.FAILS: "✗", Verdict.UNSETTLED: "?"}
PLAIN = {Verdict.HOLDS: "+", Verdict.CONDITION: "~", Verdict.FAILS: "-", Verdict.UNSETTLED: "?"}
MEASURED = Text("measured", "измерено")
TRUTHS = {
    Verdict.HOLDS: Text("remark", "замечание"),
    Verdict.CONDITION: Text("condition", "условие"),
    Verdict.FAILS: Text("true", "на деле"),
}
RECORDED = Text("recorded", "записано")
CHANGED = Text("not as recorded", "не как записано")
STOPPED = Text("the check stopped", "проверка прервана")
UNMEASURED = Text("nothing to judge by", "судить не по чему")


def width() -> int:
    """How many columns a line may have: the terminal's, within reason.

    Returns:
        From 24 to 100; 80 where there is no terminal.

    Example:
        >>> 24 <= width() <= 100
        True
    """
    return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))


def mark(verdict: Verdict) -> str:
    """Give a verdict as one sign, a plain one where stdout has no letter for the other.

    Args:
        verdict: recorded or measured.

    Returns:
        One character.

    Example:
        >>> mark(Verdict.UNSETTLED)
        '?'
    """
    try:
        "".join(MARKS.values()).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return PLAIN[verdict]
    return MARKS[verdict]


def heading(note: Note, language: Language) -> list[str]:
    """Cite a note by its title.

    Args:
        note: which.
        language: of the text.

    Returns:
        Lines.

    Example:
        >>> heading(Note.WORDS, "ru")[0]
        'Как в трансформерах учитывается позиция слов?'
    """
    lines = textwrap.wrap(TITLES[note].said(language), width())
    return [*lines, "=" * max(map(len, lines)), ""]


def listed(claim: Claim, language: Language, *, longest: int) -> str:
    """Put a claim on one line: mark, name, as much of the statement as there is room for.

    Args:
        claim: which.
        language: of the text.
        longest: letters of the longest name.

    Returns:
        The line.

    Example:
        >>> from ordinate.claims import find
        >>> listed(find("equivariance"), "en", longest=12)[2:14]
        'equivariance'
    """
    start = f"{mark(claim.verdict)} {claim.name:{longest}}"
    room = width() - len(start) - 2
    if room < NARROWEST:
        return start.rstrip()
    return f"{start}  {textwrap.shorten(claim.statement.said(language), room, placeholder=' ...')}"


def entry(settled: Settled, language: Language) -> list[str]:
    """Write one claim: mark, name and verdict; statement, measured value, and the condition or what is true.

    Args:
        settled: what came of it.
        language: of the text.

    Returns:
        Lines, wrapped.

    Example:
        >>> from ordinate.claims import find, settle
        >>> entry(settle(find("equivariance")), "en")[0][2:]
        'equivariance: holds'
    """
    claim, verdict = settled.claim, settled.measured.verdict
    first = f"{mark(verdict)} {claim.name}: {VERDICTS[verdict].said(language)}"
    if not settled.as_recorded:
        first += f" ({RECORDED.said(language)}: {VERDICTS[claim.verdict].said(language)})"
    lines = textwrap.wrap(first, width(), subsequent_indent="  ", break_on_hyphens=False)
    lines += _indented(claim.statement.said(language))
    lines += _indented(f"{MEASURED.said(language)}: {measured(settled, language)}")
    truth = claim.truth.said(language)
    if truth and settled.as_recorded:  # what was recorded says nothing of another verdict
        lines += _indented(f"{TRUTHS[claim.verdict].said(language)}: {truth}")
    return lines


def measured(settled: Settled, language: Language) -> str:
    """Put the measured values into their sentence.

    Args:
        settled: what came of it.
        language: of the text.

    Returns:
        The sentence, or why there is none: what was not measured, or the error of a check that stopped.

    Example:
        >>> from ordinate.claims import find, settle
        >>> measured(settle(find("equivariance")), "ru")[:9]
        'три слова'
    """
    values = settled.measured.values
    if "reason" in values:
        return f"{UNMEASURED.said(language)}: {settled.shown(language)}"
    if "error" in values:
        return f"{STOPPED.said(language)}: {values['error']}"
    return settled.shown(language)


def ending(found: Sequence[Settled], language: Language, *, seconds: float) -> list[str]:
    """Count the verdicts and name those that are not as recorded.

    Args:
        found: all that was settled.
        language: of the text.
        seconds: how long it took.

    Returns:
        Lines, wrapped.

    Example:
        >>> ending([], "en", seconds=1.25)
        ['0 claims in 1.2 s']
    """
    counts = {verdict: sum(settled.measured.verdict is verdict for settled in found) for verdict in Verdict}
    said = [f"{mark(verdict)} {VERDICTS[verdict].said(language)}: {count}" for verdict, count in counts.items() if count]
    took, number = f"{seconds:.1f}", len(found)
    total = f"{number} {_claims_ru(number)} за {took} с" if language == "ru" else f"{number} claim{'s' * (number != 1)} in {took} s"
    together = "; ".join([total, *said])
    lines = [together] if len(together) <= width() else [line for part in (total, *said) for line in textwrap.wrap(part, width())]
    changed = [settled.claim.name for settled in found if not settled.as_recorded]
    if changed:
        lines += textwrap.wrap(f"{CHANGED.said(language)}: {', '.join(changed)}", width(), break_on_hyphens=False)
    return lines


def as_json(claim: Claim, settled: Settled | None = None) -> dict[str, Any]:
    """Give a claim for programs, with what was measured if it was settled.

    Args:
        claim: which.
        settled: what came of it.

    Returns:
        Strings, numbers, lists and dictionaries.

    Example:
        >>> from ordinate.claims import find
        >>> as_json(find("equivariance"))["recorded"]
        'holds'
    """
    said = {
        "name": claim.name,
        "note": claim.note.value,
        "note_title": TITLES[claim.note].ru,
        "kind": claim.kind,
        "statement": dataclasses.asdict(claim.statement),
        "recorded": claim.verdict.value,
        "truth": dataclasses.asdict(claim.truth),
        "schemes": list(claim.schemes),
    }
    if settled is None:
        return said
    return {
        **said,
        "verdict": settled.measured.verdict.value,
        "as_recorded": settled.as_recorded,
        "values": {name: _finite(value) for name, value in settled.measured.values.items()},
        "measured": {"en": measured(settled, "en"), "ru": measured(settled, "ru")},
        "seconds": round(settled.seconds, 6),
    }


def _claims_ru(number: int) -> str:
    if number % 10 == 1 and number % 100 != 11:
        return "утверждение"
    return "утверждения" if number % 10 in (2, 3, 4) and number % 100 not in (12, 13, 14) else "утверждений"


def _finite(value: float | int | bool | str) -> float | int | bool | str:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value  # JSON has no infinity


def _indented(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), width(), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
