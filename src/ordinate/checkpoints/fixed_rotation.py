"""Stacks of equal layers with a rotation that has a base alone, and no scaling rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.plan import LayerPlan, PositionIds, StackPlan, Turned
from ordinate.checkpoints.scheme_plans import InputPlan, RopePlan

if TYPE_CHECKING:
    from ordinate.rotation import Arithmetic

WIDEST_HEAD = 2**16
SCALED_FIRST = "queries are scaled before they turn, not the scores"


def fixed_rope(
    fields: Fields, head_dim: int, *, base: float, rotary_dim: int | None = None, arithmetic: Arithmetic = "input"
) -> RopePlan:
    """Give a rotation of halves.

    Args:
        fields: the configuration; a stand-in if it has faults.
        head_dim: width of a head.
        base: of the frequencies.
        rotary_dim: entries that turn; None if all do.
        arithmetic: of the rotation.

    Returns:
        The plan.

    Example:
        >>> fixed_rope(Fields({}, source="mapping", model_type="esm"), 8, base=1e4).rotary_dim
        8
    """
    turning = head_dim if rotary_dim is None else rotary_dim
    if not fields.faults and (turning < 2 or turning % 2 or turning > head_dim or head_dim > WIDEST_HEAD):
        fields.refuse(f"{fields.prefix}rotary width: needed an even number of entries to turn, got {turning} of {head_dim}")
    return RopePlan(
        head_dim=head_dim,
        layout="half",
        base=base,
        rotary_dim=turning,
        arithmetic=arithmetic,
    )


def alike_stack(
    fields: Fields,
    n_layers: int,
    scheme: RopePlan | None,
    scale: float,
    *,
    name: str = "encoder",
    causal: bool = False,
    turned: Turned = "queries and keys",
    max_length: int | None = None,
    table: InputPlan | None = None,
    ids: PositionIds | None = None,
) -> StackPlan:
    """Give a stack of equal layers.

    Args:
        fields: the configuration.
        n_layers: how many.
        scheme: their rotation, or None.
        scale: of the softmax.
        name: of the stack.
        causal: whether it looks back only.
        turned: what a rotation turns.
        max_length: longest sequence declared.
        table: input scheme.
        ids: how positions are counted.

    Returns:
        The stack.

    Example:
        >>> alike_stack(Fields({}, source="mapping", model_type="clvp"), 2, None, 0.5).layers[1].softmax_scale
        0.5
    """
    fields.note("model_type", fields.model_type, f"rotation turns {turned}" if scheme is not None else "no rotation")
    layer = LayerPlan(scheme=scheme, softmax_scale=scale, turned=turned if scheme is not None else "queries and keys")
    return StackPlan(
        name=name,
        causal=causal,
        max_length=max_length,
        input=table,
        layers=(layer,) * n_layers,
        position_ids=ids or PositionIds(),
    )
