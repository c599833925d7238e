"""What every variant is checked against: float64, from the definitions, with nothing of the library's fast forms."""

import math

import torch

from ordinate import reference

BASE = 10000.0


def angles(positions, head_dim):
    """cos and sin [T, D / 2]."""
    frequencies = torch.tensor(reference.rope_frequencies(BASE, head_dim), dtype=torch.float64)
    turns = torch.as_tensor(list(positions), dtype=torch.float64)[:, None] * frequencies
    return turns.cos(), turns.sin()


def turned(x, positions, layout, backwards=False):
    """RoPE of x [B, H, T, D]; backwards is the gradient's way."""
    cos, sin = angles(positions, x.shape[-1])
    sin = -sin if backwards else sin
    x = x.detach().double()
    out = torch.empty_like(x)
    first, second = _halves(x, layout)
    out_first, out_second = _halves(out, layout)
    out_first.copy_(first * cos - second * sin)
    out_second.copy_(second * cos + first * sin)
    return out


def _halves(x, layout):
    return x.chunk(2, dim=-1) if layout == "half" else (x[..., 0::2], x[..., 1::2])


def alibi_bias(n_heads, length):
    """[H, N, N], causal."""
    slopes = torch.tensor(reference.alibi_slopes(n_heads, "paper"), dtype=torch.float64)
    return _causal(slopes[:, None, None] * _distances(length))


def t5_bias(table, length, max_distance):
    """[H, N, N], causal, differentiable in the table [n_buckets, H]."""
    rows = [reference.t5_bucket(-behind, table.shape[0], max_distance, False) for behind in range(length)]
    by_distance = table[torch.tensor(rows)]
    return _causal(by_distance[_distances(length).neg().clamp(min=0)].movedim(-1, 0))


def no_bias(n_heads, length):
    return _causal(torch.zeros(n_heads, length, length, dtype=torch.float64))


def attention(q, k, v, bias):
    """Softmax attention of q, k, v [B, H, N, D] in float64, differentiable."""
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + bias
    return scores.softmax(-1) @ v


def _distances(length):
    places = torch.arange(length)
    return places[None, :] - places[:, None]


def _causal(bias):
    return bias.masked_fill(_distances(bias.shape[-1]) > 0, -math.inf)
