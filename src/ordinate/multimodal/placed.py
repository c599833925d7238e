"""What every builder gives, and how decoding goes on from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ordinate.checks import described, whole_number
from ordinate.positions import INTEGER_DTYPES


@dataclass(frozen=True, eq=False)
class MultimodalPositions:
    """Positions of several axes, and where decoding goes on. Unpacks into ``positions, deltas``.

    Attributes:
        positions: [B, T, A], axes last: int64 (float32 where the model counts fractions of a step).
        deltas: [B]; the next position of a row = (real tokens seen in it) + its delta, the same on every axis.
    """

    positions: torch.Tensor
    deltas: torch.Tensor

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Yield positions, then deltas."""
        yield self.positions
        yield self.deltas


def continued(deltas: torch.Tensor, seen: int | torch.Tensor, n: int, *, axes: int = 3) -> torch.Tensor:
    """Positions of the next n text tokens of every row: seen + delta, seen + delta + 1, ...

    Args:
        deltas: what the builder gave for the prompt.
        seen: real tokens already seen: one int for all rows, or an integer tensor [B]. Padding does not count: ``mask.sum(1)``.
        n: how many tokens follow.
        axes: how many axes the model has; text has one number on all of them.

    Returns:
        A tensor of the deltas' dtype.

    Shape:
        deltas [B] -> [B, n, axes]

    Raises:
        ValueError: if deltas is not [B], seen is neither an int nor an integer tensor [B], or n or axes is no whole number.

    Example:
        >>> continued(torch.tensor([-2]), 9, 2)
        tensor([[[7, 7, 7],
                 [8, 8, 8]]])
    """
    if not isinstance(deltas, torch.Tensor) or deltas.ndim != 1 or deltas.dtype not in (torch.int64, torch.float32):
        raise ValueError(f"deltas: needed an int64 (or float32) tensor [B], as a builder gives it, got {described(deltas)}")
    if isinstance(seen, torch.Tensor):
        if seen.dtype not in INTEGER_DTYPES or seen.shape != deltas.shape:
            raise ValueError(f"seen: needed an int or an integer tensor [{len(deltas)}], got {described(seen)}")
    else:
        seen = whole_number("seen", seen)
    steps = torch.arange(whole_number("n", n), device=deltas.device)
    first = (deltas + seen)[:, None]
    return (first + steps)[..., None].expand(-1, -1, whole_number("axes", axes, least=1))
