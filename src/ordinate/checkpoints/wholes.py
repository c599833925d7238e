"""Configurations of several models in one, which are read by their text model."""

from __future__ import annotations

# The type of the text model where it does not say it itself. These count tokens in order: images and sounds are tokens like others.
_IN_ORDER: dict[str, str] = {
    "apertus1p5": "apertus1p5_text",
    "aria": "aria_text",
    "audioflamingo3": "qwen2",
    "aya_vision": "cohere2",
    "cohere2_vision": "cohere2",
    "deepseek_vl": "llama",
    "deepseek_vl_hybrid": "llama",
    "emu3": "emu3_text_model",
    "exaone4_5": "exaone4",
    "fast_vlm": "qwen2",
    "fuyu": "persimmon",
    "gemma3": "gemma3_text",
    "got_ocr2": "qwen2",
    "granite4_vision": "granite4_vision_text",
    "granite_docling": "granite_docling_text",
    "granite_speech": "granite",
    "granite_speech_plus": "granite",
    "hyperclovax_vision_v2": "hyperclovax",
    "idefics2": "mistral",
    "idefics3": "llama",
    "internvl": "qwen2",
    "janus": "llama",
    "kimi_k25": "deepseek_v3",
    "lfm2_vl": "lfm2",
    "lighton_ocr": "qwen3",
    "llama4": "llama4_text",
    "llava": "llama",
    "llava_next": "llama",
    "llava_next_video": "llama",
    "llava_onevision": "qwen2",
    "muse_glimmer": "muse_glimmer_text",
    "muse_spark": "muse_spark_text",
    "mistral3": "mistral",
    "modernvbert": "modernbert",
    "moss_transcribe_diarize": "qwen3",
    "ovis2": "qwen2",
    "perception_lm": "llama",
    "qianfan_ocr": "qwen3",
    "qwen3_asr": "qwen3",
    "smolvlm": "llama",
    "vibevoice": "qwen2",
    "vibevoice_asr": "qwen2",
    "video_llama_3": "qwen2",
    "video_llava": "llama",
    "vipllava": "llama",
}
# These give a token of an image or video a time, a row and a column; the model's own code makes them.
WITH_COORDINATES: dict[str, str] = {
    "cosmos3_omni": "qwen3_vl_text",
    "glm46v": "glm4v_text",
    "glm4v": "glm4v_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen2_vl": "qwen2_vl_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
}
WHOLES: dict[str, str] = {**_IN_ORDER, **WITH_COORDINATES}
# Where the text model's configuration stands, if not under text_config.
PLACES: dict[str, tuple[str, ...]] = {}
