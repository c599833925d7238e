"""Blocks that advance by their longer side: Qwen2-VL's rule, also of PaddleOCR-VL and, for images, of most that came after.

Paper: https://arxiv.org/abs/2409.12191.
"""

from __future__ import annotations

import torch

from ordinate.checks import whole_number
from ordinate.multimodal.blocks import Blocks, find_blocks, lay_out, raster, require_unbroken
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.token_rows import token_rows


def longer_side(blocks: Blocks) -> torch.Tensor:
    """How far the text after a block is from where it begins: its rows or its columns, whichever is more. Frames do not count.

    Args:
        blocks: the tokens.

    Returns:
        One number a token.

    Shape:
        [B, T]

    Example:
        >>> one = torch.ones(1, 1, dtype=torch.int64)
        >>> longer_side(Blocks(one > 0, one, one, frames=9 * one, rows=2 * one, columns=3 * one))
        tensor([[3]])
    """
    return torch.maximum(blocks.rows, blocks.columns)


def qwen2_vl_positions(
    token_types: torch.Tensor,
    *,
    image_grids: Grids = None,
    video_grids: Grids = None,
    spatial_merge: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions (t, h, w) of Qwen2-VL and PaddleOCR-VL.

    Text has one number on all axes and counts on. A block that begins at p puts the token of frame t, row h, column w at
    (p + t, p + h, p + w); the text after it goes on at p + max(rows, columns), also where a long video has gone further.

    Args:
        token_types: 0 text, 1 image, 2 video. Tensors are never read by the host, except to word an error.
        image_grids: (frames, rows, columns) of each image in patches, in order, row after row of the batch.
        video_grids: the same of each video.
        spatial_merge: how many rows, and how many columns, of patches become one token.
        mask: true for a real token; pad slots are given 0 and count nothing.

    Returns:
        What unpacks into positions and deltas.

    Shape:
        token_types [B, T] -> positions [B, T, 3], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens and grids do not agree.

    Example:
        >>> types = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 0, 0]])
        >>> positions, deltas = qwen2_vl_positions(types, image_grids=[(1, 4, 4)], spatial_merge=2)
        >>> positions[0].T
        tensor([[0, 1, 2, 3, 3, 3, 3, 5, 6],
                [0, 1, 2, 3, 3, 4, 4, 5, 6],
                [0, 1, 2, 3, 4, 3, 4, 5, 6]])
        >>> deltas
        tensor([-2])
    """
    rows = token_rows(token_types, mask)
    by = (1, whole_number("spatial_merge", spatial_merge, least=1))
    images = merged("image_grids", image_grids, by=by, device=rows.types.device)
    videos = merged("video_grids", video_grids, by=by, device=rows.types.device)
    blocks = find_blocks(rows, images, videos)
    require_unbroken(blocks, blocks.within)
    inside = torch.stack(raster(blocks.within, blocks.rows, blocks.columns), dim=-1)
    starts = blocks.within == 0
    placed = lay_out(rows, block=blocks.vision, starts=starts, advance=longer_side(blocks), inside=inside)
    return rows.finished(placed)
