"""A bias as a function of query and key positions, whatever it was given as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.comparing import Array, as_array

Takes = Literal["positions", "lengths", "length"]
Places = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class BiasFunction:
    """A bias, and what may be asked of it.

    Attributes:
        call: fn(q_positions, k_positions) -> [H, Q, K] ([1, H, Q, K] and [Q, K] will do; one row [H, 1, K] stands for all queries).
        takes: "positions" (any), "lengths" (the last Q of K positions from 0), or "length" (Q = K from 0).
        hides: whether -inf or a huge negative number stands for a hidden key.
        everywhere: whether its values at keys that a causal mask hides are part of what it promises.

    Example:
        >>> function = BiasFunction(lambda q, k: (k[None, :] - q[:, None])[None], takes="lengths")
        >>> function.ask(([2], range(3))).tolist(), function.may_be_asked(([5], range(3)))
        ([[[-2.0, -1.0, 0.0]]], False)
    """

    call: Callable[[torch.Tensor, torch.Tensor], Any]
    takes: Takes = "positions"
    hides: bool = False
    everywhere: bool = False

    def may_be_asked(self, places: Places) -> bool:
        """Say whether the function can be called for these positions."""
        q, k = list(places[0]), list(places[1])
        first = {"positions": None, "lengths": len(k) - len(q), "length": 0}[self.takes]
        return first is None or (k == list(range(len(k))) and q == list(range(first, len(k))))

    def ask(self, places: Places) -> Array | Failed:
        """Give the bias [H, Q, K] in float64, hidden keys as NaN, or how the call fails."""
        q, k = (torch.tensor(list(side), dtype=torch.int64) for side in places)
        given = attempt(lambda: as_array(self.call(q, k)))
        return given if isinstance(given, Failed) else _by_head(given, len(q), len(k), self.hides)


def _by_head(given: Array, queries: int, keys: int, hides: bool) -> Array | Failed:
    bias = given[0] if given.ndim == 4 and len(given) == 1 else given
    bias = bias[None] if bias.ndim == 2 else bias
    if bias.ndim != 3 or bias.shape[1] not in (1, queries) or bias.shape[2] != keys:
        return Failed(f"shape {list(given.shape)}, needed [H, {queries}, {keys}]")
    bias = np.broadcast_to(bias, (len(bias), queries, keys)).copy()
    if hides:
        bias[bias < -1e4] = np.nan
    return bias
