"""The exact recipe in eager mode on the CPU: a few positions in the fewest steps, many in blocks, long ranges by angle addition.

A long range is cut in blocks of equal steps. The angle of row r of block b is that of the block's start plus that of r steps:

    cos(x + y) = cos x cos y - sin x sin y,  sin(x + y) = sin x cos y + cos x sin y

with both angles from the exact recipe in float64. The error, below 5e-16, is nothing beside float32's rounding but next to a zero
of cos or sin: entries with a product below ``DOUBTFUL`` are computed again by the recipe itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ordinate.phases.frequencies import PIECE, Frequencies
from ordinate.positions import as_tensor, count

Recipe = Callable[..., tuple[torch.Tensor, torch.Tensor]]
Pair = tuple[torch.Tensor, torch.Tensor]

FEW = 1024  # entries
BLOCK = 2**16  # entries: half a MiB of float64, so that all that a block needs stays in the second cache
LONG = 2048  # positions from which the start rows and step rows of the addition are few beside them
STEPS = 512  # rows of a block of a long range
DOUBTFUL = 1e-6  # where 5e-16, the error of a sum, is a hundredth of a last place in float32
_QUARTERS = np.array([1, 1j, -1, -1j])  # a quarter turn each
_TURN = 2 * np.pi
_ONE = torch.ones((), dtype=torch.float64, device="cpu")


def few(place: Any, frequencies: Frequencies, *, small: bool) -> Pair:
    """Compute a few rows: the recipe's steps in NumPy, whose calls are cheaper, and one call for both cos and sin.

    Args:
        place: whole positions as an int64 NumPy array of any shape.
        frequencies: the n frequencies.
        small: whether all |positions| <= 2^25, so that there is no high part.

    Returns:
        cos and sin, float32.

    Shape:
        place [..., T] -> two of [..., T, n]

    Example:
        >>> from ordinate.phases import from_values
        >>> few(np.array([3]), from_values([0.5]), small=True)
        (tensor([[0.0707]]), tensor([[0.9975]]))
    """
    a1, a2, a3, b1, b2, b3 = frequencies.parts
    low: Any = place.astype(np.float64)[..., None]
    high = None
    if not small:
        high = np.rint(low * 2.0**-PIECE)
        low = low - high * 2.0**PIECE
    turns = low * a1
    turns -= np.rint(turns)
    turns += low * a2
    rest = low * a3
    if high is not None:
        folded = high * b1
        folded -= np.rint(folded)
        folded += high * b2
        turns += folded
        rest += high * b3
    quadrant = np.rint(turns * 4.0)
    turns -= quadrant * 0.25
    turns += rest
    turns *= _TURN
    made = torch.polar(_ONE, torch.from_numpy(turns)).numpy()
    made *= _QUARTERS.take(quadrant.astype(np.int64), mode="wrap")  # products with 0 and 1: exact
    return torch.from_numpy(made.real.astype(np.float32)), torch.from_numpy(made.imag.astype(np.float32))


def by_blocks(place: torch.Tensor, frequencies: Frequencies, dtype: torch.dtype, recipe: Recipe) -> Pair:
    """Compute many rows, a block at a time: the recipe's temporaries stay small and near.

    Args:
        place: positions [T] or [B, T].
        frequencies: the n frequencies.
        dtype: of the result.
        recipe: cos and sin in float64 of positions and pieces.

    Returns:
        cos and sin.

    Shape:
        place [..., T] -> two of [..., T, n]

    Example:
        >>> from ordinate.phases import from_values
        >>> recipe = lambda place, pieces, small: (place * 1.0, place * 2.0)
        >>> by_blocks(torch.arange(2), from_values([0.5]), torch.float32, recipe)
        (tensor([[0.],
                [1.]]), tensor([[0.],
                [2.]]))
    """
    pieces = torch.from_numpy(frequencies.rows)
    shape = (*place.shape, pieces.shape[1])
    cos, sin = torch.empty(shape, dtype=dtype, device="cpu"), torch.empty(shape, dtype=dtype, device="cpu")
    rows = max(BLOCK // pieces.shape[1], 1)
    places, all_cos, all_sin = place.reshape(-1), cos.flatten(0, -2), sin.flatten(0, -2)
    for start in range(0, len(places), rows):
        block = slice(start, start + rows)
        all_cos[block], all_sin[block] = recipe(places[block, None], pieces, small=False)
    return cos, sin


def long_range(positions: range, frequencies: Frequencies, dtype: torch.dtype, recipe: Recipe) -> Pair:
    """Compute a long range by angle addition.

    Args:
        positions: a range of ``LONG`` positions or more.
        frequencies: the n frequencies.
        dtype: of the result; float64 goes by the recipe itself.
        recipe: cos and sin in float64 of positions and pieces.

    Returns:
        cos and sin.

    Shape:
        T positions -> two of [T, n]

    Example:
        >>> from ordinate.phases import exact, from_values
        >>> exact(range(4096), from_values([0.5]))[0].shape
        torch.Size([4096, 1])
    """
    if dtype != torch.float32:
        return by_blocks(as_tensor(positions, "cpu"), frequencies, dtype, recipe)
    length, step = count(positions), positions.step
    pieces = torch.from_numpy(frequencies.rows)
    starts = as_tensor(range(positions.start, positions.start + length * step, STEPS * step), "cpu")
    start_cos, start_sin = recipe(starts[:, None], pieces, small=False)
    step_cos, step_sin = recipe(as_tensor(range(0, STEPS * step, step), "cpu")[:, None], pieces, small=False)
    shape = (length, pieces.shape[1])
    cos, sin = torch.empty(shape, dtype=dtype, device="cpu"), torch.empty(shape, dtype=dtype, device="cpu")
    sums = torch.empty_like(step_cos)
    doubtful = []
    for number, first in enumerate(range(0, length, STEPS)):
        rows = min(STEPS, length - first)
        x_cos, x_sin, y_cos, y_sin, into = start_cos[number], start_sin[number], step_cos[:rows], step_sin[:rows], sums[:rows]
        cos_rows, sin_rows = cos[first : first + rows], sin[first : first + rows]
        cos_rows.copy_(torch.mul(y_cos, x_cos, out=into).addcmul_(y_sin, x_sin, value=-1))
        sin_rows.copy_(torch.mul(y_sin, x_cos, out=into).addcmul_(y_cos, x_sin))
        smallest = (cos_rows * sin_rows).abs_()
        if smallest.min().item() < DOUBTFUL:
            found = (smallest < DOUBTFUL).nonzero()
            found[:, 0] += first
            doubtful.append(found)
    if doubtful:
        row, pair = torch.cat(doubtful).unbind(-1)
        made = recipe(positions.start + step * row, pieces[:, pair], small=False)
        cos[row, pair], sin[row, pair] = (table.to(dtype) for table in made)
    return cos, sin
