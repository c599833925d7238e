"""Small configurations of rotary model types that are read under every rule, in both spellings."""

TRAINED, LONGEST = 512, 16384  # 32 times as long
COMMON = {"vocab_size": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "intermediate_size": 32}
SIZES = {"num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": LONGEST}
# Heads of 32 entries that are no quarter of the width, for types that read head_dim; and a quarter, for those that do not.
DECLARED = {**COMMON, **SIZES, "hidden_size": 96, "head_dim": 32}
DIVIDED = {**COMMON, **SIZES, "hidden_size": 192}
EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16}
LATENT = {"qk_rope_head_dim": 32, "qk_nope_head_dim": 16, "v_head_dim": 16, "kv_lora_rank": 8, "q_lora_rank": 8}
DEEPSEEK = {**COMMON, **SIZES, **LATENT, "hidden_size": 128, "num_key_value_heads": 4, "first_k_dense_replace": 8}
GPT = {"n_embd": 192, "n_layer": 8, "n_head": 4, "n_positions": 1024, "rotary_dim": 24, "n_inner": 32}
GPT |= {key: COMMON[key] for key in ("vocab_size", "bos_token_id", "eos_token_id")}

FULLY = {
    "llama": DECLARED,
    "mistral": {**DECLARED, "sliding_window": 9},
    "ministral3": {**DECLARED, "sliding_window": 9},
    "mixtral": {**DECLARED, "sliding_window": 9, "num_local_experts": 2, "num_experts_per_tok": 1},
    "qwen2": {**DECLARED, "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 3},
    "qwen2_moe": {**DECLARED, **EXPERTS, "shared_expert_intermediate_size": 16},
    "qwen3": {**DECLARED, "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 3},
    "qwen3_moe": {**DECLARED, **EXPERTS, "use_sliding_window": True, "sliding_window": 9},
    "gemma": DECLARED,
    "gemma2": {**DECLARED, "sliding_window": 9, "query_pre_attn_scalar": 24, "attn_logit_softcapping": None},
    "gemma3_text": {**DECLARED, "sliding_window": 9, "query_pre_attn_scalar": 24},
    "phi": DIVIDED,
    "phi3": {**DECLARED, "hidden_size": 128, "sliding_window": 9, "original_max_position_embeddings": TRAINED},
    "gpt_neox": DIVIDED,
    "gptj": GPT,
    "codegen": GPT,
    "falcon": {**DIVIDED, "num_kv_heads": 2, "new_decoder_architecture": True},
    "glm4": {**DECLARED, "head_dim": 48},
    "cohere": {**DECLARED, "hidden_size": 128},
    "cohere2": {**DIVIDED, "sliding_window": 9},
    "deepseek_v2": DEEPSEEK,
    "deepseek_v3": DEEPSEEK,
    "gpt_oss": {**DECLARED, "sliding_window": 9, "num_local_experts": 2, "num_experts_per_tok": 1},
    "olmo2": DECLARED,
    "olmo3": {**DECLARED, "sliding_window": 9},
    "smollm3": {**DECLARED, "use_sliding_window": True, "sliding_window": 9},
    "llama4_text": {
        **DECLARED,
        "attention_chunk_size": 11,
        "floor_scale": 8,
        "num_local_experts": 2,
        "intermediate_size_mlp": 16,
        "use_qk_norm": False,
    },
    "stablelm": DIVIDED,
    "starcoder2": {**DECLARED, "sliding_window": 9},
    "granite": {**DECLARED, "attention_multiplier": 0.0123},
    "modernbert": {**DIVIDED, "local_attention": 10},
}
