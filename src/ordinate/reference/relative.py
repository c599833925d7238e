"""Transformer-XL's terms of the attention scores, in loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ordinate.reference.inputs import sinusoidal

Array = npt.NDArray[np.float64]


def transformer_xl(
    q: Array,
    k: Array,
    q_positions: Sequence[float],
    k_positions: Sequence[float],
    *,
    content_bias: Array,
    position_bias: Array,
    projection: Array,
    layout: str,
    base: float = 10000.0,
) -> Array:
    """Terms beside q . k, not yet scaled: bias[i, j] = u . k_j + (q_i + v) . W R(p_i - p_j), of one head.

    Args:
        q: queries of one head.
        k: keys of one head.
        q_positions: one a query.
        k_positions: one a key.
        content_bias: u.
        position_bias: v.
        projection: W.
        layout: of the sinusoids R.
        base: of their frequencies.

    Returns:
        The terms.

    Shape:
        q [Q, D], k [K, D], u and v [D], W [D, d_model] -> [Q, K]

    Example:
        >>> zero, one = np.zeros(1), np.ones((1, 1))
        >>> weights = {"content_bias": zero, "position_bias": zero, "projection": np.array([[0.0, 1.0]])}
        >>> transformer_xl(one, one, [3], [3], **weights, layout="sin_cos").tolist()
        [[1.0]]

    Reference:
        Dai et al. 2019, https://arxiv.org/abs/1901.02860, section 3.3
    """
    bias = np.zeros((len(q_positions), len(k_positions)))
    for i, query in enumerate(q_positions):
        for j, key in enumerate(k_positions):
            (vector,) = sinusoidal([query - key], projection.shape[1], base, layout, "open")
            for c, (u, v) in enumerate(zip(content_bias, position_bias, strict=True)):
                made = sum(projection[c, m] * vector[m] for m in range(len(vector)))
                bias[i, j] += u * k[j, c] + (q[i, c] + v) * made
    return bias
