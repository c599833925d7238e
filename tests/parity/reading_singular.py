"""Small configurations of rotary model types whose configurations are spelled like no other's."""

from reading_sizes import COMMON, DECLARED, DIVIDED, TRAINED

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
    "dbrx": {**DBRX, **{key: COMMON[key] for key in ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")}},
}
