"""Stored frequencies beside those that follow from the configuration, without torch: which fault made the difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ordinate.doctor.rotations import Rotation

Cause = Literal[
    "equal",
    "rounded to bfloat16",
    "rounded to float16",
    "made without the rule",
    "made for the whole head",
    "of another base",
    "divided by a factor",
    "other",
]
Row = npt.NDArray[np.float64]
# Different orders of float32 operations, exp(-log) or 1 / power, up to base 1e8: less than 1e-6.
FLOAT32_ERROR = 2e-6
MOST_DIGITS = 7


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How a stored vector compares.

    Attributes:
        cause: of the difference.
        largest: |stored - own| / own, at most.
        pair: that has it.
        number: the base or the factor, if that is the cause.
    """

    cause: Cause
    largest: float
    pair: int
    number: float | None = None


def compare(stored: Row, found: Rotation, *, length: int | None = None) -> Comparison:
    """Compare stored inverse frequencies with a rotation's, and name what made the difference.

    Hypotheses, in order: equal to float32's rounding; rounded to a narrow dtype; base^(-2i/d) without the rule; exponents over the
    whole head; another base (the one of fewest digits that gives every number); one factor for all pairs.

    Args:
        stored: one number a pair.
        found: what the configuration says.
        length: of the sequence that the rule is asked for.

    Returns:
        The first hypothesis that explains every number.

    Example:
        >>> found = Rotation(where="", base=1e4, head_dim=8, rotary_dim=8, rule=None, max_length=64, layout=None, layers=())
        >>> compare(np.array([500000.0 ** (-i / 4) for i in range(4)]), found).number
        500000.0
    """
    own, plain = np.array(found.frequencies(length=length)), np.array(found.frequencies(ruled=False))
    with np.errstate(all="ignore"):
        off = np.where(stored == own, 0.0, np.abs(stored - own) / np.abs(own))
    off = np.nan_to_num(off, nan=math.inf, posinf=math.inf)
    cause, number = _cause(stored, own, plain, found)
    return Comparison(cause=cause, largest=float(off.max()), pair=int(off.argmax()), number=number)


def _cause(stored: Row, own: Row, plain: Row, found: Rotation) -> tuple[Cause, float | None]:
    if _gives(own, stored, "float32"):
        return "equal", None
    if not np.isfinite(stored).all() or not (stored > 0).all():
        return "other", None
    for dtype in ("bfloat16", "float16"):
        if np.array_equal(_rounded(stored, dtype), stored) and _gives(own, stored, dtype):
            return ("rounded to bfloat16" if dtype == "bfloat16" else "rounded to float16"), None
    precision = next((dtype for dtype in ("bfloat16", "float16") if np.array_equal(_rounded(stored, dtype), stored)), "float32")
    if found.rule is not None and _gives(plain, stored, precision):
        return "made without the rule", None
    if found.head_dim not in (None, found.rotary_dim):
        whole = np.array(found.frequencies(width=found.head_dim, ruled=False))
        if _gives(whole, stored, precision):
            return "made for the whole head", None
    if len(stored) > 1:
        exponents = np.arange(len(stored)) / len(stored)
        slope = float(exponents @ np.log(stored) / (exponents @ exponents))
        base = _roundest(math.exp(min(-slope, 600.0)), lambda base: _gives(base**-exponents, stored, precision))
        if base is not None:
            return "of another base", base
    factor = _roundest(float(np.median(own / stored)), lambda factor: _gives(own / factor, stored, precision))
    return ("other", None) if factor is None else ("divided by a factor", factor)


def _rounded(values: Row, dtype: str) -> Row:
    """To the nearest number of a dtype, ties to even."""
    with np.errstate(all="ignore"):
        if dtype != "bfloat16":
            return values.astype(dtype).astype(np.float64)
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32)
        return nearest.view(np.float32).astype(np.float64)


def _gives(expected: Row, stored: Row, dtype: str) -> bool:
    """Whether the expected numbers, each within float32's errors, round to the stored ones."""
    low, high = (_rounded(expected * (1 + error), dtype) for error in (-FLOAT32_ERROR, FLOAT32_ERROR))
    return bool(((low <= stored) & (stored <= high)).all())


def _roundest(value: float, fits: Callable[[float], bool]) -> float | None:
    """The number of fewest digits near a value that fits."""
    if not 0 < value < math.inf:
        return None
    return next((number for n in range(1, MOST_DIGITS + 1) if fits(number := float(f"{value:.{n}g}"))), None)
