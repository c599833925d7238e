"""Small configurations of Gemma 4 and its kin."""

from reading_sizes import DECLARED

NARROW = {
    **DECLARED,
    "sliding_window": 9,
    "global_head_dim": 48,
    "hidden_size_per_layer_input": 8,
    "vocab_size_per_layer_input": 64,
}
GEMMA4 = {
    "gemma4_text": NARROW,
    "gemma4_unified_text": NARROW,
    "diffusion_gemma_text": {**NARROW, "num_experts": 2, "top_k_experts": 1, "moe_intermediate_size": 16},
    "embedding_gemma2_text": {**NARROW, "embedding_dim": 16},
}
FULL, SLIDING = "full_attention", "sliding_attention"
MIXED = [SLIDING, FULL, FULL, SLIDING, FULL, SLIDING, SLIDING, FULL]
BY_LAYER = {"05": {"head_dim": 24}, "07": {"head_dim": 24}}
LISTS = [{"layer_types": MIXED}, {"layer_types": [SLIDING] * 8}, {"per_layer_config": BY_LAYER, "global_head_dim": None}]
CHANGES = {name: [*LISTS, {"use_bidirectional_attention": "vision"}] for name in GEMMA4} | {
    "embedding_gemma2_text": [*LISTS, {"sliding_window_pattern": 3}]
}
WITHOUT = {name: ["sliding_window", "global_head_dim"] for name in GEMMA4}
