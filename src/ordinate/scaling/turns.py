"""Coordinates that count turns: normalised image coordinates (DINOv3, https://arxiv.org/abs/2508.10104), time stamps.

w_i' = 2 pi w_i: coordinate 1 is one whole turn of the fastest pair

Coordinates in [-1, 1] with base 100 in DINOv3, one scheme an axis with half of the head; there w_i = base^(-4i / head_dim). Where
known implementations differ: DINOv3 multiplies the coordinates by 2 pi, not the frequencies, which moves the last bit in float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ordinate.scaling.rule import Periods, Rule


@dataclass(frozen=True, kw_only=True)
class Turns(Rule):
    """Makes positions count whole turns of the fastest pair, for coordinates of a fixed range or time in periods.

    w_i' = 2 pi w_i.

    Example:
        >>> [round(w, 6) for w in Turns().apply([1.0, 0.1], base=100.0).inverse_frequencies]
        [6.283185, 0.628319]

    Reference:
        Simeoni et al. 2025, https://arxiv.org/abs/2508.10104, section 3.2
    """

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:  # noqa: ARG002
        """Give the base unchanged, and all pairs."""
        return base, width // 2

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:  # noqa: ARG002
        """Give 2 pi / periods; magnitudes are 1."""
        return 1.0 / periods * (2 * math.pi), 1.0, 1.0
