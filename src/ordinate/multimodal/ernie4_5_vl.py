"""Qwen2-VL's rule where neighbouring frames of a video are merged too: ERNIE 4.5 VL.

Report: https://ernie.baidu.com/blog/publication/ERNIE_Technical_Report.pdf.
"""

from __future__ import annotations

import torch

from ordinate.checks import whole_number
from ordinate.multimodal.blocks import find_blocks, lay_out, raster, require_unbroken
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.qwen2_vl import longer_side
from ordinate.multimodal.token_rows import token_rows


def ernie4_5_vl_positions(
    token_types: torch.Tensor,
    *,
    image_grids: Grids = None,
    video_grids: Grids = None,
    spatial_merge: int,
    temporal_merge: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions (t, h, w) of ERNIE 4.5 VL.

    As ``qwen2_vl_positions``, with temporal_merge frames of a video (not of an image) to a token.

    Args:
        token_types: 0 text, 1 image, 2 video. Tensors are never read by the host, except to word an error.
        image_grids: (frames, rows, columns) of each image in patches, in order, row after row of the batch.
        video_grids: the same of each video.
        spatial_merge: how many rows, and how many columns, of patches become one token.
        temporal_merge: how many frames of a video become one.
        mask: true for a real token; pad slots are given 0 and count nothing.

    Returns:
        What unpacks into positions and deltas.

    Shape:
        token_types [B, T] -> positions [B, T, 3], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens and grids do not agree.

    Example:
        >>> types = torch.tensor([[0, 2, 2, 2, 2, 0]])
        >>> positions, deltas = ernie4_5_vl_positions(types, video_grids=[(4, 2, 4)], spatial_merge=2, temporal_merge=2)
        >>> positions[0].T
        tensor([[0, 1, 1, 2, 2, 3],
                [0, 1, 1, 1, 1, 3],
                [0, 1, 2, 1, 2, 3]])
    """
    rows = token_rows(token_types, mask)
    sides = whole_number("spatial_merge", spatial_merge, least=1)
    frames = whole_number("temporal_merge", temporal_merge, least=1)
    images = merged("image_grids", image_grids, by=(1, sides), device=rows.types.device)
    videos = merged("video_grids", video_grids, by=(frames, sides), device=rows.types.device)
    blocks = find_blocks(rows, images, videos)
    require_unbroken(blocks, blocks.within)
    inside = torch.stack(raster(blocks.within, blocks.rows, blocks.columns), dim=-1)
    starts = blocks.within == 0
    placed = lay_out(rows, block=blocks.vision, starts=starts, advance=longer_side(blocks), inside=inside)
    return rows.finished(placed)
