"""Decoders with heads made from a latent vector (DeepSeek and its kin): the last entries of a head turn."""

from __future__ import annotations

from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

SPLIT = {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64}

LATENT: dict[str, RotaryType] = {
    "deepseek_v2": RotaryType(
        layout="interleaved",
        arithmetic="float32",
        head="latent",
        rope=RopeKeys(scales_softmax=True),
        defaults={"max_position_embeddings": 2048, **SPLIT},
    ),
    "deepseek_v3": RotaryType(
        layout="interleaved",
        head="latent",
        says_layout=True,
        rope=RopeKeys(scales_softmax=True),
        defaults={"max_position_embeddings": 4096, **SPLIT},
    ),
}
