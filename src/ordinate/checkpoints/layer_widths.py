"""Encoders whose windows are narrow and wide in turns (NeoMME)."""

from __future__ import annotations

from collections.abc import Mapping

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import listed, short, whole
from ordinate.checkpoints.layer_kinds import FULL, SLIDING, Kinds, LayerKind, declared_window, types_of

BY_LAYER = "per_layer_config"
NARROW, WIDE = 256, 1024


def narrow_and_wide(fields: Fields, n_layers: int) -> Kinds:
    """Give NeoMME's layers: every other sliding one is wide, unless ``per_layer_config`` lists windows; they reach both ways.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="neomme")
        >>> [layer.window for layer in narrow_and_wide(fields, 4)]
        [257, 1025, 257, None]
    """
    pattern = [FULL if (layer + 1) % 6 == 0 or layer == n_layers - 1 else SLIDING for layer in range(n_layers)]
    kinds = types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
    if FULL not in kinds:
        fields.fault("layer_types", "needed a layer of full_attention, got none")
    narrow = declared_window(fields, default=NARROW, keys=("sliding_window",))
    fields.used.add(BY_LAYER)
    if fields.has(BY_LAYER):
        reach = _listed(fields, n_layers, narrow)
    else:
        wide = {layer for order, layer in enumerate(layer for layer in range(n_layers) if kinds[layer] == SLIDING) if order % 2}
        reach = [None if kinds[layer] == FULL else WIDE if layer in wide else narrow for layer in range(n_layers)]
    if any(window is None for window, kind in zip(reach, kinds, strict=True) if kind == SLIDING):
        fields.fault("sliding_window", "needed for sliding layers, got nothing")
    return [LayerKind(kind=kind, window=None if window is None else window + 1) for kind, window in zip(kinds, reach, strict=True)]


def _listed(fields: Fields, n_layers: int, usual: int | None) -> list[int | None]:
    """Windows of single layers, by their number; whatever its type, a layer that is not there has the usual one."""
    declared, reach = fields.values[BY_LAYER], [usual] * n_layers
    if not isinstance(declared, Mapping):
        fields.fault(BY_LAYER, f"needed a dictionary, got {short(declared)}")
        return reach
    padding = len(str(n_layers - 1))  # transformers pads the numbers with zeros, so that they sort
    numbers = {key: layer for layer in range(n_layers) for key in (str(layer), str(layer).zfill(padding))}
    for key, settings in declared.items():
        if key not in numbers or not isinstance(settings, Mapping) or set(settings) - {"sliding_window"}:
            fields.fault(BY_LAYER, f"needed sliding_window by the number of a layer, got {short({key: settings})}")
        elif "sliding_window" in settings:
            part = fields.part(BY_LAYER, declared).part(key, settings)
            window = (
                part.take(("sliding_window",), whole(least=1), "window of {} tokens, both ways")
                if part.values["sliding_window"] is not None
                else None
            )
            reach[numbers[key]] = window
    fields.note(BY_LAYER, fields.values[BY_LAYER], f"windows of layers {listed(map(str, declared))}")
    return reach
