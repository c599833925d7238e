"""Qwen2-VL's rule with the frames of a video as far apart as they were in time: Qwen2.5-VL.

Paper: https://arxiv.org/abs/2502.13923.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ordinate.checks import finite_number, whole_number
from ordinate.multimodal.blocks import find_blocks, lay_out, raster, require_unbroken
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.qwen2_vl import longer_side
from ordinate.multimodal.seconds import seconds_of
from ordinate.multimodal.token_rows import VIDEO, token_rows


def step_of(frames: torch.Tensor, interval: torch.Tensor) -> torch.Tensor:
    """Whole steps from the first frame to the n-th: n times the interval first, then rounded down.

    Args:
        frames: n.
        interval: steps from one frame to the next.

    Returns:
        An int64 tensor.

    Shape:
        [B, T] each

    Example:
        >>> step_of(torch.arange(4), torch.tensor(2.5))
        tensor([0, 2, 5, 7])
    """
    return (frames * interval).long()


def qwen2_5_vl_positions(
    token_types: torch.Tensor,
    *,
    image_grids: Grids = None,
    video_grids: Grids = None,
    seconds_per_grid: Sequence[float] | torch.Tensor | None = None,
    tokens_per_second: float,
    spatial_merge: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions (t, h, w) of Qwen2.5-VL.

    As ``qwen2_vl_positions``, but frame n of a video stands at p + floor(n x tokens_per_second x seconds_per_grid). The text after
    it still goes on at p + max(rows, columns). n times the interval is taken in float32, as the model's own code does; the interval
    itself in float64 from Python floats, in the tensor's precision from a tensor.

    Args:
        token_types: 0 text, 1 image, 2 video. Tensors are never read by the host, except to word an error.
        image_grids: (frames, rows, columns) of each image in patches, in order, row after row of the batch.
        video_grids: the same of each video.
        seconds_per_grid: seconds from one frame of tokens to the next, of each video; None: 1.
        tokens_per_second: how many steps a second is (``vision_config.tokens_per_second``).
        spatial_merge: how many rows, and how many columns, of patches become one token.
        mask: true for a real token; pad slots are given 0 and count nothing.

    Returns:
        What unpacks into positions and deltas.

    Shape:
        token_types [B, T] -> positions [B, T, 3], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens and grids do not agree.

    Example:
        >>> types = torch.tensor([[0, 2, 2, 2, 2, 0]])
        >>> settings = {"seconds_per_grid": [0.5], "tokens_per_second": 2, "spatial_merge": 2}
        >>> positions, deltas = qwen2_5_vl_positions(types, video_grids=[(4, 2, 2)], **settings)
        >>> positions[0, :, 0]
        tensor([0, 1, 2, 3, 4, 2])
    """
    rows = token_rows(token_types, mask)
    device = rows.types.device
    by = (1, whole_number("spatial_merge", spatial_merge, least=1))
    images = merged("image_grids", image_grids, by=by, device=device)
    videos = merged("video_grids", video_grids, by=by, device=device)
    blocks = find_blocks(rows, images, videos)
    require_unbroken(blocks, blocks.within)
    rate = finite_number("tokens_per_second", tokens_per_second)
    seconds = seconds_of(seconds_per_grid, count=len(videos), rate=rate, device=device)
    interval = torch.cat((seconds.new_ones(len(images)), seconds, seconds.new_ones(1)))[blocks.item]
    frame, row, column = raster(blocks.within, blocks.rows, blocks.columns)
    time = torch.where(rows.types == VIDEO, step_of(frame, interval), frame)
    inside = torch.stack((time, row, column), dim=-1)
    starts = blocks.within == 0
    placed = lay_out(rows, block=blocks.vision, starts=starts, advance=longer_side(blocks), inside=inside)
    return rows.finished(placed)
