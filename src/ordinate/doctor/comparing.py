"""Two checkpoints beside each other: what of their positions differs, so that their weights cannot be mixed."""

from __future__ import annotations

from collections.abc import Iterator

from ordinate.checkpoints.plan import PositionPlan
from ordinate.checkpoints.scheme_plans import LearnedPlan, MultimodalRopePlan, RopePlan
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.looked import Looked
from ordinate.doctor.rotations import Rotation

SAME = 1e-9


def of_two(one: Looked, other: Looked) -> Iterator[Diagnosis]:
    """Compare two checkpoints.

    Args:
        one: the first.
        other: the second.

    Yields:
        Findings.
    """
    if one.plan is not None and other.plan is not None:
        yield from _schemes(one.plan, other.plan)
        yield from _tables(one.plan, other.plan)
    for first, second in _paired(one.rotations, other.rotations):
        yield from _rotations(first, second, across_formats=one.gguf != other.gguf)


def _paired(ones: tuple[Rotation, ...], others: tuple[Rotation, ...]) -> list[tuple[Rotation, Rotation]]:
    """By their names; else in order, and the last one stands for those that are missing."""
    names = {each.where: each for each in others}
    if all(each.where in names for each in ones) and len(ones) == len(others):
        return [(each, names[each.where]) for each in ones]
    if not ones or not others:
        return []
    count = max(len(ones), len(others))
    return [(ones[min(place, len(ones) - 1)], others[min(place, len(others) - 1)]) for place in range(count)]


def _rotations(one: Rotation, other: Rotation, *, across_formats: bool) -> Iterator[Diagnosis]:
    where = one.where or other.where
    if (one.rotary_dim, one.head_dim) != (other.rotary_dim, other.head_dim):
        yield diagnosis(
            "ORD801",
            "other entries of a head turn",
            where=where,
            evidence=f"{one.rotary_dim} of {one.head_dim} beside {other.rotary_dim} of {other.head_dim}",
        )
    elif _differ(one, other):
        yield _frequencies(one, other, where)
    if one.layout and other.layout and one.layout != other.layout:
        yield diagnosis(
            "ORD301",
            f"pairs are {one.layout} in one and {other.layout} in the other",
            where=where,
            severity="note" if across_formats else "error",
            remedy="a converter permutes the rows; undo that before weights are mixed" if across_formats else None,
        )
    if one.max_length != other.max_length:
        yield diagnosis("ORD802", f"longest sequence {one.max_length} beside {other.max_length}", where=where)


def _differ(one: Rotation, other: Rotation) -> bool:
    """Whether frequencies or magnitudes differ, also for long sequences where a rule asks for the length."""
    if one.rule == other.rule:
        return one.base != other.base
    length = 2 * max(one.max_length or 1, other.max_length or 1)
    for asked in (None, length):
        first, second = one.frequencies(length=asked), other.frequencies(length=asked)
        if any(abs(a / b - 1) > SAME for a, b in zip(first, second, strict=True)):
            return True
    return _magnitude(one) != _magnitude(other)


def _magnitude(found: Rotation) -> float:
    plain = found.frequencies(ruled=False)
    return 1.0 if found.rule is None else found.rule.apply(plain, base=found.base).magnitude


def _frequencies(one: Rotation, other: Rotation, where: str) -> Diagnosis:
    first, second = one.frequencies()[-1], other.frequencies()[-1]
    ratio = max(first / second, second / first)
    evidence = f"the last pair's frequency differs {ratio:.2f}x"
    if abs(ratio - 1) < SAME:
        evidence = f"magnitudes {_magnitude(one):.6f} and {_magnitude(other):.6f}"
        if _magnitude(one) == _magnitude(other):
            evidence = "frequencies differ between the first pair and the last, or for long sequences"
    what = "base" if one.rule == other.rule else "rule" if one.base == other.base else "base and rule"
    sides = [f"base {each.base:g}, {'no rule' if each.rule is None else f'{each.rule!r:.100}'}" for each in (one, other)]
    return diagnosis("ORD801", f"another {what}: {sides[0]} beside {sides[1]}", where=where, evidence=evidence)


def _kinds(plan: PositionPlan) -> set[str]:
    inputs = {stack.input.scheme for stack in plan.stacks if stack.input is not None}
    return inputs | {layer.scheme.scheme for stack in plan.stacks for layer in stack.layers if layer.scheme is not None}


def _schemes(one: PositionPlan, other: PositionPlan) -> Iterator[Diagnosis]:
    if _kinds(one) != _kinds(other):
        said = [", ".join(sorted(_kinds(plan))) or "none" for plan in (one, other)]
        yield diagnosis("ORD801", f"other schemes: {said[0]} beside {said[1]}")
        return
    own, others = (_other_schemes(plan) for plan in (one, other))
    if own != others:
        said = ["; ".join(sorted(found - rest))[:200] for found, rest in ((own, others), (others, own))]
        yield diagnosis("ORD801", f"other settings of the scheme: {said[0] or 'none'} beside {said[1] or 'none'}")


def _other_schemes(plan: PositionPlan) -> set[str]:
    schemes = {layer.scheme for stack in plan.stacks for layer in stack.layers}
    return {repr(each) for each in schemes if each is not None and not isinstance(each, (RopePlan, MultimodalRopePlan))}


def _tables(one: PositionPlan, other: PositionPlan) -> Iterator[Diagnosis]:
    for first, second in zip(one.stacks, other.stacks, strict=False):
        if not isinstance(first.input, LearnedPlan) or not isinstance(second.input, LearnedPlan):
            continue
        if first.input.padding_offset != second.input.padding_offset:
            message = f"position 0 reads row {first.input.padding_offset} in one and {second.input.padding_offset} in the other"
            yield diagnosis("ORD801", message, where=first.name)
        if first.input.max_length != second.input.max_length:
            message = f"tables for {first.input.max_length} and {second.input.max_length} positions"
            yield diagnosis("ORD802", message, where=first.name)
