"""Positions of models that see: for every token one number an axis (time, height, width). One file a rule.

Token types and the sizes of images and videos go in; positions [B, T, axes] and what decoding needs come out. All is counted on the
device where the token types are: no tensor is read by the host. ``BUILDERS`` is the one table from a model type, as configurations
write it, to its rule.
"""

from __future__ import annotations

from collections.abc import Callable

from ordinate.multimodal.ernie4_5_vl import ernie4_5_vl_positions as ernie4_5_vl_positions
from ordinate.multimodal.glm_image import glm_image_drawn_positions as glm_image_drawn_positions
from ordinate.multimodal.glm_image import glm_image_positions as glm_image_positions
from ordinate.multimodal.hunyuan_vl import hunyuan_vl_positions as hunyuan_vl_positions
from ordinate.multimodal.hy_v4_vl import hy_v4_vl_positions as hy_v4_vl_positions
from ordinate.multimodal.minicpm_v import minicpm_v_positions as minicpm_v_positions
from ordinate.multimodal.patches import patch_positions as patch_positions
from ordinate.multimodal.placed import MultimodalPositions as MultimodalPositions
from ordinate.multimodal.placed import continued as continued
from ordinate.multimodal.qwen2_5_omni import qwen2_5_omni_positions as qwen2_5_omni_positions
from ordinate.multimodal.qwen2_5_vl import qwen2_5_vl_positions as qwen2_5_vl_positions
from ordinate.multimodal.qwen2_vl import qwen2_vl_positions as qwen2_vl_positions
from ordinate.multimodal.qwen3_omni import qwen3_omni_positions as qwen3_omni_positions
from ordinate.multimodal.qwen3_vl import qwen3_vl_positions as qwen3_vl_positions

BUILDERS: dict[str, Callable[..., MultimodalPositions]] = {
    "cohere_compass": qwen3_vl_positions,
    "cosmos3_edge": qwen3_vl_positions,
    "cosmos3_omni": qwen3_vl_positions,
    "ernie4_5_vl_moe": ernie4_5_vl_positions,
    "glm46v": qwen3_vl_positions,
    "glm4v": qwen3_vl_positions,
    "glm4v_moe": qwen3_vl_positions,
    "glm_image": glm_image_positions,
    "glm_ocr": qwen3_vl_positions,
    "hunyuan_vl": hunyuan_vl_positions,
    "hy_v4_vl": hy_v4_vl_positions,
    "minicpmv4_7": minicpm_v_positions,
    "paddleocr_vl": qwen2_vl_positions,
    "qwen2_5_omni": qwen2_5_omni_positions,
    "qwen2_5_vl": qwen2_5_vl_positions,
    "qwen2_vl": qwen2_vl_positions,
    "qwen3_5": qwen3_vl_positions,
    "qwen3_5_moe": qwen3_vl_positions,
    "qwen3_omni_moe": qwen3_omni_positions,
    "qwen3_vl": qwen3_vl_positions,
    "qwen3_vl_moe": qwen3_vl_positions,
    "qwen4_exp": qwen3_vl_positions,
}
