"""Settings by which some layers differ from others, as configurations of each model type write them."""

import reading_gemma4
import reading_text
from reading_models import MODELS
from reading_sizes import TRAINED

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
MIXED = [SLIDING, FULL, FULL, SLIDING, FULL, SLIDING, SLIDING, FULL]
LINEAR = "linear_attention"
STILL = [LINEAR, FULL, FULL, LINEAR, FULL, LINEAR, LINEAR, FULL]
YARN = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": TRAINED, "rope_theta": 10000.0}
MSCALE = {"rope_parameters": {**YARN, "mscale": 0.707, "mscale_all_dim": 0.707}}

CHANGES = {
    "mistral": [{"sliding_window": None}, {"sliding_window": 1}],
    "ministral3": [{"sliding_window": None}],
    "mixtral": [{"sliding_window": None}],
    "qwen2": [
        {"use_sliding_window": False},
        {"max_window_layers": 0},
        {"max_window_layers": 28},
        {"layer_types": MIXED},
    ],
    "qwen2_moe": [
        {"use_sliding_window": True, "sliding_window": 9, "layer_types": MIXED},
        {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 5},
        {"use_sliding_window": True, "layer_types": MIXED},
    ],
    "qwen3": [{"use_sliding_window": False}, {"max_window_layers": 7}, {"layer_types": MIXED}],
    "qwen3_moe": [{"use_sliding_window": False}],
    "gemma2": [
        {"layer_types": MIXED},
        {"query_pre_attn_scalar": 144, "sliding_window": 5},
    ],
    "gemma3_text": [
        {"sliding_window_pattern": 3},
        {"layer_types": MIXED},
        {"query_pre_attn_scalar": 168},
        {"use_bidirectional_attention": True},
    ],
    "phi3": [{"sliding_window": None}],
    "cohere2": [{"sliding_window_pattern": 2}, {"layer_types": MIXED}],
    "deepseek_v2": [
        MSCALE,
        {"rope_parameters": {**YARN, "mscale_all_dim": 1.3}},
        {"rope_parameters": YARN},
    ],
    "deepseek_v3": [
        MSCALE,
        {"rope_parameters": {**YARN, "attention_factor": 1.0, "mscale_all_dim": 1.0}},
    ],
    "gpt_oss": [{"layer_types": MIXED}, {"sliding_window": 3}],
    "olmo3": [{"layer_types": MIXED}],
    "smollm3": [
        {"use_sliding_window": False, "sliding_window": None},
        {"sliding_window": None},
        {"no_rope_layer_interval": 3},
        {"no_rope_layers": [1, 0, 0, 1, 1, 1, 0, 1]},
        {"layer_types": MIXED},
    ],
    "llama4_text": [
        {"no_rope_layer_interval": 2},
        {"no_rope_layers": [1, 0, 0, 1, 1, 1, 0, 1]},
        {"no_rope_layers": []},
        {"attention_chunk_size": None},
        {"layer_types": [CHUNKED if kind == SLIDING else FULL for kind in MIXED]},
    ],
    "starcoder2": [{"sliding_window": None}],
    "granite": [{"attention_multiplier": 0.015625}],
    "gemma3n_text": [{"layer_types": MIXED}],
    "mimo_v2_flash": [{"sliding_window_size": 5}, {"layer_types": MIXED}],
    "muse_glimmer_text": [{"layer_rope_theta": [10000.0, 0, 0, 10000.0, 0, 10000.0, 10000.0, 0]}, {"layer_types": MIXED}],
    "bailing_hybrid": [{"layer_types": STILL}, {"rope_parameters": {**MSCALE["rope_parameters"], "rope_theta": 6000000.0}}],
    "ministral": [{"layer_types": MIXED}],
    "cwm": [{"layer_types": MIXED}],
    "dots1": [{"max_window_layers": 0}, {"layer_types": MIXED}, {"sliding_window": None}],
    "mellum": [{"layer_types": [FULL] * 8}],
    "modernbert-decoder": [{"local_attention": 13}, {"layer_types": MIXED}],
    "afmoe": [{"global_attn_every_n_layers": 3}, {"layer_types": MIXED}],
    "exaone4": [{"sliding_window_pattern": 3}, {"layer_types": MIXED}, {"sliding_window": None, "layer_types": [FULL] * 8}],
    "flint": [{"layer_types": MIXED}],
    "granite_swa": [{"layer_rope_theta": [10000.0, 0, 0, 10000.0, 0, 10000.0, 10000.0, 0]}, {"layer_types": MIXED}],
    "granitemoe_swa": [{"layer_rope_theta": [0, 10000.0, 0, 10000.0, 0, 10000.0, 10000.0, 0]}],
    "kolibri1": [{"layer_types": MIXED}],
    "ultrabert": [{"sliding_window": 1}, {"layer_types": MIXED}],
    "minimax": [{"sliding_window": 9}, {"layer_types": STILL}],
    "qwen3_next": [{"full_attention_interval": 2}, {"layer_types": STILL}],
    "olmo_hybrid": [{"rope_parameters": {"rope_theta": None, "rope_type": "default"}}, {"layer_types": STILL}],
    "lfm2": [{"layer_types": ["conv" if kind == LINEAR else FULL for kind in STILL]}],
    "granitemoehybrid": [{"position_embedding_type": None}, {"layer_types": STILL}],
    "lara_mini": [{"layer_types": [FULL, LINEAR, SLIDING, SLIDING, FULL, FULL, LINEAR, SLIDING]}],
    "qwen2_vl_text": [{"use_sliding_window": False}, {"max_window_layers": 80}, {"layer_types": MIXED}],
    "qwen2_5_omni_text": [{"use_sliding_window": False}, {"max_window_layers": 0}, {"layer_types": MIXED}],
    "qwen2_5_omni_talker": [{"use_sliding_window": False}],
    "qwen3_5_text": [{"full_attention_interval": 2}, {"layer_types": STILL}],
    "qwen3_5_moe_text": [{"layer_types": STILL}],
    "qwen4_exp_text": [{"full_attention_interval": 2}, {"layer_types": STILL}],
    "hy_v4_vl_text": [{"rope_parameters": {**MSCALE["rope_parameters"], "mrope_section": [14, 9, 9]}}],
    "cohere_compass_text": [
        {"rope_parameters": {FULL: None, SLIDING: {"rope_type": "default", "rope_theta": 1000.0}}},
        {"rope_parameters": {FULL: {"rope_type": "default", "rope_theta": 1000.0}, SLIDING: None}},
        {"layer_types": [FULL] * 8},
    ],
    "neomme": [
        {"per_layer_config": {"0": {"sliding_window": 3}, "5": {"sliding_window": 30}, "7": {"sliding_window": None}}},
        {"per_layer_config": {}},
        {"layer_types": [FULL] * 8},
    ],
    "modernbert": [{"global_attn_every_n_layers": 2}, {"local_attention": 7}, {"local_attention": 16}, {"layer_types": MIXED}],
}
CHANGES |= {**reading_gemma4.CHANGES, **reading_text.CHANGES}
CHANGES |= {"doge": [{"sliding_window": None}], "phi4_multimodal": [{"sliding_window": None}]}
# Left out of a configuration altogether.
WITHOUT = {
    "mistral": ["sliding_window"],
    "ministral3": ["sliding_window"],
    "mixtral": ["sliding_window"],
    "qwen2": ["sliding_window", "use_sliding_window", "max_window_layers"],
    "qwen3": ["sliding_window"],
    "qwen3_moe": ["sliding_window"],
    "gemma2": ["sliding_window", "query_pre_attn_scalar"],
    "gemma3_text": ["sliding_window", "query_pre_attn_scalar"],
    "phi3": ["sliding_window"],
    "cohere2": ["sliding_window"],
    "deepseek_v2": ["qk_nope_head_dim"],
    "deepseek_v3": ["qk_nope_head_dim"],
    "gpt_oss": ["sliding_window"],
    "olmo3": ["sliding_window"],
    "smollm3": ["use_sliding_window"],
    "llama4_text": ["floor_scale", "attention_chunk_size"],
    "starcoder2": ["sliding_window"],
    "granite": ["attention_multiplier"],
    "hyperclovax": ["attention_multiplier"],
    "lfm2": ["full_attn_idxs"],
    "lara_mini": ["sliding_window"],
    "ministral": ["sliding_window"],
    "gemma3n_text": ["sliding_window"],
    "mimo_v2_flash": ["sliding_window"],
    "muse_glimmer_text": ["sliding_window"],
    "bailing_hybrid": ["layer_group_size"],
    "cwm": ["sliding_window"],
    "dots1": ["sliding_window", "max_window_layers"],
    "vaultgemma": ["sliding_window", "query_pre_attn_scalar"],
    "mellum": ["sliding_window", "layer_types"],
    "laguna": ["layer_types"],
    "afmoe": ["sliding_window"],
    "exaone4": ["sliding_window"],
    "kolibri1": ["sliding_window"],
    "flint": ["sliding_window"],
    "granite_swa": ["sliding_window"],
    "modernbert-decoder": ["local_attention"],
    "ultrabert": ["sliding_window"],
    "modernbert": ["local_attention"],
    "qwen2_vl_text": ["sliding_window", "max_window_layers"],
    "qwen2_5_omni_text": ["sliding_window", "max_window_layers"],
    "qwen3_omni_moe_code2wav": ["sliding_window"],
    "cohere_compass_text": ["sliding_window", "layer_types"],
    "neomme": ["sliding_window", "layer_types"],
}
CHANGES |= {
    "beam": [{"layer_types": MIXED}, {"rope_parameters": {FULL: {"rope_type": "default", "rope_theta": 7e3}, SLIDING: None}}],
    "lfm3": [{"layer_types": ["conv", "conv", FULL, FULL, SLIDING, FULL, "conv", SLIDING]}],
    "zaya": [{"layer_types": ["hybrid"] * 8}, {"sliding_window": 5}],
    "minimax_m3_vl_text": [
        {"layer_types": ["minimax_m3_sparse" if kind == SLIDING else FULL for kind in MIXED]},
        {"sparse_attention_config": {"sparse_attention_freq": [0, 0, 1, 1, 0, 1, 1, 1]}},
    ],
    "step3p5": [
        {"layer_types": [*MIXED, SLIDING, FULL], "num_nextn_predict_layers": 2},
        {"query_pre_attn_scalar": 24},
        {"num_sliding_attention_heads": 6},
        {"attention_other_setting": {"num_attention_heads": 6, "head_dim": 32}},
    ],
}
WITHOUT |= {
    "beam": ["sliding_window", "layer_types"],
    "lfm3": ["sliding_window", "layer_types"],
    "zaya": ["layer_types"],
    "step3p5": ["layer_types", "num_sliding_attention_heads"],
}
WITHOUT |= {"doge": ["sliding_window"], "phi4_multimodal": ["sliding_window"]}
WITHOUT |= {**reading_gemma4.WITHOUT, **reading_text.WITHOUT}


def settings():
    """Give every model type's own sizes, then each change of them."""
    return dict(_all_settings())


def _all_settings():
    for model_type, sizes in MODELS.items():
        values = {"model_type": model_type, **sizes}
        yield model_type, values
        for change in CHANGES.get(model_type, []):
            yield f"{model_type} {', '.join(_named(key, value) for key, value in change.items())}", {**values, **change}
        for key in WITHOUT.get(model_type, []):
            yield f"{model_type} without {key}", {name: value for name, value in values.items() if name != key}


def _named(key, value):
    if isinstance(value, dict) and "rope_type" not in value:
        return f"{key} {' '.join(name if part else f'no {name}' for name, part in value.items()) or 'of none'}"
    if isinstance(value, dict):
        return " ".join((value["rope_type"], *sorted(set(value) - set(YARN))))
    return f"{key} listed" if isinstance(value, (dict, list)) and value else f"{key}={value}"
