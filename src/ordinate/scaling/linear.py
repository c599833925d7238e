"""Position interpolation. Chen et al. 2023, https://arxiv.org/abs/2306.15595 (and kaiokendev)

w_i / factor: position p turns as position p / factor did in training
"""

from __future__ import annotations

from dataclasses import dataclass

from ordinate.scaling.rule import Periods, Rule, positive, require


@dataclass(frozen=True, kw_only=True)
class Linear(Rule):
    """Divides every frequency by one factor; neighbours come closer by the same factor.

    w_i' = w_i / factor.

    Args:
        factor: new length over trained length, at least 1.

    Raises:
        ValueError: if factor is no such number.

    Example:
        >>> Linear(factor=4.0).apply([1.0, 0.01], base=10000.0).inverse_frequencies
        (0.25, 0.0025)

    Reference:
        Chen et al. 2023, https://arxiv.org/abs/2306.15595, section 2.3
    """

    factor: float

    def __post_init__(self) -> None:
        self._settle()
        require("Linear", positive("factor", self.factor, least=1.0))

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:  # noqa: ARG002
        """Give the base unchanged, and all pairs."""
        return base, width // 2

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:  # noqa: ARG002
        """Give 1 / periods / factor; magnitudes are 1."""
        return 1.0 / periods / self.factor, 1.0, 1.0
