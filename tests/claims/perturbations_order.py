"""Wrong formulas for the claims about order."""

from __future__ import annotations

from typing import Any

import numpy as np
from perturbations_words import with_losses, with_order

from ordinate.claims.layers import layer_norm, softmax
from ordinate.claims.library import attended_causally
from ordinate.claims.order import attention
from ordinate.claims.recurrence import attention_of_one
from ordinate.claims.word_order import encoder, recurrent


def _looks_at_places(x: Any, hidden: Any = None) -> Any:
    return attention(x + np.arange(len(x))[:, None], hidden)


def _blind_to_masks(x: Any, hidden: Any = None) -> Any:  # noqa: ARG001
    return attention(x)


def _softmax_of_what_came_before(scores: Any) -> Any:
    weights = np.exp(scores)
    return weights / np.cumsum(weights, axis=1)


def _centred_over_tokens(x: Any) -> Any:
    return x - x.mean(0)


PERTURBED_ORDER: dict[str, list[dict[str, Any]]] = {
    "equivariance": [{"attend": _looks_at_places}],
    "softmax-permutation": [{"normalise": _softmax_of_what_came_before}],
    "position-wise-layers": [
        {"layers": (layer_norm, lambda x: np.cumsum(x, axis=0))},
        {"layers": (_centred_over_tokens,)},  # equivariant, but not by tokens
    ],
    "padding-mask": [{"attend": _looks_at_places}, {"mask_moves": False}, {"attend": _blind_to_masks}],
    "causal-mask": [
        {"causal": np.zeros((3, 3), dtype=bool)},
        {"attend": _blind_to_masks},
        {"ours": (lambda q, k, v: softmax(q @ k.T / 8**0.5) @ v,)},
        {"ours": (attended_causally, lambda q, k, v: np.roll(attended_causally(q, k, v), 1, axis=0))},
    ],
    "dog-bites-man": [{"encode": lambda x: encoder(x + np.outer(np.arange(len(x)), np.arange(8)))}, {"encode": lambda x: 0 * x}],
    "pooled-classifier": [{"pool": lambda vectors: vectors[0]}, {"results": with_order("nope", 1.0)}],
    "recurrent-order": [{"read": lambda x: np.repeat(x.sum(0)[None], 3, axis=0)}, {"results": with_order("gru", 0.5)}],
    "order-must-be-added": [
        {"attend": _blind_to_masks},
        {"attend": _looks_at_places},
        {"results": with_losses((2.0, 2.0, 2.0, 2.0), "nope", tasks=("last",))},
    ],
    "recurrent-any-length": [
        {"results": with_losses((1.0, 1.5, 2.0, 2.5), "gru")},
        {"results": with_losses((0.1, 0.1, 0.1, 0.1), "gru", tasks=("last",))},
    ],
    "parallel-over-positions": [
        {"alone": lambda x, place: attention_of_one(x[: place + 1], place)},
        {"read": np.tanh},
        {"alone": lambda x, place: recurrent(x)[place]},
    ],
}
