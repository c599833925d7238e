"""Which layers turn, where some have no rotation: intervals, lists, bases of 0 and sliding layers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import ordinary, row_of, short, whole
from ordinate.checkpoints.layer_kinds import (
    CHUNKED,
    FULL,
    SLIDING,
    Kinds,
    LayerKind,
    Policy,
    declared_window,
    switched_on,
    types_of,
)


def exaone(*, window: int, period: int, key: str | None = None) -> Policy:
    """Give the layers of EXAONE 4 and its kin: sliding ones turn; full ones only if there is no window at all.

    Args:
        window: default of ``sliding_window``.
        period: the last layer of each sees everything, if there is no list.
        key: what may declare the period.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="exaone4")
        >>> [layer.turns for layer in exaone(window=4096, period=4)(fields, 4)]
        [True, True, True, False]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        reach, every = declared_window(fields, default=window), period
        if key is not None and fields.has("layer_types"):  # published files spell the pattern out beside the list: "LLLG"
            fields.used.add(key)
            fields.note(key, fields.values.get(key), "nothing beside layer_types")
        elif key is not None:
            every = fields.take((key,), whole(least=1), "one layer of each {} sees everything", default=period)
        pattern = [FULL if reach is None or (layer + 1) % every == 0 else SLIDING for layer in range(n_layers)]
        kinds = types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
        if SLIDING in kinds and reach is None:
            fields.fault("layer_types", "needed sliding_window beside sliding layers, got none")
        return [
            LayerKind(kind=kind, window=reach if kind == SLIDING else None, turns=kind == SLIDING or reach is None)
            for kind in kinds
        ]

    return read


def by_bases(policy: Policy, *, base: float, rests: Callable[[int, int], bool]) -> Policy:
    """Say that ``layer_rope_theta`` lists bases of the layers, where 0 means no rotation; all others must be the model's base.

    Args:
        policy: how far the layers see.
        base: of the model type, if none is declared.
        rests: tells of a layer, by its number and how many there are, whether it has no rotation, if there is no list.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({"layer_rope_theta": [10000.0, 0]}, source="mapping", model_type="granite_swa")
        >>> from ordinate.checkpoints.layer_kinds import all_alike
        >>> [layer.turns for layer in by_bases(all_alike, base=10000.0, rests=lambda *_: False)(fields, 2)]
        [True, False]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        layers, key = policy(fields, n_layers), "layer_rope_theta"
        turns = [not rests(layer, n_layers) for layer in range(n_layers)]
        fields.used.add(key)
        if fields.has(key):
            length, before = None if fields.faults else n_layers, len(fields.faults)
            bases = fields.take((key,), row_of(ordinary(least=0.0), length=length), "bases of the layers; 0: no rotation")
            others = {value for value in bases if value and value != _base(fields, base)}
            if others and len(fields.faults) == before:
                fields.fault(
                    key, f"cannot be honoured: needed 0 or the base {short(_base(fields, base))}, got {short(sorted(others))}"
                )
            turns = turns if before or len(fields.faults) > before else [bool(value) for value in bases]
        return [replace(layer, turns=turn) for layer, turn in zip(layers, turns, strict=True)]

    return read


def _base(fields: Fields, default: float) -> object:
    places = [fields.values.get("rope_parameters"), fields.values.get("rope_scaling"), fields.values]
    declared = [place["rope_theta"] for place in places if isinstance(place, Mapping) and place.get("rope_theta") is not None]
    return declared[0] if declared else default


def unless_entry_is_null(policy: Policy) -> Policy:
    """Say that layers do not turn if their type's dictionary is null (Cohere Compass).

    Args:
        policy: how far the layers see.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({"rope_parameters": {"full_attention": None}}, source="mapping", model_type="cohere_compass_text")
        >>> from ordinate.checkpoints.layer_kinds import all_alike
        >>> unless_entry_is_null(all_alike)(fields, 1)[0].turns
        False
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        declared, layers = fields.values.get("rope_parameters"), policy(fields, n_layers)
        if not isinstance(declared, Mapping):
            return layers
        null = sorted({layer.kind for layer in layers if layer.kind in declared and declared[layer.kind] is None})
        for kind in null:
            fields.note(f"rope_parameters.{kind}", None, f"layers of the type {kind.replace('_', ' ')} do not turn")
        return [replace(layer, turns=False) if layer.kind in null else layer for layer in layers]

    return read


def smollm3(fields: Fields, n_layers: int) -> Kinds:
    """Give SmolLM3's layers: every fourth has no rotation; those have a window, if windows are on.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> [layer.turns for layer in smollm3(Fields({}, source="mapping", model_type="smollm3"), 4)]
        [True, True, True, False]
    """
    turns = _turning(fields, n_layers)
    window = declared_window(fields, default=None) if switched_on(fields) else None
    pattern = [FULL if turn or window is None else SLIDING for turn in turns]
    kinds = types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
    if SLIDING in kinds and window is None:
        fields.fault("layer_types", "needed use_sliding_window and sliding_window beside sliding layers, got none")
    return [
        LayerKind(kind=kind, turns=turn, window=window if kind == SLIDING else None)
        for kind, turn in zip(kinds, turns, strict=True)
    ]


def llama4(fields: Fields, n_layers: int) -> Kinds:
    """Give Llama 4's layers: every fourth has no rotation and sees everything; the others see their chunk.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> [layer.chunk for layer in llama4(Fields({}, source="mapping", model_type="llama4_text"), 4)]
        [8192, 8192, 8192, None]
    """
    turns = _turning(fields, n_layers)
    chunk = None
    if "attention_chunk_size" not in fields.values or fields.has("attention_chunk_size"):
        chunk = fields.take(("attention_chunk_size",), whole(least=1), "chunks of {} tokens", default=8192)
    pattern = [CHUNKED if turn and chunk is not None else FULL for turn in turns]
    kinds = types_of(fields, n_layers, (FULL, CHUNKED), default=pattern)
    if CHUNKED in kinds and chunk is None:
        fields.fault("layer_types", "needed attention_chunk_size beside chunked layers, got none")
    return [
        LayerKind(kind=kind, turns=turn, chunk=chunk if kind == CHUNKED else None) for kind, turn in zip(kinds, turns, strict=True)
    ]


def _turning(fields: Fields, n_layers: int) -> list[bool]:
    """Which layers turn: 1 in ``no_rope_layers`` means that the layer does. Saved files have both keys; the list counts."""
    interval = fields.take(
        ("no_rope_layer_interval",), whole(least=1), "every {}th layer has no rotation, unless they are listed", default=4
    )
    pattern = [(layer + 1) % interval != 0 for layer in range(n_layers)]
    fields.used.add("no_rope_layers")
    if fields.values.get("no_rope_layers") in (None, []):
        return pattern
    length, before = None if fields.faults else n_layers, len(fields.faults)
    listed = fields.take(("no_rope_layers",), row_of(whole(most=1), length=length), "layers with 0 have no rotation")
    return pattern if before or len(fields.faults) > before else [bool(turn) for turn in listed]
