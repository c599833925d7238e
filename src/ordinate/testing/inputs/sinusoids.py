"""Sinusoidal vectors: the conventions that checkpoints follow, and the mistakes that follow none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch

from ordinate import reference
from ordinate.testing.comparing import Array, Mistake

Positions = tuple[float, ...]
CONVENTIONS: dict[str, tuple[str, str]] = {
    "interleaved/open": ("interleaved", "open"),
    "sin_cos/open": ("sin_cos", "open"),
    "sin_cos/closed": ("sin_cos", "closed"),
    "cos_sin/open": ("cos_sin", "open"),
    "cos_sin/closed": ("cos_sin", "closed"),
    "interleaved/closed": ("interleaved", "closed"),
}
OTHER_BASES = (100.0, 500.0, 1000.0, 5000.0, 20000.0, 50000.0, 100000.0, 500000.0, 1000000.0)


def vectors(positions: Sequence[float], d_model: int, convention: str, base: float) -> Array:
    """Give the vectors of a convention.

    Args:
        positions: any.
        d_model: width.
        convention: a key of CONVENTIONS, layout/spacing as ``Sinusoidal`` calls them.
        base: 10000 in the paper.

    Returns:
        The vectors, [T, d_model].

    Example:
        >>> vectors([1], 4, "sin_cos/closed", 10000.0).round(6).tolist()
        [[0.841471, 0.0001, 0.540302, 1.0]]
    """
    return reference.sinusoidal(list(positions), d_model, base, *CONVENTIONS[convention])


def mistakes_of(d_model: int, base: float, conventions: Sequence[str], first: int) -> tuple[Mistake[Positions], ...]:
    """Known mistakes, each in every convention.

    Args:
        d_model: width.
        base: the right one.
        conventions: those that would be right.
        first: what is added to positions, rightly.

    Returns:
        The mistakes.

    Example:
        >>> mistakes_of(4, 10000.0, ["interleaved/open"], 0)[0].said
        'sine and cosine are exchanged'
    """
    found = [mistake for name in conventions for mistake in _of_a_convention(d_model, base, name, first)]
    return (*_of_the_exponent(d_model, base, first), *found)


def _of_a_convention(d_model: int, base: float, convention: str, first: int) -> list[Mistake[Positions]]:
    def mistake(said: str, remedy: str, gives: Callable[[Array], Array], kind: str | None = None) -> Mistake[Positions]:
        def given(positions: Positions) -> Array:
            return gives(np.array(positions, dtype=np.float64) + first)

        return Mistake(said=said, remedy=remedy, gives=given, kind=kind)

    def made(positions: Array, base: float = base) -> Array:
        return vectors([float(position) for position in positions], d_model, convention, base)

    start = "position 0 is the first: sines are 0 and cosines 1 there"
    scale = "add the vectors as they are; what is multiplied by sqrt(d_model) is the token embedding alone"
    bits = "keep positions and frequencies in float32, and cast the finished vectors"
    mistakes = [
        mistake("positions are counted from 1", start, lambda p: made(p + 1)),
        mistake("positions are counted from 2", start, lambda p: made(p + 2)),
        mistake("the vectors are multiplied by sqrt(d_model)", scale, lambda p: math.sqrt(d_model) * made(p)),
        mistake("the vectors are divided by sqrt(d_model)", scale, lambda p: made(p) / math.sqrt(d_model)),
        mistake("the vectors are halved", scale, lambda p: made(p) / 2),
        mistake("positions are ignored: all vectors are that of position 0", "use the positions", lambda p: made(0 * p)),
        mistake(
            "positions are ignored: vectors are counted from 0",
            "add the offset",
            lambda p: made(np.arange(len(p), dtype=np.float64)),
        ),
        mistake("the base is ignored: all pairs turn at one speed", "frequencies are base^(-2i / d)", lambda p: made(p, 1.0)),
        mistake("positions are negated", "the angle is position x frequency", lambda p: made(-p)),
    ]
    for other in OTHER_BASES:
        if other != base:
            said = f"the base is {other:.0f}, not {base:.0f}"
            mistakes.append(mistake(said, "pass the base that the weights were trained with", partial(made, base=other)))
    for dtype in (torch.bfloat16, torch.float16):
        name = str(dtype).removeprefix("torch.")
        for part, gives in _in_16_bits(d_model, base, convention, dtype).items():
            mistakes.append(mistake(f"{part} rounded to {name} before sine and cosine", bits, gives, "low-precision-phase"))
    return mistakes


def _rounded(numbers: Array, dtype: torch.dtype) -> Array:
    return np.array(torch.from_numpy(np.array(numbers)).to(dtype).double().tolist(), dtype=np.float64).reshape(numbers.shape)


def _in_16_bits(d_model: int, base: float, convention: str, dtype: torch.dtype) -> dict[str, Callable[[Array], Array]]:
    """What is given if positions, frequencies, their products or all of them lose bits."""
    layout, spacing = CONVENTIONS[convention]
    pairs = (d_model + 1) // 2 if layout == "interleaved" else d_model // 2
    width = d_model if layout == "interleaved" else 2 * pairs
    exponents = [i / max(pairs - 1, 1) if spacing == "closed" else 2 * i / width for i in range(pairs)]
    frequencies = np.array([base**-exponent for exponent in exponents])

    def made(rounding: tuple[bool, bool, bool]) -> Callable[[Array], Array]:
        def gives(positions: Array) -> Array:
            p = _rounded(positions, dtype) if rounding[0] else positions
            w = _rounded(frequencies, dtype) if rounding[1] else frequencies
            angles = np.outer(p, w)
            return _laid_out(_rounded(angles, dtype) if rounding[2] else angles, d_model, layout)

        return gives

    return {
        "positions are": made((True, False, False)),
        "frequencies are": made((False, True, False)),
        "positions and frequencies are": made((True, True, False)),
        "angles are": made((False, False, True)),
        "positions, frequencies and angles are": made((True, True, True)),
    }


def _laid_out(angles: Array, d_model: int, layout: str) -> Array:
    out, pairs = np.zeros((len(angles), d_model)), angles.shape[1]
    if layout == "interleaved":
        out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles)[:, : d_model // 2]
        return out
    first, second = (np.sin, np.cos) if layout == "sin_cos" else (np.cos, np.sin)
    out[:, :pairs], out[:, pairs : 2 * pairs] = first(angles), second(angles)
    return out


def _of_the_exponent(d_model: int, base: float, first: int) -> tuple[Mistake[Positions], ...]:
    """Mistakes that are no convention's with other numbers."""

    def mistake(said: str, angle_exponent: Callable[[int], float], swapped: bool = False) -> Mistake[Positions]:
        def gives(positions: Positions) -> Array:
            angles = np.outer(np.array(positions) + first, [base ** -angle_exponent(column) for column in range(d_model)])
            even = np.arange(d_model) % 2 == (1 if swapped else 0)
            return np.where(even, np.sin(angles), np.cos(angles))

        remedy = "columns 2i and 2i + 1 share the frequency base^(-2i / d_model), sine first"
        return Mistake(said=said, remedy=remedy, gives=gives)

    return (
        mistake("sine and cosine are exchanged", lambda j: 2 * (j // 2) / d_model, swapped=True),
        mistake("each column has a frequency of its own: exponent j / d_model for column j", lambda j: j / d_model),
        mistake("each column has a frequency of its own: exponent 2 j / d_model for column j", lambda j: 2 * j / d_model),
        mistake("the exponent is i / d_model, not 2i / d_model", lambda j: (j // 2) / d_model),
        mistake("the exponent is 4i / d_model, not 2i / d_model: columns are doubled twice", lambda j: 4 * (j // 2) / d_model),
        mistake("the cosines' exponent is one pair too large", lambda j: 2 * ((j + 1) // 2) / d_model),
        mistake("the exponent's sign is wrong: frequencies rise", lambda j: -2 * (j // 2) / d_model),
    )
