"""Text counts on through an image; the image's tokens have column, row and number on the last three axes: HunYuan-VL.

Differs from all others: an image does not shorten the count, and its rows end in a newline token that is a column of its own.
"""

from __future__ import annotations

import torch

from ordinate.checks import whole_number
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.neighbours import latest, moved, nearest_ahead
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.token_rows import IMAGE, require, token_rows


def width_height_image(
    within: torch.Tensor, columns: torch.Tensor, number: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The last three axes of an image's n-th token: its column, its row, and which image it is.

    Args:
        within: n.
        columns: columns of the image, the newlines' too.
        number: which image.

    Returns:
        Three tensors.

    Shape:
        [B, T] each

    Example:
        >>> [axis.tolist() for axis in width_height_image(torch.arange(4), torch.tensor(3), torch.full((4,), 7))]
        [[0, 1, 2, 0], [0, 0, 0, 1], [7, 7, 7, 7]]
    """
    return within % columns, within // columns, number


def hunyuan_vl_positions(
    token_types: torch.Tensor,
    *,
    image_grids: Grids = None,
    spatial_merge: int,
    axes: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions of HunYuan-VL and HunYuanOCR on ``axes`` axes, of which the last three are (width, height, image).

    A text token has its place in the row on every axis. A token of an image has its column, its row and the image's number
    instead on the last three: neither is counted from where the image stands. Each row of an image has one more column, the
    newline token. The run of an image's tokens may have a marker at either end, which counts as text. The number goes on
    through the whole batch, as the model's own code has it, so that an image in the second row of a batch has another number
    than it would have alone.

    Args:
        token_types: 0 text, 1 image (its newlines, and its two markers or not). Tensors are never read by the host, except to word
            an error.
        image_grids: (frames, rows, columns) of each image in patches, in order, row after row of the batch; frames are not
            looked at.
        spatial_merge: how many rows, and how many columns, of patches become one token.
        axes: how many axes the model has, the length of ``mrope_section``: at least 3.
        mask: true for a real token; pad slots are given 0 and count nothing.

    Returns:
        What unpacks into positions and deltas.

    Shape:
        token_types [B, T] -> positions [B, T, axes], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens and grids do not agree.

    Example:
        >>> types = torch.tensor([[0, 1, 1, 1, 1, 1, 0]])
        >>> positions, deltas = hunyuan_vl_positions(types, image_grids=[(1, 2, 4)], spatial_merge=2, axes=4)
        >>> positions[0].T
        tensor([[0, 1, 2, 3, 4, 5, 6],
                [0, 1, 0, 1, 2, 5, 6],
                [0, 1, 0, 0, 0, 5, 6],
                [0, 1, 0, 0, 0, 5, 6]])
    """
    rows = token_rows(token_types, mask, IMAGE)
    images = merged(
        "image_grids", image_grids, by=(1, whole_number("spatial_merge", spatial_merge, least=1)), device=rows.types.device
    )
    index = torch.arange(rows.types.shape[1], device=rows.types.device).expand_as(rows.types)
    image = rows.types == IMAGE
    starts = image & ~moved(image, 1)
    number = starts.flatten().long().cumsum(0).view_as(index) - 1
    require(
        starts.sum() == len(images),
        lambda: f"image_grids: needed {int(starts.sum())} grids, one for each run of image tokens, got {len(images)}",
    )
    table = torch.cat((images, images.new_ones(1, 3)))
    _, height, width = table[number.clamp(0, max(len(images) - 1, 0))].unbind(-1)
    begin, end = latest(starts, index), nearest_ahead(image & ~moved(image, -1), index)
    tokens = height * (width + 1)
    spare = end - begin + 1 - tokens
    require(
        (~starts | (spare == 0) | (spare == 2)).all(),
        lambda: (
            f"token_types: needed runs of rows x (columns + 1) image tokens, or 2 more, got {(tokens + spare)[starts].tolist()} "
            f"for {tokens[starts].tolist()}"
        ),
    )
    within = index - begin - spare // 2
    inside = image & (within >= 0) & (within < tokens)
    own = torch.stack(width_height_image(within, width + 1, number), dim=-1)
    plain = index[..., None].expand(-1, -1, whole_number("axes", axes, least=3))
    last_three = torch.where(inside[..., None], own, plain[..., -3:])
    return rows.finished(torch.cat((plain[..., :-3], last_three), dim=-1))
