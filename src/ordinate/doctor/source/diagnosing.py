"""All rules over one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from ordinate.doctor.finding import Diagnosis, cannot, diagnosis
from ordinate.doctor.source import (
    backend_types,
    configured,
    counting,
    derived_buffers,
    in_place,
    low_precision,
    magnitudes,
    memoised,
    pairs,
    sinusoids,
    slopes,
    stretched,
    tables,
    tracing,
)
from ordinate.doctor.source.reading import read_tree
from ordinate.doctor.source.spotted import Spotted
from ordinate.doctor.source.tree import Source
from ordinate.faults import KINDS

RULES: tuple[Callable[[Source], Iterator[Spotted]], ...] = (
    configured.spot,
    stretched.spot,
    magnitudes.spot,
    low_precision.spot,
    backend_types.spot,
    pairs.spot,
    in_place.spot,
    counting.spot,
    slopes.spot,
    sinusoids.spot,
    tables.spot,
    derived_buffers.spot,
    memoised.spot,
    tracing.spot,
)


def diagnose_source(path: str | os.PathLike[str]) -> list[Diagnosis]:
    r"""Look at one Python file; it is parsed, never imported and never executed.

    Rules prefer silence to a false alarm: what depends on other files is a note, or is left to checks that run the code.

    Args:
        path: of the file.

    Returns:
        What was found, first lines first; one finding that says why, if the file cannot be looked at.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "rope.py")
        ...     _ = path.write_text("def angles(position_ids, f):\n    return (position_ids.half() * f).cos()\n")
        ...     [(each.code, each.where, each.evidence) for each in diagnose_source(path)]
        [('ORD201', 'line 2', 'position_ids.half()')]
    """
    target = os.fspath(path)
    try:
        found = spotted_in(path)
    except (OSError, ValueError) as fault:
        return [cannot(_reason(fault)).of(target)]
    except RecursionError:
        return [cannot("needed expressions that are not nested too deeply").of(target)]
    return [_diagnosis(each).of(target) for each in found]


def spotted_in(path: str | os.PathLike[str]) -> list[Spotted]:
    """Run every rule over a file.

    Args:
        path: of the file.

    Returns:
        What was found, each once, first lines first.

    Raises:
        ValueError: if it cannot be parsed.
        OSError: if it cannot be read.
    """
    source = Source(read_tree(path))
    found = dict.fromkeys(each for rule in RULES for each in rule(source))
    return sorted(found, key=lambda each: (each.line, each.kind))


def _diagnosis(spotted: Spotted) -> Diagnosis:
    return diagnosis(
        KINDS[spotted.kind].code,
        spotted.message,
        where=f"line {spotted.line}",
        evidence=spotted.evidence,
        remedy=spotted.remedy,
        severity=spotted.severity,
    )


def _reason(fault: OSError | ValueError) -> str:
    return f"{fault.filename}: {fault.strerror}" if isinstance(fault, OSError) else str(fault)
