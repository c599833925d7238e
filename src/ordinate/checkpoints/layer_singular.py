"""Which layers attend, turn and see how far, as single model types say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST, row_of, whole
from ordinate.checkpoints.layer_kinds import FULL, SLIDING, Kinds, LayerKind, declared_window, types_of, windowed
from ordinate.checkpoints.layer_lists import listed
from ordinate.checkpoints.layer_mixes import CONVOLUTION, mixed

HYBRID, HYBRID_SLIDING, SPARSE = "hybrid", "hybrid_sliding", "minimax_m3_sparse"
CHOSEN = "an indexer, which turns vectors of its own, chooses blocks of keys: the plan is of the attention to those"


def doge(fields: Fields, n_layers: int) -> Kinds:
    """Give Doge's layers: all have the window, and beyond ``keep_window_size`` keys the values choose which are seen.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> doge(Fields({"sliding_window": 8}, source="mapping", model_type="doge"), 1)[0].window
        8
    """
    became = "of more keys than {}, their values choose those that are seen: the plan is of the attention to those"
    fields.take(("keep_window_size",), whole(least=1), became, default=2048)
    return windowed()(fields, n_layers)


def beam(fields: Fields, n_layers: int) -> Kinds:
    """Give Beam's layers: every sixth and the last see everything; types whose entry in ``rope_parameters`` is null do not turn.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> [layer.turns for layer in beam(Fields({}, source="mapping", model_type="beam"), 3)]
        [True, True, False]
    """
    layers = listed(lambda layer, count: (layer + 1) % 6 == 0 or layer == count - 1, window=512)(fields, n_layers)
    declared = fields.values.get("rope_parameters")
    if not isinstance(declared, Mapping) or not declared:
        return [replace(layer, turns=layer.kind == SLIDING) for layer in layers]
    for kind in sorted({layer.kind for layer in layers} - set(declared)):
        fields.fault("rope_parameters", f"needed an entry for {kind}, a dictionary, or null for no rotation, got nothing")
    return [replace(layer, turns=declared.get(layer.kind) is not None) for layer in layers]


def muse_assistant(fields: Fields, n_layers: int) -> Kinds:
    """Give the layers of Muse Glimmer's assistant: all see the window before and behind them, its farthest key included.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> muse_assistant(Fields({}, source="mapping", model_type="muse_glimmer_assistant"), 1)[0].window
        2049
    """
    kinds = types_of(fields, n_layers, (FULL, SLIDING), default=[SLIDING] * n_layers)
    reach = declared_window(fields, default=2048) if SLIDING in kinds else None
    became = "keys are of the context, then of the block; queries of the block alone, at the last positions"
    fields.note("model_type", fields.model_type, became)
    return [LayerKind(kind=kind, window=reach + 1 if reach is not None and kind == SLIDING else None) for kind in kinds]


def _lfm3_pattern(_: Fields, n_layers: int) -> list[str]:
    named = {0: SLIDING, 2: FULL}
    return [named.get(layer % 4, CONVOLUTION) if layer else CONVOLUTION for layer in range(n_layers)]


lfm3 = mixed(_lfm3_pattern, still=CONVOLUTION, attends=(FULL, SLIDING), window=256, list_keys=("layer_types",))


def zaya(fields: Fields, n_layers: int) -> Kinds:
    """Give ZAYA's layers: all see everything, unless ``layer_types`` lists some with the window.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> fields = Fields({"layer_types": ["hybrid_sliding"], "sliding_window": 8}, source="mapping", model_type="zaya")
        >>> zaya(fields, 1)[0].window
        8
    """
    kinds = types_of(fields, n_layers, (HYBRID, HYBRID_SLIDING), default=[HYBRID] * n_layers)
    window = declared_window(fields, default=None)
    if HYBRID_SLIDING in kinds and window is None:
        fields.fault("sliding_window", "needed beside sliding layers, got none")
    return [LayerKind(kind=kind, window=window if kind == HYBRID_SLIDING else None) for kind in kinds]


def molmo2(fields: Fields, n_layers: int) -> Kinds:
    """Give Molmo 2's layers: those in ``rope_scaling_layers`` turn by the scaling rule, the others by the base alone.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> fields = Fields({"rope_scaling_layers": [1]}, source="mapping", model_type="molmo2_text")
        >>> [layer.scaled for layer in molmo2(fields, 2)]
        [False, True]
    """
    key = "rope_scaling_layers"
    fields.used.add(key)
    if fields.values.get(key) is None:
        return [LayerKind()] * n_layers
    places = fields.take((key,), row_of(whole(most=MOST if fields.faults else n_layers - 1)), "layers that the rule reaches")
    return [LayerKind(scaled=layer in set(places)) for layer in range(n_layers)]


def minimax_m3(fields: Fields, n_layers: int) -> Kinds:
    """Give MiniMax M3's layers: all alike, but that an indexer chooses the keys of sparse ones.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> config = {"sparse_attention_config": {"sparse_attention_freq": [0, 1]}}
        >>> [layer.kind for layer in minimax_m3(Fields(config, source="mapping", model_type="minimax_m3_vl_text"), 2)]
        ['full_attention', 'minimax_m3_sparse']
    """
    key, pattern = "sparse_attention_config", [FULL] * n_layers
    inner = fields.values.get(key)
    if isinstance(inner, Mapping) and inner.get("sparse_attention_freq") is not None and not fields.has("layer_types"):
        part, length, before = fields.part(key, inner), None if fields.faults else n_layers, len(fields.faults)
        marks = part.take(("sparse_attention_freq",), row_of(whole(most=1), length=length), "layers with 1 are sparse")
        pattern = pattern if before or len(fields.faults) > before else [SPARSE if mark else FULL for mark in marks]
    kinds = types_of(fields, n_layers, (FULL, SPARSE), default=pattern)
    if SPARSE in kinds:
        fields.note("layer_types", fields.values.get("layer_types"), f"{SPARSE}: {CHOSEN}")
    return [LayerKind(kind=kind) for kind in kinds]
