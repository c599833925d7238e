"""Reading CLVP's encoders, which turn values, too, and its decoder."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.fixed_rotation import SCALED_FIRST, alike_stack, fixed_rope
from ordinate.checkpoints.kinds import flag, whole
from ordinate.checkpoints.scheme_plans import LearnedPlan
from ordinate.checkpoints.table_models import Reader, Stacks, head_scale, sizes


def clvp_encoder(fields: Fields) -> Stacks:
    """Read an encoder of CLVP, which turns values, too.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 128, "projection_dim": 8}
        >>> clvp_encoder(Fields(config, source="mapping", model_type="clvp_encoder"))[0].layers[0].turned
        'queries, keys and values'
    """
    n_layers, n_heads, width = sizes(fields)
    projected = fields.take(
        ("projection_dim",), whole(least=1), "width {} divided by twice the heads, but at least 32", default=768
    )
    turns = fields.take(("use_rotary_embedding",), flag, "layers turn: {}", default=True)
    scale = head_scale(fields, width, n_heads)
    head_dim = 2 if fields.faults else width // n_heads
    rotary_dim = 2 if fields.faults else max(projected // (2 * n_heads), 32)
    fields.note("model_type", fields.model_type, SCALED_FIRST)
    scheme = fixed_rope(fields, head_dim, base=10000.0, rotary_dim=rotary_dim) if turns else None
    return (alike_stack(fields, n_layers, scheme, scale, turned="queries, keys and values"),)


def clvp_decoder(fields: Fields) -> Stacks:
    """Read the decoder of CLVP, which has a learned table.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8}
        >>> clvp_decoder(Fields(config, source="mapping", model_type="clvp_decoder"))[0].input.max_length
        608
    """
    n_layers, n_heads, width = sizes(fields)
    length = fields.take(("max_position_embeddings",), whole(least=1), "learned table of {} rows", default=608)
    scale, table = head_scale(fields, width, n_heads), LearnedPlan(max_length=length, d_model=width)
    return (alike_stack(fields, n_layers, None, scale, name="decoder", causal=True, max_length=length, table=table),)


READERS: dict[str, Reader] = {"clvp_decoder": clvp_decoder, "clvp_encoder": clvp_encoder}
