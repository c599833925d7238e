"""Packages to compare with. One that is not installed is a row that says so, never an error."""

import functools
import importlib.util
import sys
from pathlib import Path

import torch


def missing(package):
    """Why a package cannot be used, or None."""
    return None if importlib.util.find_spec(package) is not None else f"{package} is not installed; make bench installs it"


@functools.cache
def torchtune_positions():
    """torchtune's file of rotations by its path: the package imports names that torchao no longer has."""
    spec = importlib.util.find_spec("torchtune")
    path = Path(spec.submodule_search_locations[0]) / "modules" / "position_embeddings.py"
    file_spec = importlib.util.spec_from_file_location("torchtune_position_embeddings", path)
    module = importlib.util.module_from_spec(file_spec)
    # torch.compile imports a function's module by its name.
    sys.modules[file_spec.name] = module
    file_spec.loader.exec_module(module)
    return module


def llama_embedding(head_dim):
    """transformers' rotary module of a Llama with heads of this width."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    return LlamaRotaryEmbedding(LlamaConfig(hidden_size=4 * head_dim, num_attention_heads=4, head_dim=head_dim))


def llama_angles(head_dim, positions, dtype=torch.float32):
    """cos and sin [1, T, D] as a Llama's layers get them."""
    places = torch.tensor(list(positions))[None]
    return llama_embedding(head_dim)(torch.empty(0, dtype=dtype), places)
