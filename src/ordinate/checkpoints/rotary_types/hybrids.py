"""Decoders in which only some layers attend; the others are convolutions, recurrences or linear attention."""

from __future__ import annotations

from ordinate.checkpoints.layer_kinds import FULL, SLIDING
from ordinate.checkpoints.layer_mixes import (
    CONVOLUTION,
    LINEAR,
    at_places,
    listed_only,
    mixed,
    one_of_each,
    only_with,
    repeated,
    unless_base_is_null,
)
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.slices import PARTIAL

HYBRIDS: dict[str, RotaryType] = {
    "qwen3_next": RotaryType(
        layers=mixed(one_of_each(4, key="full_attention_interval")),
        rope=RopeKeys(partial=PARTIAL, default_partial=0.25),
        defaults={"max_position_embeddings": 32768, "head_dim": 256},
    ),
    "olmo_hybrid": RotaryType(
        arithmetic="float32",
        layers=unless_base_is_null(mixed(one_of_each(4, at_least_last=True))),
        defaults={"max_position_embeddings": 65536},
    ),
    "minimax": RotaryType(
        layers=mixed(one_of_each(2, first=True), everywhere=True),
        rope=RopeKeys(base=1e6),
        defaults={"max_position_embeddings": 131072},
    ),
    "lfm2": RotaryType(
        layers=mixed(at_places("full_attn_idxs", still=CONVOLUTION, absent=FULL), still=CONVOLUTION),
        rope=RopeKeys(base=1e6),
        defaults={"max_position_embeddings": 128000},
    ),
    "lfm2_moe": RotaryType(
        layers=mixed(listed_only, still=CONVOLUTION), rope=RopeKeys(base=1e6), defaults={"max_position_embeddings": 128000}
    ),
    "bamba": RotaryType(
        layers=mixed(at_places("attn_layer_indices", still=LINEAR, absent=LINEAR)),
        rope=RopeKeys(partial=PARTIAL, default_partial=0.5),
        defaults={"max_position_embeddings": 262144},
        values={"partial_rotary_factor": (0.5,)},
    ),
    "bailing_hybrid": RotaryType(
        layout="interleaved",
        head="latent",
        layers=mixed(one_of_each(6, key="layer_group_size")),
        rope=RopeKeys(base=6e6, scales_softmax=True),
        sizes={"max_position_embeddings": "model_max_length"},
        defaults={"max_position_embeddings": 262144, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64},
        idle=("head_dim",),
    ),
    "granitemoehybrid": RotaryType(
        scale="attention_multiplier",
        layers=only_with("position_embedding_type", "rope", mixed(repeated([LINEAR]))),
        defaults={"max_position_embeddings": 2048, "attention_multiplier": 1.0},
    ),
    "lara_mini": RotaryType(
        layers=mixed(repeated([LINEAR, SLIDING, LINEAR, FULL, SLIDING]), attends=(FULL, SLIDING), turns=(SLIDING,), window=512),
        defaults={"max_position_embeddings": 131072, "head_dim": 128},
    ),
}
