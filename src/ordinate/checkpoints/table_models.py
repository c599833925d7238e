"""Reading models with one stack that add rows of a learned table at the input."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, Reading, flag, one_of, row_of, short, whole
from ordinate.checkpoints.plan import IdsFrom, LayerPlan, PositionIds, StackPlan
from ordinate.checkpoints.scheme_plans import LearnedPlan
from ordinate.checkpoints.table_types import NOTHING, TABLE_TYPES, TableType

Stacks = tuple[StackPlan, ...]
Reader = Callable[[Fields], Stacks]

GPT = {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embd"}
GPT_NEO = {"num_hidden_layers": "num_layers", "num_attention_heads": "num_heads"}
SCALED, BY_LAYER = "scale_attn_weights", "scale_attn_by_inverse_layer_idx"
ORDER = PositionIds()
LENGTHS = ("n_positions", "max_position_embeddings")


def sizes(fields: Fields, names: Mapping[str, str] = NOTHING, *, prefix: str = "") -> tuple[int, int, int]:
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


def after_padding(fields: Fields, *, width: int, rows: int, padding: int) -> tuple[LearnedPlan, PositionIds]:
    """Give the table of models whose real tokens are counted from the row after the padding token's.

    Args:
        fields: the configuration.
        width: of the table.
        rows: of the table.
        padding: the padding token's id.

    Returns:
        The table, and how positions are counted.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="roberta")
        >>> after_padding(fields, width=8, rows=514, padding=1)[0].max_length
        512
    """
    if not fields.faults and rows <= padding + 1:
        fields.fault("max_position_embeddings", f"needed more than the {padding + 1} rows before position 0, got {rows}")
    table = LearnedPlan(max_length=max(rows - padding - 1, 1), d_model=width, padding_offset=padding + 1)
    return table, PositionIds(counted_from="tokens", padding_token=padding)


def _table(fields: Fields, kind: TableType) -> Stacks:
    """Read a model by its row: a learned table, rows counted from 0 or from the one after the padding token's."""
    n_layers, n_heads, width = sizes(fields, kind.names)
    return _with_table(fields, kind, layers_of(n_layers, head_scale(fields, width, n_heads)), width)


def _with_table(fields: Fields, kind: TableType, layers: tuple[LayerPlan, ...], width: int) -> Stacks:
    if kind.table_width is not None:
        width = fields.take((kind.table_width,), whole(least=1), "table of width {}", default=kind.default_width)
    rows = fields.take(("max_position_embeddings",), whole(least=1), "learned table of {} rows", default=kind.rows)
    table, ids = LearnedPlan(max_length=rows, d_model=width), PositionIds()
    if kind.padding is not None:
        became = "real tokens are counted from row {} + 1"
        padding = fields.take(("pad_token_id",), whole(), became, default=kind.padding)
        table, ids = after_padding(fields, width=width, rows=rows, padding=padding)
    fields.take(("position_embedding_type",), one_of("absolute"), "learned table", default="absolute")
    if kind.sinusoids is not None:
        fields.take((kind.sinusoids,), flag, "the table's rows were sinusoids before training: {}", default=False)
    causal = kind.causal
    if kind.turned_by is not None:
        causal = fields.take((kind.turned_by,), flag, "looks back only: {}", default=False)
    name = "decoder" if causal and kind.turned_by is not None else "encoder"
    return (StackPlan(name=name, causal=causal, max_length=table.max_length, input=table, layers=layers, position_ids=ids),)


def _mobilebert(fields: Fields) -> Stacks:
    """Read MobileBERT: heads share the bottleneck's width, if there is one."""
    n_layers, n_heads, width = sizes(fields)
    narrow = fields.take(("use_bottleneck",), flag, "layers are narrower inside: {}", default=True)
    inner = fields.take(("intra_bottleneck_size",), whole(least=1), "width {} of all heads", default=128) if narrow else width
    if not fields.faults and inner < n_heads:
        fields.fault("intra_bottleneck_size", f"needed at least the {n_heads} heads, got {inner}")
    return _with_table(fields, TableType(), layers_of(n_layers, head_scale(fields, inner, n_heads)), width)


def _gpt2(fields: Fields, *, rows: int = 1024, switches: tuple[str, ...] = (SCALED, BY_LAYER)) -> Stacks:
    """Read GPT-2 and its kin: a learned table; switches, where there are any, scale layer i by 1 / (i + 1)."""
    n_layers, n_heads, width = sizes(fields, GPT)
    length = fields.take(LENGTHS, whole(least=1), "learned table of {} rows", default=rows)
    scaled, by_layer = True, False
    if SCALED in switches:
        scaled = fields.take((SCALED,), flag, "scores are divided by the root of a head's width: {}", default=True)
    if BY_LAYER in switches:
        by_layer = fields.take((BY_LAYER,), flag, "scores of layer i are divided by i + 1: {}", default=False)
    scale = (width // n_heads) ** -0.5 if scaled and not fields.faults else 1.0
    layers = tuple(LayerPlan(scheme=None, softmax_scale=scale / (layer + 1 if by_layer else 1)) for layer in range(n_layers))
    return _decoder(LearnedPlan(max_length=length, d_model=width), layers)


def _gpt_neo(fields: Fields) -> Stacks:
    """Read GPT-Neo: a learned table, scores that are not scaled, and layers that see a window only."""
    n_layers, _, width = sizes(fields, GPT_NEO)
    length = fields.take(("max_position_embeddings",), whole(least=1), "learned table of {} rows", default=2048)
    window = fields.take(("window_size",), whole(least=1), "local layers see the last {} tokens", default=256)
    listed = _sights(fields, n_layers)
    whole_sight = LayerPlan(scheme=None, softmax_scale=1.0, kind="global")
    local = LayerPlan(scheme=None, softmax_scale=1.0, kind="local", window=window)
    layers = tuple(local if kind == "local" else whole_sight for kind in listed)
    return _decoder(LearnedPlan(max_length=length, d_model=width), layers)


def _sights(fields: Fields, n_layers: int) -> tuple[str, ...]:
    """What each layer sees: a list, or the same list written with repeats."""
    became = "layers that see all tokens before (global) or a window (local)"
    kinds = {"attention_types": _repeated, "attention_layers": row_of(one_of("global", "local"))}
    found = {key: fields.take((key,), kind, became) for key, kind in kinds.items() if fields.has(key)}
    if not found:
        fields.note("attention_types", None, "layers are global and local by turns", source=f"default of {fields.model_type}")
        return tuple("local" if layer % 2 else "global" for layer in range(n_layers))
    for key, sights in found.items():
        if not fields.faults and len(sights) != n_layers:
            fields.fault(key, f"needed one entry for each of {n_layers} layers, got {len(sights)}")
    if not fields.faults and len(set(found.values())) > 1:
        fields.disagree(*((fields.name(key), fields.values[key]) for key in kinds))
    return next(iter(found.values()))


def _repeated(value: Any) -> Reading[tuple[str, ...]]:
    """Pairs of a list and how often it is repeated, one pair after another."""
    sights: list[str] = []
    for pair in value if isinstance(value, (list, tuple)) else [value]:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            return (), f"needed pairs of a list and how often it is repeated, got {short(value)}"
        (row, lacking), (times, wrong) = row_of(one_of("global", "local"))(pair[0]), whole(most=MOST_LAYERS)(pair[1])
        if lacking or wrong or len(sights) + times * len(row) > MOST_LAYERS:
            return (), lacking or wrong or f"needed at most {MOST_LAYERS} layers, got more"
        sights += row * times
    return tuple(sights), ""


def _counted(fields: Fields, *, rows: int, by: IdsFrom) -> Stacks:
    """Read OPT and BioGPT: position p reads row p + 2."""
    n_layers, n_heads, width = sizes(fields)
    length = fields.take(("max_position_embeddings",), whole(least=1), "learned table for {} positions, after 2 rows", default=rows)
    table = LearnedPlan(max_length=length, d_model=width, padding_offset=2)
    return _decoder(table, layers_of(n_layers, head_scale(fields, width, n_heads)), PositionIds(counted_from=by))


def _decoder(table: LearnedPlan, layers: tuple[LayerPlan, ...], ids: PositionIds = ORDER) -> Stacks:
    length = table.max_length
    return (StackPlan(name="decoder", causal=True, max_length=length, input=table, layers=layers, position_ids=ids),)


READERS: dict[str, Reader] = {
    **{name: functools.partial(_table, kind=kind) for name, kind in TABLE_TYPES.items()},
    "mobilebert": _mobilebert,
    "gpt2": _gpt2,
    "imagegpt": _gpt2,
    "gpt_bigcode": functools.partial(_gpt2, switches=(SCALED,)),
    "openai-gpt": functools.partial(_gpt2, rows=512, switches=()),
    "gpt_neo": _gpt_neo,
    "opt": functools.partial(_counted, rows=2048, by="mask"),
    "biogpt": functools.partial(_counted, rows=1024, by="order"),
}
