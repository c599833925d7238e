"""Small configurations of text models with a twist of their own: shared blocks, cycles, two attentions a layer."""

from reading_sizes import DECLARED, DEEPSEEK, EXPERTS

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
MIXED = [SLIDING, FULL, FULL, SLIDING, FULL, SLIDING, SLIDING, FULL]
ROUTED = {"n_routed_experts": 2, "num_experts_per_tok": 1, "n_shared_experts": 1, "moe_intermediate_size": 16}
LONGCAT = {key: value for key, value in DEEPSEEK.items() if key not in ("num_hidden_layers", "first_k_dense_replace")}
LONGCAT |= {"q_lora_rank": 128, "kv_lora_rank": 128}  # as wide as the model, so that its factors are 1
TEXT = {
    "mistral4": {**DEEPSEEK, **ROUTED},
    "longcat_flash": {**LONGCAT, "head_dim": 32, "num_layers": 4, "n_routed_experts": 2, "zero_expert_num": 1, "moe_topk": 2},
    "hy_v4": {
        **DEEPSEEK,
        **ROUTED,
        "mlp_layer_types": ["dense"] * 8,
        "index_topk": 4096,
        "index_head_dim": 32,
        "index_n_heads": 4,
    },
    "cohere2_moe": {**DECLARED, **EXPERTS, "sliding_window": 9, "first_k_dense_replace": 2},
    "hrm_text": {**DECLARED, "num_hidden_layers": 4, "H_cycles": 1, "L_cycles": 1},
}
CHANGES = {
    "mistral4": [{"qk_nope_head_dim": 32}, {"rope_interleave": False}],
    "longcat_flash": [{"num_hidden_layers": 8}],
    "hrm_text": [{"num_hidden_layers": 1, "H_cycles": 2, "L_cycles": 2}],
    "cohere2_moe": [
        {"first_k_dense_replace": 0},
        {"prefix_dense_sliding_window_pattern": 2, "sliding_window_pattern": 3},
        {"layer_types": MIXED},
        {"layer_types": MIXED, "mlp_layer_types": ["sparse", "dense", "dense", "sparse"] * 2},
    ],
}
WITHOUT = {"cohere2_moe": ["sliding_window"]}
