"""Attention of one head, in loops."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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
