"""What a rule over source found, before the file's name is put to it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from ordinate.doctor.source.names import written


@dataclass(frozen=True, kw_only=True)
class Spotted:
    """One place in a file.

    Attributes:
        kind: of the fault, a key of ``ordinate.faults.KINDS``.
        severity: how sure and how grave it is.
        line: from 1.
        message: what is wrong.
        evidence: the source text that shows it.
        remedy: how to mend it.
    """

    kind: str
    severity: Literal["error", "warning", "note"]
    line: int
    message: str
    evidence: str
    remedy: str


def warning(kind: str, node: ast.stmt | ast.expr, message: str, remedy: str) -> Spotted:
    """Say what is wrong at a place.

    Args:
        kind: of the fault.
        node: the place.
        message: what is wrong.
        remedy: how to mend it.

    Returns:
        A warning.

    Example:
        >>> warning("low-precision-phase", ast.parse("t.half()").body[0], "rounded", "keep float32").evidence
        't.half()'
    """
    return Spotted(kind=kind, severity="warning", line=node.lineno, message=message, evidence=written(node), remedy=remedy)


def note(kind: str, node: ast.stmt | ast.expr, message: str, remedy: str) -> Spotted:
    """Say what may be wrong at a place.

    Args:
        kind: of the fault.
        node: the place.
        message: what may be wrong.
        remedy: how to mend it.

    Returns:
        A note.

    Example:
        >>> note("low-precision-phase", ast.parse("t @ f").body[0], "rounded under autocast", "use an outer product").severity
        'note'
    """
    return Spotted(kind=kind, severity="note", line=node.lineno, message=message, evidence=written(node), remedy=remedy)
