"""Reading models that add position vectors at the input: learned tables, and Whisper's fixed one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, flag, one_of, whole
from ordinate.checkpoints.plan import InputPlan, LayerPlan, LearnedPlan, PositionIds, SinusoidalPlan, StackPlan

Stacks = tuple[StackPlan, ...]
Reader = Callable[[Fields], Stacks]

GPT = {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embd"}


def sizes(fields: Fields, names: Mapping[str, str] | None = None, *, prefix: str = "") -> tuple[int, int, int]:
    """Read how many layers and heads there are, and the width.

    Args:
        fields: the configuration.
        names: other spellings of num_hidden_layers, num_attention_heads and hidden_size.
        prefix: "encoder_" or "decoder_", where the stacks have sizes of their own.

    Returns:
        Layers, heads, width.

    Example:
        >>> config = {"n_layer": 2, "n_head": 4, "n_embd": 8}
        >>> sizes(Fields(config, source="mapping", model_type="gpt2"), GPT)
        (2, 4, 8)
    """
    names = names or {}
    keys = ("num_hidden_layers", "num_attention_heads", "hidden_size")
    if prefix:
        keys = (f"{prefix}layers", f"{prefix}attention_heads", "d_model")
    spelled = [(key, names[key]) if key in names else (key,) for key in keys]
    layers = fields.size(spelled[0], "{} layers", most=MOST_LAYERS)
    heads = fields.size(spelled[1], "{} heads")
    width = fields.size(spelled[2], "width {}")
    if not fields.faults and width % heads:
        fields.fault(spelled[2][0], f"needed a multiple of the {heads} heads, got {width}")
    return layers, heads, width


def layers_of(n_layers: int, scale: float) -> tuple[LayerPlan, ...]:
    """Give layers whose attention does nothing with positions.

    Args:
        n_layers: how many.
        scale: of the softmax.

    Returns:
        One a layer.

    Example:
        >>> layers_of(2, 0.125)[1].scheme is None
        True
    """
    return (LayerPlan(scheme=None, softmax_scale=scale),) * n_layers


def _bert(fields: Fields) -> Stacks:
    """Read BERT: a learned table, rows counted from 0."""
    n_layers, n_heads, width = sizes(fields)
    length = fields.take(("max_position_embeddings",), whole(least=1), "learned table of {} rows", default=512)
    return (_encoder(fields, n_layers, n_heads, width, LearnedPlan(max_length=length, d_model=width)),)


def _roberta(fields: Fields) -> Stacks:
    """Read RoBERTa: position p reads row p + pad_token_id + 1; padding does not count."""
    n_layers, n_heads, width = sizes(fields)
    padding = fields.take(("pad_token_id",), whole(), "real tokens are counted from row {} + 1", default=1)
    rows = fields.take(("max_position_embeddings",), whole(least=1), "learned table of {} rows", default=512)
    if not fields.faults and rows <= padding + 1:
        fields.fault("max_position_embeddings", f"needed more than the {padding + 1} rows before position 0, got {rows}")
    table = LearnedPlan(max_length=max(rows - padding - 1, 1), d_model=width, padding_offset=padding + 1)
    return (_encoder(fields, n_layers, n_heads, width, table, PositionIds(counted_from="tokens", padding_token=padding)),)


def _gpt2(fields: Fields) -> Stacks:
    """Read GPT-2: a learned table; a switch scales layer i by 1 / (i + 1)."""
    n_layers, n_heads, width = sizes(fields, GPT)
    length = fields.take(("n_positions", "max_position_embeddings"), whole(least=1), "learned table of {} rows", default=1024)
    scaled = fields.take(("scale_attn_weights",), flag, "scores are divided by the root of a head's width: {}", default=True)
    by_layer = fields.take(("scale_attn_by_inverse_layer_idx",), flag, "scores of layer i are divided by i + 1: {}", default=False)
    scale = (width // n_heads) ** -0.5 if scaled and not fields.faults else 1.0
    layers = tuple(LayerPlan(scheme=None, softmax_scale=scale / (layer + 1 if by_layer else 1)) for layer in range(n_layers))
    table = LearnedPlan(max_length=length, d_model=width)
    return (StackPlan(name="decoder", causal=True, max_length=length, input=table, layers=layers),)


def _opt(fields: Fields) -> Stacks:
    """Read OPT: position p reads row p + 2; padding does not count."""
    n_layers, n_heads, width = sizes(fields)
    length = fields.take(("max_position_embeddings",), whole(least=1), "learned table for {} positions, after 2 rows", default=2048)
    table = LearnedPlan(max_length=length, d_model=width, padding_offset=2)
    layers = layers_of(n_layers, head_scale(fields, width, n_heads))
    ids = PositionIds(counted_from="mask")
    return (StackPlan(name="decoder", causal=True, max_length=length, input=table, layers=layers, position_ids=ids),)


def _bart(fields: Fields) -> Stacks:
    """Read BART: encoder and decoder with learned tables; position p reads row p + 2."""
    length = fields.take(
        ("max_position_embeddings",), whole(least=1), "learned tables for {} positions, after 2 rows", default=1024
    )

    def table(width: int) -> InputPlan:
        return LearnedPlan(max_length=length, d_model=width, padding_offset=2)

    return _pair(fields, (length, table), (length, table))


def _whisper(fields: Fields) -> Stacks:
    """Read Whisper: fixed sinusoids for the encoder's frames, a learned table for the decoder's tokens."""
    frames = fields.take(("max_source_positions",), whole(least=1), "sinusoids for {} frames", default=1500)
    tokens = fields.take(("max_target_positions",), whole(least=1), "learned table of {} rows", default=448)

    def sinusoids(width: int) -> InputPlan:
        if not fields.faults and width % 2:
            fields.fault("d_model", f"needed an even width for sinusoids, got {width}")
        return SinusoidalPlan(d_model=width, layout="sin_cos", spacing="closed")

    return _pair(fields, (frames, sinusoids), (tokens, lambda width: LearnedPlan(max_length=tokens, d_model=width)))


def _encoder(
    fields: Fields, n_layers: int, n_heads: int, width: int, table: LearnedPlan, ids: PositionIds | None = None
) -> StackPlan:
    fields.take(("position_embedding_type",), one_of("absolute"), "learned table", default="absolute")
    causal = fields.take(("is_decoder",), flag, "looks back only: {}", default=False)
    layers = layers_of(n_layers, head_scale(fields, width, n_heads))
    return StackPlan(
        name="decoder" if causal else "encoder",
        causal=causal,
        max_length=table.max_length,
        input=table,
        layers=layers,
        position_ids=ids or PositionIds(),
    )


def _pair(
    fields: Fields, encoder: tuple[int, Callable[[int], InputPlan]], decoder: tuple[int, Callable[[int], InputPlan]]
) -> Stacks:
    """Encoder and decoder, which looks at the encoder too."""
    stacks = []
    for name, (length, table) in (("encoder", encoder), ("decoder", decoder)):
        n_layers, n_heads, width = sizes(fields, prefix=f"{name}_")
        scale = head_scale(fields, width, n_heads)
        cross = LayerPlan(scheme=None, softmax_scale=scale) if name == "decoder" else None
        layers = layers_of(n_layers, scale)
        stacks.append(
            StackPlan(
                name=name, causal=name == "decoder", max_length=length, input=table(width), layers=layers, cross_attention=cross
            )
        )
    return tuple(stacks)


def head_scale(fields: Fields, width: int, n_heads: int) -> float:
    """Give the softmax scale (width / heads)^-0.5.

    Args:
        fields: the configuration; with faults the scale is a stand-in.
        width: of all heads together.
        n_heads: how many.

    Returns:
        The scale.

    Example:
        >>> head_scale(Fields({}, source="mapping", model_type="bert"), 768, 12)
        0.125
    """
    return 1.0 if fields.faults else float((width // n_heads) ** -0.5)


READERS: dict[str, Reader] = {
    "bert": _bert,
    "roberta": _roberta,
    "gpt2": _gpt2,
    "opt": _opt,
    "bart": _bart,
    "whisper": _whisper,
}
