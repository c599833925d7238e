"""Dynamic NTK scaling: the base grows with the length. emozilla and bloc97 2023

    for n > L:  base' = base (factor n / L - (factor - 1))^(d / (d - 2)),  else base' = base;  L = original length

Where known implementations differ: transformers keeps the base of the longest sequence seen until a short one comes, so its numbers
depend on earlier calls, and tokens decoded one by one differ from the same tokens at once. Here the length n is the caller's, given
once for a sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ordinate.scaling.ntk import enlarged
from ordinate.scaling.rule import Periods, Rule, positive, require, whole


@dataclass(frozen=True, kw_only=True)
class DynamicNTK(Rule):
    """Leaves short sequences alone and enlarges the base with the length beyond the original one.

    w_i' = base'^(-2i / d) with base' = base (factor n / L - (factor - 1))^(d / (d - 2)) for length n > L, L = original_length.

    Args:
        factor: how strongly, at least 1.
        original_length: trained length L.

    Raises:
        ValueError: if a number does not fit, or there is only one pair.

    Example:
        >>> rule = DynamicNTK(factor=2.0, original_length=4)
        >>> [round(rule.source(10000.0, 8, length)[0], 3) for length in (8, 4)]
        [43267.487, 10000.0]

    Reference:
        Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.3 (dynamic scaling)

    Differs from:
        transformers: no memory of earlier calls.
    """

    factor: float
    original_length: int

    needs_length: ClassVar[bool] = True
    only_base: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._settle()
        faults = positive("factor", self.factor, least=1.0) + whole("original_length", self.original_length, least=1)
        require("DynamicNTK", faults)

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:
        """Give the enlarged base (the given one for length None or up to original_length), and all pairs."""
        enlarged(base, 1.0, width)  # one pair is refused at any length
        if length is None or length <= self.original_length:
            return base, width // 2
        ratio = (self.factor * length / self.original_length) - (self.factor - 1)
        return enlarged(base, ratio, width), width // 2

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:  # noqa: ARG002
        """Give 1 / periods; magnitudes are 1."""
        return 1.0 / periods, 1.0, 1.0
