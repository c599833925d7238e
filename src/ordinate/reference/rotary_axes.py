"""How queries and keys are turned by several coordinates, in loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def axial_rope(
    x: Array,
    coordinates: Sequence[Sequence[float]],
    layout: str,
    order: str = "blocks",
    bases: Sequence[float] = (10000.0, 10000.0),
    axis_order: Sequence[int] = (0, 1),
    spectrum: str = "each",
    rotary_dim: int | None = None,
) -> Array:
    """Axial rotary embedding: pair i of axis a turned by coordinates[t][a] w_i, w_i = base_a^(-2i / (rotary_dim / axes)).

    Args:
        x: vectors.
        coordinates: those of each row.
        layout: "half", "half_by_axis" or "interleaved".
        order: "blocks" or "alternating".
        bases: one an axis.
        axis_order: the axis that comes first, and so on.
        spectrum: "each", or "shared" (w = base^(-2 (i axes + place of the axis) / rotary_dim)).
        rotary_dim: entries that turn; all if None.

    Returns:
        The turned vectors.

    Shape:
        [T, D] -> [T, D]

    Example:
        >>> axial_rope(np.array([[1.0, 0.0, 1.0, 0.0]]), [[0.0, math.pi / 2]], "interleaved").round(6).tolist()
        [[1.0, 0.0, 0.0, 1.0]]

    Reference:
        Heo et al. 2024, https://arxiv.org/abs/2403.13298
    """
    axes = len(axis_order)
    width = x.shape[1] if rotary_dim is None else rotary_dim
    share = width // 2 // axes
    out = np.array(x, dtype=np.float64)
    for row, places in enumerate(coordinates):
        for place, axis in enumerate(axis_order):
            for i in range(share):
                exponent = 2 * (i * axes + place) / width if spectrum == "shared" else 2 * i / (width // axes)
                angle = places[axis] * bases[axis] ** -exponent
                pair = i * axes + place if order == "alternating" else place * share + i
                if layout == "half_by_axis":
                    first, second = 2 * place * share + i, 2 * place * share + share + i
                else:
                    first, second = (pair, pair + width // 2) if layout == "half" else (2 * pair, 2 * pair + 1)
                _turn(x, out, row, first, second, angle)
    return out


def multimodal_rope(
    x: Array,
    coordinates: Sequence[Sequence[float]],
    axis_of_pair: Sequence[int],
    layout: str,
    base: float = 10000.0,
) -> Array:
    """Multimodal rotary embedding: pair i turned by coordinates[t][axis_of_pair[i]] w_i, w_i = base^(-2i / (2 pairs)).

    Args:
        x: vectors.
        coordinates: those of each row.
        axis_of_pair: which coordinate turns each pair.
        layout: "half" or "interleaved".
        base: also called theta.

    Returns:
        The turned vectors.

    Shape:
        [T, D] -> [T, D]

    Example:
        >>> multimodal_rope(np.array([[1.0, 1.0, 0.0, 0.0]]), [[0.0, 50 * math.pi]], [0, 1], "half").round(6).tolist()
        [[1.0, 0.0, 0.0, 1.0]]

    Reference:
        Wang et al. 2024, https://arxiv.org/abs/2409.12191, section 2.1
    """
    pairs = len(axis_of_pair)
    out = np.array(x, dtype=np.float64)
    for row, places in enumerate(coordinates):
        for i, axis in enumerate(axis_of_pair):
            first, second = (i, i + pairs) if layout == "half" else (2 * i, 2 * i + 1)
            _turn(x, out, row, first, second, places[axis] * base ** (-i / pairs))
    return out


def entrywise_rope(
    x: Array,
    coordinates: Sequence[Sequence[float]],
    shares: Sequence[int],
    layout: str,
    spectrum: str,
    base: float = 10000.0,
) -> Array:
    """Entrywise rotary embedding: entry e by the angle coordinates[t][a] w, a the coordinate whose share holds e.

    Args:
        x: vectors.
        coordinates: those of each row.
        shares: entries of each coordinate, one after another.
        layout: "half" or "interleaved": where an entry's partner is.
        spectrum: "shared" (one row of frequencies, twice over all entries) or "each" (a row for each share, twice over it).
        base: also called theta.

    Returns:
        The vectors; entries after the shares as they were.

    Shape:
        [T, D] -> [T, D]

    Example:
        >>> entrywise_rope(np.array([[1.0, 1.0, 1.0, 1.0]]), [[math.pi, 0.0]], [2, 2], "half", "shared").round(6).tolist()
        [[-1.0, 0.968096, 1.0, 1.0]]

    Reference:
        Assran et al. 2025, https://arxiv.org/abs/2506.09985
    """
    width = sum(shares)
    out = np.array(x, dtype=np.float64)
    for row, places in enumerate(coordinates):
        first = 0
        for axis, share in enumerate(shares):
            for e in range(first, first + share):
                number, wide = (e, width) if spectrum == "shared" else (e - first, share)
                angle = places[axis] * base ** (-2 * (number % (wide // 2)) / wide)
                if layout == "half":
                    partner = -x[row, e + width // 2] if e < width // 2 else x[row, e - width // 2]
                else:
                    partner = -x[row, e + 1] if e % 2 == 0 else x[row, e - 1]
                out[row, e] = x[row, e] * math.cos(angle) + partner * math.sin(angle)
            first += share
    return out


def _turn(x: Array, out: Array, row: int, first: int, second: int, angle: float) -> None:
    a, b = x[row, first], x[row, second]
    out[row, first] = a * math.cos(angle) - b * math.sin(angle)
    out[row, second] = b * math.cos(angle) + a * math.sin(angle)
