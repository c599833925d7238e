"""Default sizes of text models, which parts of larger configurations leave out; whole configurations must declare theirs."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.rotary_types.record import RotaryType

# Layers, heads, width.
USUAL = (32, 32, 4096)
SIZES = {
    "apertus1p5_text": USUAL,
    "aria_text": USUAL,
    "cohere2": (40, 64, 8192),
    "deepseek_v3": (61, 128, 7168),
    "deepseek_ocr2_text": USUAL,
    "diffusion_gemma_text": (30, 8, 2304),
    "embedding_gemma2_text": (24, 4, 512),
    "emu3_text_model": USUAL,
    "exaone4": USUAL,
    "gemma3_text": (26, 8, 2304),
    "gemma3n_text": (35, 8, 2048),
    "gemma4_text": (30, 8, 2304),
    "gemma4_unified_text": (30, 8, 2304),
    "granite": USUAL,
    "granite4_vision_text": USUAL,
    "granite_docling_text": (28, 16, 1024),
    "hyperclovax": USUAL,
    "lfm2": (32, 32, 2560),
    "lfm3": (24, 16, 2048),
    "llama": USUAL,
    "llama4_text": (48, 40, 5120),
    "minimax_m3_vl_text": (60, 64, 6144),
    "mistral": USUAL,
    "mllama_text_model": (40, 32, 4096),
    "molmo2_text": (36, 32, 4096),
    "modernbert": (22, 12, 768),
    "muse_glimmer_text": (52, 32, 6656),
    "muse_spark_text": (62, 128, 8192),
    "persimmon": (36, 64, 4096),
    "qwen2": USUAL,
    "qwen3": USUAL,
    "step3p5": (45, 64, 4096),
    "unlimited_ocr_text": (12, 10, 1280),
    "cohere_compass_text": (40, 64, 8192),
    "cosmos3_edge_text": (28, 16, 2048),
    "ernie4_5_vl_moe_text": (28, 20, 2560),
    "glm4v_moe_text": (46, 96, 4096),
    "glm4v_text": (40, 32, 4096),
    "glm_image_text": (40, 32, 4096),
    "glm_ocr_text": (16, 16, 1024),
    "hy_v4_vl_text": (78, 64, 6144),
    "paddleocr_vl_text": (18, 16, 1024),
    "qwen2_5_omni_text": (28, 28, 3584),
    "qwen2_5_vl_text": (80, 64, 8192),
    "qwen2_vl_text": (80, 64, 8192),
    "qwen3_5_moe_text": (40, 16, 2048),
    "qwen3_5_text": (32, 16, 4096),
    "qwen3_omni_moe_text": (28, 28, 2048),
    "qwen3_vl_moe_text": (24, 16, 2048),
    "qwen3_vl_text": USUAL,
    "qwen4_exp_text": (40, 16, 2048),
}


def sized(name: str, kind: RotaryType) -> RotaryType:
    """Give a row with its type's default sizes, where they are known.

    Args:
        name: of the type.
        kind: its row.

    Returns:
        The row.

    Example:
        >>> sized("llama", RotaryType()).defaults["num_hidden_layers"]
        32
    """
    if name not in SIZES:
        return kind
    sizes = dict(zip(("num_hidden_layers", "num_attention_heads", "hidden_size"), SIZES[name], strict=True))
    return replace(kind, defaults={**sizes, **kind.defaults})
