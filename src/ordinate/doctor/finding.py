"""One finding of the doctor, and what it is made from."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ordinate.doctor.catalogue import ENTRIES, Severity

ORDER: tuple[Severity, ...] = ("error", "warning", "note")
CANNOT = "ORD901"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What was found.

    Attributes:
        code: stable, a key of the catalogue.
        severity: "error", "warning" or "note".
        kind: of the fault, a key of ``ordinate.faults.KINDS``, or None.
        target: what was looked at.
        where: key, tensor or line in it; "" for the whole.
        message: what is wrong, in a sentence.
        evidence: in numbers, or "".
        remedy: how to mend it.

    Example:
        >>> found = diagnosis("ORD102", "rope_theta = 1e4 and rope_parameters.rope_theta = 5e5 disagree")
        >>> found.severity, found.kind
        ('error', 'config-key-dropped')
    """

    code: str
    severity: Severity
    kind: str | None
    target: str
    where: str
    message: str
    evidence: str
    remedy: str

    def of(self, target: str) -> Diagnosis:
        """Give the same finding about a target.

        Args:
            target: its name.

        Returns:
            A new finding; one that has a target already keeps it.
        """
        return self if self.target else dataclasses.replace(self, target=target)


def diagnosis(
    code: str, message: str, *, where: str = "", evidence: str = "", remedy: str | None = None, severity: Severity | None = None
) -> Diagnosis:
    """Make a finding; what is not said comes from the catalogue.

    Args:
        code: of the catalogue.
        message: what is wrong.
        where: key, tensor or line.
        evidence: in numbers.
        remedy: how to mend this one.
        severity: if it is not the usual one.

    Returns:
        The finding, without a target.

    Example:
        >>> diagnosis("ORD110", "su is longrope's older name").remedy
        'Nothing must be done.'
    """
    entry = ENTRIES[code]
    return Diagnosis(
        code=code,
        severity=severity or entry.severity,
        kind=entry.kind,
        target="",
        where=where,
        message=message,
        evidence=evidence,
        remedy=entry.mend if remedy is None else remedy,
    )


def cannot(why: str) -> Diagnosis:
    """Say that something could not be looked at.

    Args:
        why: in a line.

    Returns:
        The finding.

    Example:
        >>> cannot("needed a regular file, got a pipe").code
        'ORD901'
    """
    return diagnosis(CANNOT, why)


def exit_status(found: list[Diagnosis]) -> int:
    """Give the command's exit status.

    Args:
        found: all findings.

    Returns:
        2 if something could not be looked at, 1 for an error or a warning, else 0.

    Example:
        >>> exit_status([]), exit_status([cannot("no such file")])
        (0, 2)
    """
    if any(each.code == CANNOT for each in found):
        return 2
    return int(any(each.severity != "note" for each in found))


def worst_first(found: list[Diagnosis]) -> list[Diagnosis]:
    """Sort findings: what could not be looked at, errors, warnings, notes; by code within each.

    Args:
        found: in any order.

    Returns:
        The same, each once.

    Example:
        >>> [each.code for each in worst_first([diagnosis("ORD110", "old"), diagnosis("ORD102", "two")])]
        ['ORD102', 'ORD110']
    """
    return sorted(dict.fromkeys(found), key=lambda each: (each.code != CANNOT, ORDER.index(each.severity), each.code))
