"""Turn pairs of a vector by given angles: a pure function, without any scale.

    (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin)

Two layouts say which entries are a pair. "half": entry i with entry i + n/2 (Llama, GPT-NeoX). "interleaved": entry 2i with entry
2i + 1 (the RoFormer paper, GPT-J). Weights trained with one are wrong with the other.

The formula stands in ``ordinate.formula``. Compilers and function transforms get it as it is; plain eager calls go to a kernel that
gives the same bits, and those that need a gradient to an operator around it, whose backward is the inverse rotation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

import torch

from ordinate.checks import described, one_of
from ordinate.formula import Arithmetic as Arithmetic
from ordinate.formula import Layout as Layout
from ordinate.formula import Pairs, spread, tables, turned
from ordinate.kernels import operator
from ordinate.positions import Positions
from ordinate.watching import is_plain, transformed, watched

_grad = torch.is_grad_enabled


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

    Backward is the inverse rotation: nothing of x is kept, also where cos and sin are learned (those must not be 0 together then).

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
    return rotated((x,), cos, sin, layout, start, parts, sequence_dim, arithmetic)[0]


def rotate_(
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
    """Turn pairs in place, for inference: no new memory is taken.

    Args:
        x: vectors.
        cos: as for ``rotate``.
        sin: as for ``rotate``.
        layout: as for ``rotate``.
        start: as for ``rotate``.
        parts: as for ``rotate``.
        sequence_dim: as for ``rotate``.
        arithmetic: as for ``rotate``.

    Returns:
        x.

    Raises:
        ValueError: as ``rotate``; if a gradient is needed, or entries of x share memory.

    Shape:
        x [B, H, T, D], cos and sin [T, n] or [B, T, n] -> x

    Example:
        >>> x = torch.tensor([[[[1.0, 2.0]]]])
        >>> rotate_(x, torch.tensor([[0.0]]), torch.tensor([[1.0]]), layout="half") is x
        True
        >>> x
        tensor([[[[-2.,  1.]]]])
    """
    return rotated_in_place((x,), cos, sin, layout, start, parts, sequence_dim, arithmetic)[0]


def rotated(
    vectors: Sequence[torch.Tensor],
    cos: torch.Tensor,
    sin: torch.Tensor,
    layout: Layout,
    start: int,
    parts: int,
    sequence_dim: int,
    arithmetic: Arithmetic,
) -> list[torch.Tensor]:
    """Do as ``rotate`` does to several tensors, at most two of which share a launch.

    Args:
        vectors: what turns, of one dtype.
        cos: as for ``rotate``.
        sin: as for ``rotate``.
        layout: as for ``rotate``.
        start: as for ``rotate``.
        parts: as for ``rotate``.
        sequence_dim: as for ``rotate``.
        arithmetic: as for ``rotate``.

    Returns:
        New tensors.

    Raises:
        ValueError: as ``rotate``.

    Example:
        >>> x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> rotated((x, 2 * x), *quarter, "half", 0, 1, -2, "float32")
        [tensor([[[-2.,  1.]]]), tensor([[[-4.,  2.]]])]
    """
    pairs = _checked(vectors, cos, layout, start, parts, sequence_dim, arithmetic)
    cos, sin = tables(cos, sin, vectors[0].dtype, arithmetic)
    if transformed() or not all(is_plain(x) for x in (*vectors, cos, sin)):
        return [turned(x, cos, sin, pairs) for x in vectors]
    vectors, cos, sin = [x.resolve_neg() for x in vectors], cos.resolve_neg(), sin.resolve_neg()
    wanted = [_grad() and (x.requires_grad or cos.requires_grad or sin.requires_grad) for x in vectors]
    if watched() or all(wanted):
        return operator.rotate(vectors, cos, sin, pairs)
    if any(wanted):  # each for itself: one operator would ask for the gradient of both
        return [rotated((x,), cos, sin, layout, start, parts, sequence_dim, arithmetic)[0] for x in vectors]
    outs = [operator.room_for(x, cos) for x in vectors]
    operator.turn(list(zip(vectors, outs, strict=True)), cos, sin, pairs)
    return outs


def rotated_in_place(
    vectors: Sequence[torch.Tensor],
    cos: torch.Tensor,
    sin: torch.Tensor,
    layout: Layout,
    start: int,
    parts: int,
    sequence_dim: int,
    arithmetic: Arithmetic,
) -> Sequence[torch.Tensor]:
    """Do as ``rotate_`` does to several tensors; none is touched if one of them is refused.

    Args:
        vectors: what turns, of one dtype.
        cos: as for ``rotate``.
        sin: as for ``rotate``.
        layout: as for ``rotate``.
        start: as for ``rotate``.
        parts: as for ``rotate``.
        sequence_dim: as for ``rotate``.
        arithmetic: as for ``rotate``.

    Returns:
        The same tensors.

    Raises:
        ValueError: as ``rotate_``.

    Example:
        >>> x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> rotated_in_place((x,), *quarter, "half", 0, 1, -2, "float32")[0] is x
        True
    """
    pairs = _checked(vectors, cos, layout, start, parts, sequence_dim, arithmetic)
    for x in vectors:
        if _grad() and (x.requires_grad or cos.requires_grad or sin.requires_grad):
            raise ValueError("x: needed vectors that no gradient is wanted for, got requires_grad=True; use rotate, or no_grad()")
        if any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride(), strict=True)):
            raise ValueError("x: needed entries with memory of their own, got an expanded tensor; use rotate, or x.clone()")
    cos, sin = tables(cos, sin, vectors[0].dtype, arithmetic)
    by_operators = watched() or any(not is_plain(x) or x.is_neg() for x in (*vectors, cos, sin))
    if len({id(x) if by_operators else x.data_ptr() for x in vectors if x.numel()}) < sum(x.numel() > 0 for x in vectors):
        raise ValueError("q, k: needed two tensors, got one memory for both, which would be turned twice")
    if by_operators:
        for x in vectors:
            x.copy_(turned(x, cos, sin, pairs))
    else:
        operator.turn([(x, x) for x in vectors], cos, sin, pairs)
        for x in vectors:
            if not x.is_inference():
                torch.autograd.graph.increment_version(x)
    return vectors


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
    entries = cos.shape[-1]
    cos, sin = (spread(table, x.ndim, sequence_dim).to(work) for table in tables(cos, sin, x.dtype, arithmetic))
    part = x[..., :entries].to(work)
    if layout == "half":
        first, second = part.chunk(2, dim=-1)
        swapped = torch.cat((-second, first), dim=-1)
    else:
        swapped = torch.stack((-part[..., 1::2], part[..., 0::2]), dim=-1).flatten(-2)
    out = (part * cos + swapped * sin).to(x.dtype)
    return out if entries == x.shape[-1] else torch.cat((out, x[..., entries:]), dim=-1)


def _checked(
    vectors: Sequence[torch.Tensor],
    cos: torch.Tensor,
    layout: Layout,
    start: int,
    parts: int,
    sequence_dim: int,
    arithmetic: Arithmetic,
) -> Pairs:
    one_of("layout", layout, get_args(Layout))
    one_of("arithmetic", arithmetic, get_args(Arithmetic))
    one_of("sequence_dim", sequence_dim, (-2, -3))
    width = start + 2 * cos.shape[-1]
    if parts < 1 or cos.shape[-1] % parts:
        raise ValueError(f"parts: needed a number that divides the {cos.shape[-1]} pairs, got {parts}")
    for x in vectors:
        if not x.is_floating_point() or x.ndim < 2 or start < 0 or width > x.shape[-1]:
            raise ValueError(f"x: needed a floating tensor with at least {width} entries in its last dim, got {described(x)}")
    return Pairs(
        layout, start, parts, sequence_dim, arithmetic == "input" and vectors[0].dtype not in (torch.float32, torch.float64)
    )
