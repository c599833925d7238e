"""Where patches stand in an image or video, in the order in which vision encoders take them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ordinate.checks import described, whole_number
from ordinate.positions import grid


def patch_positions(
    grids: Sequence[Sequence[int]],
    *,
    merge: int | Sequence[int],
    with_frames: bool = False,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """Row and column (and frame) of every patch, image after image, for a vision encoder's rotary embedding.

    ``positions.grid`` for many at once. Patches that will be merged stand side by side: blocks of merge x merge in raster order,
    raster order inside a block, frame after frame. With merge=1 that is plain raster order.

    Used by the encoders of Qwen2-VL to Qwen4, GLM-4V, ERNIE 4.5 VL, Kimi K2.5, MiniMax M3 VL (with frames), VideoLLaMA 3 (a
    merge for each) and their relatives.

    Args:
        grids: (frames, rows, columns) of each image or video in patches, as Python ints: the number of patches is a shape.
        merge: how many rows, and how many columns, will be merged; one number, or one for each grid.
        with_frames: whether the frame stands before row and column.
        device: where the tensor lives.

    Returns:
        An int64 tensor, (frame,) row, column; N is the number of all patches.

    Shape:
        [N, 2], or [N, 3] with frames

    Raises:
        ValueError: if a size or a merge is no whole number >= 1, rows or columns are not divisible by it, or the counts differ.

    Example:
        >>> patch_positions([(1, 2, 4)], merge=2).T
        tensor([[0, 0, 1, 1, 0, 0, 1, 1],
                [0, 1, 0, 1, 2, 3, 2, 3]])
    """
    merges = [merge] * len(grids) if isinstance(merge, int) else list(merge)
    if len(merges) != len(grids):
        raise ValueError(f"merge: needed {len(grids)} numbers, one a grid, got {len(merges)}")
    parts = [torch.zeros(0, 3, dtype=torch.int64, device=device)]
    for sizes, side in zip(grids, merges, strict=True):
        if len(sizes) != 3:
            raise ValueError(f"grids: needed (frames, rows, columns) for each, got {described(sizes)}")
        frames, rows, columns = sizes
        parts.append(grid(rows, columns, frames=whole_number("frames", frames, least=1), merge=side, device=device)[0])
    positions = torch.cat(parts)
    return positions if with_frames else positions[:, 1:]
