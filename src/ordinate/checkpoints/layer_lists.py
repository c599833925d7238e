"""How far each layer sees, where no simple period says it: lists, borders and switches."""

from __future__ import annotations

from collections.abc import Callable

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import row_of, whole
from ordinate.checkpoints.layer_kinds import (
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


def never_sliding(policy: Policy) -> Policy:
    """Say that a window cannot be honoured: the model's code has no mask for layers that slide, and stops.

    Args:
        policy: which layers would slide.

    Returns:
        A policy.

    Example:
        >>> config = {"sliding_window": 4, "max_window_layers": 1}
        >>> fields = Fields(config, source="mapping", model_type="qwen3_omni_moe_talker_code_predictor")
        >>> layers = never_sliding(upper_layers_slide(window=None, border=28))(fields, 2)
        >>> fields.faults[0][:34]
        'sliding_window: cannot be honoured'
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        layers = policy(fields, n_layers)
        if any(layer.window is not None for layer in layers):
            fields.fault("sliding_window", f"cannot be honoured: {fields.model_type} has no mask for layers that slide")
        return layers

    return read


def upper_layers_slide(*, window: int | None, border: int) -> Policy:
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
    note_indexer(fields)
    return [LayerKind(kind=kind) for kind in kinds]


def note_indexer(fields: Fields) -> None:
    """Say what a plan of attention with an indexer is of.

    Args:
        fields: the configuration.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="deepseek_v32")
        >>> note_indexer(fields)
        >>> fields.entries[0].became[:34]
        'an indexer, which turns vectors of'
    """
    became = "an indexer, which turns vectors of its own, chooses the keys: the plan is of the attention to those"
    fields.note("layer_types", fields.values.get("layer_types"), became)


def upper_layers_windowed(*, window: int = 4096, border: int = 28) -> Policy:
    """Say that layers from ``max_window_layers`` on have a window, if ``use_sliding_window`` is on (Qwen).

    Args:
        window: default of ``sliding_window``.
        border: default of ``max_window_layers``.

    Returns:
        A policy.

    Example:
        >>> config = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}
        >>> [layer.window for layer in upper_layers_windowed()(Fields(config, source="mapping", model_type="qwen2"), 2)]
        [None, 8]
    """
    became = "layers below {} see everything, if windows are on"
    return lambda fields, n_layers: _switched(
        fields, n_layers, became, lambda layer, first: layer >= first, window=window, border=border
    )


def every_other_lower_layer_windowed(fields: Fields, n_layers: int) -> Kinds:
    """Give Qwen2-MoE's layers: every other one below ``max_window_layers`` has a window, if ``use_sliding_window`` is on.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> config = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 2}
        >>> fields = Fields(config, source="mapping", model_type="qwen2_moe")
        >>> [layer.window for layer in every_other_lower_layer_windowed(fields, 3)]
        [8, None, None]
    """
    became = "every other layer below {} has a window, if windows are on"
    return _switched(fields, n_layers, became, lambda layer, border: layer % 2 == 0 and layer < border)


def _switched(
    fields: Fields, n_layers: int, became: str, slides: Callable[[int, int], bool], *, window: int = 4096, border: int = 28
) -> Kinds:
    reach = declared_window(fields, default=window) if switched_on(fields) else None
    first = fields.take(("max_window_layers",), whole(), became, default=border)
    pattern = [SLIDING if reach is not None and slides(layer, first) else FULL for layer in range(n_layers)]
    kinds = types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
    if SLIDING in kinds and reach is None:
        fields.fault("layer_types", "needed use_sliding_window and sliding_window beside sliding layers, got none")
    return [LayerKind(kind=kind, window=reach if kind == SLIDING else None) for kind in kinds]
