"""Decoders whose layers differ: windows, and a base for each sort."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_kinds import by_pattern, windowed
from ordinate.checkpoints.layer_lists import (
    all_slide,
    every_other_lower_layer_windowed,
    listed,
    mimo,
    upper_layers_slide,
    upper_layers_windowed,
)
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

YARN_128K = {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}
MINISTRAL3 = {"rope_type": "yarn", "factor": 16.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
MINISTRAL3 |= {"original_max_position_embeddings": 16384, "llama_4_scaling_beta": 0.1, "rope_theta": 1e6}
GEMMA3_ROPE = RopeKeys(base=1e6, local_base=1e4, local_theta=("rope_local_base_freq",), per_type=True, scaled=("full_attention",))
GEMMA3_LAYERS = by_pattern(keys=("sliding_window_pattern", "_sliding_window_pattern"), period=6, window=4096)
GEMMA3 = RotaryType(
    layers=GEMMA3_LAYERS,
    scale="query_pre_attn_scalar",
    rope=GEMMA3_ROPE,
    defaults={
        "max_position_embeddings": 131072,
        "head_dim": 256,
        "query_pre_attn_scalar": 256,
    },
    bidirectional=True,
)
GEMMA2 = RotaryType(
    layers=by_pattern(period=2, window=4096),
    scale="query_pre_attn_scalar",
    defaults={"max_position_embeddings": 8192, "head_dim": 256, "query_pre_attn_scalar": 256},
)
CWM = {"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
CWM |= {"original_max_position_embeddings": 8192}
MELLUM_ROPE = RopeKeys(base=500000.0, local_base=1e4, per_type=True)
MELLUM = RotaryType(
    layers=listed(lambda *_: True, window=1024),
    rope=MELLUM_ROPE,
    defaults={"max_position_embeddings": 131072, "head_dim": 128},
)

WINDOWS: dict[str, RotaryType] = {
    "mistral": RotaryType(layers=windowed(default=4096), defaults={"max_position_embeddings": 131072}),
    "ministral3": RotaryType(
        layers=windowed(),
        rope=RopeKeys(query_scale=True, absent=MINISTRAL3),
        defaults={"max_position_embeddings": 262144, "head_dim": 128},
    ),
    "mixtral": RotaryType(layers=windowed(), rope=RopeKeys(base=1e6), defaults={"max_position_embeddings": 131072}),
    "qwen2": RotaryType(layers=upper_layers_windowed(), defaults={"max_position_embeddings": 32768}),
    "qwen2_moe": RotaryType(layers=every_other_lower_layer_windowed, defaults={"max_position_embeddings": 32768}),
    "qwen3": RotaryType(layers=upper_layers_windowed(), defaults={"max_position_embeddings": 32768, "head_dim": 128}),
    "qwen3_moe": RotaryType(layers=windowed(default=4096, switch=True), defaults={"max_position_embeddings": 32768}),
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "gemma3n_text": RotaryType(
        layers=by_pattern(period=5, window=512),
        scale="one",
        rope=GEMMA3_ROPE,
        defaults={"max_position_embeddings": 32768, "head_dim": 256},
    ),
    "mimo_v2_flash": RotaryType(
        layers=mimo,
        rope=RopeKeys(
            base=5e6,
            local_base=1e4,
            local_theta=("swa_rope_theta",),
            per_type=True,
            partial=("partial_rotary_factor",),
            default_partial=0.334,
        ),
        defaults={"max_position_embeddings": 131072, "head_dim": 192},
    ),
    "gpt_oss": RotaryType(
        layers=by_pattern(period=2, window=128),
        rope=RopeKeys(base=150000.0, absent={**YARN_128K, "original_max_position_embeddings": 4096}),
        defaults={"max_position_embeddings": 131072, "head_dim": 64},
    ),
    "olmo3": RotaryType(
        arithmetic="float32",
        layers=by_pattern(period=4, window=4096),
        rope=RopeKeys(base=500000.0, per_type=True, scaled=("full_attention",)),
        defaults={"max_position_embeddings": 2048},
    ),
    "starcoder2": RotaryType(layers=windowed(), defaults={"max_position_embeddings": 4096}),
    "ministral": RotaryType(layers=all_slide(window=4096), defaults={"max_position_embeddings": 131072}),
    "cwm": RotaryType(
        layers=by_pattern(period=4, full_first=True, window=8192),
        rope=RopeKeys(base=1e6, absent=CWM),
        defaults={"max_position_embeddings": 131072, "head_dim": 128},
    ),
    "dots1": RotaryType(layers=upper_layers_slide(window=4096, border=62), defaults={"max_position_embeddings": 2048}),
    "vaultgemma": GEMMA2,
    "mellum": MELLUM,
    "laguna": replace(
        MELLUM,
        layers=listed(lambda *_: True, window=512),
        rope=replace(MELLUM_ROPE, partial=("partial_rotary_factor",), default_partial=0.5, local_partial=1.0),
    ),
    "modernbert-decoder": RotaryType(
        arithmetic="mixed",
        head="divided",
        layers=by_pattern(
            keys=("global_attn_every_n_layers",),
            period=3,
            full_first=True,
            window=128,
            window_keys=("local_attention",),
            halved=True,
        ),
        rope=RopeKeys(
            theta=("global_rope_theta",), local_theta=("local_rope_theta",), base=160000.0, local_base=1e4, per_type=True
        ),
        defaults={"max_position_embeddings": 8192},
        idle=("sliding_window",),
    ),
}
