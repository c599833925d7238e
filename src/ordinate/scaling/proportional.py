"""Proportional RoPE: only the fastest pairs turn, at the frequencies they have in the full width. Gemma 4, LFM3 ("p-RoPE")

    w_i' = w_i / factor for i < int(proportion d / 2),  0 beyond;  Barbero et al. 2024, https://arxiv.org/abs/2410.06205

Where known implementations differ: a partial rotary dimension (GPT-NeoX) spreads all frequencies over fewer pairs; here the pairs
that turn keep the denominators of the full width, and the others stand still.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordinate.scaling.rule import Periods, Rule, positive, require


@dataclass(frozen=True, kw_only=True)
class Proportional(Rule):
    """Stills the slowest pairs.

    Args:
        proportion: share of the pairs that turn, in (0, 1] (partial_rotary_factor).
        factor: divides their frequencies, at least 1.

    Raises:
        ValueError: if a number does not fit.

    Example:
        >>> Proportional(proportion=0.5).apply([1.0, 0.1, 0.01, 0.001], base=10000.0).inverse_frequencies
        (1.0, 0.1, 0.0, 0.0)

    Reference:
        Barbero et al. 2024, https://arxiv.org/abs/2410.06205, section 6
    """

    proportion: float
    factor: float = 1.0

    def __post_init__(self) -> None:
        self._settle()
        faults = positive("proportion", self.proportion) + positive("factor", self.factor, least=1.0)
        if not faults and self.proportion > 1:
            faults = [f"proportion: needed a number in (0, 1], got {self.proportion}"]
        require("Proportional", faults)

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:  # noqa: ARG002
        """Give the base unchanged, and the pairs that turn."""
        turning = int(self.proportion * width // 2)
        if not turning:
            raise ValueError(
                f"Proportional: needed at least one pair that turns, got proportion={self.proportion} of {width // 2} pairs"
            )
        return base, turning

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:  # noqa: ARG002
        """Give the frequencies of the pairs that turn, and zeros; magnitudes are 1."""
        still = np.zeros(width // 2 - len(periods), dtype=periods.dtype)
        return np.concatenate((1.0 / periods, still)) / self.factor, 1.0, 1.0
