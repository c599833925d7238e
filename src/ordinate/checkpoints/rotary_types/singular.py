"""Decoders whose configurations are spelled like no other's."""

from __future__ import annotations

from typing import Any

from ordinate.checkpoints.layer_kinds import windowed
from ordinate.checkpoints.layer_singular import HYBRID, HYBRID_SLIDING, beam, doge, lfm3, minimax_m3, molmo2, muse_assistant, zaya
from ordinate.checkpoints.layer_step import step_dictionary, step_layers
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.slices import CUT_HEADS, PARTIAL

# Code that reads the dictionary by layer type and nothing beside it.
ALONE: dict[str, tuple[Any, ...]] = {"rope_theta": (), "rope_scaling": ()}
LFM3 = {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
LFM3 |= {"full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.5}}
ZAYA = {
    HYBRID: {"rope_type": "default", "rope_theta": 5e6, "partial_rotary_factor": 0.5},
    HYBRID_SLIDING: {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5},
}

SINGULAR: dict[str, RotaryType] = {
    "phi4_multimodal": RotaryType(
        layers=windowed(),
        rope=RopeKeys(partial=PARTIAL, types=("default", "longrope"), aliases={"yarn": "longrope"}),
        defaults={"max_position_embeddings": 131072, "original_max_position_embeddings": 4096},
    ),
    "gpt_neox_japanese": RotaryType(
        head="divided",
        rope=RopeKeys(theta=("rotary_emb_base", "rope_theta"), partial=("rotary_pct",), types=CUT_HEADS),
        defaults={"max_position_embeddings": 2048},
    ),
    "doge": RotaryType(layers=doge, defaults={"max_position_embeddings": 2048}),
    "dbrx": RotaryType(
        head="divided",
        rope=RopeKeys(theta_part="attn_config"),
        sizes={
            "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads",
            "hidden_size": "d_model",
            "max_position_embeddings": "max_seq_len",
        },
        defaults={"max_position_embeddings": 2048},
    ),
    "nanochat": RotaryType(sign=-1, normed_after=True, defaults={"max_position_embeddings": 2048}),
    "beam": RotaryType(
        arithmetic="float32",
        layers=beam,
        query_scale="power",
        rope=RopeKeys(per_type=True),
        values=ALONE,
        defaults={"max_position_embeddings": 8192, "head_dim": 128},
    ),
    "lfm3": RotaryType(
        arithmetic="float32",
        layers=lfm3,
        rope=RopeKeys(base=1e6, per_type=True, absent=LFM3),
        values=ALONE,
        defaults={"max_position_embeddings": 128000, "head_dim": 128},
    ),
    "zaya": RotaryType(
        layers=zaya,
        rope=RopeKeys(
            base=5e6,
            local_base=1e4,
            per_type=True,
            partial=PARTIAL,
            absent=ZAYA,
            labels=(HYBRID, HYBRID_SLIDING),
            passed_over=("rope_type",),
        ),
        values={**ALONE, "partial_rotary_factor": ()},
        defaults={"max_position_embeddings": 131072, "head_dim": 128},
    ),
    "muse_glimmer_assistant": RotaryType(
        causal=False,
        layers=muse_assistant,
        rope=RopeKeys(base=500000.0),
        declares_reach=True,
        defaults={"max_position_embeddings": 131072, "head_dim": 128},
    ),
    "dots3_note_audio_encoder": RotaryType(
        causal=False,
        head="divided",
        rope=RopeKeys(partial=PARTIAL, default_partial=0.5),
        values={"whisper_config": ()},
        defaults={"max_position_embeddings": 6000},
    ),
    "molmo2_text": RotaryType(layers=molmo2, defaults={"max_position_embeddings": 36864, "head_dim": 128}),
    "minimax_m3_vl_text": RotaryType(
        layers=minimax_m3,
        rope=RopeKeys(base=5e6, partial=PARTIAL, partial_count=True),
        defaults={"max_position_embeddings": 524288, "head_dim": 128, "rotary_dim": 64},
    ),
    "step3p5": RotaryType(
        layers=step_layers,
        scale="query_pre_attn_scalar",
        rope=RopeKeys(theta=(), per_type=True, partial=PARTIAL, by_layer=step_dictionary),
        bidirectional=True,
        declares_reach=True,
        defaults={"max_position_embeddings": 128000, "head_dim": 128},
    ),
}
