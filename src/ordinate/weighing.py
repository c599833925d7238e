"""Softmax over the visible keys, and the values it weighs: through PyTorch's fused attention, or the plain formula.

out = softmax(scale * (q . k) + bias) v
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from ordinate.autocast import attention_dtype, without_autocast
from ordinate.visibility import Sight, four_dims, hides, visible_keys

AddedValues = Callable[[torch.Tensor], torch.Tensor]


def weigh(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor | None,
    sight: Sight,
    scale: float,
    dropout: float,
    added_values: AddedValues | None = None,
) -> torch.Tensor:
    """Softmax and values, through PyTorch's fused attention wherever its result is the same.

    Args:
        q: queries [B, H, Q, D], as they enter the product.
        k: keys [B, H_kv, K, D].
        v: values [B, H_kv, K, E].
        bias: what the scheme adds, [B or 1, H, Q, K], or None.
        sight: who may see whom.
        scale: factor of q . k.
        dropout: probability of dropping a weight.
        added_values: turns the weights [B, H, Q, K] into what is added to the output, for a scheme that has values of its own.

    Returns:
        [B, H, Q, E]; 0 for a query that sees nothing.

    Example:
        >>> x = torch.ones(1, 1, 2, 4)
        >>> weigh(x, x, x, None, Sight(True, None, (range(2), range(2)), None, None), 0.5, 0.0).shape
        torch.Size([1, 1, 2, 4])
    """
    hidden_keys = hides(sight)
    if added_values is None and hidden_keys == "nothing" and bias is None:
        return fused(q, k, v, None, scale, dropout)
    if added_values is None and hidden_keys == "the future" and bias is None:
        return fused(q, k, v, None, scale, dropout, causal=True)
    visible = None if hidden_keys == "nothing" else visible_keys(sight, q.device)
    if sight.mask is not None and sight.mask.is_floating_point():
        added = sight.mask.to(torch.promote_types(q.dtype, torch.float32))
        hidden = added == -math.inf
        visible = ~hidden if visible is None else visible & ~hidden
        added = added.masked_fill(hidden, 0.0)
        bias = added if bias is None else bias + added
    sees = None
    if visible is not None:
        sees = visible.any(-1, keepdim=True)
        # A row that sees nothing would be 0 / 0: let it see all, then drop it.
        visible = visible | ~sees
        bias = visible if bias is None else bias.masked_fill(~visible, -math.inf)
    if added_values is None and _fused_is_exact(q, bias):
        out = fused(q, k, v, bias, scale, dropout)
    else:
        out = _plain(q, k, v, bias, scale, dropout, added_values)
    return out if sees is None else torch.where(four_dims(sees), out, out.new_zeros(()))


def fused(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor | None, scale: float, dropout: float, causal: bool = False
) -> torch.Tensor:
    """PyTorch's scaled_dot_product_attention; under autocast q, k, v are cast as it would, the bias stays in float32.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        v: values [B, H_kv, K, E].
        bias: added to the scores, or bool (true = may attend), or None.
        scale: factor of q . k.
        dropout: probability of dropping a weight.
        causal: hide what stands later, for Q = K.

    Returns:
        [B, H, Q, E]

    Example:
        >>> x = torch.ones(1, 1, 2, 4)
        >>> fused(x, x, x, None, 0.5, 0.0).shape
        torch.Size([1, 1, 2, 4])
    """
    q, k, v = (x.to(attention_dtype(q)) for x in (q, k, v))
    if bias is not None:
        bias = four_dims(bias)
        if bias.is_floating_point() and q.dtype in (torch.float32, torch.float64):
            bias = bias.to(q.dtype)
    grouped = True if q.shape[1] != k.shape[1] else False  # noqa: SIM210 (a plain bool also where sizes are symbolic)
    with without_autocast(q):
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, dropout_p=dropout, is_causal=causal, scale=scale, enable_gqa=grouped
        )


def _plain(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor | None,
    scale: float,
    dropout: float,
    added_values: AddedValues | None,
) -> torch.Tensor:
    """The formula, in float32 (float64 for float64 q) throughout; the result has the dtype that the fused form would give."""
    work, given = torch.promote_types(q.dtype, torch.float32), attention_dtype(q)
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    with without_autocast(q):
        scores = (q.to(work) * scale) @ k.to(work).mT
        if bias is not None and bias.dtype == torch.bool:
            scores = scores.masked_fill(~four_dims(bias), -math.inf)
        elif bias is not None:
            scores = scores + four_dims(bias).to(work)
        weights = F.dropout(scores.softmax(-1), dropout)
        out = weights @ v.to(work)
        if added_values is not None:
            out = out + added_values(weights)
        return out.to(given)


def _fused_is_exact(q: torch.Tensor, bias: torch.Tensor | None) -> bool:
    """Only the CPU kernel takes a float32 bias beside half-precision q; elsewhere the bias would be rounded."""
    half = attention_dtype(q) in (torch.bfloat16, torch.float16)
    return q.device.type == "cpu" or not half or bias is None or bias.dtype == torch.bool
