"""What a model's forward can be asked for, by the names of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from ordinate.attaching.lengths import CACHE_NAMES

MASKS = ("attention_mask", "mask", "attn_mask", "padding_mask", "key_padding_mask")
POSITIONS = ("position_ids", "positions", "input_pos", "pos_ids")
CACHES = (*CACHE_NAMES, "past", "kv_cache")
DOCUMENTS = ("document_ids", "documents", "doc_ids")


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of the arguments that forward takes, None for what it does not take.

    Attributes:
        mask: which tokens are real, or which keys a query sees.
        positions: where tokens are.
        needs_positions: whether it cannot be called without them.
        cache: keys and values of earlier tokens.
        use_cache: whether it must be told to give a cache back.
        documents: which document each token belongs to.
    """

    mask: str | None = None
    positions: str | None = None
    needs_positions: bool = False
    cache: str | None = None
    use_cache: bool = False
    documents: str | None = None


def names_of(model: Callable[..., Any]) -> Names:
    """Look at a signature.

    Args:
        model: a module or another callable.

    Returns:
        The names.

    Example:
        >>> names_of(lambda ids, *, positions, cache=None: ids)
        Names(mask=None, positions='positions', needs_positions=True, cache='cache', use_cache=False, documents=None)
    """
    try:
        arguments = inspect.signature(model.forward if isinstance(model, nn.Module) else model).parameters
    except (TypeError, ValueError):  # written in C
        return Names()

    def taken(names: tuple[str, ...]) -> str | None:
        return next((name for name in names if name in arguments), None)

    positions = taken(POSITIONS)
    return Names(
        mask=taken(MASKS),
        positions=positions,
        needs_positions=positions is not None and arguments[positions].default is inspect.Parameter.empty,
        cache=taken(CACHES),
        use_cache="use_cache" in arguments,
        documents=taken(DOCUMENTS),
    )
