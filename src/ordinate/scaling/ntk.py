"""NTK-aware scaling: a larger base. bloc97 2023; HunYuan's "alpha"

    base' = base alpha^(d / (d - 2)): the fastest pair keeps its frequency, the slowest is divided by alpha

Where known implementations differ: HunYuan's checkpoints label it "dynamic" and give alpha; others divide every frequency by
alpha^(d / (d - 2)), which is something else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ordinate.scaling.rule import LARGEST, Periods, Rule, positive, require


@dataclass(frozen=True, kw_only=True)
class NTK(Rule):
    """Enlarges the base once, whatever the length.

    w_i' = (base alpha^(d / (d - 2)))^(-2i / d), d = rotary_dim.

    Args:
        alpha: by how much the slowest pair is slowed, at least 1.

    Raises:
        ValueError: if alpha is no such number, or there is only one pair.

    Example:
        >>> [round(w, 6) for w in NTK(alpha=8.0).apply([1.0, 0.1, 0.01, 0.001], base=10000.0).inverse_frequencies]
        [1.0, 0.05, 0.0025, 0.000125]

    Reference:
        Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.1
    """

    alpha: float

    only_base: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._settle()
        require("NTK", positive("alpha", self.alpha, least=1.0))

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:  # noqa: ARG002
        """Give base alpha^(d / (d - 2)), and all pairs."""
        return enlarged(base, self.alpha, width), width // 2

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:  # noqa: ARG002
        """Give 1 / periods; magnitudes are 1."""
        return 1.0 / periods, 1.0, 1.0


def enlarged(base: float, ratio: float, width: int) -> float:
    """Give the base with which the slowest of width / 2 pairs is slower by a ratio.

    Args:
        base: the old one.
        ratio: by how much.
        width: rotary_dim, more than 2.

    Returns:
        base ratio^(width / (width - 2)).

    Raises:
        ValueError: for one pair, which has no slowest, or a base beyond all bounds.

    Example:
        >>> round(enlarged(10000.0, 3.0, 8), 3)
        43267.487
    """
    if width <= 2:
        raise ValueError(f"NTK scaling: needed at least 2 pairs, got rotary_dim={width}")
    try:
        larger: float = base * ratio ** (width / (width - 2))
    except OverflowError:
        larger = math.inf
    if not float(larger) <= LARGEST:
        raise ValueError(
            f"NTK scaling: needed a base below {LARGEST:g}, got {base:g} enlarged {ratio:g} times; take a smaller factor"
        )
    return larger
