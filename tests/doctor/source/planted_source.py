"""One planted fault in a piece of source, beside the same piece without it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Planted:
    kind: str
    name: str
    severity: str
    said: str
    bad: str
    clean: str


def planted(kind: str, name: str, severity: str, said: str, bad: str, clean: str) -> Planted:
    """Texts lose the table's indent."""
    return Planted(kind, name, severity, said, dedent(bad), dedent(clean))
