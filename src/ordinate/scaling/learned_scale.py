"""Frequencies with a learned factor each, as Mistral Large 4 stores them (``alpha``).

w_i' = w_i exp(a_i), after another rule or none

The learned numbers are a checkpoint's weights; here they are fixed, as for serving.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from ordinate.scaling.rule import Periods, Rule, require

MOST = 80.0  # exp of it, or of its negative, is within float32


@dataclass(frozen=True, kw_only=True)
class LearnedScale(Rule):
    """Multiplies each frequency by the exponential of a number of its own.

    w_i' = w_i exp(logarithms[i]), w_i the frequencies of ``rule``, or those of the base.

    Args:
        logarithms: one a pair; 0 changes nothing.
        rule: applied first; one that does not depend on the length.

    Raises:
        ValueError: if a number does not fit, or there is not one a pair.

    Example:
        >>> LearnedScale(logarithms=(0.0, 0.6931471805599453)).apply([1.0, 0.01], base=10000.0).inverse_frequencies
        (1.0, 0.02)

    Reference:
        transformers' mistral_large4; no paper known
    """

    logarithms: tuple[float, ...]
    rule: Rule | None = None

    def __post_init__(self) -> None:
        self._settle()
        given = self.logarithms
        fits = isinstance(given, tuple) and given and all(isinstance(a, Real) and abs(a) <= MOST for a in given)
        faults = [] if fits else [f"logarithms: needed numbers between -{MOST:g} and {MOST:g}, one a pair, got {given!r:.60}"]
        if self.rule is not None and (not isinstance(self.rule, Rule) or self.rule.needs_length):
            faults.append(f"rule: needed one that does not depend on the length, or None, got {self.rule!r:.60}")
        require("LearnedScale", faults)

    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:
        """Give what the first rule gives, or the base unchanged and all pairs."""
        return (base, width // 2) if self.rule is None else self.rule.source(base, width, length)

    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:
        """Give the first rule's frequencies times exp(logarithms), its magnitude and softmax factor."""
        if len(self.logarithms) != width // 2:
            raise ValueError(f"LearnedScale: needed {width // 2} logarithms, one a pair, got {len(self.logarithms)}")
        first = (1.0 / periods, 1.0, 1.0) if self.rule is None else self.rule.scale(periods, base=base, width=width, length=length)
        return first[0] * np.exp(np.asarray(self.logarithms, dtype=periods.dtype)), first[1], first[2]
