"""Attention whose bias depends on the distance only, in O(n) memory: the bias is a view of one vector a head.

Diagonal u = j - i of the score matrix has one bias r[u]. With the rows of queries in reverse (i' = n - 1 - i) the index of r is
i' + j up to a constant: strides of 1 and 1, so the whole matrix is a view of a vector of n + m - 1 numbers, and what is hidden by
order or window is -inf in it. Rows go in chunks, each against the columns that it may see, which skips the future.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from ordinate.attention.band import Band
from ordinate.weighing import fused

CHUNKS = 8  # more would skip more of the future, but short chunks cost more calls
LEAST_ROWS = 64


class Chunk(NamedTuple):
    """Rows a .. b - 1 against columns c .. d - 1.

    Example:
        >>> Chunk(a=0, b=4, c=0, d=4).b
        4
    """

    a: int
    b: int
    c: int
    d: int


def chunks_of(band: Band) -> list[Chunk]:
    """Cut the rows that see something.

    Args:
        band: what may be seen.

    Returns:
        Chunks, in order.

    Example:
        >>> chunks_of(Band(-3, 0, 4, 4))
        [Chunk(a=0, b=4, c=0, d=4)]
    """
    rows = band.rows
    size = max(LEAST_ROWS, -(-len(rows) // CHUNKS))
    spans = [range(a, min(a + size, rows.stop)) for a in range(rows.start, rows.stop, size)]
    seen = [band.columns(span[0], span[-1]) for span in spans]
    return [Chunk(span.start, span.stop, of.start, of.stop) for span, of in zip(spans, seen, strict=True)]


def banded(vector: torch.Tensor, band: Band) -> torch.Tensor:
    """Hide the diagonals outside the band.

    Args:
        vector: bias of the diagonals u = 1 - height .. width - 1, a row a head.
        band: what may be seen.

    Returns:
        The vector with -inf outside.

    Shape:
        [H, height + width - 1] -> the same

    Example:
        >>> banded(torch.zeros(1, 3), Band(-1, 0, 2, 2))
        tensor([[0., 0., -inf]])
    """
    diagonals = torch.arange(1 - band.height, band.width, device=vector.device)
    return vector.masked_fill((diagonals < band.lowest) | (diagonals > band.highest), -math.inf)


def view_of(vector: torch.Tensor, band: Band, chunk: Chunk) -> torch.Tensor:
    """See the bias of a chunk, its rows in reverse, in the vector: nothing is copied.

    Args:
        vector: contiguous, of the diagonals u = 1 - height .. width - 1.
        band: for its height.
        chunk: rows and columns.

    Returns:
        A view.

    Shape:
        [H, height + width - 1] -> [1, H, b - a, d - c]

    Example:
        >>> view_of(torch.arange(-1.0, 2).view(1, 3), Band(-1, 1, 2, 2), Chunk(0, 2, 0, 2))
        tensor([[[[-1.,  0.],
                  [ 0.,  1.]]]])
    """
    a, b, c, d = chunk
    size, strides = (1, len(vector), b - a, d - c), (0, vector.stride(0), 1, 1)
    return vector.as_strided(size, strides, vector.storage_offset() + c + band.height - b)


def by_diagonals(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, vector: torch.Tensor, band: Band, scale: float, dropout: float
) -> torch.Tensor:
    """Attend with the bias of a vector.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        v: values [B, H_kv, K, E].
        vector: bias of the diagonals, one row a head or one for all, without gradient.
        band: which diagonals may be seen; some row sees something.
        scale: factor of q . k.
        dropout: probability of dropping a weight.

    Returns:
        [B, H, Q, E]; 0 for rows that see nothing.

    Example:
        >>> x = torch.ones(1, 1, 2, 4)
        >>> by_diagonals(x, x, x, torch.zeros(1, 3), Band(-1, 0, 2, 2), 0.5, 0.0).shape
        torch.Size([1, 1, 2, 4])
    """
    vector = banded(vector, band).contiguous()
    parts = []
    for chunk in chunks_of(band):
        rows, columns = slice(chunk.a, chunk.b), slice(chunk.c, chunk.d)
        asked = q[:, :, rows].flip(2)
        parts.append(fused(asked, k[:, :, columns], v[:, :, columns], view_of(vector, band, chunk), scale, dropout).flip(2))
    return with_blind_rows(parts, band, q, v)


def with_blind_rows(parts: list[torch.Tensor], band: Band, q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Put chunks together, with zeros for the rows that see nothing.

    Args:
        parts: chunks of the output, in order, one at least.
        band: what may be seen.
        q: queries, for batch and heads.
        v: values, for the width.

    Returns:
        [B, H, Q, E]

    Example:
        >>> x = torch.ones(1, 1, 3, 4)
        >>> with_blind_rows([x[:, :, 1:]], Band(-2, -1, 3, 3), x, x)[0, 0, :, 0]
        tensor([0., 1., 1.])
    """
    rows = band.rows
    blind = [parts[0].new_zeros(*q.shape[:2], size, v.shape[-1]) for size in (rows.start, band.height - rows.stop)]
    whole = [part for part in (blind[0], *parts, blind[1]) if part.shape[2]]
    return torch.cat(whole, dim=2) if len(whole) > 1 else whole[0]
