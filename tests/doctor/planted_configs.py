"""Faults planted in right configurations: by kind, what is changed, and the finding's code."""

from __future__ import annotations

from typing import Any

from checkpoints_on_disk import LLAMA

Values = dict[str, Any]
ORIGINAL = "original_max_position_embeddings"
BARE: Values = {"rope_theta": 1e6, "head_dim": 128, "max_position_embeddings": 131072}
LONG: Values = {**LLAMA, "max_position_embeddings": 131072, "rope_theta": 5e5}
GPT_NEOX: Values = {
    "model_type": "gpt_neox",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "rotary_pct": 0.25,
}
GEMMA3: Values = {"model_type": "gemma3_text", "num_hidden_layers": 6, "rope_theta": 1e6, "rope_local_base_freq": 1e4}
PHI: Values = {
    "model_type": "phi",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "partial_rotary_factor": 0.5,
}
QWEN2_VL: Values = {
    "model_type": "qwen2_vl",
    "hidden_size": 512,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
}
YARN: Values = {"rope_type": "yarn", "factor": 4.0, ORIGINAL: 32768}
LLAMA3: Values = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, ORIGINAL: 8192}
LONGROPE: Values = {"rope_type": "longrope", "short_factor": [1.0] * 64, "long_factor": [1.0] * 32 + [32.0] * 32, ORIGINAL: 4096}
DYNAMIC: Values = {"rope_type": "dynamic", "factor": 2.0}


def ruled(base: Values, rule: Values, **change: Any) -> Values:
    """With a rule; None drops a key of it."""
    return {**base, "rope_scaling": {key: value for key, value in {**rule, **change}.items() if value is not None}}


# kind, name of the variant, the clean original, the change, the code
PLANTED: list[tuple[str, str, Values, Values, str]] = [
    ("config-key-dropped", "misspelt", LLAMA, {**LLAMA, "rope_teta": 1e6}, "ORD101"),
    ("config-key-dropped", "another program's name", LLAMA, {**LLAMA, "rope_base": 1e6}, "ORD101"),
    ("config-key-dropped", "misspelt, no model type", BARE, {"rope_thetta": 1e6, "head_dim": 128}, "ORD101"),
    ("config-key-dropped", "another type's key", LLAMA, {**LLAMA, "rotary_emb_base": 1e6}, "ORD101"),
    ("config-key-dropped", "misspelt in the rule", ruled(LONG, YARN), ruled(LONG, YARN, beta_fasst=16.0), "ORD101"),
    ("config-key-dropped", "nested and beside", LONG, {**LONG, "rope_parameters": {"rope_theta": 1e4}}, "ORD102"),
    ("config-key-dropped", "nested, no model type", BARE, {**BARE, "rope_parameters": {"rope_theta": 5e5}}, "ORD102"),
    ("config-key-dropped", "two types", ruled(LONG, YARN), ruled(LONG, YARN, type="linear"), "ORD102"),
    ("config-key-dropped", "unknown rule", ruled(LONG, YARN), ruled(LONG, YARN, rope_type="yarm"), "ORD103"),
    ("config-key-dropped", "rule not named", ruled(BARE, YARN), ruled(BARE, YARN, rope_type=None), "ORD103"),
    ("config-key-dropped", "llama3 without bands", ruled(LONG, LLAMA3), ruled(LONG, LLAMA3, low_freq_factor=None), "ORD103"),
    ("config-key-dropped", "llama3 without a length", ruled(BARE, LLAMA3), ruled(BARE, LLAMA3, **{ORIGINAL: None}), "ORD103"),
    ("config-key-dropped", "yarn without a factor", ruled(LONG, YARN), ruled(LONG, YARN, factor=None), "ORD103"),
    ("config-key-dropped", "factor below 1", ruled(LONG, YARN), ruled(LONG, YARN, factor=0.25), "ORD103"),
    ("config-key-dropped", "yarn too short", ruled(LONG, YARN), ruled(LONG, YARN, factor=2.0), "ORD104"),
    ("config-key-dropped", "linear too short", LONG, ruled(LONG, {"rope_type": "linear", "factor": 2.0, ORIGINAL: 4096}), "ORD104"),
    ("config-key-dropped", "yarn too short, no type", ruled(BARE, YARN), ruled(BARE, YARN, factor=2.0), "ORD104"),
    ("config-key-dropped", "factor beside no rule", LONG, ruled(LONG, {"rope_type": "default", "factor": 8.0}), "ORD111"),
    (
        "per-layer-schedule",
        "flat",
        GEMMA3,
        {"model_type": "gemma3_text", "num_hidden_layers": 6, "rope_parameters": {"rope_type": "linear", "factor": 8.0}},
        "ORD105",
    ),
    ("per-layer-schedule", "one base for both", GEMMA3, {**GEMMA3, "rope_local_base_freq": 1e6}, "ORD105"),
    ("per-layer-schedule", "a list too short", GEMMA3, {**GEMMA3, "layer_types": ["full_attention"] * 5}, "ORD105"),
    ("per-layer-schedule", "no type", BARE, {**BARE, "num_hidden_layers": 6, "layer_types": ["full_attention"] * 5}, "ORD105"),
    ("partial-rotary", "odd", GPT_NEOX, {**GPT_NEOX, "rotary_pct": 0.2}, "ORD106"),
    ("partial-rotary", "a type that turns whole heads", LLAMA, {**LLAMA, "partial_rotary_factor": 0.5}, "ORD106"),
    ("partial-rotary", "twice", PHI, {**PHI, "rotary_dim": 16}, "ORD106"),
    ("partial-rotary", "more than the head", BARE, {**BARE, "partial_rotary_factor": 1.5}, "ORD106"),
    ("partial-rotary", "wider than the head", BARE, {**BARE, "rotary_dim": 256}, "ORD106"),
    ("yarn-magnitude", "squared", ruled(LONG, YARN), ruled(LONG, YARN, attention_factor=1.138629**2), "ORD107"),
    ("yarn-magnitude", "another factor's", ruled(BARE, YARN), ruled(BARE, YARN, attention_factor=1.346574), "ORD107"),
    ("yarn-magnitude", "one of two", ruled(LONG, YARN), ruled(LONG, YARN, mscale=0.707), "ORD107"),
    (
        "yarn-magnitude",
        "contradictory",
        ruled(LONG, YARN, mscale=0.707, mscale_all_dim=0.707),
        ruled(LONG, YARN, mscale=0.707, mscale_all_dim=0.707, attention_factor=1.138629),
        "ORD107",
    ),
    ("longrope-switch", "a list too short", ruled(LONG, LONGROPE), ruled(LONG, LONGROPE, short_factor=[1.0] * 63), "ORD108"),
    (
        "longrope-switch",
        "half as many",
        ruled(BARE, LONGROPE),
        ruled(BARE, LONGROPE, short_factor=[1.0] * 32, long_factor=[2.0] * 32),
        "ORD108",
    ),
    (
        "longrope-switch",
        "exchanged",
        ruled(LONG, LONGROPE),
        ruled(LONG, LONGROPE, short_factor=[32.0] * 64, long_factor=[1.0] * 64),
        "ORD108",
    ),
    ("longrope-switch", "no trained length", ruled(LONG, LONGROPE), ruled(LONG, LONGROPE, **{ORIGINAL: None}), "ORD108"),
    ("longrope-switch", "another factor", ruled(LONG, LONGROPE, factor=32.0), ruled(LONG, LONGROPE, factor=4.0), "ORD108"),
    ("dynamic-ntk", "another trained length", ruled(LLAMA, DYNAMIC), ruled(LLAMA, DYNAMIC, **{ORIGINAL: 2048}), "ORD109"),
    ("dynamic-ntk", "no type", ruled(BARE, DYNAMIC), ruled(BARE, DYNAMIC, **{ORIGINAL: 2048}), "ORD109"),
    ("dynamic-ntk", "alpha", ruled(LONG, DYNAMIC), ruled(LONG, DYNAMIC, alpha=1000.0), "ORD109"),
    (
        "mrope-index",
        "too few pairs",
        QWEN2_VL,
        ruled(QWEN2_VL, QWEN2_VL["rope_scaling"], mrope_section=[16, 24, 16]),
        "ORD404",
    ),
    (
        "mrope-index",
        "no type",
        ruled(BARE, {"type": "mrope", "mrope_section": [16, 24, 24]}),
        ruled(BARE, {"type": "mrope", "mrope_section": [8, 12, 12]}),
        "ORD404",
    ),
    ("mrope-index", "a text model", LLAMA, ruled(LLAMA, {"rope_type": "default", "mrope_section": [16, 24, 24]}), "ORD404"),
    ("layout-mismatch", "a key that is not read", LLAMA, {**LLAMA, "rope_interleaved": True}, "ORD301"),
]
