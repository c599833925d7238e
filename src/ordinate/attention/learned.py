"""Attention with a learned bias of diagonals: PyTorch's fused kernel forward and backward, and the bias's gradient by blocks.

A bias that wants a gradient sends PyTorch's own attention to the formula that holds all scores. Here the fused kernel runs with the
bias as a view (see toeplitz.py), and backward computes again, for a block of rows at a time, what reaches the bias:

    P = exp(scale q . k + r - logsumexp),  dS = P (g . v - g . out),  dr[u] = sum of dS on diagonal u

The kernel's operators belong to PyTorch's inside: they are looked up with the arguments that are needed, and ``operators`` gives
None where they are not there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ordinate.attention.band import Band
from ordinate.attention.toeplitz import Chunk, banded, chunks_of, view_of, with_blind_rows

Operator = Callable[..., Any]
NAME = "_scaled_dot_product_flash_attention_for_cpu"
FORWARD = ("query", "key", "value", "dropout_p", "is_causal", "attn_mask", "scale")
BACKWARD = ("grad_out", "query", "key", "value", "out", "logsumexp", "dropout_p", "is_causal", "attn_mask", "scale")
ROWS = 64  # of a block: its scores are the only ones that are ever held


@functools.cache
def operators() -> tuple[Operator, Operator] | None:
    """Find the fused kernel and its backward.

    Returns:
        The two, or None where this PyTorch has none that take these arguments.

    Example:
        >>> found = operators()
        >>> found is None or len(found) == 2
        True
    """
    found = []
    for name, needed in ((NAME, FORWARD), (f"{NAME}_backward", BACKWARD)):
        packet = getattr(torch.ops.aten, name, None)
        operator = getattr(packet, "default", None)
        if operator is None or tuple(argument.name for argument in operator._schema.arguments) != needed:
            return None
        found.append(operator)
    return found[0], found[1]


def by_learned_diagonals(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, vector: torch.Tensor, band: Band, scale: float
) -> torch.Tensor:
    """Attend with a bias of diagonals that wants a gradient.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        v: values [B, H_kv, K, D].
        vector: bias of the diagonals, one row a head, in float32 (float64 for float64 q).
        band: which diagonals may be seen; some row sees something.
        scale: factor of q . k.

    Returns:
        [B, H, Q, D]. Gradients that are differentiated again are computed with all scores held.

    Example:
        >>> x, vector = torch.ones(1, 1, 2, 4), torch.zeros(1, 3, requires_grad=True)
        >>> out = by_learned_diagonals(x, x, x, vector, Band(-1, 0, 2, 2), 0.5)
        >>> out[..., 0].sum().backward()
        >>> vector.grad.shape
        torch.Size([1, 3])
    """
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) if group > 1 else x for x in (k, v))
    out: torch.Tensor = _Learned.apply(  # type: ignore[no-untyped-call]
        q, k, v, banded(vector, band).contiguous(), band, scale
    )
    return out


class _Learned(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, vector: torch.Tensor, band: Band, scale: float
    ) -> torch.Tensor:
        forward, _ = _both()
        made = [forward(*_parts(q, k, v, chunk), attn_mask=view_of(vector, band, chunk), scale=scale) for chunk in chunks_of(band)]
        outs, sums = [out for out, _ in made], [total for _, total in made]
        ctx.save_for_backward(q, k, v, vector, *outs, *sums)
        ctx.band, ctx.scale = band, scale
        return with_blind_rows([out.flip(2) for out in outs], band, q, v)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        q, k, v, vector, *kept = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradients are to be differentiated again, which the kernel cannot
            inputs = [x for x, needed in zip((q, k, v, vector), ctx.needs_input_grad, strict=False) if needed]
            found = iter(torch.autograd.grad(_whole(q, k, v, vector, ctx.band, ctx.scale), inputs, gradient, create_graph=True))
            return *(next(found) if needed else None for needed in ctx.needs_input_grad[:4]), None, None
        outs, sums = kept[: len(kept) // 2], kept[len(kept) // 2 :]
        _, backward = _both()
        dq, dk, dv, dr = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v), torch.zeros_like(vector)
        for chunk, out, total in zip(chunks_of(ctx.band), outs, sums, strict=True):
            rows, columns = slice(chunk.a, chunk.b), slice(chunk.c, chunk.d)
            parts, asked, bias = _parts(q, k, v, chunk), gradient[:, :, rows].flip(2), view_of(vector, ctx.band, chunk)
            to_q, to_k, to_v = backward(asked, *parts, out, total, 0.0, False, attn_mask=bias, scale=ctx.scale)
            dq[:, :, rows] = to_q.flip(2)
            dk[:, :, columns] += to_k
            dv[:, :, columns] += to_v
            if ctx.needs_input_grad[3]:
                _add_to_diagonals(dr, chunk, ctx.band, (asked, *parts, out, total, bias), ctx.scale)
        return dq, dk, dv, dr if ctx.needs_input_grad[3] else None, None, None


def _whole(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, vector: torch.Tensor, band: Band, scale: float) -> torch.Tensor:
    """The formula, with all scores held."""
    rows = slice(band.rows.start, band.rows.stop)
    diagonals = torch.arange(band.width) - torch.arange(band.height)[rows, None] + band.height - 1
    scores = (q[:, :, rows] @ k.mT).to(vector.dtype) * scale + vector[:, diagonals]
    return with_blind_rows([scores.softmax(-1).to(v.dtype) @ v], band, q, v)


def _both() -> tuple[Operator, Operator]:
    found = operators()
    assert found is not None
    return found


def _parts(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, chunk: Chunk) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A chunk's queries, their rows in reverse, and its keys and values."""
    columns = slice(chunk.c, chunk.d)
    return q[:, :, chunk.a : chunk.b].flip(2), k[:, :, columns], v[:, :, columns]


def _add_to_diagonals(dr: torch.Tensor, chunk: Chunk, band: Band, parts: tuple[torch.Tensor, ...], scale: float) -> None:
    """Add what reaches the bias of each diagonal from a chunk, ``ROWS`` rows at a time."""
    gradient, q, k, v, out, total, bias = parts
    work = dr.dtype
    keys, values = k.to(work).mT, v.to(work).mT
    delta = (gradient.to(work) * out.to(work)).sum(-1, keepdim=True)
    sums = total.to(work).view(*q.shape[:3], 1)
    first = chunk.c + band.height - chunk.b
    for start in range(0, chunk.b - chunk.a, ROWS):
        rows = slice(start, start + ROWS)
        weights = (q[:, :, rows].to(work) @ keys).mul_(scale).add_(bias[:, :, rows]).sub_(sums[:, :, rows]).exp_()
        scores = (gradient[:, :, rows].to(work) @ values).sub_(delta[:, :, rows]).mul_(weights).sum(0)
        along = _diagonal_sums(scores)
        dr[:, first + start : first + start + along.shape[1]] += along


def _diagonal_sums(scores: torch.Tensor) -> torch.Tensor:
    """Sum entries with equal i + j: rows padded to one more than the sums' number lie askew when they are read in rows of that.

    Shape:
        [H, w, n] -> [H, w + n - 1]
    """
    heads, height, width = scores.shape
    askew = F.pad(scores, (0, height)).flatten(1)[:, : height * (height + width - 1)]
    return askew.view(heads, height, height + width - 1).sum(1)
