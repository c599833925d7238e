"""Keys that are missing, contradict each other, cannot be honoured or change nothing."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
from mutations import (
    SIZES,
    accepted,
    deep,
    needed_keys,
    outcome,
    refused,
    small,
)
from small_configs import LLAMA, ORIGINAL, RULES

from ordinate import checkpoints
from ordinate.checkpoints.reading import MODEL_TYPES

# Keys that are not there


@pytest.mark.parametrize("model_type", [name for name in MODEL_TYPES if needed_keys(name)])  # BLT has defaults for all
def test_missing_keys(model_type: str) -> None:
    for key in needed_keys(model_type):
        config = small(model_type)
        del config[key]
        assert refused(config, f"{key}: needed, got nothing").count("got nothing") == 1
    refused({"model_type": model_type}, *(f"{key}: needed, got nothing" for key in needed_keys(model_type)))
    refused({"model_type": model_type} | dict.fromkeys(needed_keys(model_type)), *needed_keys(model_type))


# Two spellings


PAIRS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    *(
        (model_type, {one: 4, other: 8}, (f"{one} = ", f"{other} = ", "4", "8"))
        for model_type, spellings in {
            "gpt2": {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embd"},
            "gptj": {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embd"},
            "codegen": {"num_hidden_layers": "n_layer", "max_position_embeddings": "n_positions"},
            "falcon": {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embed"},
            "bloom": {
                "num_hidden_layers": "n_layer",
                "num_attention_heads": "n_head",
                "hidden_size": "n_embed",
                "seq_length": "n_positions",
            },
            "mpt": {"num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "hidden_size": "d_model"},
            "t5": {"num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"},
            "umt5": {"num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"},
            "mistral": {"sliding_window": "sliding_window_size"},
            "gemma2": {"sliding_window": "sliding_window_size"},
            "gemma3_text": {"sliding_window_pattern": "_sliding_window_pattern", "sliding_window": "sliding_window_size"},
        }.items()
        for one, other in spellings.items()
    ),
    ("gpt2", {"n_positions": 4, "max_position_embeddings": 8}, ("n_positions = 4", "max_position_embeddings = 8")),
    (
        "llama",
        {"rope_theta": 4.0, "rope_parameters": {"rope_theta": 8.0}},
        ("rope_parameters.rope_theta = 8.0", "rope_theta = 4.0"),
    ),
    ("llama", {"rope_theta": 4.0, "rope_scaling": {"rope_theta": 8.0}}, ("rope_scaling.rope_theta = 8.0", "rope_theta = 4.0")),
    ("gpt_neox", {"rotary_emb_base": 4.0, "rope_theta": 8.0}, ("rotary_emb_base = 4.0", "rope_theta = 8.0")),
    ("gpt_neox", {"rotary_pct": 0.5, "rope_parameters": {"partial_rotary_factor": 1.0}}, ("rotary_pct = 0.5", "factor = 1.0")),
    ("stablelm", {"partial_rotary_factor": 0.5, "rope_pct": 1.0}, ("partial_rotary_factor = 0.5", "rope_pct = 1.0")),
    ("phi", {"partial_rotary_factor": 0.5, "rope_parameters": {"partial_rotary_factor": 1.0}}, ("= 0.5", "= 1.0")),
    (
        "gemma3_text",
        {"rope_local_base_freq": 4.0, "rope_parameters": {"sliding_attention": {"rope_theta": 8.0}, "full_attention": {}}},
        ("rope_parameters.sliding_attention.rope_theta = 8.0", "rope_local_base_freq = 4.0"),
    ),
    (
        "modernbert",
        {"global_rope_theta": 4.0, "rope_parameters": {"full_attention": {"rope_theta": 8.0}, "sliding_attention": {}}},
        ("rope_parameters.full_attention.rope_theta = 8.0", "global_rope_theta = 4.0"),
    ),
    ("llama", {"rope_scaling": {"factor": 4.0}, "rope_parameters": {"factor": 8.0}}, ("rope_parameters = ", "rope_scaling = ")),
    ("llama", {"rope_scaling": {"rope_type": "yarn", "type": "linear", "factor": 2.0}}, ("'yarn'", "'linear'")),
    (
        "llama",
        {ORIGINAL: 64, "rope_scaling": {"rope_type": "yarn", "factor": 2.0, ORIGINAL: 128}},
        (f"rope_scaling.{ORIGINAL} = 128", f"{ORIGINAL} = 64"),
    ),
    (
        "phi3",
        {ORIGINAL: 64, "rope_scaling": {"rope_type": "su", **RULES["longrope"]}},
        (f"rope_scaling.{ORIGINAL} = 128", f"{ORIGINAL} = 64"),
    ),
    (
        "llama",
        {"rope_scaling": {"rope_type": "yarn", "factor": 2.0, ORIGINAL: 64, "attention_factor": 4.0, "attn_factor": 8.0}},
        ("rope_scaling.attention_factor = 4.0", "rope_scaling.attn_factor = 8.0"),
    ),
    (
        "ministral3",
        {
            "max_position_embeddings": 512,
            "rope_parameters": {**RULES["yarn"], "rope_type": "yarn", "llama_4_scaling_beta": 0.1, "max_position_embeddings": 256},
        },
        ("rope_parameters.max_position_embeddings = 256", "max_position_embeddings = 512"),
    ),
]


@pytest.mark.parametrize(("model_type", "change", "parts"), PAIRS, ids=lambda value: value if isinstance(value, str) else None)
def test_spellings_that_disagree(model_type: str, change: dict[str, Any], parts: tuple[str, ...]) -> None:
    config = {"model_type": model_type, **change}
    if not set(change) & set(needed_keys(model_type)):
        config |= needed_keys(model_type)
    refused(config, "disagree; remove one of them", *parts)


def test_spellings_that_agree() -> None:
    assert accepted(small("gpt2", n_layer=4, n_head=4.0, n_embd=64)).layers == accepted(small("gpt2")).layers
    accepted({**LLAMA, "rope_theta": 10000, "rope_parameters": {"rope_theta": 10000.0}, "rope_scaling": {"rope_theta": 10000.0}})
    refused({**small("gpt2"), "n_layer": "4", "n_head": None}, "n_layer: needed a whole number from 1 to 10000, got '4'")


# Keys that cannot be honoured, and keys that change nothing


@pytest.mark.parametrize(
    ("model_type", "change"),
    [
        ("llama", {"alibi": True}),
        ("llama", {"no_rope_layers": [1, 0, 1, 0]}),
        ("llama", {"partial_rotary_factor": 0.5}),
        ("llama", {"rotary_pct": 0.5}),
        ("llama", {"position_embedding_type": "alibi"}),
        ("llama", {"rope_local_base_freq": 1e4}),
        ("llama", {"rope_interleave": True}),
        ("llama", {"relative_attention": True}),
        ("gptj", {"rope_theta": 5e5}),
        ("gpt2", {"rope_theta": 1e4}),
        ("bert", {"rope_scaling": {"type": "yarn"}}),
        ("t5", {"rope_theta": 1e4}),
        ("bloom", {"rope_theta": 1e4}),
        ("falcon", {"alibi": 1}),
        ("falcon", {"alibi": "true"}),
        ("cohere2", {"position_embedding_type": "absolute"}),
        ("cohere2", {"rotary_pct": 0.5}),
        ("whisper", {"position_embedding_type": "rotary"}),
    ],
    ids=repr,
)
def test_keys_that_cannot_be_honoured(model_type: str, change: dict[str, Any]) -> None:
    (key,) = change
    refused(small(model_type, **change), f"{key}: cannot be honoured")


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"attn_config": {"alibi": False}}, ("attn_config.alibi: cannot be honoured", "needed true")),
        ({"attn_config": {"alibi": 1}}, ("attn_config.alibi: needed true or false, got 1",)),
        ({"attn_config": [1]}, ("attn_config: needed a dictionary, got [1]",)),
        ({"attn_config": {"prefix_lm": True}}, ("attn_config.prefix_lm: cannot be honoured",)),
        ({"attn_config": {"alibi_bias_max": 0}}, ("attn_config.alibi_bias_max: needed a finite number > 0",)),
        ({"attn_config": {"rope": True}}, ("attn_config.rope",)),
        ({"attn_config": {"rope_theta": 5e5}}, ("attn_config.rope_theta",)),
        ({"attn_config": {"alibi_bias_mx": 16}}, ("attn_config.alibi_bias_mx",)),
        ({"attn_config": {"sliding_window_size": 128}}, ("attn_config.sliding_window_size",)),
    ],
    ids=repr,
)
def test_the_settings_of_mpt(change: dict[str, Any], parts: tuple[str, ...]) -> None:
    if "sliding_window_size" in repr(change):
        assert any(parts[0] in warning for warning in accepted(small("mpt", **change)).warnings)
    else:
        refused(small("mpt", **change), *parts)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"sliding_window": 4096}, "sliding_window"),
        ({"max_window_layers": 28}, "max_window_layers"),
        ({"n_ctx": 1024}, "n_ctx"),
        ({"partial_rotary_factor": 1.0, "model_type": "bert"}, "partial_rotary_factor"),
        ({"rope_scaling": {"rope_type": "default", "factor": 2.0}}, "rope_scaling.factor"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "beta_fast": 32}}, "rope_scaling.beta_fast"),
        (
            {"rope_parameters": {"full_attention": {}, "sliding_attention": {"rope_theta": 5.0}}},
            "rope_parameters.sliding_attention",
        ),
    ],
    ids=repr,
)
def test_keys_that_change_nothing_warn(change: dict[str, Any], key: str) -> None:
    config = {**SIZES, "model_type": "llama", **change}
    with pytest.warns(UserWarning, match=rf"mapping: {key}: changes nothing"):
        plan = checkpoints.read(config)
    assert any(text.startswith(f"{key}: changes nothing") for text in plan.warnings)
    assert f"warning: {key}: changes nothing" in plan.explain()


@pytest.mark.parametrize(
    "key", ["rope_teta", "rotary_dims", "max_positions_embedding", "sliding_windows", "position_embeding_type"]
)
def test_keys_that_look_like_positions(key: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=f"{key}: looks like a key of positions and is unknown, got 5"):
            checkpoints.read({**LLAMA, key: 5})
        assert checkpoints.read({**LLAMA, key: 5}, ignore=[key]).layers == checkpoints.read(LLAMA).layers


def test_a_mistaken_layer_type_of_the_dictionary_is_refused() -> None:
    refused(
        small("gemma3_text", rope_parameters={"full_attention": {}, "slidng_attention": {"rope_theta": 5.0}}),
        "rope_parameters",
        "slidng_attention",
    )


def test_all_faults_come_at_once() -> None:
    config = {
        "model_type": "llama",
        "num_hidden_layers": 0,
        "hidden_size": "64",
        "head_dim": -1,
        "max_position_embeddings": math.nan,
        "rope_theta": [],
        "alibi": True,
        "rope_teta": 1,
        "layer_types": 5,
        "rope_scaling": {"rope_type": "llama3", "factor": 0.5, "low_freq_factor": "1", "zeta": 1, "mrope_section": [1]},
    }
    wrong = ("num_hidden_layers", "head_dim", "max_position_embeddings", "rope_theta", "alibi", "rope_teta", "layer_types")
    inside = ("factor", "low_freq_factor", "high_freq_factor", ORIGINAL, "mrope_section")
    found = refused(config, *(f"{key}: " for key in wrong), *(f"rope_scaling.{key}: " for key in inside), "unknown keys zeta")
    assert found.startswith("mapping: ")


# Tables and biases


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (small("bert", position_embedding_type="relative_key"), ("position_embedding_type: needed one of absolute",)),
        (small("bert", max_position_embeddings=0), ("max_position_embeddings: needed a whole number from 1",)),
        (small("roberta", max_position_embeddings=2), ("max_position_embeddings: needed more than the 2 rows before position 0",)),
        (small("roberta", pad_token_id=-1), ("pad_token_id: needed a whole number from 0",)),
        (small("whisper", d_model=63), ("d_model: needed a multiple of the 4 heads",)),
        (small("gpt2", scale_attn_weights="no"), ("scale_attn_weights: needed true or false, got 'no'",)),
        (small("t5", relative_attention_num_buckets=7), ("relative_attention_num_buckets: needed an even number",)),
        (small("t5", relative_attention_max_distance=16), ("relative_attention_max_distance above half", "32 and 16")),
        (small("t5", relative_attention_num_buckets=2), ("relative_attention_num_buckets: needed a whole number from 4",)),
        (small("t5", num_decoder_layers=0), ("num_decoder_layers: needed a whole number from 1",)),
        (small("bloom") | {"num_attention_heads": 2**20, "hidden_size": 2**20}, ("num_attention_heads: needed at most 4096",)),
        (small("deberta", relative_attention=True), ("pos_att_type: needed c2p, p2c or both",)),
        (small("deberta", pos_att_type="c2p|p2p"), ("pos_att_type: needed c2p and p2c alone, each once, got 'c2p|p2p'",)),
        (small("deberta", pos_att_type=[1]), ("pos_att_type: needed a list of c2p and p2c", "got [1]")),
        (small("deberta-v2", position_buckets=2), ("position_buckets: needed -1 or at least 4, got 2",)),
        (small("deberta-v2", norm_rel_ebd="rms"), ("norm_rel_ebd: needed one of none, layer_norm, got 'rms'",)),
        (small("deberta-v2", layer_norm_eps=0), ("layer_norm_eps: needed a finite number > 0",)),
        *(
            (
                small(
                    "deberta-v2", relative_attention=True, pos_att_type="c2p", position_buckets=256, max_relative_positions=reach
                ),
                ("position_buckets", "max_relative_positions", "256", str(reach)),
            )
            for reach in (1, 100, 128)
        ),
        (
            small("deberta-v2", relative_attention=True, pos_att_type="c2p", position_buckets=256, max_position_embeddings=64),
            ("position_buckets", "256", "64"),
        ),
    ],
    ids=repr,
)
def test_wrong_tables_and_biases(config: dict[str, Any], parts: tuple[str, ...]) -> None:
    refused(config, *parts)


# The type of the model, and configurations of several models


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (None, ("model_type: needed one of the known types, got None",)),
        (5, ("model_type: needed one of the known types, got 5",)),
        ("", ("model_type: needed one of the known types, got ''",)),
        (["llama"], ("model_type: needed one of the known types, got ['llama']",)),
        ({"a": 1}, ("model_type: needed one of the known types, got {'a': 1}",)),
        ("lama", ("model_type 'lama' is not in the table", "did you mean llama", "known are", "ordinate read --types")),
        ("LLAMA", ("model_type 'LLAMA' is not in the table", "known are")),
        ("llama\n", ("model_type 'llama\\n' is not in the table",)),
        ("x" * 10**6, ("model_type 'xxxx", "is not in the table")),
        (" llama", ("model_type ' llama' is not in the table",)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_model_type(value: Any, parts: tuple[str, ...]) -> None:
    assert len(refused({**LLAMA, "model_type": value}, *parts)) < 900
    if value is None:
        refused(dict(needed_keys("llama")), *parts)


@pytest.mark.parametrize("text_config", [[1], "llama", 5, True, [], ""], ids=repr)
@pytest.mark.parametrize("model_type", ["gemma3", "llama4", "mistral3"])
def test_a_text_config_that_is_no_mapping(model_type: str, text_config: Any) -> None:
    refused({**small(model_type), "text_config": text_config}, "text_config: needed a dictionary", "got")


@pytest.mark.parametrize(
    ("inner", "parts"),
    [
        ({"model_type": 5}, ("text_config.model_type", "got 5")),
        ({"model_type": ["gemma3_text"]}, ("text_config.model_type", "got ['gemma3_text']")),
        ({"model_type": ""}, ("text_config.model_type", "got ''")),
        ({"model_type": "gemma9_text"}, ("text_config", "'gemma9_text' is not in the table")),
        ({"model_type": "gemma3"}, ("text_config", "'gemma3'")),
        ({"rope_theta": "x"}, ("text_config.rope_theta: needed a finite number",)),
        ({"rope_scaling": {"type": "linear"}}, ("text_config.rope_scaling.factor: needed, got nothing",)),
        (
            {"rope_parameters": {"full_attention": {"zeta": 1}}},
            ("text_config.rope_parameters.full_attention: unknown keys zeta",),
        ),
        ({"rope_teta": 1}, ("text_config.rope_teta: looks like a key of positions",)),
        ({"alibi": True}, ("text_config.alibi: cannot be honoured",)),
        ({"layer_types": ["full_attention"]}, ("text_config.layer_types: needed a list of 6 values, got 1",)),
        ({"head_dim": 3}, ("text_config.rotary width: needed an even number",)),
        ({"num_hidden_layers": 10**9}, ("text_config.num_hidden_layers: needed a whole number",)),
    ],
    ids=repr,
)
def test_faults_inside_text_config_have_their_path(inner: dict[str, Any], parts: tuple[str, ...]) -> None:
    refused({"model_type": "gemma3", "text_config": {"num_hidden_layers": 6, **inner}}, *parts)


def test_keys_beside_text_config() -> None:
    inner = {"model_type": "gemma3_text", "num_hidden_layers": 6, "rope_theta": 5.0}
    config = {"model_type": "gemma3", "text_config": inner}
    refused({**config, "rope_theta": 6.0}, "rope_theta = 6.0", "text_config.rope_theta = 5.0", "disagree")
    assert any("rope_local_base_freq" in text for text in accepted({**config, "rope_local_base_freq": 6.0}).warnings)
    for value in (10**9, "x", [], {}, deep(50)):
        outcome({**config, "vision_config": value, "audio_config": value, "text_config_2": value})
