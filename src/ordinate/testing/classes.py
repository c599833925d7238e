"""Making objects of classes whose arguments have the usual names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from ordinate.testing.comparing import as_array

LENGTH = 4096
Names = tuple[str, ...]
HEADS: Names = ("n_heads", "num_heads", "heads", "n_head", "nhead", "num_attention_heads", "h")
WIDTHS: Names = (
    "d_model",
    "dim",
    "embed_dim",
    "embedding_dim",
    "embedding_size",
    "hidden_size",
    "hidden_dim",
    "emb_size",
    "d",
    "channels",
)
LENGTHS: Names = (
    "max_length",
    "max_len",
    "max_seq_len",
    "max_seq_length",
    "max_positions",
    "max_position_embeddings",
    "num_embeddings",
    "num_positions",
    "seq_len",
    "length",
)


def made(target: Any, usual: Mapping[Names, Any], settings: Mapping[str, Any]) -> Any:
    """Make an object of a class; anything else stays as it is.

    Args:
        target: a class, or what is checked itself.
        usual: from the names that an argument may have to its value; None is not passed.
        settings: further arguments by their own names.

    Returns:
        The object.

    Raises:
        ValueError: if an argument must be given and no value is known, or there are settings without a class.

    Example:
        >>> class Bias:
        ...     def __init__(self, num_heads, scale=1.0):
        ...         self.num_heads, self.scale = num_heads, scale
        >>> made(Bias, {HEADS: 4}, {"scale": 2.0}).num_heads
        4
        >>> made(Bias, {}, {})
        Traceback (most recent call last):
        ValueError: Bias: needed values for num_heads; give them as settings, num_heads=...
    """
    if not isinstance(target, type):
        if settings:
            raise ValueError(f"settings: needed none for what is no class, got {', '.join(settings)}")
        return target
    parameters = inspect.signature(target).parameters
    given = dict(settings)
    for names, value in usual.items():
        fitting = next((name for name in names if name in parameters), None)
        if fitting is not None and value is not None:
            given.setdefault(fitting, value)
    named = [each for each in parameters.values() if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    lacking = [each.name for each in named if each.default is each.empty and each.name not in given]
    if lacking:
        raise ValueError(f"{target.__name__}: needed values for {', '.join(lacking)}; give them as settings, {lacking[0]}=...")
    return target(**given)


def only_table(fn: Any, rows: int, columns: int | None = None) -> torch.Tensor | None:
    """Find the table of a module: its only parameter of some size, if all rows differ.

    Args:
        fn: a module, or anything else.
        rows: of the table.
        columns: of the table; any if None.

    Returns:
        The table, or None.

    Example:
        >>> only_table(torch.nn.Embedding(4, 2), 4, 2).shape, only_table(torch.nn.Embedding(4, 2), 5, 2)
        (torch.Size([4, 2]), None)
    """
    if not isinstance(fn, nn.Module):
        return None
    sized = [each for each in fn.parameters() if each.ndim == 2 and len(each) == rows and columns in (None, each.shape[1])]
    if len(sized) != 1 or len(np.unique(as_array(sized[0]), axis=0)) < rows:
        return None
    return sized[0].detach()


def subject(fn: Any, name: str | None) -> str:
    """Give the name of what is checked.

    Args:
        fn: a class, a function or an object.
        name: if it was given.

    Returns:
        The name.

    Example:
        >>> subject(int, None), subject(3, None), subject(3, "three")
        ('int', 'int', 'three')
    """
    return str(name or getattr(fn, "__qualname__", None) or type(fn).__name__)
