"""Model types with rotary embeddings: small configurations, and the model files' own rotary modules."""

import copy
import importlib
import warnings

import torch
from transformers import AutoConfig

from ordinate.checkpoints import read

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

MODELS = {
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
PER_TYPE = ("gemma3_text", "olmo3", "modernbert")
FOLDERS = {"gemma3_text": "gemma3", "llama4_text": "llama4"}
NAMES = {
    "llama4_text": "Llama4TextRotaryEmbedding",
    "gptj": "GPTJRotaryEmbedding",
    "codegen": "CodeGenRotaryEmbedding",
}
SINUSOIDS = ("gptj", "codegen")  # modules that keep a table of sin beside cos
PAIRED = ("cohere", "cohere2")  # each cos is there twice in a row
COMPLEX = ("llama4_text", "deepseek_v2")


def config_of(values):
    """Give transformers' configuration; it changes what it is given, so it gets a copy."""
    settings = copy.deepcopy(values)
    return AutoConfig.for_model(settings.pop("model_type"), **settings)


def plan_of(values):
    """Give our plan; keys that change nothing are warned of elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read(copy.deepcopy(values))


def file_of(model_type):
    folder = FOLDERS.get(model_type, model_type)
    return importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")


def rotary_of(config):
    """Give the rotary module of a configuration's model type."""
    file = file_of(config.model_type)
    name = NAMES.get(config.model_type)
    found = [key for key in vars(file) if key.endswith("RotaryEmbedding") and "Vision" not in key]
    return getattr(file, name or found[0])(config)


def frequencies(module, model_type, label):
    """Give inverse frequencies and magnitude of a layer type."""
    if model_type in PER_TYPE:
        return getattr(module, f"{label}_inv_freq"), getattr(module, f"{label}_attention_scaling")
    return module.inv_freq, module.attention_scaling


def cos_sin(module, model_type, positions, label):
    """Give cos and sin of each pair, once, in float32."""
    x = torch.zeros(1)
    if model_type in SINUSOIDS:
        sin, cos = module(x, positions[None])
        return cos[0], sin[0]
    made = module(x, positions[None], *((label,) if model_type in PER_TYPE else ()))
    if model_type in COMPLEX:
        return made.real[0], made.imag[0]
    cos, sin = made[0][0], made[1][0]
    if model_type in PAIRED:
        return cos[:, 0::2], sin[:, 0::2]
    pairs = frequencies(module, model_type, label)[0].numel()
    return cos[:, :pairs], sin[:, :pairs]
