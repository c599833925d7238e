"""The dictionary ``rope_parameters`` (before transformers 5 ``rope_scaling``): base, share and rule by layer type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ordinate.checkpoints.fields import Fields, Place
from ordinate.checkpoints.kinds import listed, nearest, number, one_of, ordinary, printable, short, whole
from ordinate.checkpoints.recording import check_leftovers
from ordinate.checkpoints.rope_rules import ORIGINAL, TYPES, original_length, read_rule, tried
from ordinate.checkpoints.rope_sections import SectionKeys, read_sections
from ordinate.scaling import Rule

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
LOCAL = (SLIDING, "hybrid_sliding", "compress")  # labels with a base of their own
DICTIONARIES = ("rope_parameters", "rope_scaling")
ALIASES = {"su": "longrope"}
# Keys that some rule reads. Beside a rule that does not read them they change nothing.
RULE_KEYS = {ORIGINAL, "factor", "attention_factor", "attn_factor", "beta_fast", "beta_slow", "short_factor", "long_factor"}
RULE_KEYS |= {"low_freq_factor", "high_freq_factor", "mscale", "mscale_all_dim", "truncate", "finetuned"}
# Keys that change what a model computes, where its type reads them.
TELLING_KEYS = {"mrope_section", "mrope_interleaved", "interleaved", "alpha", "xdrope_section", "short_mscale", "long_mscale"}
TELLING_KEYS |= {"llama_4_scaling_beta"}


@dataclass(frozen=True, kw_only=True)
class RopeSettings:
    """What the dictionary says for one layer type."""

    base: float
    partial: float
    rule: Rule | None
    original_length: int | None
    query_strength: float | None
    sections: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RopeKeys:
    """How a model type spells what the dictionary holds, outside of it, and what it reads inside.

    Attributes:
        theta: spellings of the base beside the dictionary.
        local_theta: the same for sliding layers, where they have a base of their own.
        base: default base; None if it must be declared.
        local_base: default base of sliding layers.
        per_type: whether the dictionary holds one for each layer type.
        absent: what stands in for a dictionary that is not there.
        partial: spellings of the share of a head that turns; empty if whole heads always do.
        default_partial: that share if nothing is declared.
        local_partial: the same for sliding layers, where they have a share of their own.
        most_partial: largest share; above 1 where several heads are turned as one.
        aliases: names of rules that only this type uses.
        types: rules that it accepts.
        reasons: why a rule is not accepted, where the type's name says too little.
        scaled: layer types that a flat ``rope_scaling`` reaches; None if it reaches all.
        scales_softmax: whether YaRN's mscale_all_dim multiplies the softmax scale.
        query_scale: whether llama_4_scaling_beta is read.
        two_magnitudes: whether LongRoPE has short_mscale and long_mscale.
        partial_count: whether the share may be declared as a number of entries, ``rotary_dim`` (MiniMax-M2).
        repeated_share: the share of the head that turns, where the type repeats it inside the dictionary: no other is allowed.
        sections: how pairs are shared out among coordinates; None if a token has one.
        only_by_type: whether rope_parameters, with a dictionary for each layer type, is the only spelling that is read.
        ntk_alpha: whether ``alpha`` beside the rule "dynamic" makes it NTK's, which depends on no length (HunYuan).
        theta_part: another dictionary that may have the base, beside this one (DBRX).
        labels: the layer types that the dictionary may be nested under.
        passed_over: keys beside those that published files have and no code reads.
        by_layer: makes the nested dictionary from lists with one value a layer, where it is not there itself (Step 3.7).
    """

    theta: tuple[str, ...] = ("rope_theta",)
    local_theta: tuple[str, ...] = ()
    base: float | None = 10000.0
    local_base: float | None = None
    per_type: bool = False
    absent: Mapping[str, Any] | None = None
    partial: tuple[str, ...] = ()
    default_partial: float = 1.0
    local_partial: float | None = None
    most_partial: float = 1.0
    aliases: Mapping[str, str] | None = None
    types: tuple[str, ...] = TYPES
    reasons: Mapping[str, str] | None = None
    scaled: tuple[str, ...] | None = None
    scales_softmax: bool = False
    query_scale: bool = False
    two_magnitudes: bool = False
    partial_count: bool = False
    repeated_share: float | None = None
    ntk_alpha: bool = False
    theta_part: str | None = None
    labels: tuple[str, ...] = (FULL, SLIDING, CHUNKED)
    passed_over: tuple[str, ...] = ()
    by_layer: Callable[[Fields, Sequence[str]], Mapping[str, Any]] | None = None
    sections: SectionKeys | None = None
    only_by_type: bool = False


def read_rope(
    fields: Fields, keys: RopeKeys, turning: Sequence[str], *, max_length: int, width: int, full_width: int | None = None
) -> dict[str, RopeSettings]:
    """Read the settings of every layer type, also of those that no layer has: they are checked all the same.

    Args:
        fields: the configuration.
        keys: how its model type spells them.
        turning: types of the layers that turn.
        max_length: longest sequence declared.
        width: of what turns before a partial factor, usually head_dim.
        full_width: the same of layers that see everything, where they have a width of their own.

    Returns:
        Settings by layer type; faults are in ``fields``.

    Example:
        >>> config = {"rope_theta": 1e6, "rope_scaling": {"type": "linear", "factor": 4.0}}
        >>> fields = Fields(config, source="mapping", model_type="llama")
        >>> read_rope(fields, RopeKeys(), ("full_attention",), max_length=2048, width=64)["full_attention"].rule
        Linear(factor=4.0)
    """
    declared, name = _dictionary(fields)
    if keys.base is None and not declared:
        fields.fault(name, "needed, got nothing; one dictionary for each layer type", sort="layers")
    if not declared and keys.absent is not None:
        fields.note(name, None, f"absent, so {dict(keys.absent)}", source=f"default of {fields.model_type}")
        declared = {key: value for key, value in keys.absent.items() if not isinstance(value, Mapping) or key in turning}
    if keys.by_layer is not None:
        declared = keys.by_layer(fields, turning)
    labels = list(dict.fromkeys([*turning, *(keys.labels[:2] if keys.per_type or not turning else ())]))
    nested = [key for key in declared if key.endswith("_attention") or key in keys.labels]
    if nested and keys.only_by_type and name != DICTIONARIES[0]:
        fields.fault(name, f"cannot be honoured: {fields.model_type} reads {DICTIONARIES[0]} alone")
    if nested:
        _refuse_beside(fields, {key: declared[key] for key in declared if key not in keys.passed_over}, nested, name)
        inner = fields.part(name, declared)
        labels = [label for label in labels if label in turning or isinstance(declared.get(label), Mapping)]
        parts = {label: _inner(inner, label) for label in labels}
        for label in sorted(set(nested) - set(keys.labels)):
            fields.fault(name, f"needed the layer types {_alternatives(keys.labels)}, got {printable(label)}", sort="layers")
        for label in sorted((set(nested) & set(keys.labels)) - set(turning)):
            if declared[label] is not None:
                inner.warn(label, "changes nothing, since no layer that turns is of this type")
    else:
        flat = fields.part(name, declared)
        _refuse_flat(fields, flat, keys, labels, name)
        nothing = fields.part(name, {})
        parts = {
            label: flat if name == DICTIONARIES[0] or keys.scaled is None or label in keys.scaled else nothing for label in labels
        }
    widths = {label: full_width if full_width and label == FULL else width for label in parts}
    return {label: _settings(fields, part, keys, label, max_length, widths[label]) for label, part in parts.items()}


def _part_beside(fields: Fields, keys: RopeKeys) -> list[Place]:
    """The base's place in another dictionary, if the model type has one."""
    if keys.theta_part is None:
        return []
    value = fields.values.get(keys.theta_part)
    if value is not None and not isinstance(value, Mapping):
        fields.fault(keys.theta_part, f"needed a dictionary or null, got {short(value)}")
    part = fields.part(keys.theta_part, value if isinstance(value, Mapping) else {})
    part.used.add("rope_theta")
    check_leftovers(part)
    return [(part, "rope_theta")]


def _alternatives(labels: Sequence[str]) -> str:
    if labels == (FULL, SLIDING, CHUNKED):
        return "full, sliding or chunked_attention"
    return " or ".join(labels)


def _dictionary(fields: Fields) -> tuple[Mapping[str, Any], str]:
    """The one dictionary there is, and its key; an empty one if there is none."""
    fields.used.update(DICTIONARIES)
    found = []
    for key in DICTIONARIES:
        value = fields.values.get(key)
        if value is not None and not isinstance(value, Mapping):
            fields.fault(key, f"needed a dictionary or null, got {short(value)}")
        elif value:
            found.append((key, value))
    if len(found) == 2 and dict(found[0][1]) != dict(found[1][1]):
        fields.disagree((fields.name(found[0][0]), dict(found[0][1])), (fields.name(found[1][0]), dict(found[1][1])))
    return (found[0][1], found[0][0]) if found else ({}, DICTIONARIES[0])


def _inner(part: Fields, label: str) -> Fields:
    value = part.values.get(label)
    if isinstance(value, Mapping):
        return part.part(label, value)
    if label in part.values:
        part.fault(label, f"needed a dictionary, since layers of this type turn, got {short(value)}", sort="layers")
    return part.part(label, {})


def _refuse_beside(fields: Fields, declared: Mapping[str, Any], nested: Sequence[str], name: str) -> None:
    beside = set(declared) - set(nested)
    if beside:
        message = f"needed all keys inside the layer types {listed(nested)}, got {listed(beside)} beside them"
        fields.fault(name, message, sort="layers")


def _refuse_flat(fields: Fields, flat: Fields, keys: RopeKeys, labels: Sequence[str], name: str) -> None:
    """One dictionary cannot say what layer types with bases of their own need."""
    read = name == DICTIONARIES[0] and len(labels) > 1 and keys.per_type
    if flat.values and (read or keys.only_by_type):
        fields.fault(name, f"needed one dictionary for each layer type, {listed(labels)}, got a flat one", sort="layers")


def _settings(fields: Fields, part: Fields, keys: RopeKeys, label: str, max_length: int, width: int) -> RopeSettings:
    local = label in LOCAL and keys.local_base is not None
    spellings = keys.local_theta if local and keys.local_theta else keys.theta
    beside = _part_beside(fields, keys)
    also: list[Place] = [*((fields, key) for key in spellings), *beside]
    default = keys.local_base if local else keys.base
    whom = "" if keys.local_base is None else f" of {label.replace('_', ' ')}"
    if not keys.theta and keys.by_layer is None and part.has("rope_theta"):
        part.fault(
            "rope_theta", f"cannot be honoured: {part.model_type}'s code fixes the base, got {short(part.values['rope_theta'])}"
        )
    of_base, became = number(least=1.0), f"base{whom} {{}}"
    if part.has("rope_theta") or not spellings:
        base = part.take(("rope_theta",), of_base, became, default=default, also=also)
    elif keys.base is None:
        base = part.take(("rope_theta",), of_base, became, needed=not part.faults)
    else:
        part.used.add("rope_theta")
        base = fields.take(spellings, of_base, became, default=default, also=beside)
    kind = _kind(part, keys)
    if keys.ntk_alpha and kind == "dynamic" and part.has("alpha"):
        kind = "ntk"
    partial = _partial(fields, part, keys, kind, sliding=label in LOCAL, width=width)
    rule, original = read_rule(
        fields,
        part,
        kind,
        max_length=max_length,
        share=partial,
        scales_softmax=keys.scales_softmax,
        two_magnitudes=keys.two_magnitudes,
    )
    strength = None
    if keys.query_scale:
        strength = part.take(
            ("llama_4_scaling_beta",), ordinary(), "queries grow by it with the logarithm of the position", needed=True
        )
        repeated = part.take(("max_position_embeddings",), whole(least=1), "longest sequence", default=max_length)
        if repeated != max_length:
            part.disagree((part.name("max_position_embeddings"), repeated), (fields.name("max_position_embeddings"), max_length))
        original = original_length(fields, part)
    if keys.scales_softmax and kind not in ("default", "yarn") and part.has("mscale_all_dim"):
        part.used.add("mscale_all_dim")
        part.fault("mscale_all_dim", f"cannot be honoured beside the rule {kind}, needed yarn")
    if kind in ("default", "linear", "proportional") and fields.has(ORIGINAL):
        fields.used.add(ORIGINAL)
        fields.note(ORIGINAL, fields.values[ORIGINAL], f"nothing: the rule {kind} needs no trained length")
    turning = width if kind == "proportional" else int(width * partial)
    sections = () if keys.sections is None else read_sections(part, keys.sections, pairs=turning // 2)
    _leftovers(part, kind)
    if rule is not None and not part.faults:
        rule = tried(part, rule, base=base, width=turning)
    return RopeSettings(base=base, partial=partial, rule=rule, original_length=original, query_strength=strength, sections=sections)


def _kind(part: Fields, keys: RopeKeys) -> str:
    """The rule's usual name, from either spelling of the key and any of the name's."""
    aliases = {**ALIASES, **(keys.aliases or {})}
    known = one_of(*keys.types)

    def read(value: Any) -> tuple[str, str]:
        name = aliases.get(value, value) if isinstance(value, str) else value
        taken, lacking = known(name)
        why = (keys.reasons or {}).get(str(name), f"{part.model_type} accepts no other")
        return taken, lacking and f"{lacking}; {why}"

    if part.has("rope_type", "type"):
        return part.take(("rope_type", "type"), read, "rule {}")
    part.used.update(("rope_type", "type"))
    of_rules = [key for key, value in part.values.items() if key in RULE_KEYS and value is not None]
    if of_rules:
        part.fault("rope_type", f"needed beside {listed(of_rules)}, got nothing", sort="missing")
    return "default"


def _partial(fields: Fields, part: Fields, keys: RopeKeys, kind: str, *, sliding: bool, width: int) -> float:
    also: list[Place] = [(fields, key) for key in keys.partial or ("partial_rotary_factor",)]
    declared = part.has("partial_rotary_factor") or fields.has("partial_rotary_factor")
    if not keys.partial and not declared:
        return 1.0
    if keys.repeated_share is not None:
        told = part.take(("partial_rotary_factor",), number(most=1.0), "share of the head that turns: {}", also=also)
        if told != keys.repeated_share:
            wanted = "qk_rope_head_dim / (qk_nope_head_dim + qk_rope_head_dim)"
            part.fault("partial_rotary_factor", f"needed {wanted} = {keys.repeated_share}, got {told}")
        return 1.0
    counted = keys.partial_count and (fields.has("rotary_dim") or "rotary_dim" in fields.defaults)
    if counted and not declared:
        return fields.take(("rotary_dim",), whole(least=2, most=width), "first {} entries of a head turn") / width
    default = keys.local_partial if sliding and keys.local_partial is not None else keys.default_partial
    share = part.take(
        ("partial_rotary_factor",), number(most=keys.most_partial), "share of the head that turns: {}", default=default, also=also
    )
    if share != 1.0 and not keys.partial and kind != "proportional":
        part.fault("partial_rotary_factor", f"cannot be honoured: {part.model_type} turns whole heads, so needed 1.0, got {share}")
    return share


def _leftovers(part: Fields, kind: str) -> None:
    """Keys of the dictionary that nothing read."""
    left = {key for key, value in part.values.items() if key not in part.used and value is not None}
    idle = {key for key in left if key in RULE_KEYS}
    for key in sorted(idle):
        part.warn(key, f"changes nothing beside the rule {kind}")
        part.note(key, part.values[key], "nothing")
    for key in sorted(left & TELLING_KEYS):
        part.fault(key, f"cannot be honoured: {part.model_type} reads no such key", sort="unread")
    unknown = left - idle - TELLING_KEYS
    if unknown:
        meant = " ".join(filter(None, (nearest(key, RULE_KEYS | {"rope_theta", "rope_type"}) for key in sorted(unknown)[:10])))
        name = part.prefix.removesuffix(".")
        part.refuse(
            f"{name}: unknown keys {listed(unknown)}{meant and f'; {meant}'}", key=name, sort="unknown", names=sorted(unknown)
        )
    part.used |= left
