"""A thumbnail is stretched over the canvas that its slices tile: MiniCPM-V 4.7."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ordinate.checks import described, whole_number
from ordinate.multimodal.blocks import Blocks, find_blocks, lay_out, raster, require_unbroken
from ordinate.multimodal.crops import Pictures, find_pictures
from ordinate.multimodal.grids import merged
from ordinate.multimodal.neighbours import moved
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.token_rows import TEXT, TYPE_DTYPES, TokenRows, require, token_rows
from ordinate.positions import INTEGER_DTYPES

Sizes = Sequence[Sequence[int]] | torch.Tensor | None


def minicpm_v_positions(
    token_types: torch.Tensor,
    *,
    markers: torch.Tensor,
    image_crops: Sizes = None,
    video_crops: Sizes = None,
    spatial_merge: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions (t, h, w) of MiniCPM-V 4.7.

    A picture that begins at p is a canvas of H x W tokens: its own size, or all its slices together. All its tokens have t = p.
    The thumbnail's rows and columns are spread evenly over the canvas and rounded to whole steps (half to even); slice k of c a
    row begins at row (k // c) x height, column (k mod c) x width of the first slice. Markers stand at the corners: the one
    before the thumbnail one step outside the canvas (never below 0), the one behind it at (H, W), those of a slice at its first
    and last token, the new line between rows of slices at (last row above, W), all others at p. Text goes on at p + max(H, W) +
    1.

    Args:
        token_types: 0 text, 1 image, 2 video; each run is a crop. Tensors are never read by the host, except to word an error.
        markers: 0 for other tokens, 1 for a marker (image start and end, slice end, new line), 2 for the marker before a slice.
        image_crops: (rows, columns) of each crop in patches, thumbnails and slices in order, row after row of the batch.
        video_crops: the same of crops of videos.
        spatial_merge: how many rows, and how many columns, of patches become one token: 4, or 2 in the "4x" mode.
        mask: true for a real token; pad slots are given 0 and count nothing.

    Returns:
        What unpacks into positions and deltas.

    Shape:
        token_types [B, T], markers [B, T] -> positions [B, T, 3], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens, markers and crops do not agree.

    Example:
        >>> types = torch.tensor([[0, 0, 1, 1, 0, 0]])
        >>> positions, deltas = minicpm_v_positions(
        ...     types, markers=torch.tensor([[0, 1, 0, 0, 1, 0]]), image_crops=[(2, 4)], spatial_merge=2
        ... )
        >>> positions[0].T
        tensor([[0, 1, 1, 1, 1, 4],
                [0, 0, 1, 1, 2, 4],
                [0, 0, 1, 2, 3, 4]])
    """
    rows = token_rows(token_types, mask)
    by = (1, whole_number("spatial_merge", spatial_merge, least=1))
    images = merged("image_crops", _as_grids("image_crops", image_crops), by=by, device=rows.types.device)
    videos = merged("video_crops", _as_grids("video_crops", video_crops), by=by, device=rows.types.device)
    blocks = find_blocks(rows, images, videos)
    require_unbroken(blocks, blocks.within)
    pictures = find_pictures(rows, blocks, rows.reordered(_checked(markers, rows)))
    opening = ~(blocks.vision & (blocks.within == 0)) | moved(rows.types == TEXT, 1)
    require(opening.all(), lambda: "markers: needed a text token, the marker, before every crop, got a crop without one")
    each = (blocks.rows.gather(1, pictures.first_slice), blocks.columns.gather(1, pictures.first_slice))
    canvas = _canvas(rows, blocks, pictures, each)
    around = _of_markers(blocks, pictures, canvas, each)
    inside = torch.where(blocks.vision[..., None], _of_crops(blocks, pictures, canvas, each), around)
    inside = torch.cat((torch.zeros_like(inside[..., :1]), inside), dim=-1)
    advance = torch.maximum(*canvas) + 1
    placed = lay_out(rows, block=pictures.inside, starts=pictures.starts, advance=advance, inside=inside)
    return rows.finished(placed.clamp(min=0))


def spread(index: torch.Tensor, size: torch.Tensor, canvas: torch.Tensor) -> torch.Tensor:
    """Whole step of the n-th of ``size`` places spread evenly from 0 to canvas - 1, counted from the nearer end in float32.

    Args:
        index: n.
        size: how many places.
        canvas: how many steps.

    Returns:
        An int64 tensor.

    Shape:
        [B, T] each

    Example:
        >>> spread(torch.arange(3), torch.tensor(3), torch.tensor(6))
        tensor([0, 2, 5])
    """
    last = (canvas - 1).float()
    step = last / (size - 1).clamp(min=1)
    from_end = last - step * (size - 1 - index)
    place = torch.where(index < size // 2, step * index, from_end)
    return torch.where(size == 1, 0.0, place).round().long()


Pair = tuple[torch.Tensor, torch.Tensor]


def _canvas(rows: TokenRows, blocks: Blocks, pictures: Pictures, each: Pair) -> Pair:
    """Rows and columns of the picture: of all slices together, or of the thumbnail where there are none."""
    # Where no picture is, the index may be one beyond the row.
    thumbnail = pictures.thumbnail.clamp(max=max(rows.types.shape[1] - 1, 0))
    sliced = pictures.n_slices > 0
    height = torch.where(sliced, pictures.rows * each[0], blocks.rows.gather(1, thumbnail))
    return height, torch.where(sliced, pictures.columns * each[1], blocks.columns.gather(1, thumbnail))


def _corner(number: torch.Tensor, pictures: Pictures, each: Pair) -> Pair:
    """Where a slice begins on the canvas."""
    columns = pictures.columns.clamp(min=1)
    return number // columns * each[0], number % columns * each[1]


def _of_crops(blocks: Blocks, pictures: Pictures, canvas: Pair, each: Pair) -> torch.Tensor:
    """Row and column on the canvas of a crop's token."""
    _, row, column = raster(blocks.within, blocks.rows, blocks.columns)
    is_slice = pictures.slice_number >= 0
    corner = _corner(pictures.slice_number, pictures, each)
    axes = zip((row, column), (blocks.rows, blocks.columns), canvas, corner, strict=True)
    return torch.stack([torch.where(is_slice, at + own, spread(own, size, whole)) for own, size, whole, at in axes], dim=-1)


def _of_markers(blocks: Blocks, pictures: Pictures, canvas: Pair, each: Pair) -> torch.Tensor:
    """Row and column on the canvas of what stands around the crops; a later rule wins over an earlier one."""
    crop, number = blocks.vision, pictures.slice_number
    behind, before = moved(crop, 1), moved(crop & (blocks.within == 0), -1)
    corner, following = _corner(number, pictures, each), _corner(number + 1, pictures, each)
    own = (blocks.rows.gather(1, pictures.crop), blocks.columns.gather(1, pictures.crop))
    new_line = (number >= 0) & pictures.more & ~behind & ~before
    edge = (corner[0] + each[0] - 1, pictures.columns * each[1])
    out = []
    for axis in range(2):
        place = torch.where(new_line, edge[axis], 0)
        place = torch.where(behind & (number < 0), canvas[axis], place)
        place = torch.where(behind & (number >= 0), corner[axis] + own[axis] - 1, place)
        place = torch.where(before & ~pictures.starts, following[axis], place)
        out.append(torch.where(pictures.starts, -1, place))
    return torch.stack(out, dim=-1)


def _as_grids(name: str, crops: Sizes) -> Sequence[Sequence[int]] | torch.Tensor | None:
    """Rows and columns as grids of one frame."""
    if isinstance(crops, torch.Tensor):
        if crops.ndim != 2 or crops.shape[1] != 2 or crops.dtype not in INTEGER_DTYPES:
            raise ValueError(f"{name}: needed an integer tensor [N, 2] (rows, columns), got {described(crops)}")
        return torch.nn.functional.pad(crops, (1, 0), value=1)
    if crops is None:
        return None
    if any(not isinstance(crop, Sequence) or len(crop) != 2 for crop in crops):
        raise ValueError(f"{name}: needed (rows, columns) for each, got {described(crops)}")
    return [(1, *crop) for crop in crops]


def _checked(markers: torch.Tensor, rows: TokenRows) -> torch.Tensor:
    shape = list(rows.types.shape)
    if not isinstance(markers, torch.Tensor) or list(markers.shape) != shape or markers.dtype not in TYPE_DTYPES:
        raise ValueError(f"markers: needed an integer tensor {shape} (0 none, 1 marker, 2 slice start), got {described(markers)}")
    if markers.device != rows.types.device:
        raise ValueError(f"markers: needed a tensor on {rows.types.device}, where token_types is, got one on {markers.device}")
    require(
        ((markers >= 0) & (markers <= 2)).all(),
        lambda: f"markers: needed 0 none, 1 marker or 2 slice start, got {int(markers.min())} to {int(markers.max())}",
    )
    return markers
