"""LongRoPE. Ding et al. 2024, https://arxiv.org/abs/2402.13753

    w_i' = w_i / short_i for sequences up to the original length, w_i / long_i beyond; cos and sin times a magnitude

Where known implementations differ: the boundary is length > original (transformers), not >=. The magnitude is
sqrt(1 + log(factor) / log(L)), or two given numbers (Phi-3.5-MoE). transformers chooses by the largest position of the whole batch,
so that one long row changes the others; here the length is the caller's, given once for a sequence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from ordinate.scaling.rule import Periods, Rule, positive, require, whole


@dataclass(frozen=True, kw_only=True)
class LongRoPE(Rule):
    """Divides each frequency by a factor of its own, from one list for short sequences and another for long ones.

    w_i' = w_i / short_factors[i] for length n <= original_length (or None), w_i / long_factors[i] for n > original_length.

    Args:
        short_factors: one a pair.
        long_factors: one a pair.
        original_length: trained length, the boundary.
        factor: new length over original length; magnitude sqrt(1 + log(factor) / log(original_length)).
        attention_factor: magnitude of cos and sin in its place.
        short_magnitude: magnitude of short sequences in its place (short_mscale).
        long_magnitude: magnitude of long ones (long_mscale).

    Raises:
        ValueError: if a number does not fit, or a list has another length than there are pairs.

    Example:
        >>> rule = LongRoPE(short_factors=(1.0, 2.0), long_factors=(1.0, 8.0), original_length=4, factor=2.0)
        >>> [rule.apply([1.0, 0.01], base=10000.0, length=n).inverse_frequencies for n in (4, 5)]
        [(1.0, 0.005), (1.0, 0.00125)]

    Reference:
        Ding et al. 2024, https://arxiv.org/abs/2402.13753, section 3; Phi-3, https://arxiv.org/abs/2404.14219

    Differs from:
        transformers: depends on one sequence's length, not on the other rows of a batch. Its Phi-3.5-MoE never divides by the long
        factors and takes the long magnitude alone.
    """

    short_factors: tuple[float, ...]
    long_factors: tuple[float, ...]
    original_length: int
    factor: float
    attention_factor: float | None = None
    short_magnitude: float | None = None
    long_magnitude: float | None = None

    needs_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._settle()
        faults = positive("factor", self.factor, least=1.0) + whole("original_length", self.original_length, least=2)
        for name in ("short_factors", "long_factors"):
            faults += self._row_faults(name)
        if not faults and len(self.short_factors) != len(self.long_factors):
            wanted = len(self.short_factors)
            faults.append(f"long_factors: needed {wanted} numbers, as many as short_factors, got {len(self.long_factors)}")
        for name in ("attention_factor", "short_magnitude", "long_magnitude"):
            value = getattr(self, name)
            faults += [] if value is None else positive(name, value)
        if (self.short_magnitude is None) != (self.long_magnitude is None):
            faults.append("short_magnitude, long_magnitude: needed both or neither, got one")
        require("LongRoPE", faults)

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:  # noqa: ARG002
        """Give the base unchanged, and all pairs."""
        return base, width // 2

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:  # noqa: ARG002
        """Give 1 / (factors * periods) and the magnitude."""
        is_long = length is not None and length > self.original_length
        factors = self.long_factors if is_long else self.short_factors
        if len(factors) != len(periods):
            raise ValueError(f"LongRoPE: needed {len(periods)} factors, one a pair, got {len(factors)}")
        return 1.0 / (np.asarray(factors, dtype=periods.dtype) * periods), self._magnitude(is_long), 1.0

    def _magnitude(self, is_long: bool) -> float:
        given = self.long_magnitude if is_long else self.short_magnitude
        if given is not None:
            return float(given)
        if self.attention_factor is not None:
            return float(self.attention_factor)
        return 1.0 if self.factor <= 1 else math.sqrt(1 + math.log(self.factor) / math.log(self.original_length))

    def _row_faults(self, name: str) -> list[str]:
        """Find what is wrong with a row of factors."""
        given = getattr(self, name)
        if not isinstance(given, tuple):
            return [f"{name}: needed positive finite numbers, one a pair, got {given!r:.60}"]
        wrong = [number for number in given if not isinstance(number, Real) or positive(name, number)]
        if not given or wrong:
            return [f"{name}: needed positive finite numbers, one a pair, got {(wrong or given)!r:.60}"]
        return []
