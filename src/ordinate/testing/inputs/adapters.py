"""From the usual signatures of position vectors to one: fn(positions [T]) -> [T, d_model]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ordinate.sites import InputScheme
from ordinate.testing.biases.adapters import LENGTH_NAMES, required
from ordinate.testing.inputs.function import InputFunction

VECTOR_NAMES = ("x", "embeddings", "inputs", "input", "hidden_states", "inputs_embeds", "token_embedding", "tokens")


def from_embeddings(fn: Callable[[torch.Tensor], Any], d_model: int, *, sequence_first: bool = False) -> InputFunction:
    """Take fn(x [1, T, d_model]) -> x + P, as a module with dropout on the sum; a module is put into evaluation.

    Args:
        fn: the function.
        d_model: width.
        sequence_first: x is [T, 1, d_model].

    Returns:
        The vectors: what is given for x = 0.

    Example:
        >>> from_embeddings(lambda x: x + torch.arange(x.shape[1])[:, None], 2).ask([0, 1]).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    if isinstance(fn, nn.Module):
        fn.eval()

    def call(positions: torch.Tensor) -> torch.Tensor:
        length = len(positions)
        given = torch.as_tensor(fn(torch.zeros((length, 1, d_model) if sequence_first else (1, length, d_model))))
        return given[:, 0] if sequence_first else given

    return InputFunction(call, takes="length")


def from_length(fn: Callable[..., Any], d_model: int | None = None) -> InputFunction:
    """Take fn(seq_len) or fn(seq_len, d_model), of torch or NumPy.

    Args:
        fn: gives [seq_len, d_model] for positions from 0.
        d_model: width, if fn takes it.

    Returns:
        The vectors.

    Example:
        >>> from_length(lambda seq_len, d_model: torch.ones(seq_len, d_model), 2).ask([0]).tolist()
        [[1.0, 1.0]]
    """
    if len(required(fn)) == 1:
        return InputFunction(lambda positions: fn(len(positions)), takes="length")
    return InputFunction(lambda positions: fn(len(positions), d_model), takes="length")


def from_offset(fn: Callable[[torch.Tensor, int], Any], d_model: int) -> InputFunction:
    """Take fn(x [1, T, d_model], offset) -> x + P for positions offset, offset + 1, ...; a module is put into evaluation.

    Args:
        fn: the function.
        d_model: width.

    Returns:
        The vectors.

    Example:
        >>> from_offset(lambda x, offset: x + offset, 2).ask([5]).tolist()
        [[5.0, 5.0]]
    """
    if isinstance(fn, nn.Module):
        fn.eval()

    def call(positions: torch.Tensor) -> Any:
        first = int(positions[0]) if len(positions) else 0
        return fn(torch.zeros(1, len(positions), d_model), first)

    return InputFunction(call, takes="offset")


def adapted(fn: Any, d_model: int) -> InputFunction:
    """Choose the adapter by a function's signature, where that leaves no doubt.

    Args:
        fn: an ``InputFunction``, an input scheme of this library, a module of ids such as ``nn.Embedding``, or a function or
            module of positions, of a length, of token vectors, or of token vectors and an offset.
        d_model: width.

    Returns:
        The vectors.

    Raises:
        ValueError: if the signature is none of these.

    Example:
        >>> adapted(lambda seq_len, d_model: torch.zeros(seq_len, d_model), 4).takes, adapted(torch.nn.Embedding(2, 4), 4).takes
        ('length', 'positions')
    """
    if isinstance(fn, InputFunction):
        return fn
    if isinstance(fn, InputScheme):
        return InputFunction(fn.eval().at)
    if isinstance(fn, nn.Embedding):
        return InputFunction(fn)
    try:
        names = [name.lower() for name in required(fn)]
    except (TypeError, ValueError):
        names = ["?"]
    if len(names) in {1, 2} and names[0] in LENGTH_NAMES:
        return from_length(fn, d_model)
    if len(names) == 1:
        return from_embeddings(fn, d_model) if names[0] in VECTOR_NAMES else InputFunction(fn)
    if len(names) == 2 and names[0] in VECTOR_NAMES:
        return from_offset(fn, d_model)
    raise ValueError(
        f"fn: needed a function of positions, got one of ({', '.join(names)}); wrap it by an adapter: "
        "from_embeddings, from_length or from_offset"
    )
