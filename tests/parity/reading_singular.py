"""Small configurations of rotary model types whose configurations are spelled like no other's."""

from reading_sizes import COMMON, DECLARED, DIVIDED, EXPERTS, TRAINED

FULL, SLIDING = "full_attention", "sliding_attention"
MIXED = [SLIDING, FULL, FULL, SLIDING, FULL, SLIDING, SLIDING, FULL]
CONVOLVED = ["conv", SLIDING, FULL, "conv", FULL, SLIDING, "conv", FULL]
HYBRIDS = ["hybrid_sliding" if kind == SLIDING else "hybrid" for kind in MIXED]

VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 28,
    "crop_size": 28,
}
AUDIO = {"hidden_size": 16, "intermediate_size": 16, "num_blocks": 2, "num_attention_heads": 2, "ext_pw_out_channel": 16}
AUDIO |= {"depthwise_separable_out_channel": 16, "nemo_conv_channels": 16}
PARTS = {"vision_config": VISION, "audio_config": AUDIO}
DBRX = {"d_model": 192, "n_heads": 4, "n_layers": 8, "max_seq_len": DIVIDED["max_position_embeddings"]}
DBRX |= {
    "ffn_config": {"ffn_hidden_size": 16, "moe_num_experts": 2},
    "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10000.0},
}
SINGULAR = {
    "phi4_multimodal": {
        **DECLARED,
        **PARTS,
        "hidden_size": 128,
        "sliding_window": 9,
        "original_max_position_embeddings": TRAINED,
    },
    "gpt_neox_japanese": {**DIVIDED, "intermediate_multiple_size": 1},
    "doge": {**DECLARED, "sliding_window": 9},
    "nanochat": DECLARED,
    "beam": {**DECLARED, **EXPERTS, "sliding_window": 9, "mlp_layer_types": ["dense"] * 8},
    "lfm3": {**DECLARED, "sliding_window": 9, "layer_types": CONVOLVED},
    "zaya": {**DECLARED, **EXPERTS, "head_dim": 48, "layer_types": HYBRIDS, "sliding_window": 9, "router_hidden_size": 16},
    "molmo2_text": DECLARED,
    "minimax_m3_vl_text": {
        **DECLARED,
        "head_dim": 48,
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
        "dense_intermediate_size": 16,
        "shared_intermediate_size": 16,
        "mlp_layer_types": ["dense"] * 8,
        "index_n_heads": 2,
        "index_head_dim": 48,
        "rotary_dim": 48,
    },
    "step3p5": {**DECLARED, **EXPERTS, "layer_types": MIXED, "sliding_window": 9, "mlp_layer_types": ["dense"] * 8},
    "dbrx": {**DBRX, **{key: COMMON[key] for key in ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")}},
}
