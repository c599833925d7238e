"""ALiBi against transformers' BLOOM, which adds slope * (key's place among the real tokens): a key-only row under a causal mask."""

import pytest
import torch
from transformers import BloomConfig
from transformers.models.bloom import modeling_bloom as bloom

from ordinate import ALiBi, attend
from ordinate.positions import from_padding_mask
from ordinate.schemes.alibi import slopes_of

TOKENS = torch.randint(3, 60, (2, 10), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions over 10 keys with outputs of size 1 to 10. BLOOM's row differs from ours by slope * query place,
# at most 9 / 4, so its scores are rounded at another size: some ulp more than for a rotation.
BOUND = 5e-6


def model_of(n_heads):
    config = BloomConfig(vocab_size=64, hidden_size=8 * n_heads, n_layer=2, n_head=n_heads, pad_token_id=1)
    return bloom.BloomModel(config)


@pytest.mark.parametrize("n_heads", [*range(1, 41), 71, 112])
def test_slopes(n_heads):
    theirs = bloom._get_alibi_slopes(n_heads, torch.device("cpu")).double()
    ours = torch.tensor(slopes_of(n_heads, "authors"), dtype=torch.float64)
    # theirs are powers in float32: the base is rounded (2^-24), and the exponent multiplies that by up to n_heads
    assert torch.all((ours / theirs - 1).abs() <= (n_heads + 2) * 2.0**-24)


def test_paper_slopes_are_others():
    theirs = bloom._get_alibi_slopes(6, torch.device("cpu"))
    assert not torch.allclose(torch.tensor(slopes_of(6, "paper")), theirs, rtol=0.1)


def ours(layer, x, places, scheme, **rest):
    q, k, v = layer.query_key_value(x).view(2, 10, layer.num_heads, 3, layer.head_dim).permute(3, 0, 2, 1, 4)
    out = attend(q, k, v, scheme=scheme, q_positions=places, k_positions=places, causal=True, **rest)
    return layer.dense(out.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("n_heads", [2, 4, 6])
def test_attention(n_heads, lively, watched, near):
    model = lively(model_of(n_heads))
    layer = model.h[1].self_attention
    seen = watched(model, layer, TOKENS)
    theirs = seen["out"] - seen["inputs"][1]  # the module adds the residual
    with torch.no_grad():
        out = ours(layer, seen["x"], range(10), ALiBi(n_heads=n_heads, slopes="authors"))
        near(f"BLOOM attention, {n_heads} heads", out, theirs, BOUND)
        assert (ours(layer, seen["x"], range(10), None) - theirs).abs().max() > 0.1


def test_left_padded_attention(padded, lively, watched, near):
    tokens, mask = padded
    model = lively(model_of(6))
    layer = model.h[1].self_attention
    seen = watched(model, layer, tokens, attention_mask=mask)
    real, places = mask.bool(), from_padding_mask(mask)
    with torch.no_grad():
        out = ours(layer, seen["x"], places, ALiBi(n_heads=6, slopes="authors"), mask=real[:, None, None, :])
    near("BLOOM attention, left-padded", out[real], (seen["out"] - seen["inputs"][1])[real], BOUND)
