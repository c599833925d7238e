"""Small models of transformers, whose weights are large enough for positions to matter."""

from __future__ import annotations

from typing import Any

import torch

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
}


def llama(**changes: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**{**SIZES, "max_position_embeddings": 256, **changes})).eval()


def dynamic() -> Any:
    return llama(max_position_embeddings=16, rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0})


def gpt2(**changes: Any) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 60, "vocab_size": 64, "bos_token_id": 1, "eos_token_id": 2}
    return GPT2LMHeadModel(GPT2Config(**{**sizes, "initializer_range": 0.3, **changes})).eval()


def bloom() -> Any:
    from transformers import BloomConfig, BloomForCausalLM

    torch.manual_seed(0)
    return BloomForCausalLM(BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=64, initializer_range=0.3)).eval()


def gemma3() -> Any:
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    torch.manual_seed(0)
    kinds = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 16, "head_dim": 8}
    return Gemma3ForCausalLM(Gemma3TextConfig(**{**SIZES, **kinds, "max_position_embeddings": 256})).eval()


def phi3() -> Any:
    from transformers import Phi3Config, Phi3ForCausalLM

    torch.manual_seed(0)
    rule = {
        "rope_type": "longrope",
        "rope_theta": 1e4,
        "factor": 4.0,
        "short_factor": [1.0] * 4,
        "long_factor": [1.0, 2.0, 3.0, 4.0],
        "original_max_position_embeddings": 16,
    }
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    lengths = {"max_position_embeddings": 64, "original_max_position_embeddings": 16}
    return Phi3ForCausalLM(Phi3Config(**SIZES, **tokens, **lengths, rope_parameters=rule)).eval()


def bert() -> Any:
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    sizes = {key: value for key, value in SIZES.items() if key != "num_key_value_heads"}
    return BertForMaskedLM(BertConfig(**sizes, max_position_embeddings=60)).eval()


def roberta() -> Any:
    from transformers import RobertaConfig, RobertaForCausalLM

    torch.manual_seed(0)
    sizes = {key: value for key, value in SIZES.items() if key != "num_key_value_heads"}
    tokens = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    return RobertaForCausalLM(RobertaConfig(**sizes, **tokens, max_position_embeddings=60, is_decoder=True)).eval()


def gptj() -> Any:
    from transformers import GPTJConfig, GPTJForCausalLM

    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128, "rotary_dim": 4, "vocab_size": 64}
    return GPTJForCausalLM(GPTJConfig(**sizes, bos_token_id=1, eos_token_id=2, initializer_range=0.3)).eval()


def mistral() -> Any:
    """With weights as they are drawn by default: positions matter little."""
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    return MistralForCausalLM(MistralConfig(**{**SIZES, "initializer_range": 0.02}, max_position_embeddings=256)).eval()
