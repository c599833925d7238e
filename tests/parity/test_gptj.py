"""Rope against transformers' GPT-J (adjacent pairs, activations' dtype), Cohere and ERNIE (adjacent pairs, in float32)."""

import pytest
import torch
from transformers import CohereConfig, Ernie4_5Config, GPTJConfig
from transformers.models.cohere import modeling_cohere as cohere
from transformers.models.ernie4_5 import modeling_ernie4_5 as ernie
from transformers.models.gptj import modeling_gptj as gptj

from ordinate import Rope, attend

TOKENS = torch.randint(3, 60, (2, 10), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions over 10 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
BOUND = 5e-6


def config_of(head_dim, rotary_dim, attention="eager"):
    config = GPTJConfig(vocab_size=64, n_embd=2 * head_dim, n_head=2, n_layer=2, n_positions=5001, rotary_dim=rotary_dim)
    config._attn_implementation = attention
    return config


def rope_of(head_dim, rotary_dim=None, **choices):
    return Rope(head_dim=head_dim, layout="interleaved", rotary_dim=rotary_dim, phases="float32", **choices)


@pytest.mark.parametrize("rotary_dim", [6, 16, 20, 64])
def test_sines_bit_for_bit(rotary_dim):
    sin, cos = gptj.create_sinusoidal_positions(5001, rotary_dim).chunk(2, dim=-1)
    at = rope_of(rotary_dim).at(range(5001))
    assert torch.equal(at.cos, cos)
    assert torch.equal(at.sin, sin)


@pytest.mark.parametrize(("head_dim", "rotary_dim"), [(64, 64), (64, 16), (80, 20), (96, 64)])
def test_rotation_bit_for_bit(head_dim, rotary_dim, places, dtype):
    places = places.clamp(max=5000)  # the model's table ends there
    x = torch.randn(len(places), places.shape[1], 2, head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    sin, cos = gptj.GPTJRotaryEmbedding(config_of(head_dim, rotary_dim))(x, places)
    theirs = torch.cat((gptj.apply_rotary_pos_emb(x[..., :rotary_dim], sin, cos), x[..., rotary_dim:]), dim=-1)
    rope = rope_of(head_dim, rotary_dim, arithmetic="input")
    assert torch.equal(rope.queries(x, places, sequence_dim=-3), theirs)
    assert torch.equal(rope.keys(x.transpose(1, 2), places), theirs.transpose(1, 2))


@pytest.mark.parametrize("head_dim", [96])
def test_cohere_turns_adjacent_pairs_in_float32(head_dim, places):
    config = CohereConfig(
        hidden_size=head_dim, num_attention_heads=1, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}
    )
    q = torch.randn(len(places), 1, places.shape[1], head_dim, generator=torch.Generator().manual_seed(0))
    # Cohere rounds cos and sin to the activations' dtype and only then turns in float32: the same numbers for float32 alone.
    cos, sin = cohere.CohereRotaryEmbedding(config)(q, places)
    theirs, _ = cohere.apply_rotary_pos_emb(q, q, cos, sin)
    assert torch.equal(rope_of(head_dim, arithmetic="float32").queries(q, places), theirs)


@pytest.mark.parametrize("head_dim", [64])
def test_ernie_turns_adjacent_pairs_in_float32(head_dim, places, dtype):
    config = Ernie4_5Config(
        hidden_size=head_dim,
        head_dim=head_dim,
        num_attention_heads=1,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    q = torch.randn(len(places), 1, places.shape[1], head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    cos, sin = ernie.Ernie4_5RotaryEmbedding(config)(q, places)
    theirs, _ = ernie.apply_rotary_pos_emb(q, q, cos, sin)
    assert torch.equal(rope_of(head_dim, arithmetic="float32").queries(q, places), theirs)


def ours(layer, x, layout):
    q, k, v = (
        projection(x).view(2, 10, 2, layer.head_dim).transpose(1, 2) for projection in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    rope = Rope(head_dim=layer.head_dim, layout=layout, rotary_dim=layer.rotary_dim, phases="float32")
    out = attend(q, k, v, scheme=rope, q_positions=range(10), k_positions=range(10), causal=True)
    return layer.out_proj(out.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("rotary_dim", [8, 16])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_attention(attention, rotary_dim, lively, watched, near):
    model = lively(gptj.GPTJModel(config_of(16, rotary_dim, attention)))
    layer = model.h[1].attn
    seen = watched(model, layer, input_ids=TOKENS)
    with torch.no_grad():
        near(f"GPT-J attention, {attention}, {rotary_dim} of 16", ours(layer, seen["x"], "interleaved"), seen["out"], BOUND)
        assert (ours(layer, seen["x"], "half") - seen["out"]).abs().max() > 0.1
