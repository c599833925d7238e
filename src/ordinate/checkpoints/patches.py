"""Coordinates of an encoder's patches, and which of them see each other."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from ordinate.checkpoints.grid_plan import GridPlan
from ordinate.positions import grid

WIDEST = 2**20  # more windows than a row of patches has


def numbered(
    plan: GridPlan,
    height: int,
    width: int,
    *,
    frames: int | None = None,
    device: torch.device | str | None = None,
    **changes: Any,
) -> torch.Tensor:
    """Number the patches of one image or video; see ``GridPlan.positions``.

    Args:
        plan: how.
        height: rows of patches.
        width: columns of patches.
        frames: images one after another; they share their coordinates where the model gives patches no time.
        device: where the tensor lives.
        changes: numbers in place of the plan's.

    Returns:
        Coordinates.

    Shape:
        [1, T, A]

    Raises:
        ValueError: if the model has one grid, and this is another.

    Example:
        >>> numbered(GridPlan(merge=2), 2, 2, frames=2)[0].tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if plan.size not in (None, (height, width)):
        raise ValueError(f"height, width: needed {plan.size}, the one grid of the model, got {(height, width)}")
    plan = dataclasses.replace(plan, **changes)
    timed = (1 if frames is None else frames) if plan.frames else None
    made = grid(
        height,
        width,
        frames=timed,
        merge=plan.merge,
        prefix=plan.prefix,
        suffix=plan.suffix,
        first=plan.first if timed is None else (0, plan.first, plan.first),
        centred=plan.centred,
        times=plan.times,
        dtype=torch.float32 if plan.centred or plan.times != 1 else None,
        device=device,
    )
    return made if plan.frames or frames is None else made.repeat(1, frames, 1)


def window_ids(positions: torch.Tensor, side: int, *, first: int = 0) -> torch.Tensor:
    """Say which window of the grid every patch is in.

    Args:
        positions: rows and columns.
        side: rows and columns of a window; those at the end of the grid may be smaller.
        first: number of the first row and column.

    Returns:
        Ids, for ``attend(document_ids=)``.

    Shape:
        positions [B, T, 2] -> [B, T]

    Example:
        >>> window_ids(grid(2, 3), 2).unique(return_inverse=True)[1].tolist()
        [[0, 0, 1, 0, 0, 1]]
    """
    rows, columns = torch.div(positions[..., -2:] - first, side, rounding_mode="floor").long().unbind(-1)
    return rows * WIDEST + columns
