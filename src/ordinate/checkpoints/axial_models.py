"""Reading an encoder of images that turns queries and keys by the rows and columns of patches."""

from __future__ import annotations

import dataclasses
from typing import Any

from ordinate.checkpoints.axial_types import AXIAL_TYPES, AxialType
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.grid_plan import GridPlan
from ordinate.checkpoints.kinds import MOST_LAYERS, number, short, whole
from ordinate.checkpoints.plan import LayerPlan, PositionIds, StackPlan
from ordinate.checkpoints.rope_dictionary import RopeKeys, read_rope
from ordinate.checkpoints.scheme_plans import AxialRopePlan

WIDEST_HEAD = 2**16
MOST_MERGED = 2**10
FULL = "full_attention"


def read_axial(fields: Fields) -> tuple[StackPlan, ...]:
    """Read an encoder of images or videos with axial rotary embeddings.

    Args:
        fields: the configuration; its model type is one of ``AXIAL_TYPES``.

    Returns:
        The stack; made of stand-ins if ``fields.faults`` has any.

    Example:
        >>> config = {"depth": 2, "num_heads": 4, "embed_dim": 64}
        >>> (stack,) = read_axial(Fields(config, source="mapping", model_type="qwen2_vl_vision"))
        >>> stack.layers[1].scheme.head_dim, stack.grid.merge
        (16, 2)
    """
    kind = AXIAL_TYPES[fields.model_type]
    n_layers = fields.size(_spelled(kind, "num_hidden_layers"), "{} layers", most=MOST_LAYERS)
    head_dim, turned = _widths(fields, kind)
    base = _base(fields, kind, head_dim, turned)
    _check_values(fields, kind)
    for key, became in kind.noted.items():
        if fields.has(key):
            fields.used.add(key)
            fields.note(key, fields.values[key], became)
    scheme = AxialRopePlan(
        head_dim=turned,
        layout=kind.layout,
        base=base,
        rotary_dim=max(turned // (2 * kind.axes), 1) * 2 * kind.axes,
        axes=kind.axes,
        order=kind.order,
        axis_order=kind.axis_order,
        spectrum=kind.spectrum,
        arithmetic=kind.arithmetic,
    )
    scale = float(head_dim**-0.5) if kind.softmax_scale is None else kind.softmax_scale
    layer = LayerPlan(scheme=scheme, softmax_scale=scale, heads_joined=kind.joined)
    stack = StackPlan(
        name=kind.stack,
        causal=False,
        max_length=None,
        input=None,
        layers=_layers(fields, kind, layer, n_layers),
        position_ids=PositionIds(axes=kind.axes),
        grid=_grid(fields, kind),
        left_to_model=kind.left,
    )
    return (_sized(fields, kind, stack),)


def _spelled(kind: AxialType, key: str) -> tuple[str, ...]:
    return kind.sizes.get(key, (key,))


def _widths(fields: Fields, kind: AxialType) -> tuple[int, int]:
    """The width of a head, and of what is turned at once."""
    least = 2 * kind.axes
    if kind.head_dim is not None:
        became = "width of a head {}"
        head_dim = fields.take(("head_dim",), whole(least=least, most=WIDEST_HEAD), became, default=kind.head_dim)
        return head_dim, _shared(fields, kind, head_dim)
    n_heads = fields.size(_spelled(kind, "num_attention_heads"), "{} heads", most=WIDEST_HEAD)
    hidden = fields.size(_spelled(kind, "hidden_size"), "width {}, divided among the heads")
    parts = n_heads
    for key in kind.divisors:
        parts *= fields.take((key,), whole(least=1, most=WIDEST_HEAD), "the width is divided by {}", default=1)
    head_dim = max(hidden // parts, least)
    if not fields.faults and (hidden % parts or hidden // parts > WIDEST_HEAD):
        fields.fault(_spelled(kind, "hidden_size")[0], f"needed a multiple of {parts}, for {n_heads} heads, got {hidden}")
    if not fields.faults and hidden // parts < least:
        fields.fault(_spelled(kind, "hidden_size")[0], f"needed at least {least} entries a head, got {hidden // parts}")
    if fields.has("head_dim"):
        declared = fields.take(("head_dim",), whole(least=1, most=WIDEST_HEAD), "width of a head {}")
        if not fields.faults and declared != head_dim:
            fields.fault("head_dim", f"needed {head_dim}, which the width leaves each of {n_heads} heads, got {declared}")
    return head_dim, _shared(fields, kind, head_dim * n_heads if kind.joined else head_dim)


def _shared(fields: Fields, kind: AxialType, width: int) -> int:
    if not kind.partly and not fields.faults and width % (2 * kind.axes):
        fields.refuse(f"{fields.prefix}head: needed a multiple of {2 * kind.axes}, which all axes share, got {width}")
    if kind.stepped and not fields.faults and width & (width - 1):
        fields.refuse(
            f"{fields.prefix}head: needed a power of two, got {width}: {fields.model_type} makes frequencies of other widths with "
            "summed steps, whose roundings differ between machines"
        )
    return width


def _base(fields: Fields, kind: AxialType, head_dim: int, width: int) -> float:
    if not kind.dictionary:
        return fields.take(kind.theta, number(least=1.0), "base {}", default=kind.base)
    aliases = {"axial": "default"} if kind.declares_axial else {}
    keys = RopeKeys(base=kind.base, types=("default",), aliases=aliases, theta=kind.theta)
    if not kind.joined:
        return read_rope(fields, keys, (FULL,), max_length=1, width=width)[FULL].base
    joined = max(width // head_dim, 1)
    keys = dataclasses.replace(keys, partial=("partial_rotary_factor",), default_partial=4.0, most_partial=WIDEST_HEAD)
    settings = read_rope(fields, keys, (FULL,), max_length=1, width=width)[FULL]
    if not fields.faults and settings.partial != joined / 2:
        fields.fault(
            "partial_rotary_factor", f"needed {joined / 2:g}, half of {joined} heads on each axis, got {settings.partial:g}"
        )
    return settings.base


def _check_values(fields: Fields, kind: AxialType) -> None:
    for key, allowed in kind.values.items():
        if fields.has(key):
            fields.used.add(key)
            value = fields.values[key]
            if value in allowed:
                fields.note(key, value, "as the model type's code has it")
            else:
                fields.fault(key, f"cannot be honoured: needed {' or '.join(map(repr, allowed))}, got {short(value)}")


def _layers(fields: Fields, kind: AxialType, usual: LayerPlan, n_layers: int) -> tuple[LayerPlan, ...]:
    if kind.policy is None:
        return (usual,) * n_layers
    made: dict[int, LayerPlan] = {}
    rows = kind.policy(fields, n_layers)
    for row in rows:  # policies share objects: few layers are made
        made.setdefault(id(row), dataclasses.replace(usual, **row) if row else usual)
    return tuple(made[id(row)] for row in rows)


def _grid(fields: Fields, kind: AxialType) -> GridPlan:
    if not kind.merged:
        return kind.grid
    merge = fields.take(
        ("spatial_merge_size",), whole(least=1, most=MOST_MERGED), "patches come in blocks of {0} x {0}", default=kind.grid.merge
    )
    return dataclasses.replace(kind.grid, merge=merge)


def _sized(fields: Fields, kind: AxialType, stack: StackPlan) -> StackPlan:
    if kind.sized is None or stack.grid is None:
        return stack
    found: dict[str, Any] = dict(kind.sized(fields, stack.grid))
    if "cross_grid" in found:  # attention to what has that grid turns as the layers do
        found["cross_attention"] = stack.layers[0]
    return dataclasses.replace(stack, **{**found, "left_to_model": kind.left + found.get("left_to_model", ())})
