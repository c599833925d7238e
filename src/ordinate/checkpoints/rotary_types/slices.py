"""Decoders that turn a part of each head, or pairs of neighbours."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_kinds import windowed
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rope_rules import TYPES
from ordinate.checkpoints.rotary_types.record import RotaryType

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
GLM = RotaryType(
    layout="interleaved",
    rope=RopeKeys(partial=PARTIAL, default_partial=0.5),
    defaults={"max_position_embeddings": 131072, "head_dim": 128},
)
ERNIE = RotaryType(
    layout="interleaved", arithmetic="float32", rope=RopeKeys(base=500000.0), defaults={"max_position_embeddings": 131072}
)

SLICES: dict[str, RotaryType] = {
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
    "glm": GLM,
    "glm4": GLM,
    "cohere": RotaryType(
        layout="interleaved",
        arithmetic="mixed",
        rope=RopeKeys(base=500000.0),
        defaults={"max_position_embeddings": 8192},
    ),
    "stablelm": RotaryType(
        head="divided",
        rope=RopeKeys(partial=("partial_rotary_factor", "rope_pct"), default_partial=0.25, types=CUT_HEADS),
        defaults={"max_position_embeddings": 4096},
    ),
    "helium": RotaryType(
        layout="interleaved", rope=RopeKeys(base=100000.0), defaults={"max_position_embeddings": 4096, "head_dim": 128}
    ),
    "ernie4_5": replace(ERNIE, defaults={"max_position_embeddings": 131072, "head_dim": 128}),
    "ernie4_5_moe": ERNIE,
    "glm4_moe": RotaryType(rope=RopeKeys(partial=PARTIAL, default_partial=0.5), defaults={"max_position_embeddings": 131072}),
    "minimax_m2": RotaryType(
        rope=RopeKeys(base=5e6, partial=PARTIAL, partial_count=True), defaults={"max_position_embeddings": 196608, "head_dim": 128}
    ),
    "sarvam_moe": RotaryType(
        rope=RopeKeys(base=8e6, partial=PARTIAL), defaults={"max_position_embeddings": 131072, "head_dim": 64}
    ),
    "persimmon": RotaryType(
        head="divided",
        rope=RopeKeys(partial=PARTIAL, default_partial=0.5, types=CUT_HEADS),
        defaults={"max_position_embeddings": 16384},
    ),
    "nemotron": RotaryType(rope=RopeKeys(partial=PARTIAL, default_partial=0.5), defaults={"max_position_embeddings": 4096}),
}
