"""Sizes, dictionaries and layers that do not fit are refused by name; what is accepted can be built."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
from mutations import (
    FLAT_TYPES,
    PAIR,
    SIZES,
    T5,
    accepted,
    needed_keys,
    outcome,
    refused,
    small,
)
from small_configs import LLAMA, ORIGINAL, RULES, ruled

from ordinate.checkpoints.plan import StackPlan
from ordinate.checkpoints.reading import MODEL_TYPES
from ordinate.checkpoints.rope_rules import TYPES

# Sizes


@pytest.mark.parametrize("model_type", FLAT_TYPES)
def test_absurd_sizes(model_type: str) -> None:
    for key in needed_keys(model_type).keys() - {"layer_types", "layers_block_type", "rope_parameters"}:
        for value in (10**9, 2**48, 2**62, 10**300, 0, -1, 2.5, "4", True, [4]):
            outcome({**small(model_type), key: value})
        refused({**small(model_type), key: 10**30}, f"{key}: needed a whole number from 1 to")


def test_a_billion_layers() -> None:
    for model_type in FLAT_TYPES:
        if not needed_keys(model_type):
            continue
        layers = next(key for key in needed_keys(model_type) if key.endswith("layers") or key == "depth")
        refused({**small(model_type), layers: 10**9}, f"{layers}: needed a whole number from 1 to 10000, got 1000000000")


@pytest.mark.parametrize(
    "config",
    [
        {**LLAMA, "num_hidden_layers": 10_000},
        small("gemma3_text") | {"num_hidden_layers": 10_000},
        small("smollm3") | {"num_hidden_layers": 10_000},
        small("gpt2") | {"num_hidden_layers": None, "n_layer": 2_000, "scale_attn_by_inverse_layer_idx": True},
        small("umt5") | {"num_layers": 2_000},
    ],
    ids=lambda config: config["model_type"],
)
def test_the_most_layers_take_bounded_time(config: dict[str, Any]) -> None:
    plan = accepted({key: value for key, value in config.items() if value is not None})
    start = time.process_time()
    for stack in plan.stacks:
        stack.build()
    assert time.process_time() - start < 20.0  # a guard against growth, no measurement


@pytest.mark.parametrize(
    ("model_type", "change"),
    [
        ("bloom", {"num_hidden_layers": 60, "num_attention_heads": 2**16, "hidden_size": 2**16}),
        ("mpt", {"num_hidden_layers": 60, "num_attention_heads": 2**16, "hidden_size": 2**16}),
        ("falcon", {"num_hidden_layers": 60, "num_attention_heads": 2**16, "hidden_size": 2**16, "alibi": True}),
        (
            "llama",
            {
                "num_hidden_layers": 60,
                "head_dim": 2**14,
                "rope_scaling": {
                    "rope_type": "longrope",
                    ORIGINAL: 64,
                    "short_factor": [1.0] * 2**13,
                    "long_factor": [2.0] * 2**13,
                },
            },
        ),
    ],
)
def test_a_short_file_gives_no_endless_explanation(model_type: str, change: dict[str, Any]) -> None:
    outcome({**small(model_type), **change})


def test_long_rows_take_bounded_time() -> None:
    row = [1.0] * 10**6
    for change in ({"short_factor": row}, {"long_factor": row}, {"short_factor": row, "long_factor": row}):
        refused(ruled("longrope", **change), "short_factor" if "short_factor" in change else "long_factor")
    refused(
        small("gemma2", layer_types=["full_attention"] * 10**6),
        "layer_types: needed a list of 4 values, got a list of 1000000 values",
    )
    refused(small("smollm3", no_rope_layers=[1] * 10**6), "no_rope_layers: needed a list of 4 values, got a list of 1000000 values")
    refused(small("deberta", relative_attention=True, pos_att_type=["c2p"] * 10**6 + ["x"]), "pos_att_type")


@pytest.mark.parametrize("head_dim", [0, 1, 3, -2, 2.5, 2**17, True])
@pytest.mark.parametrize("kind", RULES)
def test_head_dim(head_dim: Any, kind: str) -> None:
    refused({**ruled(kind), "head_dim": head_dim}, *(("head_dim",) if head_dim in (0, -2, 2.5, 2**17) else ()))


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (small("llama", head_dim=3), ("rotary width: needed an even number of entries to turn, got 3",)),
        (small("llama") | {"hidden_size": 66}, ("hidden_size: needed a multiple of the 4 heads, got 66",)),
        (small("llama") | {"hidden_size": 60}, ("rotary width: needed an even number of entries to turn, got 15",)),
        (small("gpt2") | {"hidden_size": 66}, ("needed a multiple of the 4 heads, got 66",)),
        (small("bart", d_model=66), ("d_model: needed a multiple of the 4 heads, got 66",)),
        (small("falcon", head_dim=32), ("head_dim: needed 16, got 32",)),
        (small("deepseek_v3", qk_rope_head_dim=63), ("needed an even number of entries to turn, got 63",)),
        (small("deepseek_v3", qk_rope_head_dim=0), ("qk_rope_head_dim: needed a whole number from 2",)),
        (small("deepseek_v3", head_dim=128), ("head_dim: needed 64, got 128",)),
        (small("deepseek_v3", qk_head_dim=128), ("qk_head_dim: needed 192, got 128",)),
        (small("gptj", rotary_dim=65), ("needed an even number of entries to turn, got 65",)),
        (small("gptj", rotary_dim=256), ("rotary_dim: needed a whole number from 2 to 128, got 256",)),
        (small("gptj") | {"hidden_size": 64}, ("rotary_dim", "64", "16")),
        (small("codegen") | {"hidden_size": 64}, ("rotary_dim", "64", "16")),
        (small("phi", rotary_dim=4), ("rotary_dim: needed 8, got 4",)),
        (small("phi", partial_rotary_factor=0.35), ("rotary width",)),
        *(
            (small(model_type, **{key: factor}), (f"{key}",) if factor in (0, 2, -1) else ("rotary width",))
            for model_type, key in (("phi", "partial_rotary_factor"), ("gpt_neox", "rotary_pct"), ("stablelm", "rope_pct"))
            for factor in (0, 2, -1, 1e-9)
        ),
        (small("gemma3_text", num_attention_heads=3, hidden_size=64), ()),
    ],
    ids=repr,
)
def test_widths(config: dict[str, Any], parts: tuple[str, ...]) -> None:
    if parts:
        refused(config, *parts)
    else:
        accepted(config)


# The dictionary


@pytest.mark.parametrize("name", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ([], ("needed a dictionary or null, got []",)),
        ([{"type": "yarn"}], ("needed a dictionary or null, got [{'type': 'yarn'}]",)),
        ("yarn", ("needed a dictionary or null, got 'yarn'",)),
        ("", ("needed a dictionary or null, got ''",)),
        (2.0, ("needed a dictionary or null, got 2.0",)),
        (False, ("needed a dictionary or null, got False",)),
        ({"full_attention": {"full_attention": {"rope_theta": 5.0}}}, (".full_attention: unknown keys full_attention",)),
        ({"rope_scaling": {"type": "yarn"}}, ("unknown keys rope_scaling",)),
        ({"full_attention": {}, "rope_theta": 5.0}, ("needed all keys inside the layer types full_attention, got rope_theta",)),
        ({"full_attention": [1]}, (".full_attention: needed a dictionary", "got [1]")),
        ({"full_attention": None}, (".full_attention: needed a dictionary", "got None")),
        ({"full_attention": "yarn"}, (".full_attention: needed a dictionary", "got 'yarn'")),
        ({"rope_type": "yarm", "factor": 2.0}, (".rope_type: needed one of", *TYPES, "got 'yarm'")),
        ({"type": "ntk"}, (".type: needed one of", *TYPES, "got 'ntk'")),
        ({"type": ["yarn"]}, (".type: needed one of", *TYPES, "got ['yarn']")),
        ({"rope_type": "yarn", "type": "linear", "factor": 2.0}, (".rope_type = 'yarn' and ", ".type = 'linear' disagree")),
        ({"rope_type": "linear", "factor": 2.0, "zeta": 1, "xi": 2}, ("unknown keys xi, zeta",)),
        ({"rope_type": "linear", "factor": 2.0, "alpha": 8.0}, (".alpha: cannot be honoured",)),
        ({"rope_type": "default", "mrope_section": [16, 24, 24]}, (".mrope_section: cannot be honoured",)),
        ({"rope_type": "default", "mrope_interleaved": True}, (".mrope_interleaved: cannot be honoured",)),
        ({"rope_type": "default", "llama_4_scaling_beta": 0.1}, (".llama_4_scaling_beta: cannot be honoured",)),
        ({"rope_type": "default", "partial_rotary_factor": 0.5}, (".partial_rotary_factor: cannot be honoured",)),
    ],
    ids=repr,
)
def test_wrong_dictionaries(name: str, value: Any, parts: tuple[str, ...]) -> None:
    refused({**LLAMA, name: value}, name, *parts)


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (ruled("linear", factor=0.5), ("rope_scaling.factor: needed a finite number >= 1 and <= 1e+09, got 0.5",)),
        (ruled("linear", factor=math.inf), ("rope_scaling.factor: needed a finite number >= 1 and <= 1e+09, got inf",)),
        (ruled("dynamic", factor="8"), ("rope_scaling.factor: needed a finite number >= 1 and <= 1e+09, got '8'",)),
        (ruled("yarn", factor=0.5), ("rope_scaling.factor: needed a finite number >= 1 and <= 1e+09, got 0.5",)),
        (ruled("yarn", factor="8"), ("rope_scaling.factor: needed a finite number >= 1 and <= 1e+09, got '8'",)),
        (ruled("yarn", **{ORIGINAL: 0}), (f"rope_scaling.{ORIGINAL}: needed a whole number from 1", "got 0")),
        (ruled("yarn", **{ORIGINAL: None, "factor": None}), ("factor and", ORIGINAL, "got neither")),
        (ruled("yarn", beta_fast=0.5), ("rope_scaling", "beta_fast: needed at least beta_slow=1.0, got 0.5")),
        (ruled("yarn", beta_slow=5e-324), ("rope_scaling", "beta_slow")),
        (ruled("yarn", beta_slow=64.0), ("beta_fast: needed at least beta_slow=64.0, got 32.0",)),
        (ruled("yarn", truncate="yes"), ("rope_scaling.truncate: needed true or false, got 'yes'",)),
        ({**ruled("yarn"), "rope_theta": 1}, ("base: needed a number > 1, got 1",)),
        ({**ruled("yarn"), "rope_theta": 0.5}, ("rope_theta: needed a finite number >= 1, got 0.5",)),
        (ruled("llama3", low_freq_factor=8.0), ("high_freq_factor: needed at least low_freq", "8.0, got 4.0")),
        (ruled("llama3", low_freq_factor=0), ("rope_scaling.low_freq_factor: needed a finite number >= 1e-06",)),
        (
            ruled("llama3", low_freq_factor=None, factor=None),
            ("low_freq_factor: needed, got nothing", "factor: needed, got nothing"),
        ),
        (ruled("llama3", **{ORIGINAL: None}), (f"rope_scaling.{ORIGINAL}: needed, got nothing",)),
        (ruled("longrope", **{ORIGINAL: None}), (f"rope_scaling.{ORIGINAL}: needed, got nothing",)),
        (ruled("longrope", **{ORIGINAL: 1}), (f"rope_scaling: LongRoPE: {ORIGINAL}: needed a whole number >= 2, got 1",)),
        (ruled("longrope", short_factor=None), ("rope_scaling.short_factor: needed, got nothing",)),
        (ruled("longrope", short_factor=None, long_factor=None), ("short_factor: needed, got", "long_factor: needed, got")),
        (ruled("longrope", short_factor=[1.0] * 7), ("long_factor: needed 7 numbers, as many as short_factor", "got 8")),
        (ruled("longrope", short_factor=[1.0] * 7, long_factor=[1.0] * 7), ("needed 8 factors, one a pair, got 7",)),
        (ruled("longrope", short_factor=[]), ("short_factor",)),
        (ruled("longrope", short_factor=[math.nan] * 8), ("rope_scaling.short_factor: in the list: needed a finite", "got nan")),
        (ruled("longrope", short_factor=["1"] * 8), ("rope_scaling.short_factor: in the list: needed a finite", "got '1'")),
        (ruled("longrope", short_factor=[1.0] * 7 + [None]), ("rope_scaling.short_factor: in the list: needed a finite", "None")),
        (ruled("longrope", long_factor="11111111"), ("rope_scaling.long_factor: needed a list, got '11111111'",)),
        (ruled("longrope", long_factor={"0": 1.0}), ("rope_scaling.long_factor: needed a list, got {'0': 1.0}",)),
        (ruled("longrope", long_factor=[5e-324] * 8), ("long_factor",)),
        (ruled("longrope", short_factor=[5e-324] * 8), ("short_factor",)),
        (
            ruled("proportional", partial_rotary_factor=0),
            ("rope_scaling.partial_rotary_factor: needed a finite number > 0", "got 0"),
        ),
        (ruled("proportional", partial_rotary_factor=1e-9), ("rope_scaling",)),
        (ruled("dynamic") | {"head_dim": 2}, ("rope_scaling", "needed at least 2 pairs")),
        (small("gptj", rope_scaling={"rope_type": "linear", "factor": 2.0}), ("rope_scaling.rope_type: needed one of default",)),
        (small("gptj", rope_parameters={"rope_theta": 5.0}), ("rope_parameters.rope_theta: cannot be honoured",)),
        (small("phi3", rope_scaling={"type": "linear", "factor": 2.0}), ("rope_scaling.type: needed one of default, longrope",)),
    ],
    ids=lambda value: repr(value.get("rope_scaling", value) if isinstance(value, dict) else "")[:100],
)
def test_wrong_rules(config: dict[str, Any], parts: tuple[str, ...]) -> None:
    refused(config, *parts)


@pytest.mark.parametrize(
    ("model_type", "change"),
    [
        ("gemma3_text", {"rope_theta": 1e6}),
        ("gemma3_text", {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}),
        ("modernbert", {"num_hidden_layers": 1, "local_rope_theta": 1e4}),
        ("smollm3", {"no_rope_layers": [0] * 4, "rope_theta": 2e6}),
        ("llama4_text", {"no_rope_layers": [0] * 4, "rope_theta": 5e5}),
    ],
    ids=repr,
)
def test_settings_of_layers_that_a_short_model_has_not(model_type: str, change: dict[str, Any]) -> None:
    """The type reads such a key, though no layer of this model uses it: it is accepted, and still checked."""
    accepted({**small(model_type), **change})
    for key, value in change.items():
        if key in ("rope_theta", "local_rope_theta"):
            refused({**small(model_type), **change, key: "x"}, f"{key}: needed a finite number")
        if isinstance(value, dict):
            refused({**small(model_type), key: {**value, "factor": "x"}}, f"{key}.factor: needed a finite number")


@pytest.mark.parametrize(
    "config",
    [
        {**LLAMA, "rope_theta": "x", "rope_scaling": {"type": "yarn", "factor": 2.0, ORIGINAL: 64}},
        {**LLAMA, "rope_theta": None, "rope_scaling": {"rope_theta": [], "type": "yarn", "factor": 2.0, ORIGINAL: 64}},
        {**LLAMA, "num_hidden_layers": "x", "layer_types": ["full_attention"] * 4},
        {**LLAMA, "hidden_size": "64", "rope_scaling": {"type": "longrope", **RULES["longrope"]}},
        {**LLAMA, "max_position_embeddings": "512", "rope_scaling": {"type": "yarn", ORIGINAL: 64}},
    ],
    ids=repr,
)
def test_one_fault_brings_no_others(config: dict[str, Any]) -> None:
    """What is wrong with a stand-in is nothing that the reader could put right."""
    assert "; " not in refused(config)


def test_a_rule_s_extremes_warn_of_nothing_and_can_be_built() -> None:
    for value in (5e-324, 1e-300, 1e-30, 1e30):
        for kind in RULES:
            for key in RULES[kind]:
                outcome(ruled(kind, **{key: [value] * 8 if key in ("short_factor", "long_factor") else value}))
        for model_type in ("gemma2", "gemma3_text", "granite"):
            outcome(small(model_type, query_pre_attn_scalar=value, attention_multiplier=value))


def test_attn_factor_leaves_the_softmax_scale_of_deepseek_alone() -> None:
    rule = {"mscale": 1.0, "mscale_all_dim": 1.0, "attention_factor": None}
    plain = accepted(ruled("yarn", model_type="deepseek_v3", **rule)).layers[0].softmax_scale
    assert accepted(ruled("yarn", model_type="deepseek_v3", attn_factor=1.0, **rule)).layers[0].softmax_scale == plain


# Layers


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (small("gemma2", layer_types=["full_attention"] * 3), ("layer_types: needed a list of 4 values, got 3 of them",)),
        (small("gemma2", layer_types=["full_attention"] * 5), ("layer_types: needed a list of 4 values, got 5 of them",)),
        (small("gemma2", layer_types="full_attention"), ("layer_types: needed a list of 4 values, got 'full_attention'",)),
        (small("gemma2", layer_types=["full"] * 4), ("layer_types: in the list: needed one of full_attention, sliding_attention",)),
        (small("gemma2", layer_types=[0, 1, 0, 1]), ("layer_types: in the list: needed one of full_attention", "got 0")),
        (small("gemma2", layer_types=["linear_attention"] * 4), ("layer_types: in the list: needed one of", "'linear_attention'")),
        (small("llama", layer_types=["sliding_attention"] * 4), ("layer_types: in the list: needed one of full_attention",)),
        (small("qwen2", layer_types=["sliding_attention"] * 4), ("layer_types: needed use_sliding_window and sliding_window",)),
        (small("llama4_text", layer_types=["sliding_attention"] * 4), ("layer_types: in the list: needed one of", "chunked")),
        (small("smollm3", no_rope_layers=[1] * 3), ("no_rope_layers: needed a list of 4 values, got 3 of them",)),
        (small("smollm3", no_rope_layers=[1, 2, 0, 1]), ("no_rope_layers: in the list: needed a whole number from 0 to 1, got 2",)),
        (
            small("smollm3", no_rope_layers=[True] * 4),
            ("no_rope_layers: in the list: needed a whole number from 0 to 1, got True",),
        ),
        (small("smollm3", no_rope_layers={"0": 1}), ("no_rope_layers: needed a list of 4 values, got {'0': 1}",)),
        (small("smollm3", no_rope_layers=5), ("no_rope_layers: needed a list of 4 values, got 5",)),
        (small("llama4_text", no_rope_layers=[1] * 5), ("no_rope_layers: needed a list of 4 values, got 5 of them",)),
        (small("llama", no_rope_layers=[1] * 4), ("no_rope_layers: cannot be honoured: llama reads no such key",)),
        (small("mistral", sliding_window=0), ("sliding_window: needed a whole number from 1",)),
        (small("mistral", sliding_window="4096"), ("sliding_window: needed a whole number from 1", "got '4096'")),
        (small("gemma3_text", sliding_window_pattern=0), ("sliding_window_pattern: needed a whole number from 1", "got 0")),
        (small("gemma3_text", sliding_window_pattern="LLLG"), ("sliding_window_pattern: needed a whole number", "got 'LLLG'")),
        (small("modernbert", global_attn_every_n_layers=0), ("global_attn_every_n_layers: needed a whole number from 1", "got 0")),
        (small("llama4_text", attention_chunk_size=0), ("attention_chunk_size: needed a whole number from 1", "got 0")),
        (small("smollm3", no_rope_layer_interval=0), ("no_rope_layer_interval: needed a whole number from 1", "got 0")),
    ],
    ids=repr,
)
def test_wrong_layers(config: dict[str, Any], parts: tuple[str, ...]) -> None:
    refused(config, *parts)


def test_right_lists_of_layers_are_kept() -> None:
    kinds = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    for model_type in ("gemma2", "gemma3_text", "cohere2", "gpt_oss", "olmo3"):
        assert [layer.kind for layer in accepted(small(model_type, layer_types=kinds)).layers] == kinds
    turns = [layer.scheme is not None for layer in accepted(small("smollm3", no_rope_layers=[0, 1, 1, 0])).layers]
    assert turns == [False, True, True, False]
    # configurations that transformers saved have the interval too: the list counts
    both = small("smollm3", no_rope_layers=[0, 1, 1, 0], no_rope_layer_interval=2)
    assert [layer.scheme is not None for layer in accepted(both).layers] == turns


@pytest.mark.parametrize(
    ("config", "one", "other"),
    [
        (
            small("gemma3_text", sliding_window_pattern=2, layer_types=["full_attention"] * 4),
            "sliding_window_pattern",
            "layer_types",
        ),
        (small("cohere2", sliding_window_pattern=2, layer_types=["full_attention"] * 4), "sliding_window_pattern", "layer_types"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["model_type"],
)
def test_a_list_of_layers_and_a_pattern_that_disagree(config: dict[str, Any], one: str, other: str) -> None:
    refused(config, one, other, "disagree")


# Whatever is accepted can be built


def sampled() -> Iterator[tuple[str, dict[str, Any]]]:
    for model_type in MODEL_TYPES:
        for sizes in ({}, {"num_attention_heads": 1}, {"hidden_size": 8, "d_model": 8}, {"num_hidden_layers": 1, "num_layers": 1}):
            wanted = {key: value for key, value in sizes.items() if key in {*SIZES, *PAIR, *T5}}
            yield (
                model_type,
                {**small(model_type), **{key: value for key, value in wanted.items() if key in needed_keys(model_type)}},
            )


def test_the_smallest_models_can_be_built() -> None:
    for _, config in sampled():
        outcome(config)
    for name in ("encoder_attention_heads", "decoder_attention_heads"):
        for width in range(1, 9):
            outcome(small("whisper", d_model=width, **{"encoder_attention_heads": 1, "decoder_attention_heads": 1, name: width}))
    for rows in (1, 2, 3):
        for model_type in ("bert", "gpt2", "opt", "bart", "roberta"):
            outcome(small(model_type, max_position_embeddings=rows + (model_type == "roberta")))


def test_a_plan_that_cannot_be_built_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(self: StackPlan) -> None:
        raise ValueError(f"head_dim: needed an even number, got {len(self.layers)}")

    monkeypatch.setattr(StackPlan, "build", build)
    with pytest.raises(ValueError, match="head_dim"):
        accepted(LLAMA)
