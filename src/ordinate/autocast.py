"""Ambient autocast: whether it is on, what it would cast to, and how a computation is kept out of it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch


def autocast_is_on(device: torch.device) -> bool:
    """Whether autocast casts on this device now.

    Args:
        device: where the vectors are.

    Returns:
        True inside ``torch.autocast`` for the device's type.

    Example:
        >>> autocast_is_on(torch.device("cpu"))
        False
    """
    return device.type != "meta" and torch.is_autocast_enabled(device.type)  # meta knows no autocast


def attention_dtype(q: torch.Tensor) -> torch.dtype:
    """The dtype that attention of q has: autocast's where it is on (PyTorch leaves float64 alone), else q's.

    Args:
        q: queries.

    Returns:
        A dtype.

    Example:
        >>> with torch.autocast("cpu", torch.bfloat16):
        ...     attention_dtype(torch.zeros(1))
        torch.bfloat16
    """
    casts = autocast_is_on(q.device) and q.dtype != torch.float64
    return torch.get_autocast_dtype(q.device.type) if casts else q.dtype


def without_autocast(x: torch.Tensor) -> AbstractContextManager[Any]:
    """Keep autocast out of a computation, whatever surrounds it.

    Args:
        x: a tensor on the device of the computation.

    Returns:
        A context.

    Example:
        >>> x = torch.ones(1, 1)
        >>> with torch.autocast("cpu", torch.bfloat16), without_autocast(x):
        ...     (x @ x).dtype
        torch.float32
    """
    return nullcontext() if x.is_meta else torch.autocast(x.device.type, enabled=False)
