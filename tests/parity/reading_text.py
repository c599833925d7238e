"""Small configurations of text models with a twist of their own: shared blocks, cycles, two attentions a layer."""

from reading_sizes import DECLARED, DEEPSEEK, DIVIDED, EXPERTS

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
BLOCKS = [SLIDING, "mlp", FULL, "mlp", FULL, "mlp", SLIDING, "mlp"]
HYBRIDS = [LINEAR, "hybrid", "hybrid", LINEAR, "hybrid", LINEAR, "hybrid", LINEAR]
ZAMBA = {"n_mamba_heads": 4, "mamba_d_state": 8, "num_mem_blocks": 2, "layers_block_type": HYBRIDS, "chunk_size": 8}
ZAMBA |= {"hidden_size": 96, "head_dim": 48, "use_mem_rope": True}
NO_LENGTH = {key: value for key, value in DIVIDED.items() if key != "max_position_embeddings"}
TEXT |= {
    "mllama_text_model": {**DIVIDED, "cross_attention_layers": [1, 4]},
    "idefics": {**DIVIDED, "vision_config": {"embed_dim": 8, "num_hidden_layers": 1, "num_attention_heads": 1}},
    "unlimited_ocr_text": {**DIVIDED, **ROUTED, "num_key_value_heads": 4, "sliding_window": 9, "mlp_layer_types": ["dense"] * 8},
    "dory": {**DECLARED, "sliding_window": 9, "n_input_layers": 2, "n_output_layers": 2},
    "zamba2": {**DIVIDED, **ZAMBA},
    "recurrent_gemma": {**NO_LENGTH, "attention_window_size": 9},
    "phimoe": {**DECLARED, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 9},
    "openai_privacy_filter": {**DECLARED, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 9},
}
CHANGES = {
    "mllama_text_model": [{"cross_attention_layers": [0, 7]}],
    "unlimited_ocr_text": [{"layer_types": [FULL] * 8}],
    "dory": [{"layer_types": MIXED}, {"layer_types": BLOCKS, "num_hidden_layers": 8, "n_input_layers": 2, "n_output_layers": 2}],
    "zamba2": [{"use_mem_rope": False}, {"layers_block_type": ["mamba", "hybrid"] * 4}],
    "recurrent_gemma": [{"block_types": ["attention", "recurrent"]}],
    "phimoe": [{"sliding_window": None}],
    "openai_privacy_filter": [{"sliding_window": 1}],
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
WITHOUT = {"cohere2_moe": ["sliding_window"], "mllama_text_model": ["cross_attention_layers"], "dory": ["sliding_window"]}
WITHOUT |= {"unlimited_ocr_text": ["sliding_window"], "openai_privacy_filter": ["sliding_window"], "zamba2": ["use_mem_rope"]}
WITHOUT |= {"recurrent_gemma": ["attention_window_size"]}
