"""Scaled Rope against whole rotary modules of transformers: Llama, GPT-OSS, DeepSeek-V3. Bit for bit, attention to a few ulp."""

import math

import pytest
import torch
from scaled import MISTAKE, ORIGINAL, assert_another_shows, assert_same_module, config_of, rope_of, vectors
from transformers import DeepseekV3Config, GptOssConfig, LlamaConfig
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss
from transformers.models.llama import modeling_llama as llama

from ordinate import Rope, attend
from ordinate.scaling import Linear, Llama3, YaRN


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def dtype(request):
    return request.param


LOW_HIGH = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": ORIGINAL}
YARN = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": ORIGINAL}
LLAMA = {
    "linear": ({"rope_type": "linear", "factor": 4.0}, lambda x: Linear(factor=4.0 * x)),
    "llama3": (
        {"rope_type": "llama3", "factor": 8.0, **LOW_HIGH},
        lambda x: Llama3(factor=8.0 * x, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=ORIGINAL),
    ),
    "yarn": (YARN, lambda x: YaRN(factor=32.0 * x, original_length=ORIGINAL)),
}


@pytest.mark.parametrize("head_dim", [64, 80, 128])
@pytest.mark.parametrize(("parameters", "rule"), LLAMA.values(), ids=LLAMA.keys())
def test_llama_bit_for_bit(parameters, rule, head_dim, places, dtype):
    module = llama.LlamaRotaryEmbedding(config_of(LlamaConfig, 500000.0, head_dim, parameters))
    assert_same_module(rope_of(head_dim, 500000.0, rule(1)), module, llama.apply_rotary_pos_emb, places, dtype)
    assert_another_shows(rope_of(head_dim, 500000.0, rule(2)), module, llama.apply_rotary_pos_emb, places)


@pytest.mark.parametrize(("parameters", "rule"), LLAMA.values(), ids=LLAMA.keys())
def test_llama_attention(parameters, rule, lively, watched, near):
    config = config_of(LlamaConfig, 10000.0, 16, parameters, intermediate_size=32, num_hidden_layers=2)
    model = lively(llama.LlamaModel(config))
    layer = model.layers[1].self_attn
    seen = watched(model, layer, input_ids=torch.randint(3, 60, (2, 40), generator=torch.Generator().manual_seed(0)))

    def ours(rule):
        heads = [make(seen["x"]).view(2, 40, 2, 16).transpose(1, 2) for make in (layer.q_proj, layer.k_proj, layer.v_proj)]
        out = attend(*heads, scheme=rope_of(16, 10000.0, rule), q_positions=range(40), k_positions=range(40), causal=True)
        return layer.o_proj(out.transpose(1, 2).flatten(2))

    with torch.no_grad():
        # Two float32 softmax attentions over 40 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
        near(f"Llama attention, {type(rule(1)).__name__}", ours(rule(1)), seen["out"], 5e-6)
        assert (ours(rule(2)) - seen["out"]).abs().max() > MISTAKE


def test_gpt_oss_bit_for_bit(places, dtype):
    config = config_of(GptOssConfig, 150000.0, 64, {**YARN, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False})
    module, rule = gpt_oss.GptOssRotaryEmbedding(config), YaRN(factor=32.0, original_length=ORIGINAL, truncate=False)
    assert_same_module(rope_of(64, 150000.0, rule), module, gpt_oss.apply_rotary_pos_emb, places, dtype)
    truncated = YaRN(factor=32.0, original_length=ORIGINAL)
    assert_another_shows(rope_of(64, 150000.0, truncated), module, gpt_oss.apply_rotary_pos_emb, places)


@pytest.mark.parametrize("mscales", [(0.707, 0.707), (1.0, 0.5)])
def test_deepseek_v3(mscales, places, dtype, near):
    """Interleaved in, halves out in transformers, the same order in and out here: products of queries and keys agree."""
    named = dict(zip(("mscale", "mscale_all_dim"), mscales, strict=True))
    widths = {"qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 16, "kv_lora_rank": 8, "q_lora_rank": 8}
    config = config_of(DeepseekV3Config, 10000.0, 48, {**YARN, **named}, **widths)
    module, layer = deepseek.DeepseekV3RotaryEmbedding(config), deepseek.DeepseekV3Attention(config, 0)
    rule = YaRN(factor=32.0, original_length=ORIGINAL, **named)
    rope = Rope(head_dim=16, layout="interleaved", base=10000.0, scaling=rule, phases="float32", arithmetic="input")
    assert math.isclose(rope.softmax_scale(48), layer.scaling, rel_tol=4e-16)  # s (m m) here, (s m) m there: two float64 ulp
    assert rope.softmax_scale(48) > 1.2 * 48**-0.5
    q, k = vectors(places[:, :300], 16, dtype)
    cos, sin = module(q, places[:, :300])
    assert torch.equal((rope.at(places[:, :300]).cos * rope.magnitude).to(dtype), cos[..., :8])
    assert torch.equal((rope.at(places[:, :300]).sin * rope.magnitude).to(dtype), sin[..., :8])
    ours, theirs = rope(q, k, places[:, :300]), deepseek.apply_rotary_pos_emb_interleave(q, k, cos, sin)
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(torch.cat((one[..., 0::2], one[..., 1::2]), dim=-1), other)
    scores, expected = ((q.double() @ k.double().mT) * layer.scaling for q, k in (ours, theirs))
    near(f"DeepSeek-V3 scores, {dtype}", scores, expected, 1e-13)  # 16 products in float64, summed in another order
    twice = Rope(head_dim=16, layout="interleaved", base=10000.0, scaling=YaRN(factor=64.0, original_length=ORIGINAL, **named))
    q, k = twice(q, k, places[:, :300])
    assert places.shape[1] == 1 or ((q.double() @ k.double().mT) * layer.scaling - expected).abs().max() > MISTAKE
