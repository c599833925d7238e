"""Reading models that act on scores: ALiBi (BLOOM, MPT, Falcon), DeBERTa."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import Reading, flag, number, one_of, ordinary, short, whole
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.recording import check_leftovers
from ordinate.checkpoints.scheme_plans import AlibiPlan, DebertaPlan, DebertaTablePlan, LearnedPlan
from ordinate.checkpoints.table_models import Reader, Stacks, head_scale, sizes

MPT = {"num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "hidden_size": "d_model"}
BLOOM = {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embed"}
MOST_HEADS = 2**12
Terms = tuple[str, ...]


def slopes(n_heads: int, *, bias_max: float = 8.0) -> tuple[float, ...]:
    """ALiBi's slopes by the authors' rule: 2^(-bias_max h / m) for m heads, a power of two; else every other slope of 2m follows.

    Args:
        n_heads: how many heads.
        bias_max: 8, but for MPT's alibi_bias_max.

    Returns:
        One a head.

    Example:
        >>> slopes(3)
        (0.0625, 0.00390625, 0.25)
    """
    power = 2 ** math.floor(math.log2(n_heads))
    own = [2.0 ** (-bias_max * head / power) for head in range(1, power + 1)]
    between = [2.0 ** (-bias_max * head / (2 * power)) for head in range(1, 2 * power + 1, 2)]
    return tuple(own + between[: n_heads - power])


def _bloom(fields: Fields) -> Stacks:
    """Read BLOOM: ALiBi with the authors' slopes."""
    n_layers, n_heads, width = sizes(fields, BLOOM)
    if not fields.take(("alibi",), flag, "ALiBi: {}", default=True):
        fields.fault("alibi", "cannot be honoured: needed true for bloom, got false")
    scheme = AlibiPlan(n_heads=n_heads, slopes=slopes(_heads(fields, n_heads)))
    length = _declared(fields, "seq_length", "n_positions")
    return (_decoder(n_layers, scheme, head_scale(fields, width, n_heads), max_length=length),)


def _mpt(fields: Fields) -> Stacks:
    """Read MPT: ALiBi, set in attn_config."""
    n_layers, n_heads, width = sizes(fields, MPT)
    length = fields.take(("max_seq_len",), whole(least=1), "longest sequence {}", default=2048)
    fields.used |= {"attn_config", "learned_pos_emb"}
    inner: Any = fields.values.get("attn_config")
    if inner is not None and not isinstance(inner, Mapping):
        fields.fault("attn_config", f"needed a dictionary, got {short(inner)}")
    part = fields.part("attn_config", inner if isinstance(inner, Mapping) else {})
    # The class of transformers has alibi on by default and never reads it; the authors' code, off.
    alibi = part.take(("alibi",), flag, "ALiBi: {}", default=True)
    if not alibi:
        part.fault("alibi", "cannot be honoured: the model type's code always adds ALiBi, needed true, got false")
    most = part.take(("alibi_bias_max",), number(most=1024.0), "slopes down to 2^-{}", default=8.0)
    for key in ("prefix_lm", "attn_uses_sequence_id"):
        if part.take((key,), flag, "{}", default=False):
            part.fault(key, "cannot be honoured: needed false, got true")
    scale = head_scale(fields, width, n_heads)
    if part.has("softmax_scale"):
        scale = part.take(("softmax_scale",), ordinary(), "softmax scale {}")
    check_leftovers(part)
    scheme = AlibiPlan(n_heads=n_heads, slopes=slopes(_heads(fields, n_heads), bias_max=most))
    return (_decoder(n_layers, scheme, scale, max_length=length),)


def falcon_alibi(fields: Fields) -> Stacks:
    """Read a Falcon with ALiBi: slopes are rounded to bfloat16, and the bias is multiplied by head_dim^-0.5 as the scores are.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "alibi": True}
        >>> falcon_alibi(Fields(config, source="mapping", model_type="falcon"))[0].layers[0].scheme.slopes
        (0.03125, 0.001953125)
    """
    n_layers, n_heads, width = sizes(fields, BLOOM)
    fields.take(("alibi",), flag, "ALiBi: {}")
    for key in ("rope_parameters", "rope_scaling", "rope_theta"):
        fields.used.add(key)
        if fields.has(key):
            fields.note(key, fields.values[key], "nothing, beside ALiBi")  # transformers adds one to every Falcon
    scale = head_scale(fields, width, n_heads)
    values = tuple(bfloat16(slope) * scale for slope in slopes(_heads(fields, n_heads)))
    scheme = AlibiPlan(n_heads=n_heads, slopes=values)
    return (_decoder(n_layers, scheme, scale, max_length=_declared(fields, "max_position_embeddings")),)


def bfloat16(value: float) -> float:
    """Round a number to bfloat16, to nearest, ties to even.

    Args:
        value: positive, within float32's range.

    Returns:
        What bfloat16 holds.

    Example:
        >>> bfloat16(0.70710678)
        0.70703125
    """
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return float(struct.unpack("<f", struct.pack("<I", rounded))[0])


def _deberta(fields: Fields) -> Stacks:
    """Read DeBERTa v1: distances are clipped."""
    return _disentangled(fields, bucketed=False)


def _deberta_v2(fields: Fields) -> Stacks:
    """Read DeBERTa v2 and v3: distances may have buckets, the table may be normalised."""
    return _disentangled(fields, bucketed=True)


def _disentangled(fields: Fields, *, bucketed: bool) -> Stacks:
    n_layers, n_heads, width = sizes(fields)
    length = fields.take(("max_position_embeddings",), whole(least=1), "up to {} positions", default=512)
    biased = fields.take(("position_biased_input",), flag, "learned table at the input: {}", default=True)
    relative = fields.take(("relative_attention",), flag, "disentangled attention: {}", default=False)
    terms = fields.take(("pos_att_type",), _terms, "terms {}", default=[])
    reach = fields.take(
        ("max_relative_positions",),
        whole(least=-1, most=2**30),
        "distances up to {}, if above 0",
        default=-1,
    )
    reach = length if reach < 1 else reach
    buckets = _buckets(fields) if bucketed else None
    norm, epsilon = _table_norm(fields) if bucketed else (False, 1e-7)
    if buckets is not None and reach < buckets // 2 + 2:
        least = buckets // 2 + 2
        fields.fault("max_relative_positions", f"needed at least {least} for {buckets} position_buckets, got {reach}")
    head_dim = 1 if fields.faults else width // n_heads
    if bucketed and fields.has("attention_head_size"):
        head_dim = fields.take(("attention_head_size",), whole(least=1, most=MOST_HEADS), "width of a head {}")
    scheme = None
    if relative and not terms:
        fields.fault("pos_att_type", "needed c2p, p2c or both beside relative_attention, got none")
    elif relative:
        scheme = DebertaPlan(
            n_heads=n_heads,
            head_dim=head_dim,
            content_to_position="c2p" in terms,
            position_to_content="p2c" in terms,
            buckets=buckets,
            max_distance=reach,
        )
    span = reach if buckets is None else buckets
    table = DebertaTablePlan(d_model=width, span=span, layer_norm=norm, layer_norm_epsilon=epsilon) if relative else None
    layer = LayerPlan(scheme=scheme, softmax_scale=float((head_dim * (1 + len(terms))) ** -0.5))
    stack = StackPlan(
        name="encoder",
        causal=False,
        max_length=length if biased else None,
        input=LearnedPlan(max_length=length, d_model=width) if biased else None,
        layers=(layer,) * n_layers,
        table=table,
    )
    return (stack,)


def _buckets(fields: Fields) -> int | None:
    found = fields.take(("position_buckets",), whole(least=-1, most=2**20), "{} buckets a direction, -1 none", default=-1)
    if not fields.faults and found in (1, 2, 3):
        fields.fault("position_buckets", f"needed -1 or at least 4, got {found}")
    return None if found < 1 else found


def _table_norm(fields: Fields) -> tuple[bool, float]:
    norm = fields.take(("norm_rel_ebd",), one_of("none", "layer_norm"), "the relative table's norm: {}", default="none")
    epsilon = fields.take(("layer_norm_eps",), number(most=0.5), "norms' epsilon {}", default=1e-7)
    fields.take(("share_att_key",), flag, "the table is projected by the layers' own weights: {}", default=False)
    return norm == "layer_norm", epsilon


def _terms(value: Any) -> Reading[Terms]:
    """A list, or words between bars."""
    parts = value.lower().split("|") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        return (), f"needed a list of c2p and p2c, or 'c2p|p2c', got {short(value)}"
    words = tuple(sorted(part.strip() for part in parts if part.strip()))
    if set(words) <= {"c2p", "p2c"} and len(set(words)) == len(words):
        return words, ""
    return (), f"needed c2p and p2c alone, each once, got {short(value)}"


def _decoder(n_layers: int, scheme: AlibiPlan, scale: float, *, max_length: int | None) -> StackPlan:
    layer = LayerPlan(scheme=scheme, softmax_scale=scale)
    return StackPlan(name="decoder", causal=True, max_length=max_length, input=None, layers=(layer,) * n_layers)


def _declared(fields: Fields, *keys: str) -> int | None:
    return fields.take(keys, whole(least=1), "longest sequence in training {}") if fields.has(*keys) else None


def _heads(fields: Fields, n_heads: int) -> int:
    """No slopes for more heads than any model has."""
    if n_heads > MOST_HEADS:
        fields.fault("num_attention_heads", f"needed at most {MOST_HEADS}, got {n_heads}")
    return min(n_heads, MOST_HEADS)


READERS: dict[str, Reader] = {
    "bloom": _bloom,
    "mpt": _mpt,
    "deberta": _deberta,
    "deberta-v2": _deberta_v2,
}
