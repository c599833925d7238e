"""The forms in which models take masks and positions, and those in which they give logits and caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Form = Callable[[torch.Tensor], torch.Tensor]


def _float_block(visible: torch.Tensor) -> torch.Tensor:
    hidden = torch.finfo(torch.float32).min
    return torch.zeros(visible.shape, device=visible.device).masked_fill(~visible, hidden)[:, None]


# Of real [B, T], bool; the first two cannot be told apart by a mask of real tokens alone, and mean the same.
MASK_FORMS: dict[str, Form] = {
    "1 for real tokens": lambda real: real.long(),
    "True for real tokens": lambda real: real,
    "True for padding": lambda real: ~real,
}
# Of visible [B, T, T], bool.
BLOCK_FORMS: dict[str, Form] = {
    "True for what is seen, [B, 1, T, T]": lambda visible: visible[:, None],
    "added to scores, [B, 1, T, T]": _float_block,
    "True for what is seen, [B, T, T]": lambda visible: visible,
}
# Of positions [B, T].
POSITION_FORMS: dict[str, Form] = {"[B, T]": lambda positions: positions, "[T]": lambda positions: positions[0]}


def logits_of(output: Any) -> torch.Tensor:
    """Take logits out of what a model gave.

    Args:
        output: a tensor, a tuple that begins with it, or an object or dict with ``logits``.

    Returns:
        Logits.

    Raises:
        ValueError: if there are none.

    Shape:
        [B, T, vocabulary]

    Example:
        >>> logits_of((torch.zeros(1, 2, 3), None)).shape
        torch.Size([1, 2, 3])
    """
    found = output[0] if isinstance(output, tuple) and output else output
    found = found.get("logits") if isinstance(found, dict) else getattr(found, "logits", found)
    if not isinstance(found, torch.Tensor) or found.ndim != 3:
        got = f"a tensor {list(found.shape)}" if isinstance(found, torch.Tensor) else type(output).__name__
        raise ValueError(f"model: needed logits [B, T, vocabulary], or an object with them as logits, got {got}")
    return found


def cache_of(output: Any, name: str) -> Any:
    """Take a cache out of what a model gave.

    Args:
        output: of the model.
        name: of its cache.

    Returns:
        The cache, None if there is none.

    Example:
        >>> cache_of((torch.zeros(1, 2, 3), "kept"), "cache")
        'kept'
    """
    if isinstance(output, tuple):
        return output[1] if len(output) > 1 else None
    return output.get(name) if isinstance(output, dict) else getattr(output, name, None)
