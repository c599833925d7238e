"""Attention by blocks of rows, where a bias or mask has to be held entry by entry: no more of it at a time than a block.

Backward computes a block again, so that what is kept does not grow with rows times columns either.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.utils.checkpoint import checkpoint

from ordinate.attention.band import band_of
from ordinate.fitting import ScoreAt
from ordinate.positions import Positions
from ordinate.visibility import Sight

# Scores of a block; a smaller call is one block.
SCORES = 2**22
LEAST_ROWS = 16

Block = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, ScoreAt, Sight], torch.Tensor]


def is_large(q: torch.Tensor, k: torch.Tensor) -> bool:
    """Whether the scores are too many to be held at once.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].

    Returns:
        True above ``SCORES``.

    Example:
        >>> is_large(torch.empty(1, 8, 1024, 8, device="meta"), torch.empty(1, 8, 1024, 8, device="meta"))
        True
    """
    return q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] > SCORES and q.shape[2] > LEAST_ROWS


def by_blocks(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: ScoreAt, sight: Sight, block: Block) -> torch.Tensor:
    """Attend block by block.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        v: values [B, H_kv, K, E].
        at: positions of queries and keys.
        sight: who may see whom.
        block: attention of some rows, from their part of all these.

    Returns:
        [B, H, Q, E]

    Example:
        >>> x, places = torch.ones(1, 1, 3, 4), ScoreAt(range(3), range(3))
        >>> by_blocks(x, x, x, places, Sight(True, None, (range(3), range(3)), None, None), lambda q, *_: q).shape
        torch.Size([1, 1, 3, 4])
    """
    band = band_of(sight)
    size = max(LEAST_ROWS, SCORES // (q.shape[0] * q.shape[1] * k.shape[2]))
    parts = []
    for start in range(0, q.shape[2], size):
        rows = range(start, min(start + size, q.shape[2]))
        columns = range(k.shape[2])
        if band is not None and rows.start >= band.rows.start and rows.stop <= band.rows.stop:
            columns = band.columns(rows[0], rows[-1])
        parts.append(_one(q, k, v, at, sight, block, _slice(rows), _slice(columns)))
    return torch.cat(parts, dim=2)


def _one(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: ScoreAt, sight: Sight, block: Block, rows: slice, columns: slice
) -> torch.Tensor:
    places = ScoreAt(_cut(at.q_positions, rows), _cut(at.k_positions, columns))
    arguments = (q[:, :, rows], k[:, :, columns], v[:, :, columns], places, _part(sight, rows, columns))
    if not torch.is_grad_enabled():
        return block(*arguments)
    out: torch.Tensor = checkpoint(block, *arguments, use_reentrant=False)
    return out


def _slice(span: range) -> slice:
    return slice(span.start, span.stop)


def _cut(positions: Positions, part: slice) -> Positions:
    """Positions of some tokens; those of several coordinates do not come here."""
    return positions[part] if isinstance(positions, range) else positions[..., part]


def _part(sight: Sight, rows: slice, columns: slice) -> Sight:
    documents, mask = sight.documents, sight.mask
    if documents is not None:
        documents = documents[0][..., rows], documents[1][..., columns]
    if mask is not None:
        for dim, part in ((-2, rows), (-1, columns)):
            if mask.ndim >= -dim and mask.shape[dim] > 1:
                mask = mask.narrow(dim, part.start, part.stop - part.start)
    order = _cut(sight.order[0], rows), _cut(sight.order[1], columns)
    return Sight(sight.causal, sight.window, order, documents, mask)
