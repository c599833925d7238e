"""All rules over one configuration: by its model type if that is in the table, else by what all types have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ordinate.checkpoints.kinds import short
from ordinate.checkpoints.left_out import LEFT_OUT
from ordinate.checkpoints.parts import type_by
from ordinate.checkpoints.plan import PositionPlan
from ordinate.checkpoints.reading import MODEL_TYPES, examine
from ordinate.checkpoints.sources import Source
from ordinate.checkpoints.wholes import PLACES, WHOLES
from ordinate.doctor.coding import SIZES
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.judging import WIDEST, judged
from ordinate.doctor.layer_bases import of_bases
from ordinate.doctor.lengths import of_lengths, wavelengths
from ordinate.doctor.magnitudes import of_magnitudes
from ordinate.doctor.precision import at_maximum
from ordinate.doctor.rotations import Rotation, rotations
from ordinate.doctor.said import old_spellings, said_of, without
from ordinate.doctor.unlisted import of_unlisted, reached

DEEPEST, MOST_PARTS = 3, 64
# Sizes under the names of GPT-2: where a type does not read them, code of its own does.
OTHER_NAMES = ("n_embd", "n_head", "n_layer", "d_model", "n_heads", "n_layers")


def of_configuration(source: Source) -> tuple[list[Diagnosis], PositionPlan | None, list[Rotation]]:
    """Look at a configuration and at the parts of it that are configurations themselves.

    Args:
        source: from ``find_source``, with values.

    Returns:
        Findings; the plan and its rotations, where there is one.

    Raises:
        ValueError: if it cannot be read at all.
    """
    values: Mapping[str, Any] = source.values or {}
    model_type = values.get("model_type")
    if isinstance(model_type, str) and model_type in MODEL_TYPES:
        found, plan, turned = _of_known(source, values)
    else:
        found, turned = of_unlisted(values, named=model_type is not None)
        found += [each for part in turned for each in _of_rotation(part, values)]
        found.append(_in_part(model_type))
        plan = None
    for path, inner, kind in _parts(values, model_type):
        found += _of_part(source, path, inner, kind)
    old = [each for part in (values, text_part(values)) for each in old_spellings(part)]
    if old:
        found.append(diagnosis("ORD110", f"old spellings: {'; '.join(dict.fromkeys(old))}"))
    return found, plan, turned


def text_part(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the configuration of the text model, which is the whole unless the type is one of several models.

    Args:
        values: the whole.

    Returns:
        It, or the whole.

    Example:
        >>> text_part({"model_type": "llava", "text_config": {"rope_theta": 1e6}})
        {'rope_theta': 1000000.0}
    """
    inner: Any = values
    model_type = values.get("model_type")
    if not isinstance(model_type, str) or model_type not in WHOLES:
        return values
    for key in PLACES.get(model_type, ("text_config",)):
        inner = inner.get(key) if isinstance(inner, Mapping) else None
    return inner if isinstance(inner, Mapping) else values


def _of_known(source: Source, values: Mapping[str, Any]) -> tuple[list[Diagnosis], PositionPlan | None, list[Rotation]]:
    try:
        examined = examine(source)
    except ValueError as fault:
        return [diagnosis("ORD103", str(fault).removeprefix(f"{source.name}: "))], None, []
    inner = text_part(values)
    absent = [fault.key for fault in examined.faults if fault.sort == "missing" and fault.key in SIZES]
    own_code = "auto_map" in values or any(
        values.get(key) is not None for key in SIZES - set(absent) if absent and key in OTHER_NAMES
    )
    found: list[Diagnosis] = []
    if absent and not own_code:
        found.append(diagnosis("ORD902", f"usual sizes stand in for {', '.join(absent)}, which are not said"))
        examined = examine(replace(source, values={**values, **_stand_ins(values, absent)}))
    found += judged(examined, inner, own_code=own_code)
    if examined.plan is None and all(fault.sort in ("unknown", "unread") for fault in examined.faults):
        # the rest is looked at as if these keys were not there: so do the programs that drop them
        examined = examine(replace(source, values=without(values, examined.faults)))
    if examined.plan is None:
        found.append(diagnosis("ORD902", "without a plan, lengths, magnitudes and tables were not looked at"))
        return found, None, []
    turned = rotations(examined.plan)
    found += [each for part in turned for each in _of_rotation(part, inner)]
    found += of_bases(examined.plan.model_type, turned)
    return found, examined.plan, turned


def _stand_ins(values: Mapping[str, Any], absent: Sequence[str]) -> dict[str, int]:
    """Sizes for a file that leaves them out, so that what does not depend on them can be looked at."""
    listed, head = values.get("layer_types"), values.get("head_dim")
    width = head if isinstance(head, int) and 1 <= head <= WIDEST else 128
    layers = len(listed) if isinstance(listed, list) and listed else 32
    usual = {"max_position_embeddings": reached(values), "hidden_size": 32 * width, "num_attention_heads": 32, "head_dim": width}
    wide = dict.fromkeys(("n_embd", "d_model", "embed_dim"), 32 * width)
    return {key: {**usual, **wide, "n_head": 32, "n_heads": 32, "num_heads": 32, "d_kv": width}.get(key, layers) for key in absent}


def _of_rotation(found: Rotation, values: Mapping[str, Any]) -> Iterator[Diagnosis]:
    said = said_of(values, found.where)
    yield from of_lengths(found, said)
    yield from of_magnitudes(found, said)
    yield from wavelengths(found)
    yield from at_maximum(found, values.get("dtype", values.get("torch_dtype")))


def _in_part(model_type: object) -> Diagnosis:
    if model_type is None:
        return diagnosis("ORD902", "no model_type is said: what needs none was looked at")
    why = f": {LEFT_OUT[model_type]}" if isinstance(model_type, str) and model_type in LEFT_OUT else ""
    return diagnosis("ORD902", f"model_type {short(model_type)} is not in the table{why}; what needs none was looked at")


def _parts(values: Mapping[str, Any], model_type: object) -> list[tuple[str, Mapping[str, Any], str | None]]:
    """Configurations inside this one but for the text model's: path, values, and a type that can be read."""
    read = ".".join(PLACES.get(model_type, ("text_config",))) if isinstance(model_type, str) and model_type in WHOLES else ""
    found: list[tuple[str, Mapping[str, Any], str | None]] = []
    left: list[tuple[str, Mapping[str, Any], int]] = [("", values, 0)]
    while left and len(found) < MOST_PARTS:
        prefix, outer, depth = left.pop()
        for key, inner in outer.items():
            path = f"{prefix}{key}"
            if not key.endswith("_config") or not isinstance(inner, Mapping) or "." in key:
                continue
            own = inner.get("model_type")
            kind = type_by(outer, inner, key, MODEL_TYPES) or (own if isinstance(own, str) and own in MODEL_TYPES else None)
            if path != read:
                found.append((path, inner, kind))
            if depth < DEEPEST and kind is None:
                left.append((f"{path}.", inner, depth + 1))
    return found


def _of_part(source: Source, path: str, inner: Mapping[str, Any], kind: str | None) -> list[Diagnosis]:
    if kind is None:
        found, turned = of_unlisted(inner, named=True, prefix=f"{path}.")
        return found + [each for part in turned for each in _of_rotation(part, inner)]
    try:
        examined = examine(source, part=path)
    except ValueError as fault:
        return [diagnosis("ORD902", f"{path} was not looked at: {fault!s:.200}", where=path)]
    return judged(examined, inner, own_code=True)
