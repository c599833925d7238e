"""Small configurations of rotary model types whose code is mostly another's: read under one rule of each kind."""

from reading_singular import SINGULAR
from reading_sizes import DECLARED, DEEPSEEK, DIVIDED, EXPERTS

VQ = {
    "embed_dim": 8,
    "num_embeddings": 8,
    "base_channels": 32,
    "channel_multiplier": [1],
    "num_res_blocks": 1,
    "latent_channels": 8,
}
EQUAL = {**DECLARED, "hidden_size": 128}  # for code whose heads make up the width
MOE = {**DECLARED, **EXPERTS, "num_local_experts": 2}
ROUTED = {**MOE, "n_routed_experts": 2, "n_shared_experts": 1, "first_k_dense_replace": 8, "n_group": 1, "topk_group": 1}
SHARED = {"num_local_experts": 2, "num_experts_per_tok": 1, "shared_intermediate_size": 16}
LINEAR = {"linear_num_value_heads": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8}
MAMBA = {"mamba_n_heads": 6, "mamba_d_head": 32, "mamba_d_state": 8, "mamba_n_groups": 1}
CONVOLUTIONS = ["conv", "full_attention", "conv", "conv", "full_attention", "conv", "full_attention", "full_attention"]
MAMBAS = ["mamba", "attention", "mamba", "mamba", "attention", "mamba", "mamba", "mamba"]
SLIDING = {**DECLARED, "sliding_window": 9}
MIXED = [f"{kind}_attention" for kind in ("sliding", "full", "full", "sliding", "full", "sliding", "sliding", "full")]
GEMMA3N = {"vocab_size_per_layer_input": 64, "hidden_size_per_layer_input": 8, "laurel_rank": 4, "num_kv_shared_layers": 0}
INDEXER = {"index_topk": 4096, "index_head_dim": 32, "index_n_heads": 4}  # so that no key is passed over
GRANITE = {**DECLARED, "attention_multiplier": 0.0123}
KIN = {
    "apertus": DECLARED,
    "apertus1p5_text": DECLARED,
    "arcee": DECLARED,
    "aria_text": {**DECLARED, "moe_num_experts": 2, "moe_topk": 1, "moe_num_shared_experts": 1},
    "bitnet": EQUAL,
    "csm": {**DECLARED, "num_codebooks": 1},
    "csm_depth_decoder_model": {**DECLARED, "num_codebooks": 64, "backbone_hidden_size": 96},
    "deepseek_ocr2_encoder": DECLARED,
    "diffllama": DECLARED,
    "emu3_text_model": DECLARED,
    "exaone": DECLARED,
    "falcon_h1": {**DECLARED, "mamba_d_ssm": 32, "mamba_n_heads": 2, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1},
    "hy_v3": {**MOE, "num_shared_experts": 1, "first_k_dense_replace": 8},
    "internlm3": DECLARED,
    "iquestcoder": DECLARED,
    "jais2": DECLARED,
    "jetmoe": {key: value for key, value in {**MOE, "kv_channels": 48}.items() if key != "head_dim"},
    "olmoe": {**MOE, "hidden_size": 128},
    "seed_oss": DECLARED,
    "higgs_audio_v2": DECLARED,
    "hunyuan_v1_dense": DECLARED,
    "hunyuan_v1_moe": {**MOE, "moe_topk": 1, "num_shared_expert": 1},
    "hyperclovax": GRANITE,
    "chameleon": {**DIVIDED, "vocabulary_map": {"<image>": 5}, "vq_config": VQ},
    "granitemoe": {**GRANITE, "num_local_experts": 2, "num_experts_per_tok": 1},
    "granitemoeshared": {**GRANITE, "num_local_experts": 2, "num_experts_per_tok": 1, "shared_intermediate_size": 16},
    "granite4_vision_text": GRANITE,
    "granite_docling_text": GRANITE,
    "olmo": DECLARED,
    "flex_olmo": MOE,
    "glm": {**DECLARED, "head_dim": 48},
    "helium": EQUAL,
    "ernie4_5": DECLARED,
    "ernie4_5_moe": {**DECLARED, "moe_num_experts": 2, "moe_k": 1, "moe_intermediate_size": 16, "moe_num_shared_experts": 1},
    "glm4_moe": {**ROUTED, "head_dim": 48},
    "sarvam_moe": {**ROUTED, "head_dim": 48},
    "solar_open": ROUTED,
    "persimmon": DIVIDED,
    "nemotron": {**DECLARED, "head_dim": 48},
    "axk1": DEEPSEEK,
    "youtu": DEEPSEEK,
    "sarvam_mla": DEEPSEEK,
    "glm4_moe_lite": {**DEEPSEEK, "mlp_layer_types": ["dense"] * 8},
    "minicpm3": DEEPSEEK,
    "qwen3_next": {**MOE, "head_dim": 48, **LINEAR, "shared_expert_intermediate_size": 16},
    "olmo_hybrid": {**EQUAL, **LINEAR},
    "minimax": {**MOE, "block_size": 8},
    "lfm2": {**EQUAL, "full_attn_idxs": [2, 5, 6]},
    "lfm2_moe": {**EQUAL, **EXPERTS, "layer_types": CONVOLUTIONS, "num_dense_layers": 8},
    "bamba": {**DECLARED, **MAMBA, "attn_layer_indices": [1, 4]},
    "granitemoehybrid": {**GRANITE, **MAMBA, **SHARED, "layer_types": MAMBAS, "position_embedding_type": "rope"},
    "lara_mini": {**MOE, **LINEAR, "sliding_window": 9, "shared_expert_intermediate_size": 16},
    "ministral": SLIDING,
    "cwm": SLIDING,
    "dots1": {**SLIDING, **ROUTED, "max_window_layers": 3},
    "vaultgemma": {**SLIDING, "query_pre_attn_scalar": 24, "attn_logit_softcapping": None},
    "mellum": {**SLIDING, **MOE, "layer_types": MIXED},
    "laguna": {**SLIDING, **MOE, "layer_types": MIXED, "shared_expert_intermediate_size": 16, "head_dim": 48},
    "modernbert-decoder": {**DIVIDED, "local_attention": 20},
    "afmoe": {**SLIDING, **MOE, "num_shared_experts": 1, "num_dense_layers": 8},
    "exaone4": SLIDING,
    "exaone_moe": {**SLIDING, **MOE, "num_shared_experts": 1, "mlp_layer_types": ["dense"] * 8},
    "flint": {**SLIDING, **MOE, "mlp_only_layers": list(range(8))},
    "granite_swa": {**SLIDING, "attention_multiplier": 0.0123},
    "granitemoe_swa": {**SLIDING, **SHARED, "attention_multiplier": 0.0123},
    "kolibri1": {**SLIDING, **MOE},
    "eurobert": DECLARED,
    "esmc": {**EQUAL, "num_key_value_heads": 4},
    "nomic_bert": DECLARED,
    "gte": EQUAL,
    "jina_embeddings_v3": EQUAL,
    "ultrabert": SLIDING,
    "minimax_m2": {**MOE, "head_dim": 48},
    "deepseek_ocr2_text": {**ROUTED, "head_dim": None, "hidden_size": 192, "mlp_layer_types": ["dense"] * 8},
    "gemma3n_text": {**EQUAL, **GEMMA3N, "sliding_window": 9},
    "mimo_v2_flash": {**SLIDING, **ROUTED, "head_dim": 48, "v_head_dim": 16, "num_key_value_heads": 2},
    "muse_glimmer_text": SLIDING,
    "muse_spark_text": {**SLIDING, **MOE},
    "bailing_hybrid": {**DEEPSEEK, "mlp_layer_types": ["dense"] * 8, "layer_group_size": 3},
    "deepseek_v32": {**DEEPSEEK, **INDEXER},
    "glm_moe_dsa": {**DEEPSEEK, **INDEXER},
    "axk2": {**DEEPSEEK, **INDEXER, "mlp_layer_types": ["dense"] * 8},
}
KIN |= SINGULAR
