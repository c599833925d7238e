"""The arithmetic of a rotation in PyTorch's own operators: what every kernel must equal bit for bit.

    (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin)

Compilers, exporters and function transforms see this form; there is another one, on the CPU in eager mode, that does the same
steps in blocks and in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch

Layout = Literal["half", "interleaved"]
Arithmetic = Literal["float32", "input", "mixed"]

# Entries of a block: 1 MiB of float32, so that a block and what is made of it stay in the second caches of two cores.
BLOCK = 2**18


class Pairs(NamedTuple):
    """Which entries of a vector are pairs, where its tokens lie, and whether every product is rounded to the vector's dtype.

    Example:
        >>> Pairs(layout="half", start=0, parts=1, sequence_dim=-2, rounds=False).layout
        'half'
    """

    layout: Layout
    start: int
    parts: int
    sequence_dim: int
    rounds: bool


def tables(cos: torch.Tensor, sin: torch.Tensor, dtype: torch.dtype, arithmetic: Arithmetic) -> tuple[torch.Tensor, torch.Tensor]:
    """Bring cos and sin to the dtype that is worked in, by way of the vectors' own where the arithmetic rounds them to it.

    Args:
        cos: cosines.
        sin: sines.
        dtype: of the vectors.
        arithmetic: as for ``rotate``.

    Returns:
        cos and sin in float32 (float64 for float64 vectors).

    Example:
        >>> third = torch.tensor([1 / 3])
        >>> tables(third, third, torch.bfloat16, "mixed")[0]
        tensor([0.3340])
    """
    work = torch.float64 if dtype == torch.float64 else torch.float32
    kept = work if arithmetic == "float32" else dtype
    return cos.to(kept).to(work), sin.to(kept).to(work)


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs) -> torch.Tensor:
    """Turn pairs by the formula, in operators that compilers and function transforms know.

    Args:
        x: vectors.
        cos: cosines from ``tables``.
        sin: sines.
        pairs: which entries.

    Returns:
        A new tensor.

    Shape:
        x [B, H, T, D], cos and sin [T, n] or [B, T, n] -> as x

    Example:
        >>> x, quarter = torch.tensor([[1.0, 2.0]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> turned(x, *quarter, Pairs("half", 0, 1, -2, False))
        tensor([[-2.,  1.]])
    """
    stop = pairs.start + 2 * cos.shape[-1]
    work = x.dtype if pairs.rounds else cos.dtype
    cos, sin = (spread(table, x.ndim, pairs.sequence_dim).to(work) for table in (cos, sin))
    part = _turn(x[..., pairs.start : stop].to(work), cos, sin, pairs.layout, pairs.parts).to(x.dtype)
    if stop - pairs.start == x.shape[-1]:
        return part
    return torch.cat((x[..., : pairs.start], part, x[..., stop:]), dim=-1)


def turn_into(out: torch.Tensor, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs) -> None:
    """Turn pairs by the same steps, block by block, without more memory than a block.

    Args:
        out: where the result goes, shaped as x; x itself turns it in place.
        x: vectors.
        cos: cosines from ``tables``.
        sin: sines.
        pairs: which entries.

    Example:
        >>> x, quarter = torch.tensor([[1.0, 2.0]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> turn_into(x, x, *quarter, Pairs("half", 0, 1, -2, False))
        >>> x
        tensor([[-2.,  1.]])
    """
    stop = pairs.start + 2 * cos.shape[-1]
    if out is not x:
        out[..., : pairs.start] = x[..., : pairs.start]
        out[..., stop:] = x[..., stop:]
    cos, sin = (spread(table, x.ndim, pairs.sequence_dim).expand(*x.shape[:-1], table.shape[-1]) for table in (cos, sin))
    _turn_blocks(out[..., pairs.start : stop], x[..., pairs.start : stop], cos, sin, pairs)


def spread(table: torch.Tensor, ndim: int, sequence_dim: int) -> torch.Tensor:
    """Give cos or sin singleton dims where x has heads, so that it broadcasts against x.

    Args:
        table: [T, n] or [B, T, n].
        ndim: dims of x.
        sequence_dim: -2 for x [B, H, T, D], -3 for [B, T, H, D] and [N, H, D].

    Returns:
        A view.

    Example:
        >>> spread(torch.zeros(2, 5, 3), 4, -2).shape
        torch.Size([2, 1, 5, 3])
    """
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
    first, second = _halves(x, layout)
    pair = (first * cos - second * sin, second * cos + first * sin)
    return torch.cat(pair, dim=-1) if layout == "half" else torch.stack(pair, dim=-1).flatten(-2)


def _halves(x: torch.Tensor, layout: Layout) -> Sequence[torch.Tensor]:
    """First and second entries of the pairs, as views."""
    return x.chunk(2, dim=-1) if layout == "half" else (x[..., 0::2], x[..., 1::2])


def _turn_blocks(out: torch.Tensor, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs) -> None:
    """Cut along the longest dim until a block is small, then turn it."""
    if x.numel() > BLOCK and x.device.type == "cpu":
        longest = max(range(x.ndim - 1), key=lambda dim: x.shape[dim])
        if x.shape[longest] > 1:
            pieces = -(-x.numel() // BLOCK)
            blocks = (tensor.chunk(pieces, dim=longest) for tensor in (out, x, cos, sin))
            for out_block, x_block, cos_block, sin_block in zip(*blocks, strict=True):
                _turn_blocks(out_block, x_block, cos_block, sin_block, pairs)
            return
    if pairs.parts > 1:
        out, x, cos, sin = (e.view(*e.shape[:-1], pairs.parts, e.shape[-1] // pairs.parts) for e in (out, x, cos, sin))
    work = x.dtype if pairs.rounds else cos.dtype
    first, second = (half.to(work) for half in _halves(x, pairs.layout))
    cos, sin = cos.to(work), sin.to(work)
    new_first = (first * cos).sub_(second * sin)
    new_second = (second * cos).add_(first * sin)
    for half, new in zip(_halves(out, pairs.layout), (new_first, new_second), strict=True):
        half.copy_(new)
