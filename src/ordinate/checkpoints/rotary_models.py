"""Reading a model that turns queries and keys."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, flag, ordinary, short, switch, whole
from ordinate.checkpoints.layer_kinds import FULL, LayerKind, both_ways
from ordinate.checkpoints.layer_sources import CROSS
from ordinate.checkpoints.plan import LayerPlan, PositionIds, PowerScale, QueryScale, StackPlan
from ordinate.checkpoints.rope_dictionary import RopeKeys, RopeSettings, read_rope
from ordinate.checkpoints.rotary_types import RotaryType
from ordinate.checkpoints.scheme_plans import MultimodalRopePlan, RopePlan
from ordinate.checkpoints.wide_heads import WIDEST_HEAD, full_head
from ordinate.scaling import Proportional, YaRN

if TYPE_CHECKING:
    from ordinate.rotation import Layout

BEAM = PowerScale(exponent=0.1, length=2048, first=1)


def read_rotary(fields: Fields, kind: RotaryType, *, layout: Layout | None = None) -> StackPlan:
    """Read a decoder or encoder with rotary embeddings.

    Args:
        fields: the configuration.
        kind: what its model type decides.
        layout: of the weights, where the file stores them otherwise than the model type.

    Returns:
        The stack; made of stand-ins if ``fields.faults`` has any.

    Example:
        >>> from ordinate.checkpoints.rotary_types import ROTARY_TYPES
        >>> config = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "rope_theta": 1e6}
        >>> stack = read_rotary(Fields(config, source="mapping", model_type="llama"), ROTARY_TYPES["llama"])
        >>> stack.layers[1].scheme.base
        1000000.0
    """
    n_layers = _count(fields, kind)
    max_length = _longest(fields, kind)
    head_dim, start, width = _head(fields, kind)
    shapes = kind.layers(fields, n_layers)
    causal = not (kind.bidirectional and fields.take(("use_bidirectional_attention",), flag, "looks both ways: {}")) and kind.causal
    shapes = shapes if causal or kind.declares_reach else both_ways(shapes)
    labels = [shape.kind for shape in shapes if shape.turns]
    wide = full_head(fields, shapes, head_dim) if kind.wide_heads else None
    settings = read_rope(
        fields, _rope_keys(kind, head_dim, width), labels, max_length=max_length or 1, width=width, full_width=wide
    )
    _check_values(fields, kind)
    layout = _layout(fields, kind, layout)
    if kind.normed_after:
        became = "queries and keys are normed after they turn: scheme.queries and scheme.keys, the norm, attend without a scheme"
        fields.note("model_type", fields.model_type, became)
    if kind.beside:
        fields.note("model_type", fields.model_type, kind.beside)
    turned = {
        label: _rope(
            fields,
            kind,
            setting,
            layout=layout,
            head_dim=wide if wide and label == FULL else head_dim,
            start=start,
            width=wide if wide and label == FULL else width,
        )
        for label, setting in settings.items()
    }
    schemes = {(label, True): scheme for label, scheme in turned.items()}
    schemes |= {(label, False): replace(scheme, scaling=None) for label, scheme in turned.items()}
    scale = _softmax_scale(fields, kind, head_dim)
    query_scale = _query_scale(fields, kind, settings)
    layers = [_layer(shape, schemes, settings, scale, query_scale) for shape in shapes]
    return StackPlan(
        name="decoder" if kind.causal else "encoder",
        causal=causal,
        max_length=max_length,
        input=None,
        layers=tuple(layers),
        position_ids=PositionIds(counted_from=kind.counted_from, axes=1 if kind.rope.sections is None else kind.rope.sections.axes),
        cross_attention=LayerPlan(scheme=None, softmax_scale=scale, kind=CROSS) if kind.crosses else None,
    )


def _count(fields: Fields, kind: RotaryType) -> int:
    if kind.count is not None:
        return kind.count(fields)
    return fields.size(_spelled(kind, "num_hidden_layers"), "{} layers", most=MOST_LAYERS)


def _longest(fields: Fields, kind: RotaryType) -> int | None:
    if kind.endless:
        return None
    return fields.take(_spelled(kind, "max_position_embeddings"), whole(least=1), "longest sequence {}", needed=True)


def _rope_keys(kind: RotaryType, head_dim: int, width: int) -> RopeKeys:
    """Mistral 4 repeats the latent head's share among the settings."""
    return replace(kind.rope, repeated_share=width / head_dim) if kind.rope.repeated_share is not None else kind.rope


def _spelled(kind: RotaryType, key: str) -> tuple[str, ...]:
    return (key, kind.sizes[key]) if key in kind.sizes else (key,)


def _head(fields: Fields, kind: RotaryType) -> tuple[int, int, int]:
    """Width of a head, first entry that may turn, how many may."""
    if kind.head == "latent":
        still = fields.take(("qk_nope_head_dim",), whole(most=WIDEST_HEAD), "first {} entries of a head stay")
        turns = fields.take(("qk_rope_head_dim",), whole(least=2, most=WIDEST_HEAD), "last {} entries of a head turn")
        _repeated(fields, "qk_head_dim", still + turns, "width of a head {}")
        if "head_dim" not in kind.idle:
            _repeated(fields, "head_dim", turns, "what turns of a head {}")
        absent = turns if fields.has("head_dim") else kind.defaults.get("head_dim", turns)
        if absent != turns:
            fields.fault(
                "head_dim", f"needed {turns}, as qk_rope_head_dim, got nothing, which {fields.model_type} takes for {absent}"
            )
        return still + turns, still, turns
    if kind.head == "declared" and (
        fields.has(*_spelled(kind, "head_dim")) or (fields.defaults.get("head_dim") and "head_dim" not in fields.values)
    ):
        head_dim = fields.take(_spelled(kind, "head_dim"), whole(least=1, most=WIDEST_HEAD), "width of a head {}")
        return head_dim, 0, head_dim
    n_heads = fields.size(_spelled(kind, "num_attention_heads"), "{} heads", most=WIDEST_HEAD)
    hidden = fields.size(_spelled(kind, "hidden_size"), "width {}, divided among the heads")
    hidden *= 1 + (kind.head == "doubled")
    head_dim = max(hidden // n_heads, 1)
    if not fields.faults and hidden % n_heads:
        fields.fault("hidden_size", f"needed a multiple of the {n_heads} heads, got {hidden}")
    if not fields.faults and head_dim > WIDEST_HEAD:
        fields.fault("hidden_size", f"needed heads of at most {WIDEST_HEAD} entries, got {hidden} / {n_heads}")
    if kind.head in ("divided", "doubled"):
        _repeated(fields, "head_dim", head_dim, "width of a head {}, as the width / heads")
    return head_dim, 0, head_dim


def _repeated(fields: Fields, key: str, wanted: int, became: str) -> None:
    """The model derives this number: where a key repeats it, it must be the same."""

    def read(value: object) -> tuple[int, str]:
        return wanted, "" if value == wanted and not isinstance(value, bool) else f"needed {wanted}, got {short(value)}"

    if fields.has(key):
        fields.take((key,), read, became)


def _check_values(fields: Fields, kind: RotaryType) -> None:
    for key in kind.idle:
        if fields.has(key):
            fields.used.add(key)
            fields.note(key, fields.values[key], "nothing")
            fields.warn(key, f"changes nothing: {fields.model_type} reads no such key")
    for key, allowed in kind.values.items():
        if fields.has(key) and not allowed:
            fields.used.add(key)
            fields.fault(key, f"cannot be honoured: {fields.model_type} says it otherwise, got {short(fields.values[key])}")
        elif fields.has(key):
            fields.used.add(key)
            value = fields.values[key]
            if value in allowed:
                fields.note(key, value, "as the model type's code has it")
            else:
                fields.fault(key, f"cannot be honoured: needed {' or '.join(map(repr, allowed))}, got {short(value)}")


def _layout(fields: Fields, kind: RotaryType, stored: Layout | None) -> Layout:
    """Only DeepSeek-V3's configuration says it."""
    if kind.says_layout:
        pairs = fields.take(("rope_interleave",), flag, "interleaved pairs: {}", default=True)
        return "interleaved" if pairs else "half"
    return stored or kind.layout


def _rope(
    fields: Fields, kind: RotaryType, setting: RopeSettings, *, layout: Layout, head_dim: int, start: int, width: int
) -> RopePlan | MultimodalRopePlan:
    whole_width = isinstance(setting.rule, Proportional)
    turning = width if whole_width else int(width * setting.partial)
    if kind.rotary_dim:
        turning = fields.take(("rotary_dim",), whole(least=2, most=width), "first {} entries of a head turn")
    elif kind.rope.partial:
        _repeated(fields, "rotary_dim", turning, "first {} entries of a head turn, as the partial factor says")
    if not fields.faults and (turning < 2 or turning % 2):
        fields.refuse(f"{fields.prefix}rotary width: needed an even number of entries to turn, got {turning} of {head_dim}")
    if kind.rope.sections is not None:
        return MultimodalRopePlan(
            head_dim=head_dim,
            layout=layout,
            sections=setting.sections,
            order=kind.rope.sections.order,
            base=setting.base,
            rotary_dim=turning,
            rotary_start=start,
            scaling=setting.rule,
            arithmetic=kind.arithmetic,
        )
    return RopePlan(
        head_dim=head_dim,
        layout=layout,
        base=setting.base,
        rotary_dim=turning,
        rotary_start=start,
        scaling=setting.rule,
        sign=kind.sign,
        arithmetic=kind.arithmetic,
    )


def _softmax_scale(fields: Fields, kind: RotaryType, head_dim: int) -> float:
    match kind.scale:
        case "query_pre_attn_scalar":
            own = fields.take(("query_pre_attn_scalar",), ordinary(), "softmax scale {}^-0.5", default=head_dim)
            return float(own**-0.5)
        case "attention_multiplier":
            usual = float(head_dim**-0.5)
            return fields.take(("attention_multiplier",), ordinary(), "softmax scale {}", default=usual)
        case "half_head":
            return float((head_dim / 2) ** -0.5)
        case "one":
            return 1.0
        case _:
            return float(head_dim**-0.5)


def _query_scale(fields: Fields, kind: RotaryType, settings: dict[str, RopeSettings]) -> QueryScale | PowerScale | None:
    """Ministral 3 scales the queries of all layers, Llama 4 and Beam those of layers without a rotation."""
    if kind.rope.query_scale:
        setting = next(iter(settings.values()))
        return QueryScale(strength=setting.query_strength or 1.0, length=setting.original_length or 1, first=0, rounded=True)
    if kind.query_scale == "power":
        return BEAM
    if kind.query_scale == "none":
        return None
    on = fields.take(("attn_temperature_tuning",), switch, "queries without rotation grow with the position: {}", default=True)
    strength = fields.take(("attn_scale",), ordinary(), "by {} times the logarithm", default=0.1)
    length = fields.take(("floor_scale",), whole(least=1), "of steps of {} tokens", default=8192)
    return QueryScale(strength=strength, length=length, first=1, rounded=False) if on else None


def _layer(
    shape: LayerKind,
    schemes: dict[tuple[str, bool], RopePlan | MultimodalRopePlan],
    settings: dict[str, RopeSettings],
    scale: float,
    query_scale: QueryScale | PowerScale | None,
) -> LayerPlan:
    rule = settings[shape.kind].rule if shape.turns and shape.scaled else None
    grows = query_scale is not None and shape.attends and (query_scale.first == 0 or not shape.turns)
    return LayerPlan(
        scheme=schemes[shape.kind, shape.scaled] if shape.turns else None,
        softmax_scale=_with_rule(scale, rule),
        window=shape.window,
        window_back=shape.window_back,
        chunk=shape.chunk,
        window_ahead=shape.window_ahead,
        query_scale=query_scale if grows else None,
        kind=shape.kind,
        attends=shape.attends,
    )


def _with_rule(scale: float, rule: object) -> float:
    """DeepSeek's softmax factor, multiplied in the order of its models, for the same last bit."""
    if not isinstance(rule, YaRN) or not rule.scales_softmax or not rule.mscale_all_dim or rule.factor <= 1:
        return scale
    strength = 0.1 * rule.mscale_all_dim * math.log(rule.factor) + 1.0
    return scale * strength * strength
