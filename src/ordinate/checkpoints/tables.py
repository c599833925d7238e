"""Learned position tables at another length, image grid or window.

Where known implementations differ: a grid is stretched by "bicubic" or "bilinear" weights, with or without antialiasing (it matters
when a grid shrinks). Rows for class and register tokens, or for padding, stand in front and are no part of the grid; BEiT's bias
tables have theirs at the end. Height comes before width, and rows of a grid follow one another. The target is a size in whole
numbers: from a scale factor, a grid of 37 does not always become 39.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

import torch
import torch.nn.functional as F

from ordinate.checks import described
from ordinate.resampling import LengthMethod, resample_rows
from ordinate.scaling.rule import require, whole

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
GridMethod = Literal["bicubic", "bilinear"]


def resize_table(
    table: torch.Tensor,
    new: int | Sequence[int],
    *,
    method: LengthMethod | GridMethod,
    grid: Sequence[int] | None = None,
    prefix_tokens: int = 0,
    padding_offset: int = 0,
    antialias: bool = False,
) -> torch.Tensor:
    """Give a table of position vectors for another length, or for another image grid.

    Args:
        table: one row a position, floating.
        new: the length wanted, or the grid wanted as (height, width); without the rows in front.
        method: for a length "linear", "nearest" or "truncate" (the first rows, none new); for a grid "bicubic" or "bilinear". No
            default: the model's own code decides.
        grid: (height, width) of the old grid; a square if None. Not for a length.
        prefix_tokens: rows in front for class and register tokens, kept bit for bit.
        padding_offset: rows in front for padding (2 in RoBERTa and OPT), kept bit for bit.
        antialias: whether a shrinking grid averages over all old rows that it covers, as in DINOv2 with registers and SigLIP 2. Not
            for a length.

    Returns:
        A new tensor in the table's dtype, without gradient history; computed in float32 (float64 for float64) and rounded once.

    Raises:
        ValueError: if sizes, rows or the method do not fit; all faults in one message.

    Shape:
        [front + old, d] -> [front + new, d], or with a leading 1; front = prefix_tokens + padding_offset, height * width for a grid

    Example:
        >>> table = torch.randn(1 + 37 * 37, 8)
        >>> resize_table(table, (39, 20), method="bicubic", prefix_tokens=1).shape
        torch.Size([781, 8])
        >>> resize_table(torch.randn(514, 8), 1024, method="linear", padding_offset=2).shape
        torch.Size([1026, 8])

    Reference:
        Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929, section 3.2

    Differs from:
        transformers: an old grid that is no square is stretched too; ViT, CLIP and others take any table for a square.
    """
    faults = _table_faults(table)
    faults += whole("prefix_tokens", prefix_tokens, least=0) + whole("padding_offset", padding_offset, least=0)
    faults += _target_faults(new, method, grid, antialias)
    require("resize_table", faults or _old_faults(table, prefix_tokens + padding_offset, grid, square=isinstance(new, Sequence)))
    flat, kept = table.detach().reshape(table.shape[-2:]), prefix_tokens + padding_offset
    front, old = flat[:kept], flat[kept:]
    if isinstance(new, Sequence):
        resized = _stretch(old, _square(len(old)) if grid is None else _pair(grid), _pair(new), method, antialias)
    else:
        resized = resample_rows(old, int(new), method=cast(LengthMethod, method))
    return torch.cat((front, resized)).reshape(*table.shape[:-2], -1, table.shape[-1])


def resize_bias_table(
    table: torch.Tensor,
    new_window: Sequence[int],
    *,
    method: GridMethod,
    window: Sequence[int] | None = None,
    extra_rows: int = 0,
) -> torch.Tensor:
    """Give a table of relative position biases (Swin, BEiT) for another window.

    A window of height h and width w has (2h - 1)(2w - 1) distances; that of (dy, dx) has row (dy + h - 1)(2w - 1) + dx + w - 1.
    The middle row stays the middle row.

    Args:
        table: one row a distance, one column a head, floating.
        new_window: (height, width) wanted.
        method: "bicubic" (Swin's authors) or "bilinear" (transformers' BEiT). No default: the model's own code decides.
        window: (height, width) of the old window; a square if None.
        extra_rows: rows at the end that belong to no distance (3 in BEiT: class to token, token to class, class to class), kept bit
            for bit.

    Returns:
        A new tensor in the table's dtype, without gradient history; computed in float32 (float64 for float64) and rounded once.

    Raises:
        ValueError: if sizes, rows or the method do not fit; all faults in one message.

    Shape:
        [(2h - 1)(2w - 1) + extra_rows, heads] -> the same with the new h and w

    Example:
        >>> table = torch.randn(13 * 13, 4)
        >>> resize_bias_table(table, (12, 8), method="bicubic").shape
        torch.Size([345, 4])

    Reference:
        Liu et al. 2021, https://arxiv.org/abs/2103.14030, section 3.2; Bao et al. 2021, https://arxiv.org/abs/2106.08254

    Differs from:
        transformers' BEiT and Data2VecVision take the old table as (width, height), and garble it where the window is no square.
    """
    faults = _table_faults(table, ndim=(2,)) + _size_faults("new_window", new_window) + whole("extra_rows", extra_rows, least=0)
    faults += [] if window is None else _size_faults("window", window)
    faults += _method_faults(method, GridMethod)
    require("resize_bias_table", faults or _distance_faults(table, window, extra_rows))
    rows = len(table) - extra_rows
    old, flat = _square(rows) if window is None else _distances(window), table.detach()
    return torch.cat((_stretch(flat[:rows], old, _distances(new_window), method), flat[rows:]))


def _stretch(rows: torch.Tensor, old: tuple[int, int], new: tuple[int, int], method: str, antialias: bool = False) -> torch.Tensor:
    """Rows of one grid at the places of another, centres of cells on centres of cells (align_corners=False)."""
    if old == new:
        return rows
    work = rows.to(torch.promote_types(rows.dtype, torch.float32))
    image = work.reshape(1, *old, rows.shape[-1]).permute(0, 3, 1, 2)
    stretched = F.interpolate(image, size=new, mode=method, align_corners=False, antialias=antialias)
    return stretched.permute(0, 2, 3, 1).reshape(-1, rows.shape[-1]).to(rows.dtype)


def _pair(size: Sequence[int]) -> tuple[int, int]:
    return int(size[0]), int(size[1])


def _distances(window: Sequence[int]) -> tuple[int, int]:
    return 2 * int(window[0]) - 1, 2 * int(window[1]) - 1


def _square(rows: int) -> tuple[int, int]:
    side = math.isqrt(max(rows, 0))
    return side, side


def _table_faults(table: Any, ndim: tuple[int, ...] = (2, 3)) -> list[str]:
    shapes = "[rows, d] or [1, rows, d]" if 3 in ndim else "[rows, heads]"
    fits = isinstance(table, torch.Tensor) and table.dtype in DTYPES and table.ndim in ndim and table.shape[-1] > 0
    if fits and (table.ndim == 2 or len(table) == 1):
        return []
    return [f"table: needed a floating tensor {shapes}, got {described(table)}"]


def _size_faults(name: str, size: Any) -> list[str]:
    if isinstance(size, str) or not isinstance(size, Sequence) or len(size) != 2:
        return [f"{name}: needed (height, width), got {described(size)}"]
    return whole(f"{name}[0]", size[0], least=1) + whole(f"{name}[1]", size[1], least=1)


def _target_faults(new: Any, method: Any, grid: Any, antialias: Any) -> list[str]:
    """What is wrong with the size wanted, and with choices that fit a length or a grid only."""
    faults = [] if isinstance(antialias, bool) else [f"antialias: needed True or False, got {antialias!r}"]
    if isinstance(new, Sequence):
        faults += _size_faults("new", new) + _method_faults(method, GridMethod, " for a grid")
        return faults if grid is None else faults + _size_faults("grid", grid)
    faults += whole("new", new, least=1) + _method_faults(method, LengthMethod, " for a length")
    if grid is not None or antialias is True:
        faults.append(f"new: needed (height, width) beside grid={grid} and antialias={antialias}, got {new!r}")
    return faults


def _method_faults(method: Any, known: Any, purpose: str = "") -> list[str]:
    return [] if method in get_args(known) else [f"method: needed one of {', '.join(get_args(known))}{purpose}, got {method!r}"]


def _old_faults(table: torch.Tensor, kept: int, grid: Sequence[int] | None, *, square: bool) -> list[str]:
    """What is wrong with the number of rows behind those in front."""
    rows = table.shape[-2] - kept
    if rows < 1:
        return [f"table: needed more rows than the {kept} of prefix_tokens and padding_offset, got {described(table)}"]
    height, width = _square(rows) if grid is None else grid
    if not square or height * width == rows:
        return []
    asked = "the square of a whole number" if grid is None else f"{height * width} (grid={tuple(grid)})"
    return [f"table: needed {asked} of rows behind those in front, got {rows}; grid=(height, width) and prefix_tokens say which"]


def _distance_faults(table: torch.Tensor, window: Sequence[int] | None, extra_rows: int) -> list[str]:
    rows = len(table) - extra_rows
    height, width = _square(rows) if window is None else _distances(window)
    if rows >= 1 and height * width == rows and height % 2 and width % 2:
        return []
    asked = "the square of an odd number" if window is None else f"{height * width} (window={tuple(window)})"
    return [f"table: needed {asked} of rows and extra_rows={extra_rows}, got {len(table)}; window=(height, width) says which"]
