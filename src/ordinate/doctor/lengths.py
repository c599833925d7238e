"""Rules on lengths: whether a rule reaches what is declared, and what training has shown of each pair."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ordinate.checkpoints.kinds import is_number
from ordinate.checkpoints.rope_rules import ORIGINAL
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.rotations import Rotation
from ordinate.scaling import DynamicNTK, Linear, LongRoPE, YaRN
from ordinate.scaling.ntk import enlarged

NEAR = 1e-3  # lengths are rounded in some files: 4 x 32768 beside 131000


def of_lengths(found: Rotation, said: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Look at factor, trained length and declared length.

    Args:
        found: a rotation.
        said: what the dictionary of the rule says, and ``original_max_position_embeddings`` beside it.

    Yields:
        Findings.

    Example:
        >>> rule = YaRN(factor=4.0, original_length=8192)
        >>> found = Rotation(where="", base=1e4, head_dim=64, rotary_dim=64, rule=rule, max_length=131072, layout=None, layers=())
        >>> [each.evidence for each in of_lengths(found, {})]
        ['4 x 8192 = 32768 < 131072']
    """
    given: Any = said.get(ORIGINAL)
    original = int(given) if is_number(given) and given >= 1 else None
    match found.rule:
        case YaRN() if {"rope_type", "type"} & set(said) and said.get("factor") is None:  # a GGUF file has names of its own
            message = "yarn needs a factor, got nothing: some readers take 1, others refuse the file"
            yield diagnosis("ORD103", message, where="factor", remedy="declare the factor, new length over trained length")
        case YaRN(factor=factor, original_length=trained):
            yield from _reach("yarn", found, factor, trained)
        case Linear(factor=factor) if original is not None:
            yield from _reach("linear", found, factor, original)
        case DynamicNTK(factor=factor) if original is not None:
            yield from _reach("dynamic", found, factor, original)
            yield from _dynamic(found, found.rule, original)
        case LongRoPE():
            yield from _longrope(found, found.rule, said)
    if found.max_length is not None and original is not None and original > found.max_length:
        yield diagnosis(
            "ORD108" if isinstance(found.rule, LongRoPE) else "ORD103",
            f"{ORIGINAL} = {original} is above max_position_embeddings = {found.max_length}",
            where=ORIGINAL,
            severity="warning",
            remedy="exchange them, or declare the length that the model serves",
        )


def _reach(name: str, found: Rotation, factor: float, trained: int) -> Iterator[Diagnosis]:
    reached, declared = factor * trained, found.max_length
    if declared is not None and reached < declared * (1 - NEAR):
        needed = declared / trained
        yield diagnosis(
            "ORD104",
            f"{name} reaches {reached:.0f} positions, and {declared} are declared",
            where="factor",
            evidence=f"{factor:g} x {trained} = {reached:.0f} < {declared}",
            remedy=f"factor {needed:g}, or max_position_embeddings {reached:.0f}",
        )


def _dynamic(found: Rotation, rule: DynamicNTK, original: int) -> Iterator[Diagnosis]:
    """The rule takes max_position_embeddings for the trained length, whatever stands beside it."""
    if original == rule.original_length:
        return
    length = max(rule.original_length, original)
    meant = enlarged(found.base, max(rule.factor * length / original - (rule.factor - 1), 1.0), found.rotary_dim)
    got = rule.source(found.base, found.rotary_dim, length)[0]
    yield diagnosis(
        "ORD109",
        f"dynamic takes max_position_embeddings = {rule.original_length} for the trained length, not {ORIGINAL} = {original}",
        where=ORIGINAL,
        evidence=f"at {length} tokens the base is {got:.6g}; with a trained length of {original} it would be {meant:.6g}",
        remedy=f"max_position_embeddings = {original}, if the weights were trained on that length",
    )


def _longrope(found: Rotation, rule: LongRoPE, said: Mapping[str, Any]) -> Iterator[Diagnosis]:
    short, long = (_mean_logarithm(row) for row in (rule.short_factors, rule.long_factors))
    if short > long + math.log(1 + NEAR):
        yield diagnosis(
            "ORD108",
            "short_factor slows more than long_factor: the lists seem to be exchanged",
            where="short_factor",
            evidence=f"geometric mean {math.exp(short):.4g} beside {math.exp(long):.4g}",
            remedy="exchange the lists",
        )
    declared = found.max_length
    if (
        not is_number(said.get("factor"))
        or declared is None
        or rule.attention_factor is not None
        or rule.short_magnitude is not None
    ):
        return
    ratio = max(declared / rule.original_length, 1.0)
    if abs(rule.factor / ratio - 1) > 10 * NEAR:
        one, other = (math.sqrt(1 + math.log(max(each, 1.0)) / math.log(rule.original_length)) for each in (rule.factor, ratio))
        yield diagnosis(
            "ORD108",
            f"factor {rule.factor:g} is not the ratio of the lengths, {declared} / {rule.original_length} = {ratio:g}",
            where="factor",
            severity="warning",
            evidence=f"magnitude {one:.6f} by the factor, {other:.6f} by the lengths",
            remedy="leave the factor out, or set attention_factor",
        )


def _mean_logarithm(row: tuple[float, ...]) -> float:
    return math.fsum(map(math.log, row)) / len(row)


def wavelengths(found: Rotation) -> Iterator[Diagnosis]:
    """Count the pairs whose wavelength 2 pi / w is longer than the trained length.

    Args:
        found: a rotation.

    Yields:
        A note, if there are any.

    Example:
        >>> found = Rotation(where="", base=1e4, head_dim=128, rotary_dim=128, rule=None, max_length=4096, layout=None, layers=())
        >>> next(wavelengths(found)).message
        '18 of 64 pairs never complete a turn within 4096 tokens'
    """
    trained = found.trained
    if trained is None:
        return
    waves = [2 * math.pi / each for each in found.frequencies(ruled=False)]
    longer = [wave for wave in waves if wave > trained]
    if longer:
        yield diagnosis(
            "ORD202",
            f"{len(longer)} of {len(waves)} pairs never complete a turn within {trained} tokens",
            where=found.where,
            evidence=f"wavelengths from {min(longer):.0f} to {max(longer):.0f} tokens",
        )
