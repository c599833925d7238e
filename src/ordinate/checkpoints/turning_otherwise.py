"""What few models do otherwise: turn some heads or states, turn by a head's number, see only so far ahead."""

from __future__ import annotations

from typing import Any

import torch

from ordinate.checkpoints.plan import LayerPlan
from ordinate.positions import Positions, as_tensor
from ordinate.schemes.rope import Rope


def turned_by_heads(scheme: Rope, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn queries and keys by the numbers of their heads.

    Args:
        scheme: the rotation.
        q: queries.
        k: keys.

    Returns:
        Both, turned.

    Shape:
        q [B, H, Q, D], k [B, H_kv, K, D] -> the same shapes

    Example:
        >>> rope, ones = Rope(head_dim=2, base=1e4, layout="half"), torch.ones(1, 2, 3, 2)
        >>> turned_by_heads(rope, ones, ones)[0][0, :, 0, 0]
        tensor([ 1.0000, -0.3012])
    """
    turned = [scheme.keys(x.transpose(1, 2), range(x.shape[1])).transpose(1, 2) for x in (q, k)]
    return turned[0], turned[1]


def turned_states(scheme: Rope, states: torch.Tensor, positions: Positions) -> torch.Tensor:
    """Turn states, a head's width at a time.

    Args:
        scheme: the rotation.
        states: of which queries and keys are made.
        positions: where they are.

    Returns:
        The states.

    Shape:
        states [B, T, W], W a multiple of the head's width -> [B, T, W]

    Raises:
        ValueError: if the width does not fit.

    Example:
        >>> turned_states(Rope(head_dim=2, base=1e4, layout="half"), torch.ones(1, 2, 4), range(2))[0, :, 0]
        tensor([ 1.0000, -0.3012])
    """
    if states.ndim != 3 or states.shape[-1] % scheme.head_dim:
        shape = tuple(states.shape)
        raise ValueError(f"states: needed [B, T, W], W a multiple of {scheme.head_dim}, got the shape {shape}")
    return scheme.keys(states.reshape(*states.shape[:2], -1, scheme.head_dim), positions, sequence_dim=-3).flatten(-2)


def turned_heads(layer: LayerPlan, turn: Any, x: torch.Tensor, at: Any) -> torch.Tensor:
    """Turn the heads of a token as one wide head, or the first ones alone.

    Args:
        layer: whose ``heads_joined`` and ``heads_turned`` count.
        turn: the scheme's ``queries`` or ``keys``.
        x: queries or keys.
        at: positions, or what the scheme made of them.

    Returns:
        The vectors.

    Shape:
        x [B, H, T, D] -> the same shape

    Example:
        >>> layer, rope = LayerPlan(scheme=None, softmax_scale=1.0, heads_turned=1), Rope(head_dim=2, base=1e4, layout="half")
        >>> turned_heads(layer, rope.queries, torch.ones(1, 2, 1, 2), range(1, 2))[0, :, 0, 0]
        tensor([-0.3012,  1.0000])
    """
    if layer.heads_joined:
        turned: torch.Tensor = turn(x.transpose(1, 2).flatten(2)[:, None], at)
        return turned.reshape(x.shape[0], x.shape[2], x.shape[1], x.shape[3]).transpose(1, 2)
    return torch.cat((turn(x[:, : layer.heads_turned], at), x[:, layer.heads_turned :]), dim=1)


def narrowed(
    layer: LayerPlan, mask: torch.Tensor | None, q_positions: Positions, k_positions: Positions, device: torch.device
) -> torch.Tensor | None:
    """Hide keys that are too far back or too far ahead, where the two differ, or in chunks too far.

    Args:
        layer: whose ``window_back`` and ``window_ahead`` count, and chunks beside a token's own.
        mask: bool or float, or None.
        q_positions: where the queries are, or their places in the sequence.
        k_positions: the same of the keys.
        device: where a mask is made.

    Returns:
        The mask, or a stricter one.

    Shape:
        [Q, K] or [B, 1, Q, K], broadcast with the mask

    Example:
        >>> layer = LayerPlan(scheme=None, softmax_scale=1.0, window_ahead=2)
        >>> narrowed(layer, None, range(1), range(3), torch.device("cpu"))
        tensor([[ True,  True, False]])
    """
    if layer.window_ahead is None and layer.window_back is None and not sees_chunks(layer):
        return mask
    rows, columns = (as_tensor(places, device) for places in (q_positions, k_positions))
    distance = _between(rows, columns)
    seen = torch.ones_like(distance, dtype=torch.bool)
    if layer.window_ahead is not None:
        seen = distance < layer.window_ahead
    if layer.window_back is not None:
        seen = seen & (-distance < layer.window_back)
    if layer.chunk is not None and sees_chunks(layer):
        chunks = _between(*(torch.div(places, layer.chunk, rounding_mode="floor") for places in (rows, columns)))
        seen = seen & (-chunks <= layer.chunks_back) & (chunks <= layer.chunks_ahead)
    seen = seen if seen.ndim == 2 else seen[:, None]
    if mask is None:
        return seen
    return mask & seen if mask.dtype == torch.bool else mask.masked_fill(~seen, -torch.inf)


def sees_chunks(layer: LayerPlan) -> bool:
    """Tell whether tokens see chunks beside their own.

    Args:
        layer: its plan.

    Returns:
        Whether they do.

    Example:
        >>> sees_chunks(LayerPlan(scheme=None, softmax_scale=1.0, chunk=24, chunks_back=1))
        True
    """
    return layer.chunk is not None and (layer.chunks_back > 0 or layer.chunks_ahead > 0)


def _between(rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    return columns[..., None, :] - rows[..., :, None]
