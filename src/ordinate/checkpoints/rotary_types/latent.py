"""Decoders with heads made from a latent vector (DeepSeek and its kin): the last entries of a head turn."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_counts import two_of_each
from ordinate.checkpoints.layer_lists import indexed
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

MISTRAL4 = {"rope_type": "yarn", "factor": 128.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
MISTRAL4 |= {"original_max_position_embeddings": 8192, "llama_4_scaling_beta": 0.1, "rope_theta": 10000.0}
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
    "mistral4": replace(
        DEEPSEEK_V3,
        rope=RopeKeys(
            scales_softmax=True,
            query_scale=True,
            repeated_share=0.5,
            absent=MISTRAL4,
            types=("yarn", "linear", "dynamic", "longrope", "llama3"),
            reasons=dict.fromkeys(("default", "proportional"), "the code would turn more than the slice holds"),
        ),
        defaults={"max_position_embeddings": 1048576, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64},
        idle=("head_dim",),
    ),
    "longcat_flash": RotaryType(
        layout="interleaved",
        head="latent",
        count=two_of_each,
        rope=RopeKeys(base=1e7, scales_softmax=True),
        defaults={"max_position_embeddings": 131072, **SPLIT, "head_dim": 64},
    ),
    "hy_v4": RotaryType(
        head="latent",
        layers=indexed,
        rope=RopeKeys(scales_softmax=True),
        defaults={"max_position_embeddings": 262144, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64},
        idle=("head_dim",),
    ),
    "minicpm3": RotaryType(
        head="latent",
        rope=RopeKeys(scales_softmax=True),
        defaults={"max_position_embeddings": 32768, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32},
    ),
}
