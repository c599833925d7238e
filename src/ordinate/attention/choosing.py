"""Which way attention goes: PyTorch's own, by diagonals, by blocks of rows, or whole. The results differ by roundings only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ordinate.attention.band import Band, band_of, farthest_nearest, one_step
from ordinate.attention.blocked import by_blocks, is_large
from ordinate.attention.factored import attend_factored
from ordinate.attention.learned import by_learned_diagonals, operators
from ordinate.attention.toeplitz import by_diagonals
from ordinate.autocast import attention_dtype, without_autocast
from ordinate.fitting import ScoreAt
from ordinate.positions import ends, same
from ordinate.schemes.alibi import ALiBi
from ordinate.sites import DistanceScheme, ScoreScheme
from ordinate.visibility import Sight, hides
from ordinate.watching import is_plain, watched
from ordinate.weighing import weigh

WIDEST = 248  # flash attention takes 256 entries; the channels need up to eight
FARTHEST = 2**23  # positions that three digits of bfloat16 hold
DROPPED_BELOW = 60.0  # e^-60 is 1e-26; float32 numbers are slow to multiply from e^-87 on


def without_bias(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sight: Sight, scale: float, dropout: float) -> torch.Tensor:
    """Attend without a score scheme.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        v: values [B, H_kv, K, E].
        sight: who may see whom.
        scale: factor of q . k.
        dropout: probability of dropping a weight.

    Returns:
        [B, H, Q, E]

    Example:
        >>> x, order = torch.ones(1, 1, 3, 4), (range(3), range(3))
        >>> without_bias(x, x, x, Sight(True, 2, order, None, None), 0.5, 0.0).shape
        torch.Size([1, 1, 3, 4])
    """
    if hides(sight) != "some keys" or watched():
        return weigh(q, k, v, None, sight, scale, dropout)
    band = _band(sight, q, k, v)
    if band is not None:
        vector = torch.zeros(1, band.height + band.width - 1, dtype=_precision(q), device=q.device)
        return by_diagonals(q, k, v, vector, band, scale, dropout)
    if not is_large(q, k):
        return weigh(q, k, v, None, sight, scale, dropout)

    def block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, _: ScoreAt, sight: Sight) -> torch.Tensor:
        return weigh(q, k, v, None, sight, scale, dropout)

    return by_blocks(q, k, v, ScoreAt(*sight.order), sight, block)


def with_bias(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scheme: ScoreScheme,
    at: ScoreAt,
    sight: Sight,
    scale: float,
    dropout: float,
    extras: Mapping[str, torch.Tensor] | None,
) -> torch.Tensor:
    """Attend with a score scheme.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        v: values [B, H_kv, K, E].
        scheme: of the scores.
        at: positions.
        sight: who may see whom.
        scale: factor of q . k.
        dropout: probability of dropping a weight.
        extras: tensors that the scheme's bias takes.

    Returns:
        [B, H, Q, E]

    Example:
        >>> from ordinate import ALiBi
        >>> x, order, alibi = torch.ones(1, 1, 3, 4), (range(3), range(3)), ALiBi(n_heads=1, slopes="paper")
        >>> with_bias(x, x, x, alibi, alibi.at(*order), Sight(True, None, order, None, None), 0.5, 0.0, None).shape
        torch.Size([1, 1, 3, 4])
    """

    def block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: ScoreAt, sight: Sight) -> torch.Tensor:
        bias = _scaled_bias(scheme, q, k, at, scale, extras)
        return weigh(q, k, v, bias, sight, scale, dropout, scheme.added_values(at))

    if watched():
        return block(q, k, v, at, sight)
    if isinstance(scheme, ALiBi) and scale != 0 and channels_serve(q, v, at, sight):
        return attend_factored(q, k, v, scheme, at, scale, dropout)
    band = _band(sight, q, k, v) if isinstance(scheme, DistanceScheme) and one_step(*at) else None
    if band is not None and isinstance(scheme, DistanceScheme):
        vector = scheme.diagonals(q, k, at)
        if not (vector.requires_grad and torch.is_grad_enabled()):
            return by_diagonals(q, k, v, _without_far(vector, scheme, at, band, q), band, scale, dropout)
        if operators() is not None and dropout == 0 and q.shape[-1] == v.shape[-1]:
            q, k, v = (x.to(attention_dtype(q)) for x in (q, k, v))
            with without_autocast(q):
                return by_learned_diagonals(q, k, v, vector, band, scale)
    if is_large(q, k):
        return by_blocks(q, k, v, at, sight, block)
    return block(q, k, v, at, sight)


def channels_serve(q: torch.Tensor, v: torch.Tensor, at: ScoreAt, sight: Sight) -> bool:
    """Whether ALiBi goes in extra channels: where PyTorch's fastest kernel takes no bias, and bfloat16 rounds as much anyway.

    Args:
        q: queries [B, H, Q, D].
        v: values [B, H_kv, K, E].
        at: positions.
        sight: who may see whom.

    Returns:
        True for bfloat16 on a GPU, under a causal mask alone over one rising range.

    Example:
        >>> x, places = torch.ones(1, 1, 3, 4, dtype=torch.bfloat16), (range(3), range(3))
        >>> channels_serve(x, x, ScoreAt(*places), Sight(True, None, places, None, None))
        False
    """
    if q.device.type != "cuda" or q.dtype != torch.bfloat16 or max(q.shape[-1], v.shape[-1]) > WIDEST:
        return False
    rows, columns = at
    near = isinstance(rows, range) and same(rows, columns) and rows.step > 0 and max(map(abs, ends(rows))) < FARTHEST
    return near and hides(sight) == "the future"


def _band(sight: Sight, *vectors: torch.Tensor) -> Band | None:
    """The diagonals that may be seen, where PyTorch's CPU kernel can read a bias of them and some row sees something."""
    if not all(x.device.type == "cpu" and is_plain(x) for x in vectors):
        return None
    band = band_of(sight)
    return band if band is not None and len(band.rows) else None


def _precision(q: torch.Tensor) -> torch.dtype:
    return torch.float64 if q.dtype == torch.float64 else torch.float32


def _without_far(vector: torch.Tensor, scheme: DistanceScheme, at: ScoreAt, band: Band, q: torch.Tensor) -> torch.Tensor:
    """Drop what would give subnormal weights, where that was measured to help: in float32 and in half precision."""
    if not scheme.falls or attention_dtype(q) == torch.float64:
        return vector
    rows, columns = at
    assert isinstance(rows, range)
    assert isinstance(columns, range)
    nearest = farthest_nearest(band, columns.start - rows.start, rows.step)
    least = scheme.by_distance(torch.tensor([nearest, -nearest], device=vector.device)).amin(-1, keepdim=True)
    return vector.masked_fill(vector < least - DROPPED_BELOW, -torch.inf)


def _scaled_bias(
    scheme: ScoreScheme, q: torch.Tensor, k: torch.Tensor, at: ScoreAt, scale: float, extras: Mapping[str, torch.Tensor] | None
) -> torch.Tensor:
    """The scheme's bias; where it is made of dot products, a scale of the caller's multiplies them as it multiplies q . k."""
    bias_of: Any = scheme.bias  # names its extras itself
    bias: torch.Tensor = bias_of(q, k, at, **(extras or {}))
    own = scheme.softmax_scale(q.shape[-1])
    return bias * (scale / own) if scheme.content and scale != own else bias
