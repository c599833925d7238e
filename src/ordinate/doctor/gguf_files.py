"""All rules over a GGUF file's header."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ordinate.checkpoints.gguf_header import GGUFHeader, read_header
from ordinate.checkpoints.gguf_models import ARCHITECTURES
from ordinate.checkpoints.kinds import short
from ordinate.checkpoints.reading import examine
from ordinate.checkpoints.rope_rules import ORIGINAL
from ordinate.checkpoints.sources import find_source
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.judging import judged
from ordinate.doctor.lengths import of_lengths, wavelengths
from ordinate.doctor.looked import Looked
from ordinate.doctor.magnitudes import of_magnitudes
from ordinate.doctor.precision import at_maximum
from ordinate.doctor.rotations import Rotation, rotations
from ordinate.doctor.weights import of_tables


def of_gguf(target: str, path: Path) -> Looked:
    """Look at a GGUF file.

    Args:
        target: as it was given.
        path: of the file.

    Returns:
        What was found.

    Raises:
        ValueError: if it is no GGUF file, or is damaged.
        OSError: if it cannot be read.
    """
    header = read_header(path)
    architecture = header.metadata.get("general.architecture")
    if architecture not in ARCHITECTURES:
        note = diagnosis("ORD902", f"general.architecture {short(architecture)} is not in the table: nothing else was looked at")
        return Looked(target=target, findings=(note,))
    examined = examine(find_source(path))
    found = judged(examined, {}, own_code=False)
    if examined.plan is None:
        return Looked(target=target, findings=tuple(found))
    turned = rotations(examined.plan)
    said = _said(header, str(architecture))
    found += [each for part in turned for each in _of_rotation(part, said)]
    # the format counts from the dimension whose neighbours lie side by side
    found += of_tables({name: tuple(reversed(info.shape)) for name, info in header.tensors.items()}, examined.plan, {})
    return Looked(target=target, findings=tuple(found), plan=examined.plan, rotations=tuple(turned), gguf=True, comparable=True)


def _said(header: GGUFHeader, architecture: str) -> dict[str, Any]:
    original = header.metadata.get(f"{architecture}.rope.scaling.original_context_length")
    return {} if original is None else {ORIGINAL: original}


def _of_rotation(found: Rotation, said: Mapping[str, Any]) -> Iterator[Diagnosis]:
    yield from of_lengths(found, said)
    yield from of_magnitudes(found, said)
    yield from wavelengths(found)
    yield from at_maximum(found, None)
