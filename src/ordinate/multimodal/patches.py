"""Where patches stand in an image or video, in the order in which vision encoders take them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ordinate.checks import whole_number
from ordinate.multimodal.grids import AXES


def patch_positions(
    grids: Sequence[Sequence[int]],
    *,
    merge: int | Sequence[int],
    with_frames: bool = False,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """Row and column (and frame) of every patch, image after image, for a vision encoder's rotary embedding.

    Patches that will be merged stand side by side: blocks of merge x merge in raster order, raster order inside a block, frame
    after frame. With merge=1 that is plain raster order.

    Used by the encoders of Qwen2-VL to Qwen4, GLM-4V, ERNIE 4.5 VL, Kimi K2.5, MiniMax M3 VL (with frames), VideoLLaMA 3 (a
    merge for each) and their relatives.

    Args:
        grids: (frames, rows, columns) of each image or video in patches, as Python ints: the number of patches is a shape.
        merge: how many rows, and how many columns, will be merged; one number, or one for each grid.
        with_frames: whether the frame stands before row and column.
        device: where the tensor lives; None: on the CPU.

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
    parts = [_patches(grid, size) for grid, size in zip(grids, merges, strict=True)]
    positions = torch.cat(parts) if parts else torch.zeros(0, 3, dtype=torch.int64, device="cpu")
    return (positions if with_frames else positions[:, 1:]).contiguous().to(device or "cpu", non_blocking=True)


def _patches(grid: Sequence[int], merge: int) -> torch.Tensor:
    if len(grid) != 3:
        raise ValueError(f"grids: needed (frames, rows, columns) for each, got {grid}")
    frames, rows, columns = (whole_number(f"grids: {axis}", size, least=1) for axis, size in zip(AXES, grid, strict=True))
    side = whole_number("merge", merge, least=1)
    if rows % side or columns % side:
        raise ValueError(f"grids: needed rows and columns divisible by {side}, the merge, got {(frames, rows, columns)}")
    axes = [torch.arange(size, device="cpu") for size in (frames, rows // side, columns // side, side, side)]
    frame, block_row, block_column, row, column = torch.meshgrid(*axes, indexing="ij")
    return torch.stack((frame, block_row * side + row, block_column * side + column), dim=-1).view(-1, 3)
