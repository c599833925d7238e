"""Every frame of a video stands for itself, like an image, with a time stamp written as text before it: Qwen3-VL and GLM-4.1V.

Papers: https://arxiv.org/abs/2511.21631 (Qwen3-VL), https://arxiv.org/abs/2507.01006 (GLM-4.1V).
"""

from __future__ import annotations

import torch

from ordinate.checks import whole_number
from ordinate.multimodal.blocks import find_blocks, lay_out, raster, require_unbroken
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.qwen2_vl import longer_side
from ordinate.multimodal.token_rows import VIDEO, token_rows


def qwen3_vl_positions(
    token_types: torch.Tensor,
    *,
    image_grids: Grids = None,
    video_grids: Grids = None,
    spatial_merge: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions (t, h, w) of Qwen3-VL, Qwen3.5, Qwen4, GLM-4V (also 4.6V, MoE, OCR), Cohere Compass, Cosmos 3 (Omni and Edge).

    A video of n frames is n blocks of one frame, with text (a time stamp) between them or not: inside a frame t stays, h and w
    count, and what follows goes on at p + max(rows, columns). Images are placed as by ``qwen2_vl_positions``.

    Args:
        token_types: 0 text, 1 image, 2 video. Tensors are never read by the host, except to word an error.
        image_grids: (frames, rows, columns) of each image in patches, in order, row after row of the batch.
        video_grids: the same of each video, with all its frames.
        spatial_merge: how many rows, and how many columns, of patches become one token.
        mask: true for a real token; pad slots are given 0 and count nothing.

    Returns:
        What unpacks into positions and deltas.

    Shape:
        token_types [B, T] -> positions [B, T, 3], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens and grids do not agree.

    Example:
        >>> types = torch.tensor([[0, 2, 2, 0, 2, 2, 0]])
        >>> positions, deltas = qwen3_vl_positions(types, video_grids=[(2, 2, 4)], spatial_merge=2)
        >>> positions[0].T
        tensor([[0, 1, 1, 3, 4, 4, 6],
                [0, 1, 1, 3, 4, 4, 6],
                [0, 1, 2, 3, 4, 5, 6]])
    """
    rows = token_rows(token_types, mask)
    by = (1, whole_number("spatial_merge", spatial_merge, least=1))
    images = merged("image_grids", image_grids, by=by, device=rows.types.device)
    videos = merged("video_grids", video_grids, by=by, device=rows.types.device)
    blocks = find_blocks(rows, images, videos)
    in_frame = torch.where(rows.types == VIDEO, blocks.within % (blocks.rows * blocks.columns), blocks.within)
    require_unbroken(blocks, in_frame)
    inside = torch.stack(raster(in_frame, blocks.rows, blocks.columns), dim=-1)
    placed = lay_out(rows, block=blocks.vision, starts=in_frame == 0, advance=longer_side(blocks), inside=inside)
    return rows.finished(placed)
