"""Model types whose tokens have several coordinates: small configurations, sections, and positions that differ on every axis."""

import torch
from reading_sizes import DECLARED, DEEPSEEK, DIVIDED, EXPERTS

WIDE = {**DECLARED, "hidden_size": 512, "head_dim": 128}
WIDE_DIVIDED = {**DIVIDED, "hidden_size": 512}
HALF_WIDE = {**DIVIDED, "hidden_size": 256}
WINDOWED = {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 3}
LINEAR = {"linear_num_value_heads": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8}
MOE = {**DECLARED, **EXPERTS, "num_local_experts": 2}
SHARED = {"shared_expert_intermediate_size": 16}
ROUTED = {**EXPERTS, "n_routed_experts": 2, "n_shared_experts": 1, "first_k_dense_replace": 8, "n_group": 1, "topk_group": 1}
ERNIE = {"moe_num_experts": 2, "moe_k": 1, "moe_intermediate_size": [16, 16], "moe_num_shared_experts": 1}
INDEXER = {"index_topk": 4096, "index_head_dim": 64, "index_n_heads": 4}  # so that no key is passed over
QWEN4_INDEXER = {"indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 128}
QWEN4_INDEXER |= {"indexer_budget": 4096, "indexer_compress_ratio": 4}
MIXED = [f"{kind}_attention" for kind in ("sliding", "full", "full", "sliding", "full", "sliding", "sliding", "full")]
BY_TYPE = {"rope_type": "default", "rope_theta": 10000.0}
SLIDING = {"sliding_window": 9, "layer_types": MIXED}

MULTIMODAL = {
    "qwen2_vl_text": {**WIDE_DIVIDED, **WINDOWED},
    "qwen2_5_vl_text": {**WIDE_DIVIDED, **WINDOWED},
    "paddleocr_vl_text": WIDE,
    "qwen2_5_omni_text": {**WIDE, **WINDOWED},
    "qwen2_5_omni_talker": {**WIDE, **WINDOWED, "embedding_size": 512},
    "qwen3_vl_text": DECLARED,
    "qwen3_vl_moe_text": MOE,
    "qwen3_omni_moe_text": MOE,
    "qwen3_omni_moe_talker_text": {**MOE, **SHARED},
    "qwen3_omni_moe_talker_code_predictor": {**DECLARED, "num_code_groups": 2},
    "qwen3_omni_moe_code2wav": {**DIVIDED, "sliding_window": 9},
    "cosmos3_edge_text": WIDE,
    "qwen3_5_text": {**DECLARED, **LINEAR, "head_dim": 48},
    "qwen3_5_moe_text": {**MOE, **LINEAR, **SHARED, "head_dim": 48},
    "qwen4_exp_text": {**MOE, **LINEAR, **SHARED, **QWEN4_INDEXER, "head_dim": 48, "hc_lowrank": 8},
    "glm4v_text": HALF_WIDE,
    "glm_ocr_text": {**DECLARED, "hidden_size": 256, "head_dim": 64},
    "glm4v_moe_text": {**WIDE, **ROUTED},
    "glm_image_text": {**DECLARED, "hidden_size": 256, "head_dim": 64},
    "ernie4_5_vl_moe_text": {**WIDE, **ERNIE},
    "hy_v4_vl_text": {**DEEPSEEK, **ROUTED, **INDEXER, "qk_rope_head_dim": 64, "mlp_layer_types": ["dense"] * 8},
    "cohere_compass_text": {
        **DIVIDED,
        **SLIDING,
        "rope_parameters": {"full_attention": BY_TYPE, "sliding_attention": {**BY_TYPE, "rope_theta": 1000.0}},
    },
    "neomme": {**DECLARED, **SLIDING, "embedding_rank": 8, "patch_size": 2},
}
CLASSES = {
    "paddleocr_vl_text": "PaddleOCRTextModel",
    "qwen2_5_omni_text": "Qwen2_5OmniThinkerTextModel",
    "qwen2_5_omni_talker": "Qwen2_5OmniTalkerModel",
    "qwen3_omni_moe_text": "Qwen3OmniMoeThinkerTextModel",
    "qwen3_omni_moe_talker_text": "Qwen3OmniMoeTalkerModel",
    "qwen3_omni_moe_talker_code_predictor": "Qwen3OmniMoeTalkerCodePredictorModel",
    "qwen3_omni_moe_code2wav": "Qwen3OmniMoeCode2WavTransformerModel",
    "ernie4_5_vl_moe_text": "Ernie4_5_VLMoeTextModel",
}
ROTARY = {
    "qwen3_omni_moe_talker_text": "Qwen3OmniMoeTalkerRotaryEmbedding",
    "qwen3_omni_moe_talker_code_predictor": "Qwen3OmniMoeRotaryEmbedding",
    "qwen3_omni_moe_code2wav": "Qwen3OmniMoeRotaryEmbedding",
}
FOLDERS = {name: name.removesuffix("_text") for name in MULTIMODAL}
FOLDERS |= {"qwen2_5_omni_talker": "qwen2_5_omni"}
FOLDERS |= dict.fromkeys(ROTARY, "qwen3_omni_moe")
BY_LAYER_TYPE = ("cohere_compass_text", "neomme")
WITHOUT_TOKENS = tuple(ROTARY)  # models that are given embeddings alone
ONE_AXIS = ("qwen3_omni_moe_talker_code_predictor", "qwen3_omni_moe_code2wav")
AXES = {name: 2 if name == "neomme" else 3 for name in MULTIMODAL if name not in ONE_AXIS}
NEIGHBOURS_TURN = ("glm4v_text", "glm_ocr_text", "ernie4_5_vl_moe_text")  # each cos is there twice in a row
CONTIGUOUS = ("qwen2_vl_text", "qwen2_5_vl_text", "paddleocr_vl_text", "qwen2_5_omni_text", "qwen2_5_omni_talker")
CONTIGUOUS += ("glm4v_text", "glm_ocr_text", "glm4v_moe_text", "glm_image_text")


CUT = [name for name in AXES if name.startswith(("qwen3", "qwen4"))]  # default sections are cut to any number of pairs


def other_sections(scheme):
    """Half of the second axis' pairs turn by the first one; where the others take turns, half of each axis' pairs."""
    first, *others = scheme.sections
    moved = others[0] // 2
    if scheme.order == "space_first":
        return (first + moved * len(others), *(share - moved for share in others))
    return (first + moved, others[0] - moved, *others[1:])


def sections_of(model_type, pairs):
    """Give sections as the model type's configurations list them, unlike its defaults; None where no key declares them."""
    first, second = pairs // 4, pairs // 5
    if model_type == "ernie4_5_vl_moe_text":
        return [first, first, pairs - 2 * first]
    if model_type not in AXES or AXES[model_type] == 2:
        return None
    return [second, pairs - first - second, first] if model_type in CONTIGUOUS else [pairs - first - second, first, second]


def spread(positions, model_type):
    """Give positions [T], and coordinates [T, A] that differ on every axis, where the type's tokens have several."""
    if model_type not in AXES:
        return [positions]
    axes = [positions // (axis + 1) for axis in range(AXES[model_type])]
    return [positions, torch.stack(axes, dim=-1)]


def theirs(positions):
    """Give positions as transformers takes them: [1, T], or [A, 1, T]."""
    return positions[None] if positions.ndim == 1 else positions.T[:, None]


def ours(positions):
    """Give them as ordinate does: [T], or [1, T, A]."""
    return positions if positions.ndim == 1 else positions[None]


def pair_by_pair(frequencies, module, model_type):
    """Give inverse frequencies in the order of the pairs: ERNIE 4.5-VL keeps rows', columns' and times' together."""
    if model_type != "ernie4_5_vl_moe_text":
        return frequencies
    rows, columns, times = frequencies.split(list(module.mrope_section))
    return torch.cat((torch.stack((rows, columns), dim=-1).flatten(), times))
