"""A plan in words: every key and what it became, then what each layer does; as text and as plain values for JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from ordinate.checkpoints.coordinates import entries_of, shared_out, words
from ordinate.checkpoints.kinds import short
from ordinate.checkpoints.layer_sources import CROSS
from ordinate.checkpoints.plan import LayerPlan, PositionPlan, PowerScale, QueryScale, StackPlan
from ordinate.checkpoints.scheme_plans import EntrywiseRopePlan, MultimodalRopePlan, RopePlan
from ordinate.scaling.rule import Rule


def explain(plan: PositionPlan) -> str:
    """Say where every position-related key came from and what it became, then what each layer does.

    Args:
        plan: from ``read``.

    Returns:
        Lines of text.

    Example:
        >>> from ordinate import checkpoints
        >>> config = {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 16}
        >>> print(explain(checkpoints.read(config)).splitlines()[-2])
        input: learned, max_length=16, d_model=8
    """
    lines = [f"{plan.source}: {plan.model_type}", ""]
    width = max((len(entry.key) for entry in plan.entries), default=0)
    for entry in plan.entries:
        absent = entry.value is None and entry.source != plan.source
        value = "(absent)" if absent else "null" if entry.value is None else short(entry.value)
        where = "" if entry.source == plan.source else f"  [{entry.source}]"
        lines.append(f"{entry.key:<{width}}  {value}  ->  {entry.became}{where}")
    for stack in plan.stacks:
        lines += ["", *_stack_lines(stack)]
    lines += ["", *(f"warning: {text}" for text in plan.warnings)] if plan.warnings else []
    return "\n".join(lines)


def as_values(plan: PositionPlan) -> dict[str, Any]:
    """Give a plan as values that JSON holds.

    Args:
        plan: from ``read``.

    Returns:
        Nested dictionaries and lists; a stack's ``layers`` say which of its ``layer_plans`` every layer is.

    Example:
        >>> from ordinate import checkpoints
        >>> config = {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 16}
        >>> as_values(checkpoints.read(config))["stacks"][0]["input"]
        {'scheme': 'learned', 'max_length': 16, 'd_model': 8, 'padding_offset': 0}
    """
    found: dict[str, Any] = _plain(dataclasses.replace(plan, stacks=()))
    return {**found, "stacks": [_stack_values(stack) for stack in plan.stacks]}


def _stack_values(stack: StackPlan) -> dict[str, Any]:
    """Each distinct layer once, and which of them every layer is."""
    distinct = _places(stack.layers)
    kinds = {place: kind for kind, (_, places) in enumerate(distinct) for place in places}
    values: dict[str, Any] = _plain(dataclasses.replace(stack, layers=()))
    layers, plans = [kinds[place] for place in range(len(stack.layers))], [_plain(layer) for layer, _ in distinct]
    return {**values, "layers": layers, "layer_plans": plans}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = {"rule": type(value).__name__} if isinstance(value, Rule) else {}
        named = getattr(type(value), "scheme", None)  # a class's own word; a layer has a field of this name
        scheme = {"scheme": named} if isinstance(named, str) else {}
        return {**name, **scheme, **{field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON knows no infinity
    return value if value is None or isinstance(value, (str, bool, int, float)) else repr(value)


def _stack_lines(stack: StackPlan) -> Iterator[str]:
    sight = "looks back only" if stack.causal else "looks both ways"
    yield f"{stack.name}: {len(stack.layers)} layers, {sight}, longest sequence {stack.max_length or 'not declared'}"
    yield f"positions: {_counting(stack)}"
    yield f"input: {'nothing' if stack.input is None else _scheme(stack.input)}"
    for layer, found in _places(stack.layers):
        yield f"{'layer' if len(found) == 1 else 'layers'} {_runs(found)}: {_layer(layer)}"
    if stack.table is not None:
        yield f"shared table: {_arguments(stack.table)}"
    if stack.cross_input is not None:
        yield f"before cross-attention: {_scheme(stack.cross_input)}"
    if stack.cross_attention is not None:
        yield f"cross-attention: {_layer(stack.cross_attention)}"
    if stack.cross_grid is not None:
        yield f"keys of cross-attention: numbered ({_arguments(stack.cross_grid)})"
    for text in stack.left_to_model:
        yield f"left to the model: {text}"


def _places(layers: tuple[LayerPlan, ...]) -> list[tuple[LayerPlan, list[int]]]:
    """The distinct layers, and where they are. Readers share objects; a comparison of long rows for every layer would take long."""
    of_object: dict[int, list[int]] = {}
    for place, layer in enumerate(layers):
        of_object.setdefault(id(layer), []).append(place)
    found: dict[LayerPlan, list[int]] = {}
    for places in of_object.values():
        found.setdefault(layers[places[0]], []).extend(places)
    return [(layer, sorted(places)) for layer, places in found.items()]


def _runs(places: list[int]) -> str:
    """0-2, 4, 6-8 for 0, 1, 2, 4, 6, 7, 8."""
    there = set(places)
    starts = [place for place in places if place - 1 not in there]
    stops = [place for place in places if place + 1 not in there]
    return ", ".join(str(start) if start == stop else f"{start}-{stop}" for start, stop in zip(starts, stops, strict=True))


def _counting(stack: StackPlan) -> str:
    ids = stack.position_ids
    start = f" from {ids.first}" if ids.first else ""
    match ids.counted_from:
        case "mask":
            return f"real tokens are counted{start}, by the attention mask"
        case "tokens":
            return f"real tokens are counted{start}, all but padding token {ids.padding_token}"
        case "heads":
            return "a head's number is the position of all its queries and keys"
        case _ if stack.grid is not None:
            told = _arguments(stack.grid)
            time = ", a time" if stack.grid.frames else ""
            told = f" ({told})" if told else ""
            return f"rows and columns of patches{time}{told}, as plan.stack().grid.positions(height, width) gives them"
        case _:
            numbers = ", ".join(str(ids.first + step) for step in range(3))
            counted = f"{numbers}, ... in order{', after what is cached' if stack.causal else ''}"
            axes = f"; a token of an image has {words(ids.axes, ids.called)}: [B, T, {ids.axes}]" if ids.axes > 1 else ""
            return counted + axes


def _layer(layer: LayerPlan) -> str:
    if not layer.attends:
        return f"no attention to the stack itself, {layer.kind}" if layer.kind == CROSS else f"no attention, {layer.kind}"
    parts = ["no scheme" if layer.scheme is None else _scheme(layer.scheme), f"softmax scale {layer.softmax_scale:.6g}"]
    if isinstance(layer.scheme, MultimodalRopePlan):
        parts.insert(1, shared_out(layer.scheme.sections, layer.scheme.order))
    if isinstance(layer.scheme, EntrywiseRopePlan):
        told = entries_of(layer.scheme.shares, named=layer.scheme.spectrum == "each")
        parts.insert(1, f"no rotation: {told}")
    if layer.window is not None:
        parts.append(f"window {layer.window}")
    if layer.window_back is not None:
        parts.append(f"of which {layer.window_back} back")
    if layer.window_ahead is not None:
        parts.append(f"keys up to {layer.window_ahead - 1} ahead")
    if layer.turned != "queries and keys":
        parts.append(f"turns {layer.turned}")
    if layer.chunk is not None:
        parts.append(f"chunks of {layer.chunk}{_beside(layer)}")
    if layer.values_turn:
        parts.append("values turn with the keys, outputs back")
    if layer.compressed is not None:
        parts.append(f"one key more for each {layer.compressed} tokens, at the first one's position")
    if layer.grid_window is not None:
        parts.append(f"windows of {layer.grid_window} x {layer.grid_window} patches")
    if layer.grid is not None:
        parts.append(f"patches numbered {_arguments(layer.grid)}")
    if layer.heads_joined:
        parts.append("heads are turned as one")
    if layer.heads_turned is not None:
        parts.append(
            "the first head alone turns" if layer.heads_turned == 1 else f"the first {layer.heads_turned} heads alone turn"
        )
    if layer.query_scale is not None:
        parts.append(_query_scale(layer.query_scale))
    if (
        isinstance(layer.scheme, RopePlan | MultimodalRopePlan | EntrywiseRopePlan)
        and layer.scheme.scaling is not None
        and layer.scheme.scaling.needs_length
    ):
        parts.append("at_length(n) for sequences beyond the trained length")
    return "; ".join(parts)


def _beside(layer: LayerPlan) -> str:
    """The chunks that a token sees beside its own."""
    seen = [f"{number} {side}" for number, side in ((layer.chunks_back, "before"), (layer.chunks_ahead, "after")) if number]
    return f", its own and {' and '.join(seen)}" if seen else ""


def _query_scale(scale: QueryScale | PowerScale) -> str:
    place = f"(p + {scale.first})" if scale.first else "p"
    if isinstance(scale, PowerScale):
        return f"queries x ({place} / {scale.length} + 1)^{scale.exponent:g}"
    return f"queries x 1 + {scale.strength:g} log(1 + floor({place} / {scale.length}))"


def _scheme(plan: Any) -> str:
    return f"{plan.scheme}, {_arguments(plan)}"


def _arguments(plan: Any) -> str:
    shown = []
    for field in dataclasses.fields(plan):
        value = getattr(plan, field.name)
        if value != field.default:
            text = f"{type(value).__name__}({_arguments(value)})" if isinstance(value, Rule) else short(value)
            shown.append(f"{field.name}={text}")
    return ", ".join(shown)
