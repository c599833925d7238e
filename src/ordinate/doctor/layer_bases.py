"""Model types whose layers have two bases, and files that give them one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ordinate.checkpoints.rope_dictionary import FULL, LOCAL
from ordinate.checkpoints.rotary_types import ROTARY_TYPES
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.rotations import Rotation


def of_bases(model_type: str, found: Sequence[Rotation]) -> Iterator[Diagnosis]:
    """Look for one base where the model type was trained with two.

    Args:
        model_type: of the plan.
        found: its rotations.

    Yields:
        A warning.

    Example:
        >>> list(of_bases("llama", []))
        []
    """
    kind = ROTARY_TYPES.get(model_type)
    if kind is None or kind.rope.local_base in (None, kind.rope.base) or not kind.rope.per_type:
        return
    bases: dict[bool, set[float]] = {False: set(), True: set()}
    for each in found:
        if each.where.endswith((FULL, *LOCAL)):
            bases[each.where.endswith(LOCAL)].add(each.base)
    shared = bases[False] & bases[True]
    if shared:
        base = shared.pop()
        yield diagnosis(
            "ORD105",
            f"local and global layers both have base {base:g}; {model_type} was trained with two",
            where=(kind.rope.local_theta or ("rope_theta",))[0],
            severity="warning",
            evidence=f"usual: {kind.rope.base:g} globally, {kind.rope.local_base:g} locally",
            remedy="declare the base of each layer type",
        )
