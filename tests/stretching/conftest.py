"""Small checkpoints of transformers on disk, with a tokenizer of bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

TRAINED = 64
TEXT = "\n".join(f"{number} bottles of water on the wall, take {number % 7} down and pass it around." for number in range(300))


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made)


def save(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


def llama(**changes: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 256,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": TRAINED,
        "initializer_range": 0.3,  # so that positions matter to the loss
        "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
    }
    return LlamaForCausalLM(LlamaConfig(**{**sizes, **changes})).eval()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama without a rule."""
    return save(llama(), tmp_path_factory.mktemp("tiny") / "llama")


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "bottles.txt"
    path.write_text(TEXT)
    return path
