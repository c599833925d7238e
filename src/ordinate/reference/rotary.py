"""How queries and keys are turned, in loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def rope(
    x: Array,
    positions: Sequence[float],
    layout: str,
    base: float = 10000.0,
    rotary_dim: int | None = None,
    rotary_start: int = 0,
    inverse_frequencies: Sequence[float] | None = None,
) -> Array:
    """Rotary embedding: the pair i of row t turned by positions[t] w_i, w_i = base^(-2i / rotary_dim).

    Args:
        x: vectors.
        positions: one a row.
        layout: "half" (i with i + rotary_dim / 2) or "interleaved" (2i with 2i + 1).
        base: also called theta.
        rotary_dim: entries that turn; all after rotary_start if None.
        rotary_start: first entry that turns.
        inverse_frequencies: w_i given.

    Returns:
        The turned vectors.

    Shape:
        [T, D] -> [T, D]

    Raises:
        ValueError: for an unknown layout.

    Example:
        >>> rope(np.array([[1.0, 2.0, 3.0, 4.0]]), [1], "half").round(6).tolist()
        [[-1.984111, 1.959901, 2.462378, 4.0198]]

    Reference:
        Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.2
    """
    if layout not in ("half", "interleaved"):
        raise ValueError(f"unknown layout {layout!r}")
    width = x.shape[1] - rotary_start if rotary_dim is None else rotary_dim
    out = np.array(x, dtype=np.float64)
    for row, position in enumerate(positions):
        for i in range(width // 2):
            angle = position * (base ** (-2 * i / width) if inverse_frequencies is None else inverse_frequencies[i])
            first, second = (i, i + width // 2) if layout == "half" else (2 * i, 2 * i + 1)
            a, b = x[row, rotary_start + first], x[row, rotary_start + second]
            out[row, rotary_start + first] = a * math.cos(angle) - b * math.sin(angle)
            out[row, rotary_start + second] = b * math.cos(angle) + a * math.sin(angle)
    return out
