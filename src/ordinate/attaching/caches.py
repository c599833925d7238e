"""Caches whose keys turn when they are read: raw keys go in, and all of a sequence's keys come out with one set of frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType
from typing import Any

import torch
from torch import nn

from ordinate.attaching.applying import INTO_HALVES, Turn
from ordinate.attaching.finding import Found
from ordinate.attaching.lengths import CACHE_NAMES, Lengths, Table
from ordinate.checkpoints.rotary_types import ROTARY_TYPES


def faults_of_raw_keys(found: Found, model_type: str, turn: Turn) -> list[str]:
    """Find what stands against caching a model's keys before they turn.

    Args:
        found: the model's modules.
        model_type: of the plan.
        turn: how it turns.

    Returns:
        Faults.

    Example:
        >>> turn = Turn(layout="half", arithmetic="input", head_dim=8, start=4)
        >>> found = Found(owner=nn.Identity(), rotaries=[], by_type=False, attentions=[], form="cos sin")
        >>> faults_of_raw_keys(found, "deepseek_v3", turn)[0]
        "on_switch: needed 'pin' or 'error' for deepseek_v3, whose cache keeps a part of each head apart"
    """
    needed = f"on_switch: needed 'pin' or 'error' for {model_type}, "
    kind, faults = ROTARY_TYPES.get(model_type), []
    if turn.start or any(INTO_HALVES in calls for _, calls in found.attentions):
        faults.append(needed + "whose cache keeps a part of each head apart")
    if kind is not None and kind.normed_after:
        faults.append(needed + "which norms keys after they turn")
    alone = {function.__code__.co_varnames[0] for _, calls in found.attentions for function in calls.values()}
    if found.form != "cos sin" or alone - {"q"}:
        faults.append(needed + "whose function turns queries and keys alike, and cannot leave keys as they are")
    return faults


@dataclass(frozen=True, kw_only=True)
class CachedTurning:
    """What an attention module does while attached to a model with a rule that needs lengths.

    Attributes:
        lengths: what the model's modules share.
        kind: the module's layer type, None where one set of frequencies stands for all.
        turn: how it turns.
        whole: its forward, turning queries and keys.
        queries: its forward, turning queries alone; None where cached keys stay as they were turned.
    """

    lengths: Lengths
    kind: str | None
    turn: Turn
    whole: FunctionType
    queries: FunctionType | None

    def __call__(self, module: nn.Module, *positional: Any, **named: Any) -> Any:
        """Attend; with a cache by way of one that turns its keys."""
        name = next((name for name in CACHE_NAMES if named.get(name) is not None), None)
        if name is None:
            return self.whole(module, *positional, **named)
        self.lengths.adopt(named[name])
        if self.queries is None:
            return self.whole(module, *positional, **named)
        keys = TurningCache(named[name], self.lengths.now.keys[self.lengths.angles.label(self.kind)], self.turn)
        return self.queries(module, *positional, **{**named, name: keys})


class TurningCache:
    """Stands for a cache in one layer's attention: it is given raw keys, and gives all keys turned.

    Args:
        cache: of transformers.
        table: cos and sin of all tokens' positions, [B, K, n].
        turn: how keys turn.

    Example:
        >>> from transformers import DynamicCache
        >>> table = torch.zeros(1, 1, 2), torch.ones(1, 1, 2)
        >>> turning = TurningCache(DynamicCache(), table, Turn(layout="half", arithmetic="input", head_dim=4, start=0))
        >>> turning.update(torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]]), torch.zeros(1, 1, 1, 4), 0)[0]
        tensor([[[[-3., -4.,  1.,  2.]]]])
    """

    def __init__(self, cache: Any, table: Table, turn: Turn) -> None:
        self._cache, self._table, self._turn = cache, table, turn

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *rest: Any, **named: Any) -> Any:
        """Put raw keys and values in; give all of both, the keys turned.

        Shape:
            [B, H, T, D] -> [B, H, K, D]
        """
        _check_layer(self._cache, layer_idx)
        keys, values = self._cache.update(key_states, value_states, layer_idx, *rest, **named)
        cos, sin = (_fitted(part, keys.shape[-2]) for part in self._table)
        return self._turn(keys, cos, sin, -2), values

    def __getattr__(self, name: str) -> Any:
        """Give what the cache has."""
        return getattr(self._cache, name)


def _fitted(table: torch.Tensor, count: int) -> torch.Tensor:
    """A window holds the last tokens; a cache of fixed size has places that are not filled yet."""
    if table.shape[1] >= count:
        return table[:, table.shape[1] - count :]
    return torch.nn.functional.pad(table, (0, 0, 0, count - table.shape[1]))


def _check_layer(cache: Any, index: int) -> None:
    """Refuse layers whose keys do not come out in the order of their tokens, or not as they went in."""
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer, StaticLayer

    layers = getattr(cache, "layers", None)
    kind = None if layers is None or index >= len(layers) else type(layers[index])
    known = [layer.update for layer in (DynamicLayer, DynamicSlidingWindowLayer, StaticLayer)]
    if layers is None or (kind is not None and kind.update not in known):
        got = type(cache).__name__ if kind is None else f"{type(cache).__name__} with a {kind.__name__}"
        raise ValueError(
            "on_switch='returned': needed a DynamicCache, or a StaticCache without windows, whose keys come out in order and "
            f"unchanged, got a {got}; use on_switch='pin' or 'error'"
        )
