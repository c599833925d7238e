"""Every frame is a block of rows that end in a newline token, and starts where the frame before it ends: HY-V4-VL."""

from __future__ import annotations

import torch

from ordinate.checks import whole_number
from ordinate.multimodal.blocks import find_blocks, lay_out, raster, require_unbroken
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.token_rows import token_rows


def with_newlines(grids: torch.Tensor) -> torch.Tensor:
    """Tokens of each grid when every row ends with one more: frames x rows x (columns + 1).

    Args:
        grids: sizes in tokens.

    Returns:
        An int64 tensor.

    Shape:
        [N, 3] -> [N]

    Example:
        >>> with_newlines(torch.tensor([[1, 2, 3]]))
        tensor([8])
    """
    frames, rows, columns = grids.unbind(1)
    return frames * rows * (columns + 1)


def hy_v4_vl_positions(
    token_types: torch.Tensor,
    *,
    image_grids: Grids = None,
    video_grids: Grids = None,
    spatial_merge: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions (t, h, w) of HY-V4-VL.

    With s = max(rows, columns + 1), frame f of a block that begins at p has row h, column w at (p + f s, p + f s + h, p + f s + w).
    The last column is the newline token that ends every row. What follows goes on at p + frames x s.

    Args:
        token_types: 0 text, 1 image, 2 video (newline tokens too). Tensors are never read by the host, except to word an error.
        image_grids: (frames, rows, columns) of each image in patches, in order, row after row of the batch; without newlines.
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
        >>> types = torch.tensor([[0, 2, 2, 2, 2, 0]])
        >>> positions, deltas = hy_v4_vl_positions(types, video_grids=[(2, 2, 2)], spatial_merge=2)
        >>> positions[0].T
        tensor([[0, 1, 1, 3, 3, 5],
                [0, 1, 1, 3, 3, 5],
                [0, 1, 2, 3, 4, 5]])
    """
    rows = token_rows(token_types, mask)
    by = (1, whole_number("spatial_merge", spatial_merge, least=1))
    images = merged("image_grids", image_grids, by=by, device=rows.types.device)
    videos = merged("video_grids", video_grids, by=by, device=rows.types.device)
    blocks = find_blocks(rows, images, videos, tokens=with_newlines)
    require_unbroken(blocks, blocks.within)
    size = torch.maximum(blocks.rows, blocks.columns + 1)
    frame, row, column = raster(blocks.within, blocks.rows, blocks.columns + 1)
    inside = torch.stack((frame * size, frame * size + row, frame * size + column), dim=-1)
    starts = blocks.within == 0
    placed = lay_out(rows, block=blocks.vision, starts=starts, advance=blocks.frames * size, inside=inside)
    return rows.finished(placed)
