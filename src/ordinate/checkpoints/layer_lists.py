"""Which layers turn, and how far each sees, where no simple period says it: lists, switches and layers without a rotation."""

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

INDEXED = "indexed_attention"


def listed(full: Callable[[int, int], bool], *, window: int | None, turns_only_sliding: bool = False) -> Policy:
    """Say that ``layer_types`` lists the layers with a window.

    Args:
        full: tells of a layer, by its number and how many there are, whether it sees everything, if there is no list.
        window: default of ``sliding_window``.
        turns_only_sliding: whether full layers have no rotation.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="flint")
        >>> [layer.window for layer in listed(lambda layer, _: layer < 2, window=513)(fields, 3)]
        [None, None, 513]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        pattern = [FULL if full(layer, n_layers) else SLIDING for layer in range(n_layers)]
        kinds = types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
        reach = declared_window(fields, default=window) if SLIDING in kinds else None
        return [
            LayerKind(kind=kind, window=reach if kind == SLIDING else None, turns=kind == SLIDING or not turns_only_sliding)
            for kind in kinds
        ]

    return read


def all_slide(*, window: int) -> Policy:
    """Say that all layers slide, or all see everything if ``sliding_window`` is null, unless ``layer_types`` lists them.

    Args:
        window: default of ``sliding_window``.

    Returns:
        A policy.

    Example:
        >>> all_slide(window=4096)(Fields({"sliding_window": None}, source="mapping", model_type="ministral"), 1)[0].kind
        'full_attention'
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        reach = declared_window(fields, default=window)
        kinds = types_of(fields, n_layers, (FULL, SLIDING), default=[FULL if reach is None else SLIDING] * n_layers)
        return [LayerKind(kind=kind, window=reach if kind == SLIDING else None) for kind in kinds]

    return read


def upper_layers_slide(*, window: int, border: int) -> Policy:
    """Say that layers from ``max_window_layers`` on slide, unless ``layer_types`` lists them; no switch is asked (dots.llm1).

    Args:
        window: default of ``sliding_window``.
        border: default of ``max_window_layers``.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({"max_window_layers": 1}, source="mapping", model_type="dots1")
        >>> [layer.window for layer in upper_layers_slide(window=4096, border=62)(fields, 2)]
        [None, 4096]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        reach = declared_window(fields, default=window)
        first = fields.take(("max_window_layers",), whole(), "layers below {} see everything", default=border)
        pattern = [FULL if reach is None or layer < first else SLIDING for layer in range(n_layers)]
        kinds = types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
        return [LayerKind(kind=kind, window=reach if kind == SLIDING else None) for kind in kinds]

    return read


def mimo(fields: Fields, n_layers: int) -> Kinds:
    """Give MiMo-V2's layers: the first and every sixth see everything; the others the query and ``sliding_window_size`` before it.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> fields = Fields({"sliding_window_size": 128}, source="mapping", model_type="mimo_v2_flash")
        >>> [layer.window for layer in mimo(fields, 3)]
        [None, 129, 129]
    """
    pattern, key = [FULL if layer == 0 or (layer + 1) % 6 == 0 else SLIDING for layer in range(n_layers)], "hybrid_layer_pattern"
    if fields.has(key) and not fields.has("layer_types"):
        length, before = None if fields.faults else n_layers, len(fields.faults)
        slides = fields.take((key,), row_of(whole(most=1), length=length), "layers with 1 have a window")
        pattern = pattern if before or len(fields.faults) > before else [SLIDING if slide else FULL for slide in slides]
    fields.used.update((key, "sliding_window", "sliding_window_size"))
    kinds = types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
    if fields.has("sliding_window_size"):
        reach = fields.take(("sliding_window_size",), whole(), "window of the query and {} tokens before it") + 1
    else:
        reach = fields.take(("sliding_window",), whole(least=1), "window of {} tokens", default=129)
    return [LayerKind(kind=kind, window=reach if kind == SLIDING else None) for kind in kinds]


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


def indexed(fields: Fields, n_layers: int) -> Kinds:
    """Give the layers of sparse attention after DeepSeek-V3.2: all see the keys that an indexer chooses by content.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> indexed(Fields({}, source="mapping", model_type="deepseek_v32"), 1)[0].kind
        'indexed_attention'
    """
    kinds = types_of(fields, n_layers, (INDEXED,), default=[INDEXED] * n_layers)
    became = "an indexer, which turns vectors of its own, chooses the keys: the plan is of the attention to those"
    fields.note("layer_types", fields.values.get("layer_types"), became)
    return [LayerKind(kind=kind) for kind in kinds]


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
        >>> everything = listed(lambda *_: True, window=None)
        >>> [layer.turns for layer in by_bases(everything, base=10000.0, rests=lambda *_: False)(fields, 2)]
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
                fields.fault(key, f"cannot be honoured: needed 0 or the base {_base(fields, base)}, got {short(sorted(others))}")
            turns = turns if before or len(fields.faults) > before else [bool(value) for value in bases]
        return [replace(layer, turns=turn) for layer, turn in zip(layers, turns, strict=True)]

    return read


def _base(fields: Fields, default: float) -> object:
    places = [fields.values.get("rope_parameters"), fields.values.get("rope_scaling"), fields.values]
    declared = [place["rope_theta"] for place in places if isinstance(place, Mapping) and place.get("rope_theta") is not None]
    return declared[0] if declared else default


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
