"""What a rotation does to a head, as a matrix in float64: the published form, and the forms that well-known mistakes give it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Layout = Literal["half", "interleaved"]
Law = Literal["2i/d", "i/d", "i/(d/2-1)", "2(i+1)/d", "2i/head_dim", "rising", "reversed", "times 2 pi", "given"]
Trigonometry = Literal["right", "swapped", "first half swapped", "second half swapped", "without the minus", "both minus"]
Rounding = Callable[[Array], Array]


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way to turn a head of D entries.

    At position m the pair i turns by m w_i: (a, b) becomes (a cos - b sin, b cos + a sin), times the magnitude.

    Attributes:
        head_dim: D.
        rotary_dim: entries that turn, the first ones.
        base: also called theta.
        layout: "half": entry i with i + rotary_dim / 2; "interleaved": 2i with 2i + 1.
        law: of the frequencies w_i; "2i/d" is base^(-2i / rotary_dim).
        given: frequencies, for the law "given".
        magnitude: factor of cos and sin.
        crossed: whether angles are laid out for the other layout than the pairs.
        sign: of the angle.
        at_the_tail: whether the last entries turn in place of the first ones.
        trigonometry: what stands where in the two lines.
        shift: what is added to the position.
        gathered: whether interleaved pairs come back as halves; as both queries and keys do, scores are the same.
    """

    head_dim: int
    rotary_dim: int
    base: float
    layout: Layout
    law: Law = "2i/d"
    given: tuple[float, ...] = ()
    magnitude: float = 1.0
    crossed: bool = False
    sign: int = 1
    at_the_tail: bool = False
    trigonometry: Trigonometry = "right"
    shift: int = 0
    gathered: bool = False

    def frequencies(self) -> Array:
        """Radians a position, one number a pair."""
        d, pairs = self.rotary_dim, np.arange(self.rotary_dim // 2)
        if self.law == "given":
            return np.array(self.given)
        exponents = {
            "2i/d": 2 * pairs / d,
            "i/d": pairs / d,
            "i/(d/2-1)": pairs / max(d / 2 - 1, 1),
            "2(i+1)/d": 2 * (pairs + 1) / d,
            "2i/head_dim": 2 * pairs / self.head_dim,
            "rising": -2 * pairs / d,
            "reversed": 2 * pairs[::-1] / d,
            "times 2 pi": 2 * pairs / d,
        }
        frequencies: Array = self.base ** -exponents[self.law]
        return frequencies * 2 * math.pi if self.law == "times 2 pi" else frequencies


def turning(form: Form, position: float, rounding: PhaseRounding | None = None) -> Array:
    """Give the matrix that turns a head at a position.

    Args:
        form: what to do.
        position: of the token.
        rounding: of numbers on the way, for the forms of low precision.

    Returns:
        The matrix M, with which x becomes M x.

    Shape:
        [D, D]

    Example:
        >>> form = Form(head_dim=4, rotary_dim=4, base=1e4, layout="half")
        >>> (turning(form, 1) @ [1, 2, 3, 4]).round(6).tolist()
        [-1.984111, 1.959901, 2.462378, 4.0198]
    """
    matrix = np.eye(form.head_dim)
    half, start = form.rotary_dim // 2, form.head_dim - form.rotary_dim if form.at_the_tail else 0
    cosines, sines = (rounding or EXACT).cos_sin(position + form.shift, form.frequencies())
    for pair in range(half):
        a, b = (pair, pair + half) if form.layout == "half" else (2 * pair, 2 * pair + 1)
        of_a, of_b = (pair, pair) if not form.crossed else _crossed(a, b, half, form.layout)
        lines = _lines(form.trigonometry, cosines, sines, of_a, of_b, form.sign)
        for row, (own, other) in ((a, lines[0]), (b, lines[1])):
            matrix[start + row, start + row] = own * form.magnitude
            matrix[start + row, start + (a + b - row)] = other * form.magnitude
    if form.gathered:
        order = [start + 2 * pair for pair in range(half)] + [start + 2 * pair + 1 for pair in range(half)]
        matrix[start : start + 2 * half] = matrix[order]
    return matrix


def _crossed(a: int, b: int, half: int, layout: Layout) -> tuple[int, int]:
    """The frequencies that the two entries of a pair get from a table laid out for the other layout."""
    return (a // 2, b // 2) if layout == "half" else (a % half, b % half)


def _lines(
    kind: Trigonometry, cosines: Array, sines: Array, of_a: int, of_b: int, sign: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Factors of the entry itself and of its partner, for both entries of a pair."""
    (cos_a, sin_a), (cos_b, sin_b) = ((float(cosines[of]), float(sines[of]) * sign) for of in (of_a, of_b))
    if kind in ("swapped", "first half swapped"):
        cos_a, sin_a = sin_a, cos_a
    if kind in ("swapped", "second half swapped"):
        cos_b, sin_b = sin_b, cos_b
    minus_a = 1.0 if kind == "without the minus" else -1.0
    minus_b = -1.0 if kind == "both minus" else 1.0
    return (cos_a, minus_a * sin_a), (cos_b, minus_b * sin_b)


@dataclass(frozen=True)
class PhaseRounding:
    """Where bits are lost on the way to cos and sin.

    Attributes:
        frequencies: rounds them.
        positions: rounds them.
        angles: rounds the product.
        tables: rounds cos and sin.
    """

    frequencies: Rounding = lambda values: values
    positions: Rounding = lambda values: values
    angles: Rounding = lambda values: values
    tables: Rounding = lambda values: values

    def cos_sin(self, position: float, frequencies: Array) -> tuple[Array, Array]:
        """Cos and sin of position x frequencies, each step rounded."""
        angles = self.angles(self.positions(np.array([float(position)])) * self.frequencies(frequencies))
        return self.tables(np.cos(angles)), self.tables(np.sin(angles))


EXACT = PhaseRounding()


def rounded(values: Array, digits: int) -> Array:
    """Round to a number of binary digits, as a float type does: 8 for bfloat16, 11 for float16, 24 for float32.

    Args:
        values: any.
        digits: of the significand, with the leading one.

    Returns:
        The nearest numbers of so many digits, ties to even.

    Example:
        >>> rounded(np.array([0.8659643, 257.0]), 8).tolist()
        [0.8671875, 256.0]
    """
    significands, exponents = np.frexp(values)
    nearest: Array = np.ldexp(np.rint(significands * 2.0**digits), exponents - digits)
    return nearest


def changed(form: Form, changes: Sequence[tuple[str, object]]) -> Form:
    """Give a form with some attributes changed.

    Args:
        form: to start from.
        changes: names and values.

    Returns:
        Another form.
    """
    return dataclasses.replace(form, **dict(changes))  # type: ignore[arg-type]
