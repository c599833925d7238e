"""Heads of another width in layers that see everything (Gemma 4 and its kin)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import short, whole
from ordinate.checkpoints.layer_kinds import FULL, Kinds
from ordinate.checkpoints.vocabulary import looks_positional

KEY, BY_LAYER = "global_head_dim", "per_layer_config"
WIDEST_HEAD, LONGEST_NUMBER = 2**16, 9


def full_head(fields: Fields, layers: Kinds, head_dim: int) -> int:
    """Read the width of a head in layers that see everything: ``global_head_dim``, or what ``per_layer_config`` says of each layer.

    Args:
        fields: the configuration.
        layers: one a layer.
        head_dim: width of a head in the other layers.

    Returns:
        The width.

    Example:
        >>> from ordinate.checkpoints.layer_kinds import LayerKind
        >>> config = {"per_layer_config": {"0": {"head_dim": 64}}}
        >>> full_head(Fields(config, source="mapping", model_type="gemma4_text"), [LayerKind()], 32)
        64
    """
    became = "width of a head {} in layers that see everything"
    if fields.values.get(BY_LAYER) is None:
        return fields.take((KEY,), whole(least=1, most=WIDEST_HEAD), became, needed=True)
    fields.used.update((KEY, BY_LAYER))
    by_number = _by_number(fields)
    widths = [_declared(fields, number, by_number.get(number, {}), head_dim) for number in range(len(layers))]
    wide = [width for layer, width in zip(layers, widths, strict=True) if layer.kind == FULL]
    narrow = [width for layer, width in zip(layers, widths, strict=True) if layer.kind != FULL]
    found = wide[0] if wide else head_dim
    if set(wide) - {found} or set(narrow) - {head_dim}:
        fields.fault(BY_LAYER, f"cannot be honoured: needed one width of heads for each layer type, got {short(widths)}")
    if fields.has(KEY) and fields.values[KEY] != found:
        fields.disagree((fields.name(BY_LAYER), fields.values[BY_LAYER]), (fields.name(KEY), fields.values[KEY]))
    fields.note(BY_LAYER, short(fields.values[BY_LAYER]), became.format(found))
    return found


def _by_number(fields: Fields) -> dict[int, Any]:
    """What is said of each layer; numbers are written as "5" or "05"."""
    given = fields.values[BY_LAYER]
    if isinstance(given, Mapping) and all(str(key).isdecimal() and len(str(key)) <= LONGEST_NUMBER for key in given):
        return {int(key): value for key, value in given.items()}
    fields.fault(BY_LAYER, f"needed a dictionary by the layers' numbers, got {short(given)}")
    return {}


def _declared(fields: Fields, number: int, inner: Any, head_dim: int) -> int:
    """The width in one layer; nothing else of it may be about positions."""
    if not isinstance(inner, Mapping):
        fields.fault(BY_LAYER, f"needed a dictionary for layer {number}, got {short(inner)}")
        return head_dim
    part = fields.part(f"{BY_LAYER}.{number}", inner)
    for key in inner:
        if looks_positional(str(key)):
            part.fault(str(key), f"cannot be honoured for one layer, got {short(inner[key])}")
    return (
        head_dim if not part.has("head_dim") else part.take(("head_dim",), whole(least=1, most=WIDEST_HEAD), "width of a head {}")
    )
