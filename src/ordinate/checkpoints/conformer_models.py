"""Reading conformers of speech: vectors of distances, or a rotation of the states of which queries and keys are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ordinate.checkpoints.distance_models import SIDES, learned_vectors, projected_sinusoids
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.fixed_rotation import alike_stack, fixed_rope
from ordinate.checkpoints.kinds import MOST_LAYERS, number, one_of
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.scheme_plans import ShawPlan, TransformerXLPlan
from ordinate.checkpoints.table_models import Reader, Stacks, head_scale, sizes

CONVOLUTIONS = ("num_conv_pos_embeddings", "num_conv_pos_embedding_groups")  # modules that no forward pass calls
RELATIVE = ("max_source_positions", *SIDES)
Distances = Callable[[Fields, int, int, int], Sequence[ShawPlan | TransformerXLPlan]]
DISTANCES: Mapping[str | None, Distances] = {"relative_key": learned_vectors, "relative": projected_sinusoids}


def _conformer(
    fields: Fields, of_layers: tuple[int, int, int], usual: str, idle: tuple[str, ...], kinds: tuple[str, ...] = ("rotary",)
) -> Stacks:
    """Read a conformer of one of its kinds of positions; null is none."""
    n_layers, n_heads, width = of_layers
    if "position_embeddings_type" in fields.values and fields.values["position_embeddings_type"] is None:
        fields.used.add("position_embeddings_type")
        fields.note("position_embeddings_type", None, "no rotation")
        kind = None
    else:
        kind = fields.take(("position_embeddings_type",), one_of(*kinds), "{} positions", default=usual)
    base = fields.take(("rotary_embedding_base",), number(least=1.0), "base {} of a rotation, if there is one", default=10000.0)
    for key in (key for key in idle if kind != "relative_key" or key not in SIDES):
        fields.used.add(key)
        if fields.has(key):
            fields.note(key, fields.values[key], f"nothing, beside {'a rotation' if kind == 'rotary' else kind or 'no scheme'}")
    if kind in DISTANCES:
        scale, plans = head_scale(fields, width, n_heads), DISTANCES[kind](fields, n_layers, n_heads, width)
        layers = tuple(LayerPlan(scheme=plan, softmax_scale=scale) for plan in plans)
        return (StackPlan(name="encoder", causal=False, max_length=None, input=None, layers=layers),)
    scheme = None if kind is None else fixed_rope(fields, 2 if fields.faults else width // n_heads, base=base)
    return (alike_stack(fields, n_layers, scheme, head_scale(fields, width, n_heads), turned="states"),)


def wav2vec2_bert(fields: Fields) -> Stacks:
    """Read Wav2Vec2-BERT; a rotation turns the states before they become queries and keys.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "position_embeddings_type": "rotary"}
        >>> wav2vec2_bert(Fields(config, source="mapping", model_type="wav2vec2-bert"))[0].layers[0].turned
        'states'
    """
    return _conformer(fields, sizes(fields), "relative_key", RELATIVE, ("relative_key", "relative", "rotary"))


def wav2vec2_conformer(fields: Fields) -> Stacks:
    """Read Wav2Vec2-Conformer, as Wav2Vec2-BERT, but without learned vectors.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "position_embeddings_type": "rotary"}
        >>> wav2vec2_conformer(Fields(config, source="mapping", model_type="wav2vec2-conformer"))[0].layers[0].softmax_scale
        0.5
    """
    return _conformer(fields, sizes(fields), "relative", (*RELATIVE[:1], *CONVOLUTIONS), ("relative", "rotary"))


def seamless(fields: Fields) -> Stacks:
    """Read the speech encoder of SeamlessM4T with a rotation; its text models have sinusoids, which are not read.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"speech_encoder_layers": 1, "speech_encoder_attention_heads": 2, "hidden_size": 8}
        >>> config |= {"position_embeddings_type": "rotary"}
        >>> seamless(Fields(config, source="mapping", model_type="seamless_m4t"))[0].layers[0].scheme.head_dim
        4
    """
    for key in ("max_position_embeddings", "t2u_max_position_embeddings"):
        fields.used.add(key)
        if fields.has(key):
            fields.note(key, fields.values[key], "not read: the plan is of the speech encoder")
    n_layers = fields.size(("speech_encoder_layers",), "{} layers", most=MOST_LAYERS)
    n_heads, width = fields.size(("speech_encoder_attention_heads",), "{} heads"), fields.size(("hidden_size",), "width {}")
    if not fields.faults and width % n_heads:
        fields.fault("hidden_size", f"needed a multiple of the {n_heads} heads, got {width}")
    return _conformer(fields, (n_layers, n_heads, width), "relative", (*RELATIVE[:1], *CONVOLUTIONS))


READERS: dict[str, Reader] = {
    "seamless_m4t": seamless,
    "wav2vec2-bert": wav2vec2_bert,
    "wav2vec2-conformer": wav2vec2_conformer,
}
