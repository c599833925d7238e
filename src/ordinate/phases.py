"""Position x frequency -> cos and sin: exact, or in float32 as checkpoints were trained.

    cos(p w), sin(p w)      p = position, w = inverse frequency in radians a position

Exact recipe. A frequency is one Python int, round(w / (2 pi) 2^128): turns a position, in units of 2^-128 turn. It is cut into two
pieces of 26 bits and a float64 rest; a position into p = 2^26 high + low (26 bits each). Every product that matters then fits in
the 53 bits of a float64, so whole turns drop out without rounding:

    s = low a1 + low a2 + high b1 + high b2   (mod 1 turn, exact, a multiple of 2^-52)
    x = s - quadrant / 4 + (low a3 + high b3)

with a = pieces of the frequency, b = pieces of 2^26 times the frequency. The error of x is below 2^-78 turn for |p| < 2^53. The
cos and sin of |2 pi x| <= pi / 4 are taken in float64 and rounded once: 0.51 ulp of float32 for |p| < 2^48, also next to the zeros
of cos and sin. There is no integer overflow (undefined in compiled C++) and no product that a fused multiply-add could change.
Fractional positions lose nothing but next to a zero, where values below 1e-12 are within 2e-20.
"""

from __future__ import annotations

import decimal
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from ordinate.positions import Positions, as_tensor

Phases = Literal["exact", "float32"]

BITS = 128
PIECE = 26
LARGEST = 1e30
_PI = decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707")
_PRECISION = 80
_SMALL = 2 ** (PIECE - 1)
_NO_FLOAT64 = ("mps", "xla")


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


def exact(
    positions: Positions,
    frequencies: Frequencies,
    *,
    axes: Sequence[int] | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute cos and sin of position x frequency, correct to 0.51 ulp of float32 for |position| < 2^48.

    Fractional positions keep that too, but for values of cos and sin below 1e-12: those are within 2e-20 (frequencies up to 100).

    Args:
        positions: a range, or a tensor [T], [B, T] or [B, T, A].
        frequencies: the n frequencies.
        axes: for positions [B, T, A], which coordinate each frequency multiplies.
        device: where a range's result is made; a tensor's stays with the tensor.
        dtype: float32 (rounded once) or float64 (a few ulp of float64).

    Returns:
        cos and sin.

    Shape:
        positions [..., T] -> two of [..., T, n]

    Example:
        >>> cos, sin = exact(range(2**31 - 1, 2**31), from_base(10000.0, [(0, 2)]))
        >>> round(cos.item(), 6), round(sin.item(), 6)
        (-0.688837, -0.724917)
    """
    place = as_tensor(positions, device)
    home = place.device
    if home.type in _NO_FLOAT64:
        place = place.cpu()
    a1, a2, a3, b1, b2, b3, turn = torch.tensor(frequencies.pieces, dtype=torch.float64, device=place.device)
    place = _for_each_pair(place, axes)
    low = place.double()
    high = None
    if not _is_small(positions):
        high = (low * 2.0**-PIECE).round()
        low = low - high * 2.0**PIECE
    fraction = None
    if place.is_floating_point():
        whole = low.round()
        low, fraction = whole, low - whole
    turns = _fold(low * a1) + low * a2
    rest = low * a3
    if high is not None:
        turns = turns + (_fold(high * b1) + high * b2)
        rest = rest + high * b3
    if fraction is not None:
        # 20 bits of the fraction go through exact products, the rest is tiny; `turn` keeps the whole turns of large frequencies.
        coarse = (fraction * 2.0**20).round() * 2.0**-20
        head = a1 + (turn - a1).round()
        turns = _fold(turns) + _fold(coarse * head)
        rest = rest + (coarse * a2 + coarse * a3 + (fraction - coarse) * turn)
    cos, sin = _cos_sin_of_turns(turns, rest)
    return cos.to(dtype).to(home), sin.to(dtype).to(home)


def float32(
    positions: Positions,
    radians: Sequence[float],
    *,
    axes: Sequence[int] | None = None,
    device: torch.device | str | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute cos and sin with every step rounded to float32, bit for bit as transformers computes them.

    The product p w is off by up to half an ulp of the angle, so the error grows with the position: 4e-3 at 131071, 0.4 at 1e7.

    Args:
        positions: a range, or a tensor [T], [B, T] or [B, T, A].
        radians: inverse frequencies; rounded to float32.
        axes: for positions [B, T, A], which coordinate each frequency multiplies.
        device: where a range's result is made.

    Returns:
        cos and sin, float32.

    Shape:
        positions [..., T] -> two of [..., T, n]

    Example:
        >>> cos, sin = float32(range(3), [1.0, 0.01])
        >>> cos.shape
        torch.Size([3, 2])
    """
    place = as_tensor(positions, device)
    angles = _for_each_pair(place.float(), axes) * torch.tensor(radians, dtype=torch.float32, device=place.device)
    return angles.cos(), angles.sin()


def _for_each_pair(place: torch.Tensor, axes: Sequence[int] | None) -> torch.Tensor:
    """[..., T] -> [..., T, 1]; [B, T, A] -> [B, T, n]."""
    if axes is None or place.ndim < 3:
        return place[..., None]
    return place.index_select(-1, torch.tensor(axes, device=place.device))


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


def _is_small(positions: Positions) -> bool:
    """Known without reading values to need no high part."""
    return (
        isinstance(positions, range)
        and min(positions.start, positions.stop) >= -_SMALL
        and max(positions.start, positions.stop) <= _SMALL
    )


def _fold(turns: torch.Tensor) -> torch.Tensor:
    return turns - turns.round()


def _cos_sin_of_turns(turns: torch.Tensor, rest: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    quadrant = (turns * 4).round()
    angle = ((turns - quadrant * 0.25) + rest) * (2 * math.pi)
    cos, sin = angle.cos(), angle.sin()
    quadrant = quadrant.remainder(4)
    odd = (quadrant == 1) | (quadrant == 3)
    turned_cos, turned_sin = torch.where(odd, sin, cos), torch.where(odd, cos, sin)
    negative_cos = (quadrant == 1) | (quadrant == 2)
    return torch.where(negative_cos, -turned_cos, turned_cos), torch.where(quadrant >= 2, -turned_sin, turned_sin)
