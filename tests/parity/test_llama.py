"""Rope against transformers' Llama (angles in float32, rotation in the activations' dtype) and OLMo (rotation in float32)."""

import pytest
import torch
from transformers import LlamaConfig, OlmoConfig
from transformers.models.llama import modeling_llama as llama
from transformers.models.olmo import modeling_olmo as olmo

from ordinate import Rope, attend
from ordinate.positions import from_padding_mask

TOKENS = torch.randint(3, 60, (2, 10), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions over 10 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
BOUND = 5e-6


def config_of(head_dim, base, attention="eager"):
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=4 * head_dim,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=head_dim,
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    config._attn_implementation = attention
    return config


def rope_of(head_dim, base, **choices):
    return Rope(head_dim=head_dim, layout="half", base=base, phases="float32", **choices)


@pytest.mark.parametrize("base", [10000, 10000.0, 500000.0, 1e6, 1234.5])
@pytest.mark.parametrize("head_dim", [2, 10, 64, 80, 96, 128, 256])
def test_inverse_frequencies_bit_for_bit(head_dim, base):
    theirs = llama.LlamaRotaryEmbedding(config_of(head_dim, base)).inv_freq
    assert rope_of(head_dim, base).inverse_frequencies == tuple(theirs.tolist())


@pytest.mark.parametrize("base", [10000.0, 500000.0])
@pytest.mark.parametrize("head_dim", [6, 64, 80, 96, 128])
def test_cos_and_sin_bit_for_bit(head_dim, base, places):
    cos, sin = llama.LlamaRotaryEmbedding(config_of(head_dim, base))(torch.zeros(1), places)
    at = rope_of(head_dim, base).at(places)
    for half in (slice(0, head_dim // 2), slice(head_dim // 2, None)):
        assert torch.equal(at.cos, cos[..., half])
        assert torch.equal(at.sin, sin[..., half])


def test_a_range_gives_the_bits_of_a_tensor():
    cos, sin = llama.LlamaRotaryEmbedding(config_of(64, 10000.0))(torch.zeros(1), torch.arange(3, 3000)[None])
    at = rope_of(64, 10000.0).at(range(3, 3000))
    assert torch.equal(at.cos, cos[0, :, :32])
    assert torch.equal(at.sin, sin[0, :, :32])


@pytest.mark.parametrize("head_dim", [64, 80, 96])
def test_rotation_bit_for_bit(head_dim, places, dtype):
    q = torch.randn(len(places), 2, places.shape[1], head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    k = q.flip(1)[:, :1]
    cos, sin = llama.LlamaRotaryEmbedding(config_of(head_dim, 500000.0))(q, places)
    rope = rope_of(head_dim, 500000.0, arithmetic="input")
    for ours, theirs in zip(rope(q, k, places), llama.apply_rotary_pos_emb(q, k, cos, sin), strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)


def test_rotation_bit_for_bit_with_heads_after_tokens(dtype):
    q, places = torch.randn(2, 9, 3, 64).to(dtype), torch.arange(18).view(2, 9)
    cos, sin = llama.LlamaRotaryEmbedding(config_of(64, 10000.0))(q, places)
    theirs, _ = llama.apply_rotary_pos_emb(q, q, cos, sin, unsqueeze_dim=2)
    assert torch.equal(rope_of(64, 10000.0, arithmetic="input").queries(q, places, sequence_dim=-3), theirs)


@pytest.mark.parametrize("head_dim", [96])
def test_olmo_rotates_in_float32_bit_for_bit(head_dim, places, dtype):
    config = OlmoConfig(
        hidden_size=head_dim, num_attention_heads=1, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}
    )
    q = torch.randn(len(places), 2, places.shape[1], head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    cos, sin = olmo.OlmoRotaryEmbedding(config)(q, places)
    rope = rope_of(head_dim, 10000.0, arithmetic="float32")
    for ours, theirs in zip(rope(q, q[:, :1], places), olmo.apply_rotary_pos_emb(q, q[:, :1], cos, sin), strict=True):
        assert torch.equal(ours, theirs)


def test_the_two_arithmetics_differ():
    q = torch.randn(1, 1, 37, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
    turned = [rope_of(64, 10000.0, arithmetic=arithmetic).queries(q, range(37)) for arithmetic in ("input", "float32")]
    assert not torch.equal(*turned)


def heads(layer, x):
    """The module's own projections, split into heads."""
    projections = (layer.q_proj, layer.k_proj, layer.v_proj)
    return [projection(x).view(*x.shape[:2], -1, layer.head_dim).transpose(1, 2) for projection in projections]


def ours(layer, x, q_from, q_positions, k_positions, phases, **rest):
    rope = Rope(head_dim=layer.head_dim, layout="half", base=500000.0, phases=phases)
    with torch.no_grad():
        q, k, v = heads(layer, x)
        out = attend(q[:, :, q_from:], k, v, scheme=rope, q_positions=q_positions, k_positions=k_positions, causal=True, **rest)
        return layer.o_proj(out.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("phases", ["float32", "exact"])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_attention(attention, phases, lively, watched, near):
    model = lively(llama.LlamaModel(config_of(16, 500000.0, attention)))
    layer = model.layers[1].self_attn
    seen = watched(model, layer, input_ids=TOKENS)
    near(f"Llama attention, {attention}, {phases}", ours(layer, seen["x"], 0, range(10), range(10), phases), seen["out"], BOUND)
    moved = ours(layer, seen["x"], 0, range(0, 20, 2), range(0, 20, 2), phases)
    assert (moved - seen["out"]).abs().max() > 0.1


def test_left_padded_attention(padded, lively, watched, near):
    tokens, mask = padded
    # The rule of transformers' generate(); pads get 1 there and 0 here, and no real token looks at them.
    position_ids = (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)
    model = lively(llama.LlamaModel(config_of(16, 500000.0, "sdpa")))
    layer = model.layers[1].self_attn
    seen = watched(model, layer, input_ids=tokens, attention_mask=mask, position_ids=position_ids)
    places = from_padding_mask(mask)
    out = ours(layer, seen["x"], 0, places, places, "float32", mask=mask.bool()[:, None, None, :])
    near("Llama attention, left-padded", out[mask.bool()], seen["out"][mask.bool()], BOUND)


def test_decoding_with_a_cache(lively, watched, near):
    model = lively(llama.LlamaModel(config_of(16, 500000.0, "sdpa")))
    layer = model.layers[1].self_attn
    before = watched(model, layer, input_ids=TOKENS[:, :6], use_cache=True)
    step = watched(model, layer, input_ids=TOKENS[:, 6:7], cache=before["result"].cache, use_cache=True)
    x = torch.cat((before["x"], step["x"]), dim=1)
    near("Llama attention, one token after 6", ours(layer, x, 6, range(6, 7), range(7), "float32"), step["out"], BOUND)
