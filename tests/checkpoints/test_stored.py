"""Derived keys taken out of state dicts, of real files too; stored frequencies against made-up causes whose answer is known."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import math
import re

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from transformers import BertConfig, BertModel, CodeGenConfig, GPTJConfig, LlamaConfig
from transformers.models.codegen import modeling_codegen as codegen
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama

from ordinate import Rope
from ordinate.checkpoints.stored import compare_frequencies, split_derived
from ordinate.scaling import Linear, Llama3, Proportional

EIGHT = Rope(head_dim=8, layout="half")


def frequencies(base, width, factor=1.0):
    return torch.tensor([base ** (-2 * i / width) / factor for i in range(width // 2)], dtype=torch.float64)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(8, 8)
        self.rope = Rope(head_dim=8, layout="half")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ModuleDict({"attn": Attention()})])


def test_a_file_loads_strictly_with_and_without_stored_frequencies():
    state = Model().state_dict()
    assert list(state) == ["layers.0.attn.q_proj.weight", "layers.0.attn.q_proj.bias"]
    name, stored = "layers.0.attn.rotary_emb.inv_freq", torch.tensor([1.0, 0.1, 0.01, 0.001])
    for extra in ({}, {name: stored}, {name: torch.full((4,), math.nan)}):
        model = Model()
        weights, derived = split_derived({**extra, **state})
        assert derived.keys() == extra.keys()
        assert list(weights) == list(state)
        model.load_state_dict(weights, strict=True)
        assert torch.equal(model.layers[0].attn.q_proj.weight, state["layers.0.attn.q_proj.weight"])
        assert np.allclose(model.layers[0].attn.rope.inverse_frequencies, [1.0, 0.1, 0.01, 0.001], rtol=1e-15)
    report = compare_frequencies(stored, model.layers[0].attn.rope)
    assert (report.cause, report.base, report.factor) == ("equal", None, None)
    assert report.largest < 6e-8


def causal(dtype, length=5):
    return torch.ones(1, 1, length, length).tril().to(dtype)


TAKEN = {
    "model.layers.3.self_attn.rotary_emb.inv_freq": torch.rand(4),
    "rotary_emb.original_inv_freq": torch.rand(4).bfloat16(),
    "model.rotary_emb.sliding_attention_inv_freq": torch.rand(4),
    "inv_freq": torch.rand(4),
    "rope.freqs": torch.rand(4).bfloat16(),
    "rope_freqs.weight": torch.rand(4),
    "rope_factors_long.weight": torch.rand(4),
    "blk.0.rope_factors_short.weight": torch.rand(4),
    "layers.0.attention.rotary_emb.cos_cached": torch.rand(1, 1, 7, 8),
    "layers.0.attention.rotary_emb.sin_cached": torch.rand(7, 8).half(),
    "freqs_cis": torch.rand(7, 4).to(torch.complex64),
    "bert.embeddings.position_ids": torch.arange(7)[None],
    "vision_model.embeddings.position_ids": torch.arange(7.0).half()[None],
    "embeddings.token_type_ids": torch.zeros(1, 7, dtype=torch.int64),
    "layers.0.blocks.0.attn.relative_position_index": torch.zeros(4, 4, dtype=torch.int64),
    "transformer.h.0.attn.bias": causal(torch.bool),
    "transformer.h.1.attn.bias": causal(torch.uint8),
    "h.0.attn.bias": causal(torch.float32),
    "gpt_neox.layers.0.attention.bias": causal(torch.float16),
    "transformer.h.0.attn.attention.bias": causal(torch.bool) ^ causal(torch.bool).tril(-2),  # GPT-Neo's window
    "transformer.h.0.attn.masked_bias": torch.tensor(-1e4),
    "gpt_neox.layers.0.attention.masked_bias": torch.tensor([-1e9]),
    "decoder.embed_positions._float_tensor": torch.zeros(1),
}
KEPT = {
    "layers.0.attn.bias": torch.rand(8),
    "layers.1.attn.bias": torch.randn(1, 1, 5, 5),
    "layers.2.attn.bias": torch.ones(1, 4, 5, 5),  # one a head: learned
    "layers.0.attn.q_proj.bias": torch.zeros(8),
    "transformer.h.0.attn.c_attn.bias": torch.zeros(24),
    "model.embed_positions.weight": torch.rand(7, 8),
    "embed_positions": torch.rand(7, 8),
    "encoder.embed_positions": torch.zeros(0, 8),
    "embeddings.position_embeddings.weight": torch.rand(7, 8),
    "relative_position_bias_table": torch.rand(9, 2),
    "mixer.inv_freq": torch.rand(4, 4),
    "position_ids.weight": torch.rand(4),
    "attn.masked_bias": torch.rand(8),
    "cos_cached.weight": torch.rand(4, 4),
    "rope.freqs.weight": torch.rand(4),
    "layer._extra_state": {"version": 1},
    "step": 3,
}


def test_what_is_taken_out():
    state = dict(sorted({**TAKEN, **KEPT}.items()))
    weights, derived = split_derived(state)
    assert set(derived) == set(TAKEN)
    assert set(weights) == set(KEPT)
    for part in (weights, derived):
        assert list(part) == [name for name in state if name in part]
        assert all(part[name] is state[name] for name in part)


@pytest.mark.parametrize(
    "module",
    [
        gptj.GPTJRotaryEmbedding(GPTJConfig(n_embd=32, n_head=2, rotary_dim=8, n_positions=20)),
        codegen.CodeGenRotaryEmbedding(CodeGenConfig(n_embd=32, n_head=2, rotary_dim=8, n_positions=20)),
        llama.LlamaRotaryEmbedding(LlamaConfig(hidden_size=32, num_attention_heads=2)),
    ],
    ids=lambda module: type(module).__name__,
)
def test_buffers_of_transformers(module):
    state = {f"transformer.h.0.attn.rotary_emb.{name}": value for name, value in module.named_buffers()}
    assert state
    weights, derived = split_derived(state)
    assert (weights, derived.keys()) == ({}, state.keys())


def test_a_real_file_that_stores_position_ids(minilm_folder):
    state = load_file(minilm_folder / "model.safetensors")
    model = BertModel(BertConfig.from_pretrained(minilm_folder))
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "embeddings\.position_ids"'):
        model.load_state_dict(state, strict=True)
    weights, derived = split_derived(state)
    assert {name: value.tolist() for name, value in derived.items()} == {"embeddings.position_ids": [list(range(512))]}
    model.load_state_dict(weights, strict=True)


# Frequencies


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("base", [100.0, 10000.0, 500000.0, 1e7, 1e8])
@pytest.mark.parametrize("width", [2, 4, 64, 96, 128, 256])
def test_equal_up_to_float32(width, base, dtype):
    rope = Rope(head_dim=width, layout="half", base=base)
    steps = torch.arange(0, width, 2).float()
    for stored in (
        1.0 / base ** (steps / width),
        torch.exp(-math.log(base) * steps / width),
        base ** -(steps.double() / width),
        torch.pow(torch.tensor(base), -steps / width),
    ):
        report = compare_frequencies(stored.to(dtype), rope)
        assert report.cause == "equal"
        assert report.largest < 2e-6


def test_bfloat16_of_the_faults_table():
    rope = Rope(head_dim=128, layout="half")
    stored = frequencies(10000.0, 128).bfloat16()
    assert stored[1].item() == 0.8671875
    report = compare_frequencies(stored, rope)
    assert report.cause == compare_frequencies(stored.float(), rope).cause == "rounded to bfloat16"
    off = [abs(float(s) - 10000 ** (-i / 64)) / 10000 ** (-i / 64) for i, s in enumerate(stored)]
    assert abs(report.largest - max(off)) < 1e-12
    assert report.pair == off.index(max(off))


@pytest.mark.parametrize(("dtype", "cause"), [(torch.bfloat16, "rounded to bfloat16"), (torch.float16, "rounded to float16")])
@pytest.mark.parametrize("base", [10000.0, 500000.0, 1e8])
def test_rounded(base, dtype, cause):
    rope = Rope(head_dim=128, layout="half", base=base)
    for stored in (frequencies(base, 128).to(dtype), frequencies(base, 128).float().to(dtype).double()):
        assert compare_frequencies(stored, rope).cause == cause
    spoiled = frequencies(base, 128).to(dtype)
    spoiled[7] = torch.nextafter(spoiled[7], torch.tensor(2.0, dtype=dtype))
    assert compare_frequencies(spoiled, rope).cause == "other"


WIDE, NARROW = (torch.float32, torch.float64), (torch.bfloat16, torch.float16)
BASES = [(base, dtype) for base in (500000.0, 1e6, 2500.0) for dtype in WIDE + NARROW]
BASES += [(10001.0, dtype) for dtype in WIDE]  # one part in ten thousand is less than the narrow ones hold


@pytest.mark.parametrize("width", [8, 64, 128])
@pytest.mark.parametrize(("base", "dtype"), BASES)
def test_another_base(base, dtype, width):
    report = compare_frequencies(frequencies(base, width).to(dtype), Rope(head_dim=width, layout="half"))
    assert (report.cause, report.base, report.factor) == ("another base", base, None)
    last = (base / 10000.0) ** (-(width - 2) / width)
    assert report.pair in (width // 2 - 1, width // 2 - 2)
    assert abs(report.largest - abs(last - 1)) < 8e-3 * max(last, 1)


def test_the_merged_models_of_the_faults_table():
    report = compare_frequencies(frequencies(1e4, 128), Rope(head_dim=128, layout="half", base=5e5))
    assert (report.cause, report.base, report.pair) == ("another base", 10000.0, 63)
    assert abs(report.largest - 46.04) < 0.01  # 47.04 times as fast


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("factor", [4.0, 0.5, 2.5, 3.0])
def test_divided_by_a_factor(factor, dtype):
    rope = Rope(head_dim=128, layout="half")
    report = compare_frequencies(frequencies(10000.0, 128, factor).to(dtype), rope)
    assert (report.cause, report.base, report.factor) == ("divided by a factor", None, factor)
    assert abs(report.largest - abs(1 / factor - 1)) < 8e-3
    scaled = Rope(head_dim=128, layout="half", scaling=Linear(factor=factor if factor > 1 else 1.0))
    if factor > 1:
        assert compare_frequencies(frequencies(10000.0, 128, factor).float(), scaled).cause == "equal"


LLAMA3 = Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=8192)


def test_rules():
    rope = Rope(head_dim=128, layout="half", base=5e5, scaling=LLAMA3)
    theirs = llama.LlamaRotaryEmbedding(
        LlamaConfig(
            head_dim=128,
            max_position_embeddings=131072,
            rope_parameters={
                "rope_type": "llama3",
                "rope_theta": 5e5,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            },
        )
    ).inv_freq
    assert compare_frequencies(theirs, rope).cause == "equal"
    for dtype in (torch.float32, torch.bfloat16):
        assert compare_frequencies(frequencies(5e5, 128).to(dtype), rope).cause == "without the scaling rule"
    assert compare_frequencies(frequencies(1e4, 128).float(), rope).cause == "another base"
    assert compare_frequencies(theirs, Rope(head_dim=128, layout="half", base=5e5)).cause == "other"
    part = Rope(head_dim=8, layout="half", scaling=Proportional(proportion=0.5))
    assert compare_frequencies(torch.tensor([*frequencies(1e4, 8)[:2], 0.0, 0.0]), part).cause == "equal"
    assert compare_frequencies(frequencies(1e4, 8), part).largest == math.inf


@pytest.mark.parametrize(
    "stored",
    [
        [math.nan] * 4,
        [1.0, 0.1, 0.01, math.inf],
        [0.0] * 4,
        [1e-300] * 4,
        [1.0, 0.1, 0.01, 0.0],
        [1.0, 0.1, 0.01, -0.001],
        [1.0, 0.1, 0.02, 0.001],
        [0.001, 0.01, 0.1, 1.0],
        [0.5, 0.1, 0.02, 0.004],
    ],
)
def test_other(stored):
    report = compare_frequencies(torch.tensor(stored, dtype=torch.float64), EIGHT)
    assert (report.cause, report.base, report.factor) == ("other", None, None)
    wanted = [abs(s / own - 1) if math.isfinite(s) else math.inf for s, own in zip(stored, (1.0, 0.1, 0.01, 0.001), strict=True)]
    assert report.largest == max(wanted) or abs(report.largest - max(wanted)) < 1e-4
    assert report.pair in [i for i, off in enumerate(wanted) if off >= max(wanted) - 1e-6]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (
            torch.ones(3),
            "stored: needed a floating tensor [4], one number a pair (rotary_dim=8), got float32 [3]; another number of pairs",
        ),
        (torch.ones(4, 1), "got float32 [4, 1]"),
        (torch.ones(4, dtype=torch.int64), "got int64 [4]"),
        ([1.0, 0.1, 0.01, 0.001], "got list [1.0, 0.1, 0.01, 0.001]"),
    ],
)
def test_faults(stored, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        compare_frequencies(stored, EIGHT)
