"""Model types that turn queries and keys: what their configurations do not say.

Layout, arithmetic and slice are in no configuration, but for a few keys. The tests hold every row against the model's own module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ordinate.checkpoints.layer_kinds import (
    Policy,
    all_alike,
    by_pattern,
    every_other_lower_layer_windowed,
    llama4,
    smollm3,
    upper_layers_windowed,
    windowed,
)
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rope_rules import TYPES

if TYPE_CHECKING:
    from ordinate.rotation import Arithmetic, Layout

HeadRule = Literal["declared", "divided", "latent"]
ScaleRule = Literal["head", "query_pre_attn_scalar", "attention_multiplier"]


@dataclass(frozen=True, kw_only=True)
class RotaryType:
    """What a model type's own code decides.

    Attributes:
        layout: which entries make a pair.
        arithmetic: "input" (every step in the activations' dtype), "float32" (rounded once) or "mixed" (cos and sin rounded, too).
        rope: how the settings are spelled.
        layers: which layers turn, and how far they see.
        head: width of a head: "declared" (head_dim, else hidden_size / heads), "divided" (hidden_size / heads, head_dim is not
            read) or "latent" (DeepSeek: the last qk_rope_head_dim of each head turn).
        scale: the softmax scale: head_dim^-0.5 or a declared number.
        defaults: values that stand in for absent keys.
        causal: whether attention looks back only.
        sizes: other spellings of sizes.
        values: keys that must have one of these values where they are there: other code would be needed.
        idle: keys that its published configurations have and its code does not read.
        bidirectional: whether ``use_bidirectional_attention`` is read; a window then counts both ways together.
        rotary_dim: whether the width that turns is declared as ``rotary_dim``.
        says_layout: whether ``rope_interleave`` declares the layout.
        query_scale: whether queries of layers without a rotation grow with the position (Llama 4).
    """

    layout: Layout = "half"
    arithmetic: Arithmetic = "input"
    rope: RopeKeys = field(default_factory=RopeKeys)
    layers: Policy = all_alike
    head: HeadRule = "declared"
    scale: ScaleRule = "head"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    causal: bool = True
    sizes: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    bidirectional: bool = False
    rotary_dim: bool = False
    says_layout: bool = False
    query_scale: bool = False


PARTIAL = ("partial_rotary_factor",)
CUT_HEADS = tuple(name for name in TYPES if name != "proportional")  # code that cuts the head by the share, whatever turns
GPT = {
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "hidden_size": "n_embd",
    "max_position_embeddings": "n_positions",
}
GPTJ = RotaryType(
    layout="interleaved",
    head="divided",
    rope=RopeKeys(theta=(), types=("default",)),
    sizes=GPT,
    defaults={"max_position_embeddings": 2048, "rotary_dim": 64},
    rotary_dim=True,
)
YARN_128K = {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}
MINISTRAL3 = {"rope_type": "yarn", "factor": 16.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
MINISTRAL3 |= {"original_max_position_embeddings": 16384, "llama_4_scaling_beta": 0.1, "rope_theta": 1e6}
GEMMA3_LAYERS = by_pattern(keys=("sliding_window_pattern", "_sliding_window_pattern"), period=6, window=4096)
LATENT = {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64}

ROTARY_TYPES: dict[str, RotaryType] = {
    "llama": RotaryType(defaults={"max_position_embeddings": 2048}),
    "mistral": RotaryType(layers=windowed(default=4096), defaults={"max_position_embeddings": 131072}),
    "ministral3": RotaryType(
        layers=windowed(),
        rope=RopeKeys(query_scale=True, absent=MINISTRAL3),
        defaults={"max_position_embeddings": 262144, "head_dim": 128},
    ),
    "mixtral": RotaryType(layers=windowed(), rope=RopeKeys(base=1e6), defaults={"max_position_embeddings": 131072}),
    "qwen2": RotaryType(layers=upper_layers_windowed, defaults={"max_position_embeddings": 32768}),
    "qwen2_moe": RotaryType(layers=every_other_lower_layer_windowed, defaults={"max_position_embeddings": 32768}),
    "qwen3": RotaryType(layers=upper_layers_windowed, defaults={"max_position_embeddings": 32768, "head_dim": 128}),
    "qwen3_moe": RotaryType(layers=windowed(default=4096, switch=True), defaults={"max_position_embeddings": 32768}),
    "gemma": RotaryType(defaults={"max_position_embeddings": 8192, "head_dim": 256}),
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
    "phi": RotaryType(
        head="divided",
        rope=RopeKeys(partial=PARTIAL, default_partial=0.5, types=CUT_HEADS),
        defaults={"max_position_embeddings": 2048},
    ),
    "phi3": RotaryType(
        layers=windowed(),
        rope=RopeKeys(partial=PARTIAL, types=("default", "longrope"), aliases={"yarn": "longrope"}),
        defaults={"max_position_embeddings": 4096, "original_max_position_embeddings": 4096},
    ),
    "gpt_neox": RotaryType(
        head="divided",
        rope=RopeKeys(theta=("rotary_emb_base", "rope_theta"), partial=("rotary_pct",), default_partial=0.25),
        defaults={"max_position_embeddings": 2048},
    ),
    "gptj": GPTJ,
    "codegen": replace(GPTJ, arithmetic="float32"),
    "falcon": RotaryType(
        head="divided",
        sizes={"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embed"},
        defaults={"max_position_embeddings": 2048},
    ),
    "glm4": RotaryType(
        layout="interleaved",
        rope=RopeKeys(partial=PARTIAL, default_partial=0.5),
        defaults={"max_position_embeddings": 131072, "head_dim": 128},
    ),
    "cohere": RotaryType(
        layout="interleaved",
        arithmetic="mixed",
        rope=RopeKeys(base=500000.0),
        defaults={"max_position_embeddings": 8192},
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
    "deepseek_v2": RotaryType(
        layout="interleaved",
        arithmetic="float32",
        head="latent",
        values={"rope_interleave": (True,)},
        rope=RopeKeys(scales_softmax=True),
        defaults={"max_position_embeddings": 2048, **LATENT},
    ),
    "deepseek_v3": RotaryType(
        layout="interleaved",
        head="latent",
        says_layout=True,
        rope=RopeKeys(scales_softmax=True),
        defaults={"max_position_embeddings": 4096, **LATENT},
    ),
    "gpt_oss": RotaryType(
        layers=by_pattern(period=2, window=128),
        rope=RopeKeys(base=150000.0, absent={**YARN_128K, "original_max_position_embeddings": 4096}),
        defaults={"max_position_embeddings": 131072, "head_dim": 64},
    ),
    "olmo2": RotaryType(arithmetic="float32", defaults={"max_position_embeddings": 2048}),
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
    "stablelm": RotaryType(
        head="divided",
        rope=RopeKeys(partial=("partial_rotary_factor", "rope_pct"), default_partial=0.25, types=CUT_HEADS),
        defaults={"max_position_embeddings": 4096},
    ),
    "starcoder2": RotaryType(layers=windowed(), defaults={"max_position_embeddings": 4096}),
    "granite": RotaryType(scale="attention_multiplier", defaults={"max_position_embeddings": 2048, "attention_multiplier": 1.0}),
    "modernbert": RotaryType(
        arithmetic="mixed",
        head="divided",
        causal=False,
        layers=by_pattern(
            keys=("global_attn_every_n_layers",), period=3, full_first=True, window=128, window_keys=("local_attention",)
        ),
        rope=RopeKeys(
            theta=("global_rope_theta",), local_theta=("local_rope_theta",), base=160000.0, local_base=1e4, per_type=True
        ),
        defaults={"max_position_embeddings": 8192},
        values={"sliding_window": ()},
        idle=("position_embedding_type",),
    ),
}
