"""Models that look both ways."""

from __future__ import annotations

from ordinate.checkpoints.layer_kinds import by_pattern
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

ENCODERS: dict[str, RotaryType] = {
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
        idle=("position_embedding_type",),
    ),
}
