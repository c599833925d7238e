"""Queries and keys of every layer, caught where the model's own function is about to turn them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import torch

from ordinate.attaching.angles import Plan, rope_of
from ordinate.attaching.classes import attach_module, detach_module
from ordinate.attaching.finding import find
from ordinate.attaching.functions import rebound
from ordinate.checkpoints.plan import PositionPlan
from ordinate.checkpoints.reading import read
from ordinate.doctor.probe.scores import Turning


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One layer's queries and keys, [H, T, D], not turned, and how they turn.

    Attributes:
        index: of the layer.
        kind: the layer type's name in the configuration.
        q: queries.
        k: keys, of as many heads or fewer.
        turning: by the configuration, in float64.
    """

    index: int
    kind: str
    q: torch.Tensor
    k: torch.Tensor
    turning: Turning


def recorded(model: Any, run: Callable[[], object], tokens: int) -> list[Recorded] | str:
    """Run a model and catch its queries and keys.

    Args:
        model: of transformers; it is as before afterwards.
        run: calls it with a row of tokens.
        tokens: in the row.

    Returns:
        One record a layer that turns, or what stands against it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # keys without effect are `ordinate read`'s to tell
        try:
            plan = read(model.config)
        except ValueError as fault:
            return str(fault)
    if len(plan.stacks) != 1:
        return f"needed one stack of layers, got {plan.model_type} with {len(plan.stacks)}"
    if not any(isinstance(layer.scheme, Plan) for layer in plan.layers):
        return f"needed layers that turn queries and keys, got {plan.model_type} without"
    found, faults = find(model, plan.model_type, plan.stack())
    if found is None:
        return "; ".join(faults)
    caught: dict[int, list[torch.Tensor]] = {}
    put_in = []
    try:
        for module, calls in found.attentions:
            index = getattr(module, "layer_idx", None)
            if isinstance(index, int) and index < len(plan.layers) and isinstance(plan.layers[index].scheme, Plan):
                into = caught.setdefault(index, [])
                twins = {name: _noting(function, into) for name, function in calls.items()}
                attach_module(module, rebound(inspect.getattr_static(type(module), "forward"), twins), None)
                put_in.append(module)
        with torch.no_grad():
            run()
    finally:
        for module in put_in:
            detach_module(module)
    return [_record(plan, index, tensors, tokens) for index, tensors in sorted(caught.items()) if len(tensors) == 2]


def _noting(function: FunctionType, into: list[torch.Tensor]) -> Callable[..., Any]:
    """The model's own function, which notes what it is given: queries and keys at once, or one after the other."""
    pair = list(inspect.signature(function).parameters)[1] in ("k", "xk")

    def noting(*positional: Any, **named: Any) -> Any:
        given = positional[:2] if pair else positional[:1]
        into.extend(tensor.detach() for tensor in given if isinstance(tensor, torch.Tensor))
        return function(*positional, **named)

    return noting


def _record(plan: PositionPlan, index: int, tensors: list[torch.Tensor], tokens: int) -> Recorded:
    layer = plan.layers[index]
    assert isinstance(layer.scheme, Plan)
    q, k = (_heads_first(tensor, tokens) for tensor in tensors)
    return Recorded(index=index, kind=layer.kind, q=q, k=k, turning=turning_of(layer.scheme, q.shape[-1], tokens))


def _heads_first(tensor: torch.Tensor, tokens: int) -> torch.Tensor:
    """[B, H, T, D] or [B, T, H, D] to [H, T, D], of the first row."""
    row = tensor[0]
    return row if row.shape[1] == tokens else row.transpose(0, 1)


def turning_of(plan: Plan, width: int, length: int) -> Turning:
    """Give how a layer's heads turn.

    Args:
        plan: of the layer's scheme.
        width: of queries and keys as they are caught: whole heads, or the part that turns.
        length: of the sequence, for rules that depend on it.

    Returns:
        Frequencies and pairs.

    Example:
        >>> from ordinate.checkpoints.scheme_plans import RopePlan
        >>> turning_of(RopePlan(head_dim=4, layout="half", base=10000.0, rotary_dim=4), 4, 9).second
        (2, 3)
    """
    rope = rope_of(plan)
    if rope.scaling is not None and rope.scaling.needs_length:
        rope = rope.at_length(length)
    pairs = len(rope.inverse_frequencies)
    start = plan.rotary_start if width == plan.head_dim else 0
    half = plan.layout == "half"
    return Turning(
        frequencies=tuple(rope.inverse_frequencies),
        first=tuple(start + (pair if half else 2 * pair) for pair in range(pairs)),
        second=tuple(start + (pair + pairs if half else 2 * pair + 1) for pair in range(pairs)),
        sign=getattr(plan, "sign", 1),
        magnitude=rope.magnitude,
    )
