"""DeepSeek-V4's rotation of the last entries, and back, against its module and its function, bit for bit."""

import pytest
import torch
from transformers import AutoConfig
from transformers.models.deepseek_v4.modeling_deepseek_v4 import DeepseekV4RotaryEmbedding, apply_rotary_pos_emb

from ordinate import Rope, checkpoints
from ordinate.scaling import YaRN

WIDTH, TURNS = 64, 24
YARN = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 512, "beta_fast": 32.0, "beta_slow": 1.0}
SIZES = {
    "head_dim": WIDTH,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "partial_rotary_factor": TURNS / WIDTH,
    "num_hidden_layers": 2,
}
RULE = YaRN(factor=16.0, original_length=512, beta_fast=32.0, beta_slow=1.0, attention_factor=1.0)
SCHEMES = {"main": (10000.0, None), "compress": (160000.0, RULE)}
PLACES = torch.tensor([*range(40), 1000, 40000, 1000003])


def rope_of(label, **changes):
    base, rule = SCHEMES[label]
    settings = {"head_dim": WIDTH, "layout": "interleaved", "base": base, "rotary_dim": TURNS, "rotary_start": WIDTH - TURNS}
    return Rope(**{**settings, "scaling": rule, "phases": "float32", "arithmetic": "mixed", **changes})


def theirs(label, dtype):
    """What the model gives to its attention: cos and sin of each pair."""
    config = AutoConfig.for_model("deepseek_v4", **SIZES, rope_parameters=dict(YARN))
    module = DeepseekV4RotaryEmbedding(config)
    return module, module(torch.zeros(1, dtype=dtype), PLACES[None], label)


@pytest.mark.parametrize("label", SCHEMES)
def test_frequencies_cos_and_sin(label):
    module, (cos, sin) = theirs(label, torch.float32)
    rope = rope_of(label)
    at = rope.at(PLACES)
    assert list(rope.inverse_frequencies) == getattr(module, f"{label}_inv_freq").tolist()
    assert rope.magnitude == getattr(module, f"{label}_attention_scaling") == 1.0
    assert torch.equal(at.cos, cos[0])
    assert torch.equal(at.sin, sin[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("label", SCHEMES)
def test_turned_and_turned_back(label, dtype):
    _, (cos, sin) = theirs(label, dtype)
    x = torch.randn(1, 3, len(PLACES), WIDTH, generator=torch.Generator().manual_seed(0)).to(dtype)
    rope = rope_of(label)
    for places, turned in ((PLACES, apply_rotary_pos_emb(x, cos, sin)), (-PLACES, apply_rotary_pos_emb(x, cos, -sin))):
        assert torch.equal(rope.queries(x, places), turned)
        assert torch.equal(rope.keys(x, places), turned)
        assert torch.equal(turned[..., : WIDTH - TURNS], x[..., : WIDTH - TURNS])
        assert not torch.equal(rope_of(label, rotary_start=0).keys(x, places), turned)
        other = rope_of(label, arithmetic="input").keys(x, places)
        assert dtype == torch.float32 or not torch.equal(other, turned)


@pytest.mark.parametrize(
    ("model_type", "why"), [("deepseek_v4", "values"), ("mistral_large4_text", "learned"), ("mistral_large4", "learned")]
)
def test_types_that_no_plan_says_exactly_are_refused_with_the_reason(model_type, why):
    with pytest.raises(ValueError, match=f"model_type '{model_type}' is not in the table, and nothing is guessed: .*{why}"):
        checkpoints.read(AutoConfig.for_model(model_type))
