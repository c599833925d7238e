"""Rules on the magnitude of cos and sin: YaRN's and LongRoPE's, given, derived, squared or taken from another factor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ordinate.checkpoints.kinds import is_number
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.rotations import Rotation
from ordinate.scaling import LongRoPE, YaRN

SAME = 1e-4  # files write six digits or more
FACTORS = (2.0, 4.0, 8.0, 16.0, 32.0, 40.0, 64.0, 128.0)


def of_magnitudes(found: Rotation, said: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Look at attention_factor, mscale and mscale_all_dim.

    Args:
        found: a rotation.
        said: what the dictionary of the rule says.

    Yields:
        Findings.

    Example:
        >>> rule = YaRN(factor=4.0, original_length=64, attention_factor=1.138629**2)
        >>> found = Rotation(where="", base=1e4, head_dim=64, rotary_dim=64, rule=rule, max_length=256, layout=None, layers=())
        >>> [each.message for each in of_magnitudes(found, {"attention_factor": 1.138629**2})]
        ['attention_factor 1.296476 is the square of the usual magnitude: it would be applied twice']
    """
    given = {key: said[key] for key in ("attention_factor", "mscale", "mscale_all_dim") if is_number(said.get(key))}
    explicit = given.get("attention_factor")
    match found.rule:
        case YaRN(factor=factor):
            yield from _pair(given, factor)
            if explicit is not None:
                yield from _explicit(float(explicit), 1.0 + 0.1 * math.log(factor), factor)
        case LongRoPE(factor=factor, original_length=trained) if explicit is not None and factor > 1:
            usual = math.sqrt(1 + math.log(factor) / math.log(trained))
            yield from _explicit(float(explicit), usual, None)


def _explicit(given: float, usual: float, factor: float | None) -> Iterator[Diagnosis]:
    if usual > 1 + SAME and _near(given, usual**2):
        yield _finding(
            f"attention_factor {given:.6f} is the square of the usual magnitude: it would be applied twice", given, usual
        )
    elif factor is not None and not _near(given, usual):
        other = next((each for each in FACTORS if each != factor and _near(given, 1.0 + 0.1 * math.log(each))), None)
        if other is not None:
            yield _finding(f"attention_factor {given:.6f} is that of factor {other:g}, and factor is {factor:g}", given, usual)


def _pair(given: Mapping[str, float], factor: float) -> Iterator[Diagnosis]:
    """Two numbers that count together only; attention_factor replaces both."""
    strength, everywhere = given.get("mscale"), given.get("mscale_all_dim")
    usual = _m(1.0, factor)
    if strength and everywhere:
        derived = _m(strength, factor) / _m(everywhere, factor)
        explicit = given.get("attention_factor")
        if explicit is not None and not _near(explicit, derived):
            yield _finding(
                f"attention_factor {explicit:.6f} replaces mscale {strength:g} / mscale_all_dim {everywhere:g}, which give another "
                "magnitude",
                explicit,
                derived,
                remedy="keep one of the two declarations",
            )
    elif strength or everywhere:
        name, value = ("mscale", strength) if strength else ("mscale_all_dim", everywhere)
        alone = _m(strength, factor) if strength else usual / _m(everywhere or 0.0, factor)
        if "attention_factor" not in given and not _near(alone, usual):
            yield _finding(
                f"{name} {value:g} stands alone: transformers then takes the usual magnitude, DeepSeek's code does not",
                usual,
                alone,
                remedy="declare both mscale and mscale_all_dim, or neither",
            )


def _m(strength: float, factor: float) -> float:
    return 1.0 if factor <= 1 else 0.1 * strength * math.log(factor) + 1.0


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * abs(other)


def _finding(message: str, given: float, other: float, *, remedy: str | None = None) -> Diagnosis:
    evidence = f"{given:.6f} beside {other:.6f}; scores differ {(given / other) ** 2:.4f}x"
    return diagnosis("ORD107", message, where="attention_factor", evidence=evidence, remedy=remedy)
