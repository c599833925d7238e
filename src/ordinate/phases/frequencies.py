"""Frequencies of a rotation or of sinusoids: immutable numbers, each kept exactly and cut into the pieces of the exact recipe."""

from __future__ import annotations

import decimal
import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

Phases = Literal["exact", "float32"]

BITS = 128
PIECE = 26
LARGEST = 1e30
_PI = decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707")
_PRECISION = 80


@dataclass(frozen=True)
class Frequencies:
    """Immutable frequencies of a scheme: plain numbers, out of reach of casts, devices and state dicts.

    Attributes:
        turns: turns a position in units of 2^-128 turn, one int a pair.
        radians: the same as floats, radians a position ("inverse frequencies"), for reading.
        pieces: seven rows for the exact recipe: a1, a2, a3, b1, b2, b3, and the frequency in turns as a float.
        fingerprint: a short digest of the turns, to tell two sets of frequencies apart.
    """

    turns: tuple[int, ...]
    radians: tuple[float, ...]
    pieces: tuple[tuple[float, ...], ...]
    fingerprint: str

    @functools.cached_property
    def rows(self) -> Any:
        """The pieces as a NumPy array [7, n], made once."""
        return np.array(self.pieces, dtype=np.float64).reshape(7, -1)

    @functools.cached_property
    def parts(self) -> tuple[Any, ...]:
        """The first six rows, those of whole positions, one by one."""
        return tuple(self.rows[:6])


def gathered(chosen: Sequence[tuple[Frequencies, int]]) -> Frequencies:
    """Frequencies taken from others, one by one.

    Args:
        chosen: a set of frequencies and a number in it, for each pair.

    Returns:
        The frequencies, as exact as those they come from.

    Example:
        >>> rows, columns = from_values([1.0, 0.25]), from_values([0.5])
        >>> gathered([(rows, 1), (columns, 0)]).radians
        (0.25, 0.5)
    """
    return _frequencies([given.turns[i] for given, i in chosen], [given.radians[i] for given, i in chosen])


def from_base(base: float, exponents: Sequence[tuple[int, int]]) -> Frequencies:
    """Exact frequencies base^(-a / b), one for each exponent (a, b).

    Args:
        base: also called theta; positive.
        exponents: fractions a / b as pairs of ints.

    Returns:
        The frequencies, exact to 2^-128 turn.

    Raises:
        ValueError: if base is not positive and finite.

    Example:
        >>> from_base(10000.0, [(0, 4), (2, 4)]).radians
        (1.0, 0.01)
    """
    if not isinstance(base, (int, float)) or not 0 < base < 1e308:
        raise ValueError(f"base: needed a positive finite number, got {base!r}")
    with decimal.localcontext(decimal.Context(prec=_PRECISION)):
        logarithm = decimal.Decimal(base).ln()
        radians = [(-logarithm * numerator / denominator).exp() for numerator, denominator in exponents]
        return _frequencies([_turns(value) for value in radians], [float(value) for value in radians])


def negated(frequencies: Frequencies) -> Frequencies:
    """Turn the other way.

    Args:
        frequencies: any.

    Returns:
        The same with opposite signs.

    Example:
        >>> negated(from_values([1.0, 0.25])).radians
        (-1.0, -0.25)
    """
    return _frequencies([-value for value in frequencies.turns], [-value for value in frequencies.radians])


def from_values(inverse_frequencies: Sequence[float]) -> Frequencies:
    """Frequencies given as floats, radians a position; each float64 value counts as exact.

    Args:
        inverse_frequencies: one number a pair.

    Returns:
        The frequencies.

    Raises:
        ValueError: if a value is not finite, or so large that nothing of it would be left.

    Example:
        >>> from_values([1.0, 0.25]).radians
        (1.0, 0.25)
    """
    values = [float(value) for value in inverse_frequencies]
    if not all(abs(value) < LARGEST for value in values):
        raise ValueError(f"inverse_frequencies: needed finite numbers below {LARGEST:g}, got {values}")
    with decimal.localcontext(decimal.Context(prec=_PRECISION)):
        return _frequencies([_turns(decimal.Decimal(value)) for value in values], values)


def float32_from_base(base: float, width: int) -> tuple[float, ...]:
    """Inverse frequencies base^(-2i / width) with the float32 roundings of transformers: 1 / base^(arange(0, width, 2) / width).

    Args:
        base: also called theta.
        width: rotated width; width / 2 pairs.

    Returns:
        float32 values as Python floats.

    Example:
        >>> float32_from_base(10000.0, 4)
        (1.0, 0.009999999776482582)
    """
    exponents = torch.arange(0, width, 2, dtype=torch.float32, device="cpu") / width
    return tuple((1.0 / (base**exponents)).tolist())


def _turns(radians: decimal.Decimal) -> int:
    return int((radians / (2 * _PI) * 2**BITS).to_integral_value(decimal.ROUND_HALF_EVEN))


def _frequencies(turns: list[int], radians: list[float]) -> Frequencies:
    low = [_cut(value) for value in turns]
    high = [_cut(value << PIECE) for value in turns]
    whole = [value / 2**BITS for value in turns]
    rows = (*zip(*low, strict=True), *zip(*high, strict=True), tuple(whole)) if turns else ((),) * 7
    fingerprint = hashlib.sha256(repr(turns).encode()).hexdigest()[:16]
    return Frequencies(tuple(turns), tuple(radians), tuple(rows), fingerprint)


def _cut(turns: int) -> tuple[float, float, float]:
    """Whole turns dropped; then two pieces of 26 bits rounded to nearest, and the rest as a float64."""
    first, rest = _split(turns % 2**BITS, BITS - PIECE)
    second, rest = _split(rest, BITS - 2 * PIECE)
    return first * 2.0**-PIECE, second * 2.0 ** (-2 * PIECE), math.ldexp(float(rest), -BITS)


def _split(value: int, shift: int) -> tuple[int, int]:
    piece = (value + (1 << (shift - 1))) >> shift
    return piece, value - (piece << shift)
