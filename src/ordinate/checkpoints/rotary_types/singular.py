"""Decoders whose configurations are spelled like no other's."""

from __future__ import annotations

from ordinate.checkpoints.layer_kinds import windowed
from ordinate.checkpoints.layer_singular import doge
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.slices import CUT_HEADS, PARTIAL

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
}
