"""Pictures cut into slices: which crop belongs to which picture, and how many rows and columns of slices it has.

A picture is a thumbnail and the slices that follow it, all between markers. Found by counting, as in ``blocks``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ordinate.multimodal.blocks import Blocks
from ordinate.multimodal.neighbours import latest, moved, nearest_ahead
from ordinate.multimodal.token_rows import TEXT, TokenRows

PLAIN, MARKER, SLICE_START = range(3)


@dataclass(frozen=True, eq=False)
class Pictures:
    """For every token, numbers of the picture that began last, and of the token's place in it.

    Attributes:
        inside: bool [B, T]: from the marker before the thumbnail to the last marker behind the last crop.
        starts: bool [B, T]: the marker before the thumbnail.
        n_slices: int64 [B, T]: slices of the picture.
        columns: int64 [B, T]: slices in a row of slices.
        rows: int64 [B, T]: rows of slices.
        thumbnail: int64 [B, T]: index of the thumbnail's first token.
        first_slice: int64 [B, T]: index of the first slice's first token, where there is one.
        slice_number: int64 [B, T]: number of the last slice that began, from 0; -1 before the first.
        crop: int64 [B, T]: index of the first token of the last crop that began.
        more: bool [B, T]: tokens of another crop of the picture follow.
    """

    inside: torch.Tensor
    starts: torch.Tensor
    n_slices: torch.Tensor
    columns: torch.Tensor
    rows: torch.Tensor
    thumbnail: torch.Tensor
    first_slice: torch.Tensor
    slice_number: torch.Tensor
    crop: torch.Tensor
    more: torch.Tensor


def find_pictures(rows: TokenRows, blocks: Blocks, markers: torch.Tensor) -> Pictures:
    """Tell thumbnails from slices, and where each picture ends.

    Args:
        rows: the tokens.
        blocks: their crops.
        markers: 0 none, 1 a marker, 2 the marker before a slice; in the order of ``rows.types``.

    Returns:
        Numbers of pictures.

    Shape:
        markers [B, T]

    Example:
        >>> from ordinate.multimodal.blocks import find_blocks
        >>> from ordinate.multimodal.token_rows import token_rows
        >>> rows = token_rows(torch.tensor([[0, 1, 0, 0, 1, 0, 0]]), None)
        >>> blocks = find_blocks(rows, torch.ones(2, 3, dtype=torch.int64), torch.ones(0, 3, dtype=torch.int64))
        >>> find_pictures(rows, blocks, torch.tensor([[1, 0, 1, 2, 0, 1, 0]])).inside[0].long()
        tensor([1, 1, 1, 1, 1, 1, 0])
    """
    index = torch.arange(rows.types.shape[1], device=rows.types.device).expand_as(rows.types)
    crop = blocks.vision
    begins = crop & (blocks.within == 0)
    slices = begins & (begins.long().cumsum(1) > 1) & moved(markers == SLICE_START, 1)
    starts = moved(begins & ~slices, -1)
    picture = latest(starts, index)
    end = nearest_ahead(moved(starts, -1), index)  # the last token before the next picture
    counted, tokens = slices.long().cumsum(1), crop.long().cumsum(1)
    before = counted.gather(1, picture)
    n_slices = counted.gather(1, end) - before
    more = tokens.gather(1, end) > tokens
    silent = latest((rows.types == TEXT) & (markers == PLAIN), index - 1) < latest(crop, index)
    began = starts.long().cumsum(1) > 0
    inside = began & (starts | more | silent | crop) & (rows.types >= TEXT)
    number = counted - before - 1
    columns = _columns(index, picture, end, crop, slices, number, n_slices)
    height = n_slices // columns.clamp(min=1)
    whole = height * columns == n_slices
    first_slice = nearest_ahead(slices, index).gather(1, picture)
    return Pictures(
        inside=inside,
        starts=starts,
        n_slices=n_slices,
        columns=torch.where(whole, columns, n_slices),
        rows=torch.where(whole, height, 1),
        thumbnail=picture + 1,
        first_slice=first_slice,
        slice_number=number,
        crop=latest(begins, index),
        more=more,
    )


def _columns(
    index: torch.Tensor,
    picture: torch.Tensor,
    end: torch.Tensor,
    crop: torch.Tensor,
    slices: torch.Tensor,
    number: torch.Tensor,
    n_slices: torch.Tensor,
) -> torch.Tensor:
    """Slices before the first that stands on a new line: more than the two markers are between it and the one before."""
    last_crop_token = moved_index(latest(crop, index))
    new_line = slices & (number > 0) & (index - last_crop_token > 3)
    first = nearest_ahead(new_line, index).gather(1, picture)
    found = new_line.gather(1, first) & (first <= end)
    return torch.where(found, number.gather(1, first), n_slices)


def moved_index(index: torch.Tensor) -> torch.Tensor:
    """What the token before had; 0 for the first.

    Args:
        index: numbers of tokens.

    Returns:
        An int64 tensor.

    Shape:
        [B, T]

    Example:
        >>> moved_index(torch.tensor([[4, 5, 6]]))
        tensor([[0, 4, 5]])
    """
    out = torch.zeros_like(index)
    out[:, 1:] = index[:, :-1]
    return out
