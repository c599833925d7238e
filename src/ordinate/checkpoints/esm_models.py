"""Reading ESM and models with its code: rotary embeddings, or a learned table."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.fixed_rotation import SCALED_FIRST, alike_stack, fixed_rope
from ordinate.checkpoints.kinds import flag, number, one_of, short, whole
from ordinate.checkpoints.plan import PositionIds, StackPlan
from ordinate.checkpoints.scheme_plans import LearnedPlan
from ordinate.checkpoints.table_models import Reader, Stacks, head_scale, sizes


def esm(fields: Fields) -> Stacks:
    """Read ESM: rotary embeddings, or a learned table whose position p reads row p + pad_token_id + 1.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "position_embedding_type": "rotary"}
        >>> esm(Fields(config, source="mapping", model_type="esm"))[0].layers[0].scheme.base
        10000.0
    """
    return (_esm(fields, "absolute"),)


def saprot(fields: Fields) -> Stacks:
    """Read Evolla's encoder of proteins, which is ESM's with rotary embeddings.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8}
        >>> saprot(Fields(config, source="mapping", model_type="saprot"))[0].layers[0].scheme.base
        10000.0
    """
    return (_esm(fields, "rotary"),)


def _esm(fields: Fields, usual: str) -> StackPlan:
    n_layers, n_heads, width = sizes(fields)
    kinds = one_of("absolute", "rotary") if usual == "absolute" else one_of("rotary")
    kind = fields.take(("position_embedding_type",), kinds, "{} positions", default=usual)
    rows = fields.take(("max_position_embeddings",), whole(least=1), "longest sequence, or rows of a table, {}", default=1026)
    causal = fields.take(("is_decoder",), flag, "looks back only: {}", default=False)
    if fields.values.get("add_cross_attention"):
        fields.fault("add_cross_attention", "cannot be honoured: needed false, got true")
    base = fields.take(("rope_theta",), number(least=1.0), "base {} of a rotation, if there is one", default=10000.0)
    head_dim = 2 if fields.faults else width // n_heads
    if fields.has("head_dim") and fields.values["head_dim"] != head_dim:
        fields.fault("head_dim", f"needed {head_dim}, got {short(fields.values['head_dim'])}")
    scale = head_scale(fields, width, n_heads)
    name = "decoder" if causal else "encoder"
    if kind == "rotary":
        fields.note("position_embedding_type", fields.values.get("position_embedding_type"), SCALED_FIRST)
        scheme = fixed_rope(fields, head_dim, base=base, arithmetic="mixed")
        return alike_stack(fields, n_layers, scheme, scale, name=name, causal=causal, max_length=rows)
    padding = fields.take(("pad_token_id",), whole(), "real tokens are counted from row {} + 1", needed=True)
    if not fields.faults and rows <= padding + 1:
        fields.fault("max_position_embeddings", f"needed more than the {padding + 1} rows before position 0, got {rows}")
    length = max(rows - padding - 1, 1)
    table = LearnedPlan(max_length=length, d_model=width, padding_offset=padding + 1)
    ids = PositionIds(counted_from="tokens", padding_token=padding)
    return alike_stack(fields, n_layers, None, scale, name=name, causal=causal, max_length=length, table=table, ids=ids)


READERS: dict[str, Reader] = {"esm": esm}
