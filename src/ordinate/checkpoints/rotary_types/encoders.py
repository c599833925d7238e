"""Models that look both ways."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_kinds import by_pattern
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.plain import alike
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
        values={"sliding_window": ()},
        idle=("position_embedding_type",),
    ),
    "eurobert": replace(alike(8192), causal=False),
    "esmc": replace(alike(2048), causal=False),
    "nomic_bert": replace(alike(2048, base=1000.0), causal=False),
    "gte": replace(alike(8192, base=160000.0), causal=False),
    "jina_embeddings_v3": replace(alike(8194, base=20000.0), causal=False),
    "ultrabert": RotaryType(
        causal=False,
        layers=by_pattern(period=3, window=128, inclusive=True),
        rope=RopeKeys(base=2.56e6, local_base=1e4, per_type=True),
        defaults={"max_position_embeddings": 32768},
        declares_reach=True,
    ),
}
