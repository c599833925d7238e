"""Position vectors as a function of positions, whatever they were given as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.comparing import Array, as_array

Takes = Literal["positions", "offset", "length"]


@dataclass(frozen=True)
class InputFunction:
    """Position vectors, and what may be asked of them.

    Attributes:
        call: fn(positions [T]) -> [T, d_model]; [1, T, d_model] will do.
        takes: "positions" (any), "offset" (neighbours from some position on), or "length" (from 0 on).

    Example:
        >>> function = InputFunction(lambda positions: positions[:, None].double(), takes="length")
        >>> function.ask([0, 1]).tolist(), function.may_be_asked([5, 6])
        ([[0.0], [1.0]], False)
    """

    call: Callable[[torch.Tensor], Any]
    takes: Takes = "positions"

    def may_be_asked(self, positions: Sequence[float]) -> bool:
        """Say whether the function can be called for these positions."""
        if self.takes == "positions":
            return True
        first = 0 if self.takes == "length" else max(0, int(positions[0]))
        return list(positions) == list(range(first, first + len(positions)))

    def raw(self, positions: Sequence[float]) -> Any:
        """Give what the function gives, or how it fails."""
        dtype = torch.int64 if all(isinstance(position, int) for position in positions) else torch.float32
        return attempt(lambda: self.call(torch.tensor(list(positions), dtype=dtype)))

    def ask(self, positions: Sequence[float]) -> Array | Failed:
        """Give the vectors [T, d_model] in float64, or how the call fails."""
        given = self.raw(positions)
        vectors = given if isinstance(given, Failed) else attempt(lambda: as_array(given))
        if isinstance(vectors, Failed):
            return vectors
        rows = vectors[0] if vectors.ndim == 3 and len(vectors) == 1 else vectors
        if rows.ndim != 2 or len(rows) != len(positions):
            return Failed(f"shape {list(vectors.shape)} for {len(positions)} positions")
        return rows
