"""Models of text, images and videos whose tokens have a time, a row and a column, and the models of speech beside them."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_lists import all_slide, indexed, listed, never_sliding, upper_layers_slide, upper_layers_windowed
from ordinate.checkpoints.layer_mixes import linear_or_indexed, mixed, one_of_each
from ordinate.checkpoints.layer_nope import unless_entry_is_null
from ordinate.checkpoints.layer_widths import narrow_and_wide
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rope_sections import SectionKeys
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.slices import PARTIAL

MROPE = {"mrope": "default"}
QWEN2_SECTIONS = SectionKeys(default=(16, 24, 24))
QWEN3_SECTIONS = SectionKeys(default=(24, 20, 20), order="interleaved", cut=True)
QWEN3_5_SECTIONS = SectionKeys(default=(11, 11, 10), order="interleaved", cut=True)
GLM_ROPE = RopeKeys(partial=PARTIAL, sections=SectionKeys(default=(8, 12, 12)))
QWEN2_VL = RotaryType(
    head="divided",
    layers=upper_layers_windowed(border=80),
    rope=RopeKeys(base=1e6, sections=QWEN2_SECTIONS, aliases=MROPE),
    defaults={"max_position_embeddings": 32768},
)
QWEN2_5_OMNI = RotaryType(
    layers=upper_layers_windowed(window=32768),
    rope=RopeKeys(base=1e6, sections=QWEN2_SECTIONS),
    defaults={"max_position_embeddings": 32768},
)
QWEN3_5 = RotaryType(
    layers=mixed(one_of_each(4, key="full_attention_interval")),
    rope=RopeKeys(partial=PARTIAL, default_partial=0.25, sections=QWEN3_5_SECTIONS),
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
    "paddleocr_vl_text": RotaryType(
        rope=RopeKeys(base=500000.0, sections=QWEN2_SECTIONS),
        defaults={"max_position_embeddings": 131072, "head_dim": 128},
        values={"rope_is_neox_style": (True,), "use_3d_rope": (True,)},
    ),
    "qwen2_5_omni_text": QWEN2_5_OMNI,
    "qwen2_5_omni_talker": replace(QWEN2_5_OMNI, defaults={"max_position_embeddings": 32768, "head_dim": 128}),
    "qwen3_omni_moe_text": RotaryType(
        rope=RopeKeys(base=1e6, sections=QWEN3_SECTIONS), defaults={"max_position_embeddings": 32768}
    ),
    "qwen3_omni_moe_talker_text": RotaryType(rope=RopeKeys(sections=QWEN3_SECTIONS), defaults={"max_position_embeddings": 32768}),
    "qwen3_omni_moe_talker_code_predictor": RotaryType(
        layers=never_sliding(upper_layers_slide(window=None, border=28)),
        defaults={"max_position_embeddings": 32768, "head_dim": 128},
    ),
    "qwen3_omni_moe_code2wav": RotaryType(layers=all_slide(window=72), defaults={"max_position_embeddings": 8000}),
    "cosmos3_edge_text": RotaryType(
        rope=RopeKeys(base=1e8, types=("default",), sections=replace(QWEN3_SECTIONS, cut=False)),
        defaults={"max_position_embeddings": 131072, "head_dim": 128},
    ),
    "qwen3_5_text": QWEN3_5,
    "qwen3_5_moe_text": QWEN3_5,
    "qwen4_exp_text": RotaryType(
        layers=linear_or_indexed,
        rope=RopeKeys(partial=PARTIAL, sections=QWEN3_5_SECTIONS),
        defaults={"max_position_embeddings": 32768, "head_dim": 256},
    ),
    "glm4v_text": RotaryType(layout="interleaved", head="divided", rope=GLM_ROPE, defaults={"max_position_embeddings": 32768}),
    "glm_ocr_text": RotaryType(layout="interleaved", rope=GLM_ROPE, defaults={"max_position_embeddings": 131072}),
    "glm4v_moe_text": RotaryType(rope=replace(GLM_ROPE, default_partial=0.5), defaults={"max_position_embeddings": 65536}),
    "glm_image_text": RotaryType(rope=GLM_ROPE, defaults={"max_position_embeddings": 131072}),
    "ernie4_5_vl_moe_text": RotaryType(
        layout="interleaved",
        arithmetic="float32",
        rope=RopeKeys(
            base=500000.0,
            types=("default",),
            sections=SectionKeys(default=(20, 22, 22), order="space_first", listed=(1, 2, 0)),
        ),
        defaults={"max_position_embeddings": 131072},
    ),
    "hy_v4_vl_text": RotaryType(
        layout="interleaved",
        arithmetic="mixed",
        head="latent",
        layers=indexed,
        rope=RopeKeys(scales_softmax=True, sections=SectionKeys(default=(12, 10, 10), order="interleaved")),
        defaults={"max_position_embeddings": 262144, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64},
        idle=("head_dim",),
    ),
    "cohere_compass_text": RotaryType(
        head="divided",
        layers=unless_entry_is_null(listed(lambda *_: True, window=4096)),
        rope=RopeKeys(base=None, per_type=True, only_by_type=True, sections=QWEN3_SECTIONS),
        defaults={"max_position_embeddings": 8192},
    ),
    "neomme": RotaryType(
        causal=False,
        layers=narrow_and_wide,
        declares_reach=True,
        rope=RopeKeys(
            base=1e6,
            local_base=1e4,
            per_type=True,
            only_by_type=True,
            partial=PARTIAL,
            default_partial=0.25,
            local_partial=1.0,
            sections=SectionKeys(order="interleaved", axes=2),
        ),
        defaults={"max_position_embeddings": 16384, "head_dim": 64},
        values={"partial_rotary_factor": ()},
    ),
}
