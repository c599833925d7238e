"""What is added to the embeddings, in loops: sinusoidal vectors and learned tables."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def sinusoidal(
    positions: int | Iterable[float],
    d_model: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    spacing: str = "open",
) -> Array:
    """Sinusoidal position vectors: P[p, 2i] = sin(p w_i), P[p, 2i + 1] = cos(p w_i), w_i = base^(-2i / d_model).

    Args:
        positions: the positions, or an int n for 0 .. n - 1.
        d_model: width, odd ones too.
        base: 10000 in the paper.
        layout: "interleaved", "sin_cos" or "cos_sin"; an odd width ends with a sine (interleaved) or a zero (blocks).
        spacing: "open" (2i / d) or "closed" (i / (pairs - 1)).

    Returns:
        One vector a position.

    Shape:
        [T, d_model]

    Raises:
        ValueError: for an unknown layout or spacing.

    Example:
        >>> sinusoidal(2, 5).round(6).tolist()
        [[0.0, 1.0, 0.0, 1.0, 0.0], [0.841471, 0.540302, 0.025116, 0.999685, 0.000631]]

    Reference:
        Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5
    """
    if layout not in ("interleaved", "sin_cos", "cos_sin") or spacing not in ("open", "closed"):
        raise ValueError(f"unknown layout {layout!r} or spacing {spacing!r}")
    places = list(range(positions)) if isinstance(positions, int) else list(positions)
    table = np.zeros((len(places), d_model))
    pairs = (d_model + 1) // 2 if layout == "interleaved" else d_model // 2
    for row, position in enumerate(places):
        for i in range(pairs):
            if spacing == "closed":
                exponent = i / (pairs - 1) if pairs > 1 else 0.0
            else:
                exponent = 2 * i / (d_model if layout == "interleaved" else 2 * pairs)
            angle = position * base**-exponent
            sine, cosine = {"interleaved": (2 * i, 2 * i + 1), "sin_cos": (i, pairs + i), "cos_sin": (pairs + i, i)}[layout]
            table[row, sine] = math.sin(angle)
            if cosine < d_model:
                table[row, cosine] = math.cos(angle)
    return table


def learned(table: Array, positions: Iterable[int], padding_offset: int = 0, overflow: str = "error") -> Array:
    """Rows of a table: P[p] = table[p + padding_offset], with p mod max_length ("wrap") or min(p, max_length - 1) ("clamp").

    Args:
        table: max_length + padding_offset rows.
        positions: whole positions >= 0.
        padding_offset: rows before position 0.
        overflow: "error", "wrap" or "clamp".

    Returns:
        One row a position.

    Shape:
        [T, d_model]

    Raises:
        ValueError: if a position has no row.

    Example:
        >>> learned(np.array([[1.0], [2.0]]), [0, 1, 2], overflow="wrap").tolist()
        [[1.0], [2.0], [1.0]]
    """
    max_length = len(table) - padding_offset
    rows = []
    for position in positions:
        if position < 0 or (position >= max_length and overflow == "error"):
            raise ValueError(f"position {position} has no row")
        place = position % max_length if overflow == "wrap" else min(position, max_length - 1)
        rows.append(table[place + padding_offset])
    return np.array(rows, dtype=np.float64).reshape(len(rows), table.shape[1])
