"""One row of the catalogue: what a code means, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a code means.

    Attributes:
        code: stable.
        title: in a few words.
        severity: usual one; a finding may have another.
        kind: of the fault, a key of ``ordinate.faults.KINDS``; None for what is no fault.
        what: is found.
        why: it matters.
        example: that shows it.
        mend: how to.
        is_not: what looks like it and is none.
    """

    code: str
    title: str
    severity: Severity
    kind: str | None
    what: str
    why: str
    example: str
    mend: str
    is_not: str
