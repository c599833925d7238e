"""Every scheme's definition in plain NumPy float64 loops: the executable specification, and the tests' oracle.

Slow, literal, no tensors, no shared code with the fast forms. Read this to know what a scheme means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

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


def alibi_slopes(n_heads: int, rule: str) -> list[float]:
    """Slopes of ALiBi: "paper" 2^(-8h / H); "authors" the same for powers of two, else two interleaved series.

    Args:
        n_heads: how many heads.
        rule: "paper" or "authors".

    Returns:
        One slope a head.

    Raises:
        ValueError: for an unknown rule.

    Example:
        >>> alibi_slopes(6, "authors")
        [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]

    Reference:
        Press, Smith and Lewis 2022, https://arxiv.org/abs/2108.12409, section 3 and the authors' get_slopes
    """
    if rule not in ("paper", "authors"):
        raise ValueError(f"unknown rule {rule!r}")
    if rule == "paper":
        return [2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)]
    power = 1
    while power * 2 <= n_heads:
        power *= 2
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    step = 1
    while len(slopes) < n_heads:
        slopes.append(2 ** (-8 * step / (2 * power)))
        step += 2
    return slopes


def alibi(q_positions: Sequence[float], k_positions: Sequence[float], slopes: Sequence[float]) -> Array:
    """ALiBi's bias: bias[h, i, j] = -slopes[h] |k_positions[j] - q_positions[i]|.

    Args:
        q_positions: one a query.
        k_positions: one a key.
        slopes: one a head.

    Returns:
        The bias.

    Shape:
        [H, Q, K]

    Example:
        >>> alibi([4], range(5), [0.5]).tolist()
        [[[-2.0, -1.5, -1.0, -0.5, -0.0]]]
    """
    bias = np.zeros((len(slopes), len(q_positions), len(k_positions)))
    for head, slope in enumerate(slopes):
        for i, query in enumerate(q_positions):
            for j, key in enumerate(k_positions):
                bias[head, i, j] = -slope * abs(key - query)
    return bias


def attention(q: Array, k: Array, v: Array, scale: float, bias: Array, visible: npt.NDArray[np.bool_]) -> Array:
    """Attention of one head: softmax over the visible keys of scale q . k + bias, times v; 0 where nothing is visible.

    Args:
        q: queries.
        k: keys.
        v: values.
        scale: factor of q . k.
        bias: added to the scores.
        visible: which keys each query may see.

    Returns:
        One vector a query.

    Shape:
        q [Q, D], k [K, D], v [K, E], bias and visible [Q, K] -> [Q, E]

    Example:
        >>> one = np.ones((1, 1))
        >>> attention(one, one, 3 * one, 1.0, 0 * one, one > 0).tolist()
        [[3.0]]
    """
    out = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        seen = [j for j in range(len(k)) if visible[i, j]]
        if not seen:
            continue
        scores = [scale * sum(q[i, c] * k[j, c] for c in range(q.shape[1])) + bias[i, j] for j in seen]
        top = max(scores)
        weights = [math.exp(score - top) for score in scores]
        for j, weight in zip(seen, weights, strict=True):
            out[i] += weight / sum(weights) * v[j]
    return out
