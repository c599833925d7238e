"""Reading an encoder of images that turns queries and keys by the rows and columns of patches."""

from __future__ import annotations

import dataclasses

from ordinate.checkpoints.axial_types import AXIAL_TYPES, AxialType
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, short, whole
from ordinate.checkpoints.plan import AxialRopePlan, GridPlan, LayerPlan, PositionIds, StackPlan
from ordinate.checkpoints.rope_dictionary import RopeKeys, read_rope

WIDEST_HEAD = 2**16
MOST_MERGED = 2**10


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
    fields.defaults = {**kind.defaults, **fields.defaults}
    n_layers = fields.size(_spelled(kind, "num_hidden_layers"), "{} layers", most=MOST_LAYERS)
    head_dim = _head_dim(fields, kind)
    width = head_dim // (2 * kind.axes) * 2 * kind.axes
    if not fields.faults and not width:
        fields.refuse(f"{fields.prefix}head: needed at least {2 * kind.axes} entries, got {head_dim}")
    aliases = {"axial": "default"} if kind.declares_axial else {}
    keys = RopeKeys(base=kind.base, types=("default",), aliases=aliases, theta=kind.theta)
    settings = read_rope(fields, keys, ("full_attention",), max_length=1, width=head_dim)
    _check_values(fields, kind)
    scheme = AxialRopePlan(
        head_dim=head_dim,
        layout=kind.layout,
        base=settings["full_attention"].base,
        rotary_dim=max(width, 2 * kind.axes),
        axes=kind.axes,
        order=kind.order,
        axis_order=kind.axis_order,
        spectrum=kind.spectrum,
        arithmetic=kind.arithmetic,
    )
    layer = LayerPlan(scheme=scheme, softmax_scale=float(head_dim**-0.5))
    stack = StackPlan(
        name="encoder",
        causal=False,
        max_length=None,
        input=None,
        layers=(layer,) * n_layers,
        position_ids=PositionIds(axes=kind.axes),
        grid=_grid(fields, kind),
    )
    return (stack,)


def _spelled(kind: AxialType, key: str) -> tuple[str, ...]:
    return kind.sizes.get(key, (key,))


def _head_dim(fields: Fields, kind: AxialType) -> int:
    if fields.has("head_dim") or fields.defaults.get("head_dim"):
        return fields.take(("head_dim",), whole(least=2 * kind.axes, most=WIDEST_HEAD), "width of a head {}")
    n_heads = fields.size(_spelled(kind, "num_attention_heads"), "{} heads", most=WIDEST_HEAD)
    hidden = fields.size(_spelled(kind, "hidden_size"), "width {}, divided among the heads")
    if not fields.faults and (hidden % n_heads or hidden // n_heads > WIDEST_HEAD):
        fields.fault("hidden_size", f"needed a multiple of the {n_heads} heads, got {hidden}")
    return max(hidden // n_heads, 2 * kind.axes)


def _check_values(fields: Fields, kind: AxialType) -> None:
    for key, allowed in kind.values.items():
        if fields.has(key):
            fields.used.add(key)
            value = fields.values[key]
            if value in allowed:
                fields.note(key, value, "as the model type's code has it")
            else:
                fields.fault(key, f"cannot be honoured: needed {' or '.join(map(repr, allowed))}, got {short(value)}")


def _grid(fields: Fields, kind: AxialType) -> GridPlan:
    if not kind.merged:
        return kind.grid
    merge = fields.take(
        ("spatial_merge_size",), whole(least=1, most=MOST_MERGED), "patches come in blocks of {0} x {0}", default=kind.grid.merge
    )
    return dataclasses.replace(kind.grid, merge=merge)
