"""Which image or video a token belongs to, where it stands inside, and how blocks and text follow each other.

Found by counting alone (sums over the tokens before), so that no tensor is read and every shape is known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from ordinate.multimodal.token_rows import IMAGE, KINDS, PADDING, VIDEO, TokenRows, require


@dataclass(frozen=True, eq=False)
class Blocks:
    """For every token: is it of an image or video, of which, and where inside. Numbers of other tokens mean nothing.

    Attributes:
        vision: bool [B, T].
        item: int64 [B, T]: row of the table of grids (images first, then videos).
        within: int64 [B, T]: how many tokens of the item stand before it.
        frames: int64 [B, T]: the item's frames in tokens.
        rows: int64 [B, T]: the item's rows in tokens.
        columns: int64 [B, T]: the item's columns in tokens.
    """

    vision: torch.Tensor
    item: torch.Tensor
    within: torch.Tensor
    frames: torch.Tensor
    rows: torch.Tensor
    columns: torch.Tensor


def all_tokens(grids: torch.Tensor) -> torch.Tensor:
    """Tokens of each grid: frames x rows x columns.

    Args:
        grids: sizes in tokens.

    Returns:
        An int64 tensor.

    Shape:
        [N, 3] -> [N]

    Example:
        >>> all_tokens(torch.tensor([[1, 2, 3]]))
        tensor([6])
    """
    return grids.prod(1)


def find_blocks(
    rows: TokenRows,
    images: torch.Tensor,
    videos: torch.Tensor,
    tokens: Callable[[torch.Tensor], torch.Tensor] = all_tokens,
) -> Blocks:
    """Tell the tokens of each image and video apart: they come in the order of the grids, row after row of the batch.

    Args:
        rows: the tokens.
        images: sizes of the images in tokens.
        videos: sizes of the videos in tokens.
        tokens: how many tokens each grid has.

    Returns:
        One number a token and question.

    Shape:
        images [N, 3], videos [M, 3]

    Raises:
        ValueError: on the CPU, if there are more or fewer image or video tokens than the grids have.

    Example:
        >>> from ordinate.multimodal.token_rows import token_rows
        >>> rows = token_rows(torch.tensor([[0, 1, 1, 0, 1]]), None)
        >>> find_blocks(rows, torch.tensor([[1, 1, 2], [1, 1, 1]]), torch.ones(0, 3, dtype=torch.int64)).item[0, [1, 2, 4]]
        tensor([0, 0, 1])
    """
    table = torch.cat((images, videos, images.new_ones(1, 3)))  # the last row: there is always something to look at
    item = torch.full_like(rows.types, len(table) - 1)
    within = torch.zeros_like(rows.types)
    for kind, grids, first in ((IMAGE, images, 0), (VIDEO, videos, len(images))):
        sizes = tokens(grids)
        here = rows.types == kind
        _require_count(kind, here, sizes)
        if len(grids):
            ordinal = here.flatten().long().cumsum(0).view_as(here) - 1
            ends = sizes.cumsum(0)
            own = torch.searchsorted(ends, ordinal, right=True).clamp(max=len(grids) - 1)
            item = torch.where(here, own + first, item)
            within = torch.where(here, ordinal - (ends - sizes)[own], within)
    frames, height, width = table[item].unbind(-1)
    vision = (rows.types == IMAGE) | (rows.types == VIDEO)
    return Blocks(vision, item, within, frames, height, width)


def require_unbroken(blocks: Blocks, within: torch.Tensor) -> None:
    """Refuse, on the CPU, an item (or a frame) whose tokens do not stand side by side in one row.

    Args:
        blocks: the tokens.
        within: how many tokens of the same piece stand before each; a piece is an item, or a frame of it.

    Raises:
        ValueError: if a piece is broken.

    Example:
        >>> from ordinate.multimodal.token_rows import token_rows
        >>> rows = token_rows(torch.tensor([[1, 0, 1]]), None)
        >>> blocks = find_blocks(rows, torch.tensor([[1, 1, 2]]), torch.ones(0, 3, dtype=torch.int64))
        >>> require_unbroken(blocks, blocks.within)
        Traceback (most recent call last):
        ValueError: token_types: needed the tokens of one image or frame side by side, got a gap before token 2 of row 0...
    """
    follows = torch.zeros_like(blocks.vision)
    follows[:, 1:] = blocks.vision[:, :-1] & (blocks.item[:, :-1] == blocks.item[:, 1:])
    broken = blocks.vision & (within > 0) & ~follows

    def message() -> str:
        row, token = broken.nonzero()[0].tolist()
        return (
            f"token_types: needed the tokens of one image or frame side by side, got a gap before token {token} of row {row} "
            "(padding left out); the grids are of other sizes, or in another order"
        )

    require(~broken.any(), message)


def raster(within: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Frame, row and column of the n-th token: columns run fastest, then rows, then frames.

    Args:
        within: n.
        rows: rows of a frame.
        columns: columns of a frame.

    Returns:
        Three tensors.

    Shape:
        [B, T] each

    Example:
        >>> [axis.tolist() for axis in raster(torch.arange(7), torch.tensor(2), torch.tensor(3))]
        [[0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1, 0], [0, 1, 2, 0, 1, 2, 0]]
    """
    return within // (rows * columns), within // columns % rows, within % columns


def lay_out(
    rows: TokenRows,
    *,
    block: torch.Tensor,
    starts: torch.Tensor,
    advance: torch.Tensor,
    inside: torch.Tensor,
    still: torch.Tensor | None = None,
) -> torch.Tensor:
    """Put blocks and text one after the other: a text token takes one position, a block as many as it advances.

    Args:
        rows: the tokens.
        block: true for a token of a block.
        starts: true for the first token of each block.
        advance: how far the text after the block is from where the block begins.
        inside: coordinates of a block's token, counted from where the block begins.
        still: true for a text token that shares the position of the one before it; None if there are none.

    Returns:
        Positions; padding counts nothing.

    Shape:
        block, starts, advance, still [B, T], inside [B, T, A] -> [B, T, A]

    Example:
        >>> from ordinate.multimodal.token_rows import token_rows
        >>> rows, block = token_rows(torch.tensor([[0, 1, 1, 0]]), None), torch.tensor([[False, True, True, False]])
        >>> starts, inside = torch.tensor([[False, True, False, False]]), torch.tensor([[[0], [0], [1], [0]]])
        >>> lay_out(rows, block=block, starts=starts, advance=torch.full((1, 4), 2), inside=inside)[..., 0]
        tensor([[0, 1, 2, 3]])
    """
    own = torch.where(block, advance, 1)
    steps = torch.where(block & ~starts | (rows.types == PADDING), 0, own)
    if still is not None:
        steps = steps.masked_fill(still, 0)
    begins = steps.cumsum(1) - own
    return begins[..., None] + torch.where(block[..., None], inside, 0)


def _require_count(kind: int, here: torch.Tensor, sizes: torch.Tensor) -> None:
    require(
        here.sum() == sizes.sum(),
        lambda: (
            f"{KINDS[kind]}_grids: needed as many tokens as token_types has of {KINDS[kind]}s ({int(here.sum())}), "
            f"got {sizes.tolist()} of the grids, {int(sizes.sum())} in all"
        ),
    )
