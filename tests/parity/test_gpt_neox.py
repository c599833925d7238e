"""Rope against transformers' GPT-NeoX: half pairs in the first quarter of a head, angles in float32."""

import pytest
import torch
from transformers import GPTNeoXConfig
from transformers.models.gpt_neox import modeling_gpt_neox as neox

from ordinate import Rope, attend

TOKENS = torch.randint(3, 60, (2, 10), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions over 10 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
BOUND = 5e-6


def config_of(head_dim, share, attention="eager"):
    config = GPTNeoXConfig(
        vocab_size=64,
        hidden_size=2 * head_dim,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        rope_parameters={"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": share},
    )
    config._attn_implementation = attention
    return config


@pytest.mark.parametrize(
    ("head_dim", "share", "rotary_dim"), [(64, 0.25, 16), (80, 0.25, 20), (96, 0.25, 24), (64, 1.0, 64), (96, 0.5, 48)]
)
def test_partial_rotation_bit_for_bit(head_dim, share, rotary_dim, places, dtype):
    q = torch.randn(len(places), 2, places.shape[1], head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    cos, sin = neox.GPTNeoXRotaryEmbedding(config_of(head_dim, share))(q, places)
    rope = Rope(head_dim=head_dim, layout="half", rotary_dim=rotary_dim, phases="float32", arithmetic="input")
    for ours, theirs in zip(rope(q, q.neg(), places), neox.apply_rotary_pos_emb(q, q.neg(), cos, sin), strict=True):
        assert torch.equal(ours, theirs)


def ours(layer, x, rotary_dim, phases):
    # Each head's q, k and v lie side by side in the fused projection: [H, 3, head_dim].
    q, k, v = layer.query_key_value(x).view(2, 10, 2, 3, layer.head_size).permute(3, 0, 2, 1, 4)
    rope = Rope(head_dim=layer.head_size, layout="half", rotary_dim=rotary_dim, phases=phases)
    out = attend(q, k, v, scheme=rope, q_positions=range(10), k_positions=range(10), causal=True)
    return layer.dense(out.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("phases", ["float32", "exact"])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_attention(attention, phases, lively, watched, near):
    model = lively(neox.GPTNeoXModel(config_of(16, 0.25, attention)))
    layer = model.layers[1].attention
    seen = watched(model, layer, input_ids=TOKENS)
    with torch.no_grad():
        near(f"GPT-NeoX attention, {attention}, {phases}", ours(layer, seen["x"], 4, phases), seen["out"], BOUND)
        assert (ours(layer, seen["x"], 16, phases) - seen["out"]).abs().max() > 0.1
