"""YaRN. Peng, Quesnelle, Fan, Shippole 2023, https://arxiv.org/abs/2309.00071

    w_i' = w_i (1 - r_i) + w_i / factor r_i,  r_i = clip((i - low) / (high - low), 0, 1)
    low, high: the pairs that turn beta_fast and beta_slow times within the original length, d log(L / (2 pi beta)) / (2 log base)

Fast pairs (below low) are kept, slow ones (above high) divided by the factor, a ramp between. cos and sin are multiplied by a
magnitude, 0.1 log(factor) + 1 by default. Where known implementations differ: low and high are rounded outwards (truncate, the
default) or not (GPT-OSS); the upper end is cut to d - 1, though there are d / 2 pairs; DeepSeek divides two magnitudes for cos and
sin and multiplies the softmax scale by the square of one. Ramps drawn the other way round, and a floor before the division, are
known faults.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ordinate.scaling.rule import Periods, Rule, positive, require, whole


@dataclass(frozen=True, kw_only=True)
class YaRN(Rule):
    """Keeps fast pairs, slows slow ones by the factor, blends between, and strengthens cos and sin.

    w_i' = w_i (1 - r_i) + (w_i / factor) r_i with the ramp r_i between the pairs that turn beta_fast and beta_slow times in
    original_length.

    Args:
        factor: new length over original length, at least 1.
        original_length: trained length.
        beta_fast: turns from which a pair is kept.
        beta_slow: turns up to which a pair is slowed by the whole factor.
        truncate: whether the ramp's ends are rounded outwards to whole pairs.
        attention_factor: magnitude of cos and sin, in place of what follows.
        mscale: with mscale_all_dim: magnitude m(mscale) / m(mscale_all_dim), m(x) = 0.1 x log(factor) + 1; without both, m(1).
        mscale_all_dim: also multiplies the softmax scale, by m(mscale_all_dim)^2, if scales_softmax.
        scales_softmax: DeepSeek's models do; False for those that read mscale_all_dim for cos and sin only.

    Raises:
        ValueError: if a number does not fit.

    Example:
        >>> rule = YaRN(factor=40.0, original_length=4096, mscale=0.707, mscale_all_dim=0.707)
        >>> scaled = rule.apply([1.0, 0.1, 0.01, 0.001], base=10000.0)
        >>> scaled.magnitude, round(scaled.softmax_factor, 6)
        (1.0, 1.589626)

    Reference:
        Peng et al. 2023, https://arxiv.org/abs/2309.00071, sections 3.2 and 3.4; DeepSeek-V2, https://arxiv.org/abs/2405.04434

    Differs from:
        transformers ignores truncate in dictionaries that are nested by layer type.
    """

    factor: float
    original_length: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    scales_softmax: bool = True

    def __post_init__(self) -> None:
        self._settle()
        faults = positive("factor", self.factor, least=1.0) + whole("original_length", self.original_length, least=1)
        betas = positive("beta_fast", self.beta_fast) + positive("beta_slow", self.beta_slow)
        if not betas and self.beta_fast < self.beta_slow:
            betas = [f"beta_fast: needed at least beta_slow={self.beta_slow}, got {self.beta_fast}"]
        if self.attention_factor is not None:
            faults += positive("attention_factor", self.attention_factor)
        for name, strength in (("mscale", self.mscale), ("mscale_all_dim", self.mscale_all_dim)):
            if strength is not None and (isinstance(strength, bool) or strength != 0):  # configurations write 0 for none
                faults += positive(name, strength)
        faults += [f"{n}: needed True or False, got {v!r}" for n, v in self._switches() if not isinstance(v, bool)]
        require("YaRN", faults + betas)

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:  # noqa: ARG002
        """Give the base unchanged, and all pairs."""
        return base, width // 2

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:  # noqa: ARG002
        """Give the blended frequencies, the magnitude and the softmax factor."""
        low, high = self.ramp_ends(base, 2 * len(periods))
        places = np.arange(len(periods), dtype=periods.dtype)
        kept = 1 - np.clip((places - low) / (high - low), 0, 1)
        blended = 1.0 / (self.factor * periods) * (1 - kept) + 1.0 / periods * kept
        return blended, self._magnitude(), self._softmax_factor()

    def ramp_ends(self, base: float, width: int) -> tuple[float, float]:
        """Give the pairs between which the ramp runs.

        Args:
            base: also called theta.
            width: rotary_dim.

        Returns:
            Its lower and upper end, in pairs; never equal.

        Raises:
            ValueError: if base is no number above 1.

        Example:
            >>> YaRN(factor=4.0, original_length=4096).ramp_ends(10000.0, 128)
            (20, 46)
        """
        if base <= 1:
            raise ValueError(f"YaRN: base: needed a number > 1, got {base}")
        low, high = (self._pair_that_turns(times, base, width) for times in (self.beta_fast, self.beta_slow))
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        return low, high + 0.001 if low == high else high

    def _pair_that_turns(self, times: float, base: float, width: int) -> float:
        return width * math.log(self.original_length / (times * 2 * math.pi)) / (2 * math.log(base))

    def _magnitude(self) -> float:
        if self.attention_factor is not None:
            return float(self.attention_factor)
        if self.mscale and self.mscale_all_dim:
            return float(self._m(self.mscale) / self._m(self.mscale_all_dim))
        return self._m(1.0)

    def _softmax_factor(self) -> float:
        return self._m(self.mscale_all_dim) ** 2 if self.mscale_all_dim and self.scales_softmax else 1.0

    def _m(self, strength: float) -> float:
        return 1.0 if self.factor <= 1 else 0.1 * strength * math.log(self.factor) + 1.0

    def _switches(self) -> tuple[tuple[str, object], ...]:
        return ("truncate", self.truncate), ("scales_softmax", self.scales_softmax)
