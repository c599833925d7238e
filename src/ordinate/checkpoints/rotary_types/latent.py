"""Decoders with heads made from a latent vector (DeepSeek and its kin): the last entries of a head turn."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_lists import indexed
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

SPLIT = {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
DEEPSEEK_V3 = RotaryType(
    layout="interleaved",
    head="latent",
    says_layout=True,
    rope=RopeKeys(scales_softmax=True),
    defaults={"max_position_embeddings": 4096, **SPLIT},
)
INDEXED = RotaryType(
    layout="interleaved",
    head="latent",
    layers=indexed,
    rope=RopeKeys(scales_softmax=True),
    defaults={"max_position_embeddings": 163840, **SPLIT},
)

LATENT: dict[str, RotaryType] = {
    "deepseek_v2": RotaryType(
        layout="interleaved",
        arithmetic="float32",
        head="latent",
        values={"rope_interleave": (True,)},
        rope=RopeKeys(scales_softmax=True),
        defaults={"max_position_embeddings": 2048, **SPLIT},
    ),
    "deepseek_v3": DEEPSEEK_V3,
    "axk1": replace(DEEPSEEK_V3, defaults={"max_position_embeddings": 32768, **SPLIT}),
    "youtu": replace(DEEPSEEK_V3, defaults={"max_position_embeddings": 131072, **SPLIT}),
    "sarvam_mla": replace(
        DEEPSEEK_V3,
        rope=RopeKeys(scales_softmax=True, aliases={"deepseek_yarn": "yarn"}),
        defaults={"max_position_embeddings": 4096, **SPLIT},
        idle=("head_dim", "q_head_dim"),
    ),
    "deepseek_v32": INDEXED,
    "glm_moe_dsa": replace(
        INDEXED,
        defaults={"max_position_embeddings": 202752, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64},
        values={"rope_interleave": (True,), "indexer_rope_interleave": (True,)},
    ),
    "axk2": replace(INDEXED, defaults={"max_position_embeddings": 131072, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32}),
    "glm4_moe_lite": replace(
        DEEPSEEK_V3, defaults={"max_position_embeddings": 202752, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64}
    ),
    "minicpm3": RotaryType(
        head="latent",
        rope=RopeKeys(scales_softmax=True),
        defaults={"max_position_embeddings": 32768, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32},
    ),
}
