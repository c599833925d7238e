"""Llama 3.1's rule. Dubey et al. 2024, https://arxiv.org/abs/2407.21783, and its code

wavelength l_i = 2 pi / w_i;  kept if l_i < L / high;  w_i / factor if l_i > L / low;  between, a blend
w_i' = (1 - s) w_i / factor + s w_i,  s = (L / l_i - low) / (high - low)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ordinate.scaling.rule import Periods, Rule, positive, require, whole


@dataclass(frozen=True, kw_only=True)
class Llama3(Rule):
    """Keeps pairs with short wavelengths, slows those with long ones by the factor, blends between.

    Args:
        factor: new length over original length, at least 1.
        low_frequency_factor: pairs with fewer turns in original_length are slowed by the whole factor.
        high_frequency_factor: pairs with more turns are kept; at least low_frequency_factor, and none blends if they are equal.
        original_length: trained length.

    Raises:
        ValueError: if a number does not fit.

    Example:
        >>> rule = Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=8192)
        >>> rule.apply([1.0, 0.0001], base=500000.0).inverse_frequencies
        (1.0, 1.25e-05)

    Reference:
        Dubey et al. 2024, https://arxiv.org/abs/2407.21783, section 3.4.2, and the authors' code
    """

    factor: float
    low_frequency_factor: float
    high_frequency_factor: float
    original_length: int

    def __post_init__(self) -> None:
        self._settle()
        faults = positive("factor", self.factor, least=1.0) + whole("original_length", self.original_length, least=1)
        ends = positive("low_frequency_factor", self.low_frequency_factor)
        ends += positive("high_frequency_factor", self.high_frequency_factor)
        if not ends and self.high_frequency_factor < self.low_frequency_factor:
            ends = [
                f"high_frequency_factor: needed at least low_frequency_factor={self.low_frequency_factor}, "
                f"got {self.high_frequency_factor}"
            ]
        require("Llama3", faults + ends)

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:  # noqa: ARG002
        """Give the base unchanged, and all pairs."""
        return base, width // 2

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:  # noqa: ARG002
        """Give the blended frequencies; magnitudes are 1."""
        low, high = self.low_frequency_factor, self.high_frequency_factor
        kept = 1.0 / periods
        # A number divided by a tensor is the number times the reciprocal, in torch and so in trained models.
        wavelengths = 1.0 / kept * (2 * math.pi)
        slow, fast = wavelengths > self.original_length / low, wavelengths < self.original_length / high
        if high == low:  # as Llama 4 Scout has it: nothing is between
            return np.where(slow, kept / self.factor, kept), 1.0, 1.0
        share = (1.0 / wavelengths * self.original_length - low) / (high - low)
        blended = (1 - share) * kept / self.factor + share * kept
        return np.where(slow, kept / self.factor, np.where(fast, kept, blended)), 1.0, 1.0
