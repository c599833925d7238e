"""Causal attention with a bias on its scores: ours, the bias written out as a mask, and FlexAttention."""

import functools
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from benchmarks.speed.columns import Variant
from benchmarks.speed.peers import missing

from ordinate import ALiBi, T5Bias, attend

BUCKETS, MAX_DISTANCE = 32, 128


@dataclass(frozen=True)
class Tensors:
    """Queries, keys, values and the incoming gradient, and T5's table; leaves where there is a backward pass."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    table: torch.Tensor
    incoming: torch.Tensor | None

    @property
    def heads(self):
        return self.q.shape[1]

    @property
    def length(self):
        return self.q.shape[2]


def made(heads, length, width, dtype, backward):
    q, k, v, incoming = (torch.randn(1, heads, length, width, dtype=dtype) for _ in range(4))
    table = torch.randn(BUCKETS, heads)
    leaves = (x.requires_grad_(backward) for x in (q, k, v, table))
    return Tensors(*leaves, incoming if backward else None)


def timed(attention, tensors, learned=()):
    """The forward pass of attention(q, k, v), or forward, backward and the gradients of q, k, v and what else is learned."""
    q, k, v = tensors.q, tensors.k, tensors.v
    if tensors.incoming is None:
        return lambda: (attention(q, k, v),)
    leaves = (q, k, v, *learned)

    def both():
        out = attention(q, k, v)
        torch.autograd.backward(out, tensors.incoming)
        gradients = tuple(leaf.grad for leaf in leaves)
        for leaf in leaves:
            leaf.grad = None
        return (out.detach(), *gradients)

    return both


def _plain(tensors):
    return timed(functools.partial(F.scaled_dot_product_attention, is_causal=True), tensors)


def _ours(scheme, tensors, learned=()):
    places = range(tensors.length)
    return timed(functools.partial(attend, scheme=scheme, q_positions=places, k_positions=places, causal=True), tensors, learned)


def _our_alibi(tensors):
    return _ours(ALiBi(n_heads=tensors.heads, slopes="paper"), tensors)


def _our_t5(tensors):
    scheme = T5Bias(n_heads=tensors.heads, n_buckets=BUCKETS, max_distance=MAX_DISTANCE, bidirectional=False)
    scheme.requires_grad_(tensors.table.requires_grad)
    with torch.no_grad():
        scheme.weight.copy_(tensors.table)
    return _ours(scheme, tensors, (scheme.weight,))


def _masked(bias, q, k, v):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))


def _alibi_mask(length, slopes):
    distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
    return (slopes[:, None, None] * distance).masked_fill(distance > 0, -math.inf)[None]


def _written_alibi(tensors):
    length, slopes = tensors.length, _slopes(tensors.heads)
    return timed(lambda q, k, v: _masked(_alibi_mask(length, slopes), q, k, v), tensors)


def _kept_alibi(tensors):
    return timed(functools.partial(_masked, _alibi_mask(tensors.length, _slopes(tensors.heads)).to(tensors.q.dtype)), tensors)


def _t5_rows(distance):
    from transformers.models.t5.modeling_t5 import T5Attention

    return T5Attention._relative_position_bucket(distance, False, BUCKETS, MAX_DISTANCE)


def _written_t5(tensors):
    """As transformers' T5 writes its bias, and adds the causal mask to it."""
    length, table = tensors.length, tensors.table

    def attention(q, k, v):
        distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        bias = F.embedding(_t5_rows(distance), table).permute(2, 0, 1)
        return _masked(bias.masked_fill(distance > 0, -math.inf)[None], q, k, v)

    return timed(attention, tensors, (table,))


def _flex(score_mod, tensors, learned=()):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    length = tensors.length
    causal = create_block_mask(lambda _b, _h, i, j: i >= j, 1, 1, length, length, device="cpu")
    attention = functools.partial(flex_attention, score_mod=score_mod, block_mask=causal)
    return timed(torch.compile(attention, dynamic=False), tensors, learned)


def _flex_alibi(tensors):
    slopes = _slopes(tensors.heads)
    return _flex(lambda score, _b, h, i, j: score + slopes[h] * (j - i), tensors)


def _flex_t5(tensors):
    by_distance = F.embedding(_t5_rows(-torch.arange(tensors.length)), tensors.table).T.contiguous()
    return _flex(lambda score, _b, h, i, j: score + by_distance[h, (i - j).clamp(min=0)], tensors, (tensors.table,))


def _slopes(heads):
    return torch.tensor([2.0 ** (-8.0 * head / heads) for head in range(1, heads + 1)])


PLAIN = Variant("plain causal SDPA", _plain)
OUR_ALIBI, OUR_T5 = Variant("ordinate ALiBi", _our_alibi), Variant("ordinate T5", _our_t5)
WRITTEN_ALIBI = Variant("ALiBi mask built, SDPA", _written_alibi)
KEPT_ALIBI = Variant("ALiBi mask kept, SDPA", _kept_alibi)
WRITTEN_T5 = Variant("T5 mask built, SDPA", _written_t5, missing=missing("transformers"))
FLEX_ALIBI = Variant("ALiBi, FlexAttention + compile", _flex_alibi)
FLEX_T5 = Variant("T5, FlexAttention + compile", _flex_t5, missing=missing("transformers"))
KINDS = {"ALiBi": (OUR_ALIBI, WRITTEN_ALIBI, KEPT_ALIBI, FLEX_ALIBI), "T5": (OUR_T5, WRITTEN_T5, FLEX_T5)}
