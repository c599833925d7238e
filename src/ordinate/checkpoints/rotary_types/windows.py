"""Decoders whose layers differ: windows, chunks, layers without a rotation, a base for each sort."""

from __future__ import annotations

from ordinate.checkpoints.layer_kinds import (
    by_pattern,
    every_other_lower_layer_windowed,
    llama4,
    smollm3,
    upper_layers_windowed,
    windowed,
)
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

YARN_128K = {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}
MINISTRAL3 = {"rope_type": "yarn", "factor": 16.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
MINISTRAL3 |= {"original_max_position_embeddings": 16384, "llama_4_scaling_beta": 0.1}
GEMMA3_LAYERS = by_pattern(keys=("sliding_window_pattern", "_sliding_window_pattern"), period=6, window=4096)

WINDOWS: dict[str, RotaryType] = {
    "mistral": RotaryType(layers=windowed(default=4096), defaults={"max_position_embeddings": 131072}),
    "ministral3": RotaryType(
        layers=windowed(),
        rope=RopeKeys(base=1e6, query_scale=True, absent=MINISTRAL3),
        defaults={"max_position_embeddings": 262144, "head_dim": 128},
    ),
    "mixtral": RotaryType(layers=windowed(), rope=RopeKeys(base=1e6), defaults={"max_position_embeddings": 131072}),
    "qwen2": RotaryType(layers=upper_layers_windowed, defaults={"max_position_embeddings": 32768}),
    "qwen2_moe": RotaryType(layers=every_other_lower_layer_windowed, defaults={"max_position_embeddings": 32768}),
    "qwen3": RotaryType(layers=upper_layers_windowed, defaults={"max_position_embeddings": 32768, "head_dim": 128}),
    "qwen3_moe": RotaryType(layers=windowed(default=4096, switch=True), defaults={"max_position_embeddings": 32768}),
    "gemma2": RotaryType(
        layers=by_pattern(period=2, window=4096),
        scale="query_pre_attn_scalar",
        defaults={"max_position_embeddings": 8192, "head_dim": 256, "query_pre_attn_scalar": 256},
    ),
    "gemma3_text": RotaryType(
        layers=GEMMA3_LAYERS,
        scale="query_pre_attn_scalar",
        rope=RopeKeys(base=1e6, local_base=1e4, local_theta=("rope_local_base_freq",), per_type=True, scaled=("full_attention",)),
        defaults={
            "max_position_embeddings": 131072,
            "head_dim": 256,
            "num_attention_heads": 8,
            "num_hidden_layers": 26,
            "hidden_size": 2304,
            "query_pre_attn_scalar": 256,
        },
        bidirectional=True,
    ),
    "cohere2": RotaryType(
        layout="interleaved",
        arithmetic="mixed",
        head="divided",
        layers=by_pattern(keys=("sliding_window_pattern",), period=4, window=4096, turns_only_sliding=True),
        defaults={"max_position_embeddings": 8192},
        values={
            "position_embedding_type": ("rope_gptj",),
            "rotary_pct": (1, 1.0),
            "order_of_interleaved_layers": ("local_attn_first",),
        },
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
    "smollm3": RotaryType(layers=smollm3, rope=RopeKeys(base=2e6), defaults={"max_position_embeddings": 32768}),
    "llama4_text": RotaryType(
        layout="interleaved",
        arithmetic="float32",
        layers=llama4,
        query_scale=True,
        rope=RopeKeys(base=500000.0),
        defaults={
            "max_position_embeddings": 131072,
            "head_dim": 128,
            "num_attention_heads": 40,
            "num_hidden_layers": 48,
            "hidden_size": 5120,
        },
    ),
    "starcoder2": RotaryType(layers=windowed(), defaults={"max_position_embeddings": 4096}),
}
