"""Step 3.7's lists with one value a layer: types, bases and shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import Kind, number, one_of, row_of, short, whole
from ordinate.checkpoints.layer_kinds import FULL, SLIDING, Kinds, LayerKind, declared_window

T = TypeVar("T")


def step_layers(fields: Fields, n_layers: int) -> Kinds:
    """Give Step 3.7's layers: all see everything, unless ``layer_types`` lists some with the window.

    Args:
        fields: the configuration.
        n_layers: how many, without those that predict further tokens, which the lists may have at their end.

    Returns:
        One a layer.

    Example:
        >>> config = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 8, "num_nextn_predict_layers": 1}
        >>> [layer.window for layer in step_layers(Fields(config, source="mapping", model_type="step3p5"), 1)]
        [8]
    """
    kinds = _a_layer(fields, "layer_types", one_of(FULL, SLIDING), n_layers, "types of the layers") or [FULL] * n_layers
    _sliding_heads(fields)
    window = declared_window(fields, default=None)
    if SLIDING in kinds and window is None:
        fields.fault("sliding_window", "needed beside sliding layers, got none")
    return [LayerKind(kind=kind, window=window if kind == SLIDING else None) for kind in kinds]


def _sliding_heads(fields: Fields) -> None:
    """Sliding layers may have another number of heads, of the same width."""
    fields.take(("num_sliding_attention_heads",), whole(least=1), "{} heads in sliding layers", default=1)
    inner = fields.values.get("attention_other_setting")
    if not isinstance(inner, Mapping) or inner.get("head_dim") is None:
        return
    part, width = fields.part("attention_other_setting", inner), fields.values.get("head_dim", fields.defaults.get("head_dim"))
    if inner["head_dim"] != width:
        part.fault("head_dim", f"cannot be honoured: needed {width}, as in all layers, got {short(inner['head_dim'])}")


def step_dictionary(fields: Fields, turning: Sequence[str]) -> Mapping[str, Any]:
    """Make the dictionary by layer type from one base and share a layer; layers of a type must have the same.

    Args:
        fields: the configuration.
        turning: the layers' types, in order.

    Returns:
        The dictionary; as it stands, where it is there itself.

    Example:
        >>> fields = Fields({"rope_theta": [1e4, 5e6]}, source="mapping", model_type="step3p5")
        >>> step_dictionary(fields, ["sliding_attention", "full_attention"])["full_attention"]
        {'rope_theta': 5000000.0}
    """
    declared = fields.values.get("rope_parameters")
    bases = _values(fields, "rope_theta", number(least=1.0), turning, "base {}")
    shares = _values(fields, "partial_rotary_factors", number(most=1.0), turning, "share of the head that turns: {}")
    scaling = fields.values.get("rope_scaling")
    fields.used.update(("rope_parameters", "rope_scaling"))
    if declared:
        for key in ("rope_theta", "partial_rotary_factors", "rope_scaling"):
            if fields.has(key):
                fields.fault(key, f"cannot be honoured beside rope_parameters, got {short(fields.values[key])}")
        return declared if isinstance(declared, Mapping) else {}
    made: dict[str, dict[str, Any]] = {}
    for label in dict.fromkeys(turning):
        base = {"rope_theta": bases[label]} if label in bases else {}
        share = {"partial_rotary_factor": shares[label]} if label in shares else {}
        rule = dict(scaling) if isinstance(scaling, Mapping) and label == FULL else {}
        made[label] = {**base, **share, **rule}
    if isinstance(scaling, Mapping):
        fields.note("rope_scaling", dict(scaling), "of layers that see everything alone")
    return made


def _values(fields: Fields, key: str, kind: Kind[T], turning: Sequence[str], became: str) -> dict[str, T]:
    """One value a layer type, from one a layer or one for all; those of a type must agree."""
    if not fields.has(key):
        fields.used.add(key)
        return {}
    if not isinstance(fields.values[key], (list, tuple)):
        return dict.fromkeys(turning, fields.take((key,), kind, became))
    values = _a_layer(fields, key, kind, len(turning), f"one a layer; {became}") or []
    found: dict[str, T] = {}
    for label, value in zip(turning, values, strict=False):
        if found.setdefault(label, value) != value:
            fields.fault(key, f"cannot be honoured: needed one value for all layers of {label}, got {found[label]} and {value}")
    return found


def _a_layer(fields: Fields, key: str, kind: Kind[T], n_layers: int, became: str) -> list[T] | None:
    """A list with one value a layer, without those of layers that predict further tokens."""
    more = fields.take(("num_nextn_predict_layers",), whole(), "{} layers more predict further tokens", default=0)
    fields.used.add(key)
    if not fields.has(key):
        return None
    before, value = len(fields.faults), fields.values[key]
    padded = isinstance(value, (list, tuple)) and len(value) == n_layers + more
    length = None if before else n_layers + (more if padded else 0)
    values = fields.take((key,), row_of(kind, length=length), became)
    return None if before or len(fields.faults) > before else list(values[:n_layers])
