"""Prompts with images, and the images that are drawn after them: GLM-Image."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ordinate.checks import described, whole_number
from ordinate.multimodal.blocks import find_blocks, lay_out, raster, require_unbroken
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.qwen2_vl import longer_side
from ordinate.multimodal.token_rows import IMAGE, token_rows
from ordinate.positions import INTEGER_DTYPES


def glm_image_positions(
    token_types: torch.Tensor, *, image_grids: Grids = None, mask: torch.Tensor | None = None
) -> MultimodalPositions:
    """Positions (t, h, w) of a prompt of GLM-Image.

    As ``qwen2_vl_positions`` without merging: an image's tokens are the grid itself.

    Args:
        token_types: 0 text (also the markers before and behind an image), 1 a token of a given image. Tensors are never read by the
            host, except to word an error.
        image_grids: (frames, rows, columns) of each given image, in order, row after row of the batch; not of those to draw.
        mask: true for a real token; pad slots are given 1, as the model's own code does, and count nothing.

    Returns:
        What unpacks into positions and deltas; ``glm_image_drawn_positions`` goes on from there.

    Shape:
        token_types [B, T] -> positions [B, T, 3], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens and grids do not agree.

    Example:
        >>> positions, deltas = glm_image_positions(torch.tensor([[0, 1, 1, 0, 0]]), image_grids=[(1, 1, 2)])
        >>> positions[0].T
        tensor([[0, 1, 1, 3, 4],
                [0, 1, 1, 3, 4],
                [0, 1, 2, 3, 4]])
    """
    rows = token_rows(token_types, mask, IMAGE)
    images = merged("image_grids", image_grids, by=(1, 1), device=rows.types.device)
    blocks = find_blocks(rows, images, images[:0])
    require_unbroken(blocks, blocks.within)
    inside = torch.stack(raster(blocks.within, blocks.rows, blocks.columns), dim=-1)
    starts = blocks.within == 0
    placed = lay_out(rows, block=blocks.vision, starts=starts, advance=longer_side(blocks), inside=inside)
    return rows.finished(placed, padding=1)


def glm_image_drawn_positions(
    deltas: torch.Tensor, seen: torch.Tensor | int, grids: Sequence[Sequence[tuple[int, int]]]
) -> torch.Tensor:
    """Positions (t, h, w) of the tokens that GLM-Image draws, and of the end marker behind them.

    Image after image from p = seen + delta: row h, column w at (p, p + h, p + w), the next image at p + max(rows, columns).
    Rows of the batch that draw less repeat their end marker.

    Args:
        deltas: what the builder gave for the prompt.
        seen: real tokens of the prompt: one int, or an integer tensor [B].
        grids: for every row of the batch, (rows, columns) of each image in the order in which they are drawn. The model's own
            ``image_grid_thw`` has them behind the given images, last drawn first.

    Returns:
        An int64 tensor; L is the length of the longest row.

    Shape:
        deltas [B] -> [B, L, 3]

    Raises:
        ValueError: if the number of rows, a size, or the shape or dtype of deltas or seen is wrong.

    Example:
        >>> glm_image_drawn_positions(torch.tensor([-1]), 5, [[(1, 2)]])
        tensor([[[4, 4, 4],
                 [4, 4, 5],
                 [6, 6, 6]]])
    """
    if not isinstance(deltas, torch.Tensor) or deltas.ndim != 1 or deltas.dtype != torch.int64 or len(deltas) != len(grids):
        raise ValueError(f"deltas: needed an int64 tensor [{len(grids)}], one a row of grids, got {described(deltas)}")
    if isinstance(seen, torch.Tensor) and (seen.dtype not in INTEGER_DTYPES or seen.shape != deltas.shape):
        raise ValueError(f"seen: needed an int or an integer tensor [{len(deltas)}], got {described(seen)}")
    drawn = [_drawn(row) for row in grids]
    longest = max(map(len, drawn), default=0)
    padded = [row + row[-1:] * (longest - len(row)) for row in drawn]
    steps = torch.tensor(padded, dtype=torch.int64, device="cpu").view(len(grids), longest, 3).to(deltas.device, non_blocking=True)
    begin = deltas + (seen if isinstance(seen, torch.Tensor) else whole_number("seen", seen))
    return begin[:, None, None] + steps


def _drawn(grids: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Of one row, counted from where it begins."""
    place, out = 0, []
    for grid in grids:
        if len(grid) != 2:
            raise ValueError(f"grids: needed (rows, columns) for each image, got {described(grid)}")
        height, width = (
            whole_number(f"grids: {axis}", size, least=1) for axis, size in zip(("rows", "columns"), grid, strict=True)
        )
        out += [(place, place + row, place + column) for row in range(height) for column in range(width)]
        place += longer_of(height, width)
    return [*out, (place, place, place)]


def longer_of(height: int, width: int) -> int:
    """How far the next drawn image is from where one begins.

    Args:
        height: its rows.
        width: its columns.

    Returns:
        The larger.

    Example:
        >>> longer_of(2, 3)
        3
    """
    return max(height, width)
