"""Decoders whose layers are all alike and turn whole heads of pairs that lie half a head apart."""

from __future__ import annotations

from ordinate.checkpoints.rotary_types.record import RotaryType

PLAIN: dict[str, RotaryType] = {
    "llama": RotaryType(defaults={"max_position_embeddings": 2048}),
    "gemma": RotaryType(defaults={"max_position_embeddings": 8192, "head_dim": 256}),
    "falcon": RotaryType(
        head="divided",
        sizes={"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embed"},
        defaults={"max_position_embeddings": 2048},
    ),
    "olmo2": RotaryType(arithmetic="float32", defaults={"max_position_embeddings": 2048}),
    "granite": RotaryType(scale="attention_multiplier", defaults={"max_position_embeddings": 2048, "attention_multiplier": 1.0}),
}
