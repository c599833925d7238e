"""Model types whose tokens have several coordinates: small configurations, sections, and positions that differ on every axis."""

import torch
from reading_sizes import DECLARED, DIVIDED, EXPERTS

WIDE = {**DECLARED, "hidden_size": 512, "head_dim": 128}
WIDE_DIVIDED = {**DIVIDED, "hidden_size": 512}
WINDOWED = {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 3}
LINEAR = {"linear_num_value_heads": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8}

MULTIMODAL = {
    "qwen2_vl_text": {**WIDE_DIVIDED, **WINDOWED},
    "qwen2_5_vl_text": {**WIDE_DIVIDED, **WINDOWED},
    "qwen3_vl_text": DECLARED,
    "qwen3_vl_moe_text": {**DECLARED, **EXPERTS},
    "qwen3_5_text": {**DECLARED, **LINEAR, "head_dim": 48},
    "qwen3_5_moe_text": {**DECLARED, **EXPERTS, **LINEAR, "head_dim": 48, "shared_expert_intermediate_size": 16},
    "glm4v_text": {**DIVIDED, "hidden_size": 256},
}
IN_TURNS = ("qwen3_vl_text", "qwen3_vl_moe_text", "qwen3_5_text", "qwen3_5_moe_text")
AXES = dict.fromkeys(MULTIMODAL, 3)


def sections_of(model_type, pairs):
    """Give sections as the model type's configurations list them, unlike its defaults."""
    first, second = pairs // 4, pairs // 5
    return [pairs - first - second, first, second] if model_type in IN_TURNS else [second, pairs - first - second, first]


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
