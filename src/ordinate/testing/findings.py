"""What a check finds: one finding a property, and a report of all of them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from ordinate.faults import KINDS

T = TypeVar("T")
Verdict = Literal["holds", "broken", "does not apply"]
MARKS = {"holds": "ok", "broken": "BROKEN", "does not apply": "-"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found of one property.

    Attributes:
        property: what was checked.
        verdict: "holds", "broken" or "does not apply"; the last one with the reason in ``said``.
        said: in a sentence.
        kind: of the fault, a key of ``ordinate.faults.KINDS``, if it is broken.
        smallest: the smallest input that shows it.
        expected: there.
        actual: there.
        remedy: how to mend it.

    Example:
        >>> Finding(property="order", verdict="holds", said="keys and queries turn alike").code is None
        True
    """

    property: str
    verdict: Verdict
    said: str
    kind: str | None = None
    smallest: str | None = None
    expected: str | None = None
    actual: str | None = None
    remedy: str | None = None

    def __post_init__(self) -> None:
        if (self.kind in KINDS) != (self.verdict == "broken"):
            raise ValueError(f"kind: needed one of KINDS for what is broken and None otherwise, got {self.kind!r} ({self.verdict})")

    @builtins.property
    def code(self) -> str | None:
        """The code of its kind."""
        return KINDS[self.kind].code if self.kind else None

    def __str__(self) -> str:
        head = f"{MARKS[self.verdict]:>6}  {self.property}: {self.said}"
        if self.verdict != "broken":
            return head
        lines = [f"{head} [{self.code} {self.kind}]"]
        rows = (("input", self.smallest), ("expected", self.expected), ("actual", self.actual), ("remedy", self.remedy))
        return "\n".join([*lines, *(f"        {name:<9}{value}" for name, value in rows if value is not None)])


@dataclass(frozen=True)
class Report:
    """All findings of a check.

    Attributes:
        subject: what was checked.
        findings: one a property, or several.

    Example:
        >>> report = Report("mine", (holds("norms", "kept"), broken("signs", "layout-mismatch", "the sign is wrong")))
        >>> report.kinds
        ('layout-mismatch',)
        >>> print(report)
        mine: 1 broken, 1 hold, 0 do not apply
        BROKEN  signs: the sign is wrong [ORD301 layout-mismatch]
                remedy   turn the pairs that the weights were trained with, or permute the rows of the query and key weights
            ok  norms: kept
    """

    subject: str
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that are faults."""
        return tuple(finding for finding in self.findings if finding.verdict == "broken")

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the faults, each once."""
        return tuple(dict.fromkeys(finding.kind for finding in self.broken if finding.kind))

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        verdicts = [finding.verdict for finding in self.findings]
        counts = f"{len(self.broken)} broken, {verdicts.count('holds')} hold, {verdicts.count('does not apply')} do not apply"
        order = sorted(self.findings, key=lambda finding: list(MARKS).index(finding.verdict) if finding.verdict != "broken" else -1)
        return "\n".join([f"{self.subject}: {counts}", *map(str, order)])

    def raise_if_broken(self) -> None:
        """Raise what was found.

        Raises:
            AssertionError: if a property is broken, with the whole report.
        """
        if self.broken:
            raise AssertionError(str(self))


def holds(property: str, said: str = "") -> Finding:
    """Make a finding for a property that holds.

    Args:
        property: what was checked.
        said: over what.

    Returns:
        The finding.

    Example:
        >>> print(holds("norms", "kept at 12 positions"))
            ok  norms: kept at 12 positions
    """
    return Finding(property=property, verdict="holds", said=said)


def not_asked(property: str, why: str) -> Finding:
    """Make a finding for a property that does not apply.

    Args:
        property: what would be checked.
        why: it is not.

    Returns:
        The finding.

    Example:
        >>> print(not_asked("offset", "the function takes none"))
             -  offset: the function takes none
    """
    return Finding(property=property, verdict="does not apply", said=why)


def broken(
    property: str,
    kind: str,
    said: str,
    *,
    smallest: str | None = None,
    expected: str | None = None,
    actual: str | None = None,
    remedy: str | None = None,
) -> Finding:
    """Make a finding for a fault.

    Args:
        property: what was checked.
        kind: of the fault.
        said: what is wrong.
        smallest: the smallest input that shows it.
        expected: there.
        actual: there.
        remedy: how to mend it; that of its kind by default.

    Returns:
        The finding.

    Example:
        >>> broken("positions", "decode-offset", "the offset is ignored").code
        'ORD401'
    """
    return Finding(
        property=property,
        verdict="broken",
        said=said,
        kind=kind,
        smallest=smallest,
        expected=expected,
        actual=actual,
        remedy=remedy or KINDS[kind].remedy,
    )


def smallest(inputs: Iterable[T], fails: Callable[[T], bool]) -> T | None:
    """Give the first input that fails.

    Args:
        inputs: smallest first.
        fails: says whether one does.

    Returns:
        It, or None if none fails.

    Example:
        >>> smallest(range(1, 9), lambda length: length > 3)
        4
    """
    return next((each for each in inputs if fails(each)), None)
