"""Turn pairs of a vector by given angles: a pure formula, without any scale.

    (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin)

Two layouts say which entries are a pair. "half": entry i with entry i + n/2 (Llama, GPT-NeoX). "interleaved": entry 2i with entry
2i + 1 (the RoFormer paper, GPT-J). Weights trained with one are wrong with the other.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch

from ordinate.checks import described, one_of
from ordinate.positions import Positions

Layout = Literal["half", "interleaved"]
Arithmetic = Literal["float32", "input", "mixed"]


class Rotation(NamedTuple):
    """What a rotary scheme's ``at`` gives: cos and sin [T, n] or [B, T, n] in float32, and what they were made from."""

    cos: torch.Tensor
    sin: torch.Tensor
    positions: Positions
    made_by: str


def rotate(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *,
    layout: Layout,
    start: int = 0,
    parts: int = 1,
    sequence_dim: int = -2,
    arithmetic: Arithmetic = "float32",
) -> torch.Tensor:
    """Turn the pairs in x[..., start : start + 2n]; the other entries pass through bit for bit.

    Args:
        x: vectors.
        cos: cosines of the angles of n pairs.
        sin: sines of the same.
        layout: which entries make a pair.
        start: first entry that is turned.
        parts: equal parts that the turned entries are cut in before they are paired, so that each part holds its own pairs.
        sequence_dim: -2 for x [B, H, T, D], -3 for [B, T, H, D] and packed [N, H, D].
        arithmetic: "float32": multiply in float32 (float64 for float64 x) and round once to x's dtype. "input": cos, sin and every
            product are rounded to x's dtype, in the order x cos + rotate_half(x) sin, as most transformers models do. "mixed": cos
            and sin are rounded to x's dtype, what follows is "float32", as Cohere's models and ModernBERT do.

    Returns:
        A new tensor with the shape and dtype of x.

    Raises:
        ValueError: if a choice is unknown, x is not floating, or the pairs reach past its end.

    Shape:
        x [B, H, T, D], cos and sin [T, n] or [B, T, n] -> [B, H, T, D]

    Example:
        >>> x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
        >>> quarter = (torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 0.0]]))
        >>> rotate(x, *quarter, layout="half")
        tensor([[[[-3.,  2.,  1.,  4.]]]])
        >>> rotate(x, *quarter, layout="interleaved")
        tensor([[[[-2.,  1.,  3.,  4.]]]])
    """
    one_of("layout", layout, get_args(Layout))
    one_of("arithmetic", arithmetic, get_args(Arithmetic))
    one_of("sequence_dim", sequence_dim, (-2, -3))
    width = start + 2 * cos.shape[-1]
    if parts < 1 or cos.shape[-1] % parts:
        raise ValueError(f"parts: needed a number that divides the {cos.shape[-1]} pairs, got {parts}")
    if not x.is_floating_point() or x.ndim < 2 or start < 0 or width > x.shape[-1]:
        raise ValueError(f"x: needed a floating tensor with at least {width} entries in its last dim, got {described(x)}")
    work = x.dtype if arithmetic == "input" else torch.promote_types(x.dtype, torch.float32)
    pairs = cos.shape[-1]
    kept = x.dtype if arithmetic == "mixed" else work
    cos, sin = (_spread(table, x.ndim, sequence_dim).to(kept).to(work) for table in (cos, sin))
    stop = start + 2 * pairs
    turned = _turn(x[..., start:stop].to(work), cos, sin, layout, parts).to(x.dtype)
    if stop - start == x.shape[-1]:
        return turned
    return torch.cat((x[..., :start], turned, x[..., stop:]), dim=-1)


def with_swapped(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *,
    layout: Layout,
    sequence_dim: int = -2,
    arithmetic: Arithmetic = "float32",
) -> torch.Tensor:
    """Give x cos + swapped(x) sin, entry by entry, for the first n entries; a rotation where both entries of a pair have one angle.

    Args:
        x: vectors.
        cos: cosines of the angles of n entries.
        sin: sines of the same.
        layout: which entries are swapped, the second one with its sign changed.
        sequence_dim: as for ``rotate``.
        arithmetic: as for ``rotate``.

    Returns:
        A new tensor with the shape and dtype of x.

    Shape:
        x [B, H, T, D], cos and sin [T, n] or [B, T, n] -> [B, H, T, D]

    Example:
        >>> x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
        >>> cos, sin = torch.tensor([[1.0, 0.0, 0.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0, 0.0]])
        >>> with_swapped(x, cos, sin, layout="half")
        tensor([[[[ 1., -4.,  1.,  4.]]]])
    """
    work = x.dtype if arithmetic == "input" else torch.promote_types(x.dtype, torch.float32)
    kept, entries = x.dtype if arithmetic == "mixed" else work, cos.shape[-1]
    cos, sin = (_spread(table, x.ndim, sequence_dim).to(kept).to(work) for table in (cos, sin))
    part = x[..., :entries].to(work)
    if layout == "half":
        first, second = part.chunk(2, dim=-1)
        swapped = torch.cat((-second, first), dim=-1)
    else:
        swapped = torch.stack((-part[..., 1::2], part[..., 0::2]), dim=-1).flatten(-2)
    out = (part * cos + swapped * sin).to(x.dtype)
    return out if entries == x.shape[-1] else torch.cat((out, x[..., entries:]), dim=-1)


def _spread(table: torch.Tensor, ndim: int, sequence_dim: int) -> torch.Tensor:
    """Give cos or sin singleton dims where x has heads, so that it broadcasts against x."""
    batched = table.ndim == 3
    if sequence_dim == -3:
        table = table.unsqueeze(-2)
    while batched and table.ndim < ndim:
        table = table.unsqueeze(1)
    return table


def _turn(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, layout: Layout, parts: int) -> torch.Tensor:
    if parts > 1:
        x, cos, sin = (entries.reshape(*entries.shape[:-1], parts, entries.shape[-1] // parts) for entries in (x, cos, sin))
        return _turn(x, cos, sin, layout, 1).flatten(-2)
    if layout == "half":
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1).flatten(-2)
