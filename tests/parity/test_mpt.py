"""ALiBi against transformers' MPT: a key-only row that ends at 0, and slopes of the next power of two, the odd ones first."""

import pytest
import torch
from transformers import MptConfig
from transformers.models.mpt import modeling_mpt as mpt

from ordinate import ALiBi, attend
from ordinate.schemes.alibi import slopes_of

TOKENS = torch.randint(3, 60, (2, 10), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions over 10 keys with outputs of size 1 to 10; MPT's row, 32 places long here, makes scores as low
# as -32 / 4 where ours are near 0: some ulp more than for a rotation.
BOUND = 5e-6


@pytest.mark.parametrize("n_heads", [*range(1, 41), 71, 112])
def test_slopes(n_heads):
    # between the keys at distance 1 and 0 the row falls by the slope
    row = mpt.build_mpt_alibi_tensor(n_heads, 2).double()
    ours = torch.tensor(slopes_of(n_heads, "authors"), dtype=torch.float64)
    assert torch.all((-row[:, 0, 0] / ours - 1).abs() <= 2.0**-22)  # theirs: exponents and powers in float32


def test_bias_up_to_a_constant_per_row():
    alibi = ALiBi(n_heads=6, slopes="authors")
    theirs = mpt.build_mpt_alibi_tensor(6, 64)
    q, k = torch.zeros(1, 6, 1, 4), torch.zeros(1, 6, 64, 4)
    # the last of 64 queries sees exactly MPT's row
    assert torch.equal(alibi.bias(q, k, alibi.at(range(63, 64), range(64)))[0], theirs)


def test_another_largest_bias_is_a_tuple_of_slopes():
    theirs = mpt.build_mpt_alibi_tensor(4, 64, alibi_bias_max=16)
    alibi = ALiBi(n_heads=4, slopes=tuple(2.0 ** (-16 * head / 4) for head in range(1, 5)))
    q, k = torch.zeros(1, 4, 1, 4), torch.zeros(1, 4, 64, 4)
    assert torch.equal(alibi.bias(q, k, alibi.at(range(63, 64), range(64)))[0], theirs)


def ours(layer, x, scheme):
    q, k, v = (part.view(2, 10, layer.n_heads, layer.head_dim).transpose(1, 2) for part in layer.Wqkv(x).chunk(3, dim=-1))
    out = attend(q, k, v, scheme=scheme, q_positions=range(10), k_positions=range(10), causal=True)
    return layer.out_proj(out.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("n_heads", [2, 6])
def test_attention(n_heads, lively, watched, near):
    config = MptConfig(vocab_size=64, d_model=8 * n_heads, n_heads=n_heads, n_layers=2, max_seq_len=32)
    model = lively(mpt.MptModel(config))
    layer = model.blocks[1].attn
    seen = watched(model, layer, TOKENS)
    with torch.no_grad():
        out = ours(layer, seen["x"], ALiBi(n_heads=n_heads, slopes="authors"))
        near(f"MPT attention, {n_heads} heads", out, seen["out"], BOUND)
        assert (ours(layer, seen["x"], None) - seen["out"]).abs().max() > 0.1
