"""Decoders of text, images and videos, whose tokens have a time, a row and a column."""

from __future__ import annotations

from ordinate.checkpoints.layer_lists import upper_layers_windowed
from ordinate.checkpoints.layer_mixes import mixed, one_of_each
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rope_sections import SectionKeys
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.slices import PARTIAL

MROPE = {"mrope": "default"}
QWEN2_SECTIONS = SectionKeys(default=(16, 24, 24))
QWEN3_SECTIONS = SectionKeys(default=(24, 20, 20), order="interleaved")
GLM_SECTIONS = SectionKeys(default=(8, 12, 12))
QWEN2_VL = RotaryType(
    head="divided",
    layers=upper_layers_windowed(border=80),
    rope=RopeKeys(base=1e6, sections=QWEN2_SECTIONS, aliases=MROPE),
    defaults={"max_position_embeddings": 32768},
)
QWEN3_5 = RotaryType(
    layers=mixed(one_of_each(4, key="full_attention_interval")),
    rope=RopeKeys(partial=PARTIAL, default_partial=0.25, sections=SectionKeys(default=(11, 11, 10), order="interleaved")),
    defaults={"max_position_embeddings": 32768, "head_dim": 256},
)

MULTIMODAL: dict[str, RotaryType] = {
    "qwen2_vl_text": QWEN2_VL,
    "qwen2_5_vl_text": QWEN2_VL,
    "qwen3_vl_text": RotaryType(
        rope=RopeKeys(base=500000.0, sections=QWEN3_SECTIONS), defaults={"max_position_embeddings": 128000, "head_dim": 128}
    ),
    "qwen3_vl_moe_text": RotaryType(
        rope=RopeKeys(base=500000.0, sections=QWEN3_SECTIONS), defaults={"max_position_embeddings": 128000}
    ),
    "qwen3_5_text": QWEN3_5,
    "qwen3_5_moe_text": QWEN3_5,
    "glm4v_text": RotaryType(
        layout="interleaved",
        head="divided",
        rope=RopeKeys(partial=PARTIAL, sections=GLM_SECTIONS),
        defaults={"max_position_embeddings": 32768},
    ),
}
