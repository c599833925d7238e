"""The dictionary ``rope_parameters`` (before transformers 5 ``rope_scaling``): base, partial factor and rule by layer type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ordinate.checkpoints.fields import Fields, Place, flag, listed, number, one_of, row_of, short, whole
from ordinate.scaling import DynamicNTK, Linear, Llama3, LongRoPE, Proportional, Rule, YaRN

R = TypeVar("R", bound=Rule)
DICTIONARIES = ("rope_parameters", "rope_scaling")
ORIGINAL = "original_max_position_embeddings"
TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional")
ALIASES = {"su": "longrope"}
# Keys that some rule reads. Beside a rule that does not read them they change nothing.
RULE_KEYS = {ORIGINAL, "factor", "attention_factor", "attn_factor", "beta_fast", "beta_slow", "short_factor", "long_factor"}
RULE_KEYS |= {"low_freq_factor", "high_freq_factor", "mscale", "mscale_all_dim", "truncate", "finetuned"}
# Keys that change what a model computes, where its type reads them.
TELLING_KEYS = {"mrope_section", "mrope_interleaved", "interleaved", "alpha", "xdrope_section", "short_mscale", "long_mscale"}
TELLING_KEYS |= {"llama_4_scaling_beta"}
# Our names of a rule's numbers, as configurations write them.
SPELLINGS = {
    "low_frequency_factor": "low_freq_factor",
    "high_frequency_factor": "high_freq_factor",
    "original_length": ORIGINAL,
    "short_factors": "short_factor",
    "long_factors": "long_factor",
    "proportion": "partial_rotary_factor",
}


@dataclass(frozen=True, kw_only=True)
class RopeSettings:
    """What the dictionary says for one layer type."""

    base: float
    partial: float
    rule: Rule | None
    original_length: int | None
    query_strength: float | None


@dataclass(frozen=True, kw_only=True)
class RopeKeys:
    """How a model type spells what the dictionary holds, outside of it, and what it reads inside.

    Attributes:
        theta: spellings of the base beside the dictionary.
        local_theta: the same for sliding layers, where they have a base of their own.
        base: default base.
        local_base: default base of sliding layers.
        per_type: whether the dictionary holds one for each layer type.
        absent: what stands in for a dictionary that is not there.
        partial: spellings of the share of a head that turns; empty if whole heads always do.
        default_partial: that share if nothing is declared.
        aliases: names of rules that only this type uses.
        types: rules that it accepts.
        scaled: layer types that a flat ``rope_scaling`` reaches.
        scales_softmax: whether YaRN's mscale_all_dim multiplies the softmax scale.
        query_scale: whether llama_4_scaling_beta is read.
    """

    theta: tuple[str, ...] = ("rope_theta",)
    local_theta: tuple[str, ...] = ()
    base: float = 10000.0
    local_base: float | None = None
    per_type: bool = False
    absent: Mapping[str, Any] | None = None
    partial: tuple[str, ...] = ()
    default_partial: float = 1.0
    aliases: Mapping[str, str] | None = None
    types: tuple[str, ...] = TYPES
    scaled: tuple[str, ...] = ("full_attention", "sliding_attention", "chunked_attention")
    scales_softmax: bool = False
    query_scale: bool = False


def read_rope(fields: Fields, keys: RopeKeys, labels: Sequence[str], *, max_length: int, width: int) -> dict[str, RopeSettings]:
    """Read the settings of every layer type.

    Args:
        fields: the configuration.
        keys: how its model type spells them.
        labels: layer types that turn.
        max_length: longest sequence declared.
        width: of what turns before a partial factor, usually head_dim.

    Returns:
        Settings by layer type; faults are in ``fields``.

    Example:
        >>> config = {"rope_theta": 1e6, "rope_scaling": {"type": "linear", "factor": 4.0}}
        >>> fields = Fields(config, source="mapping", model_type="llama")
        >>> read_rope(fields, RopeKeys(), ("full_attention",), max_length=2048, width=64)["full_attention"].rule
        Linear(factor=4.0)
    """
    declared, name = _dictionary(fields)
    if not declared and keys.absent is not None:
        fields.note(name, None, f"absent, so {dict(keys.absent)}", source=f"default of {fields.model_type}")
        declared = keys.absent
    labels = list(dict.fromkeys(labels))
    nested = [key for key in declared if key.endswith("_attention")]
    if nested:
        _refuse_beside(fields, declared, nested, name)
        parts = {label: _inner(fields.part(name, declared), label) for label in labels}
        for label in sorted(set(nested) - set(labels)):
            if declared[label] is not None:
                fields.warnings.append(f"{fields.name(name)}.{label}: changes nothing, since no layer is of this type")
    else:
        flat = fields.part(name, declared)
        _refuse_flat(fields, flat, keys, labels, name)
        nothing = fields.part(name, {})
        parts = {label: flat if name == DICTIONARIES[0] or label in keys.scaled else nothing for label in labels}
    return {label: _settings(fields, part, keys, label, max_length, width) for label, part in parts.items()}


def _dictionary(fields: Fields) -> tuple[Mapping[str, Any], str]:
    """The one dictionary there is, and its key; an empty one if there is none."""
    fields.used.update(DICTIONARIES)
    found = []
    for key in DICTIONARIES:
        value = fields.values.get(key)
        if value is not None and not isinstance(value, Mapping):
            fields.fault(key, f"needed a dictionary or null, got {short(value)}")
        elif value is not None:
            found.append((key, value))
    if len(found) == 2 and dict(found[0][1]) != dict(found[1][1]):
        fields.disagree((fields.name(found[0][0]), dict(found[0][1])), (fields.name(found[1][0]), dict(found[1][1])))
    return (found[0][1], found[0][0]) if found else ({}, DICTIONARIES[0])


def _inner(part: Fields, label: str) -> Fields:
    value = part.values.get(label)
    if isinstance(value, Mapping):
        return part.part(label, value)
    if label in part.values:
        part.fault(label, f"needed a dictionary, since layers of this type turn, got {short(value)}")
    return part.part(label, {})


def _refuse_beside(fields: Fields, declared: Mapping[str, Any], nested: Sequence[str], name: str) -> None:
    beside = set(declared) - set(nested)
    if beside:
        fields.fault(name, f"needed all keys inside the layer types {listed(nested)}, got {listed(map(str, beside))} beside them")


def _refuse_flat(fields: Fields, flat: Fields, keys: RopeKeys, labels: Sequence[str], name: str) -> None:
    """One dictionary cannot say what layer types with bases of their own need."""
    if flat.values and name == DICTIONARIES[0] and len(labels) > 1 and keys.per_type:
        fields.fault(name, f"needed one dictionary for each layer type, {listed(labels)}, got a flat one")


def _settings(fields: Fields, part: Fields, keys: RopeKeys, label: str, max_length: int, width: int) -> RopeSettings:
    local = label == "sliding_attention" and keys.local_base is not None
    spellings = keys.local_theta if local and keys.local_theta else keys.theta
    also: list[Place] = [(fields, key) for key in spellings]
    default = keys.local_base if local else keys.base
    whom = "" if keys.local_base is None else f" of {label.replace('_', ' ')}"
    base = part.take(("rope_theta",), number(least=1.0), f"base{whom} {{}}", default=default, also=also)
    kind = _kind(part, keys)
    partial = _partial(fields, part, keys, kind)
    rule, original = _rule(fields, part, keys, kind, max_length, partial)
    strength = None
    if keys.query_scale:
        strength = part.take(
            ("llama_4_scaling_beta",), number(), "queries grow by it with the logarithm of the position", needed=True
        )
        repeated = part.take(("max_position_embeddings",), whole(least=1), "longest sequence", default=max_length)
        if repeated != max_length:
            part.disagree((part.name("max_position_embeddings"), repeated), (fields.name("max_position_embeddings"), max_length))
        original = _original(fields, part)
    if keys.scales_softmax and kind not in ("default", "yarn") and part.has("mscale_all_dim"):
        part.used.add("mscale_all_dim")
        part.fault("mscale_all_dim", f"cannot be honoured beside the rule {kind}, needed yarn")
    _leftovers(part, kind)
    if rule is not None and not _faulty(part):
        rule = _tried(part, rule, base, width if kind == "proportional" else int(width * partial))
    return RopeSettings(base=base, partial=partial, rule=rule, original_length=original, query_strength=strength)


def _kind(part: Fields, keys: RopeKeys) -> str:
    """The rule's usual name, from either spelling of the key and any of the name's."""
    aliases = {**ALIASES, **(keys.aliases or {})}
    known = one_of(*keys.types)

    def read(value: Any) -> tuple[str, str]:
        name = aliases.get(value, value) if isinstance(value, str) else value
        taken, lacking = known(name)
        return taken, lacking and f"{lacking}; {part.model_type} accepts no other"

    return part.take(("rope_type", "type"), read, "rule {}") if part.has("rope_type", "type") else "default"


def _partial(fields: Fields, part: Fields, keys: RopeKeys, kind: str) -> float:
    also: list[Place] = [(fields, key) for key in keys.partial or ("partial_rotary_factor",)]
    if not keys.partial and not part.has("partial_rotary_factor") and not fields.has("partial_rotary_factor"):
        return 1.0
    share = part.take(
        ("partial_rotary_factor",), number(most=1.0), "share of the head that turns: {}", default=keys.default_partial, also=also
    )
    if share != 1.0 and not keys.partial and kind != "proportional":
        part.fault("partial_rotary_factor", f"cannot be honoured: {part.model_type} turns whole heads, so needed 1.0, got {share}")
    return share


def _rule(
    fields: Fields, part: Fields, keys: RopeKeys, kind: str, max_length: int, partial: float
) -> tuple[Rule | None, int | None]:
    """The rule, and the trained length where the dictionary says it."""
    match kind:
        case "linear":
            return _made(part, Linear, factor=_factor(part)), None
        case "dynamic":
            return _made(part, DynamicNTK, factor=_factor(part), original_length=max_length), None
        case "llama3":
            original = _original(fields, part)
            factors = {
                name: part.take((SPELLINGS[name],), number(), f"{name.replace('_', ' ')} {{}}", needed=True) for name in BANDS
            }
            return _made(part, Llama3, factor=_factor(part), original_length=original, **factors), original
        case "proportional":
            return _made(part, Proportional, proportion=partial, factor=_factor(part, default=1.0)), None
        case "yarn":
            return _yarn(fields, part, keys, max_length)
        case "longrope":
            return _longrope(fields, part, max_length)
        case _:
            return None, None


BANDS = ("low_frequency_factor", "high_frequency_factor")


def _factor(part: Fields, *, default: float | None = None) -> float:
    return part.take(("factor",), number(least=1.0), "factor {}", default=default, needed=default is None)


def _original(fields: Fields, part: Fields, *, default: int | None = None) -> int:
    """The trained length, inside the dictionary or beside it."""
    beside: Place = (fields, ORIGINAL)
    default = fields.defaults.get(ORIGINAL, default)
    return part.take((ORIGINAL,), whole(least=1), "trained length {}", also=[beside], default=default, needed=default is None)


def _stretch(part: Fields, max_length: int, original: int) -> float:
    """The factor, or the ratio of the lengths if it is left out."""
    if part.has("factor"):
        return _factor(part)
    part.used.add("factor")
    ratio = max(max_length / original, 1.0)
    became = f"factor {ratio:g}; absent, so max_position_embeddings / {ORIGINAL}"
    part.note("factor", None, became, source="derived")
    return ratio


def _yarn(fields: Fields, part: Fields, keys: RopeKeys, max_length: int) -> tuple[Rule | None, int]:
    known = part.has(ORIGINAL) or fields.has(ORIGINAL) or ORIGINAL in fields.defaults
    if not known and not part.has("factor"):
        part.faults.append(f"{part.name('factor')} and {ORIGINAL}: yarn needed at least one of them, got neither")
        return None, 1
    if not known:
        part.warn(ORIGINAL, f"absent, so max_position_embeddings = {max_length} is taken as the trained length")
    original = _original(fields, part, default=max_length)
    settings: dict[str, Any] = {
        "factor": _stretch(part, max_length, original),
        "original_length": original,
        "beta_fast": part.take(("beta_fast",), number(), "pairs that turn {} times or more are kept", default=32.0),
        "beta_slow": part.take(("beta_slow",), number(), "pairs that turn {} times or less are slowed by the factor", default=1.0),
        "truncate": part.take(("truncate",), flag, "ramp rounded outwards to whole pairs: {}", default=True),
        "scales_softmax": keys.scales_softmax,
    }
    if part.has("attention_factor"):
        settings["attention_factor"] = part.take(("attention_factor",), number(), "magnitude of cos and sin {}")
    for name in ("mscale", "mscale_all_dim"):
        if part.has(name):
            settings[name] = part.take((name,), number(least=0.0), f"{name} {{}}")
    rule = _made(part, YaRN, **settings)
    return (rule if rule is None else _with_attn_factor(part, rule)), original


def _with_attn_factor(part: Fields, rule: YaRN) -> YaRN | None:
    """llama.cpp's and vLLM's key: multiplies the magnitude that YaRN would have; transformers leaves it out."""
    if not part.has("attn_factor"):
        part.used.add("attn_factor")
        return rule
    if rule.attention_factor is not None:
        part.disagree(
            (part.name("attention_factor"), rule.attention_factor), (part.name("attn_factor"), part.values["attn_factor"])
        )
    own = rule.apply([1.0, 0.1], base=10000.0).magnitude
    factor = part.take(("attn_factor",), number(), f"multiplies YaRN's magnitude {own:.6f} (transformers leaves it out)")
    fields = {name: getattr(rule, name) for name in ("factor", "original_length", "beta_fast", "beta_slow", "truncate")}
    return YaRN(**fields, attention_factor=own * factor)


def _longrope(fields: Fields, part: Fields, max_length: int) -> tuple[Rule | None, int]:
    original = _original(fields, part)
    lists = {}
    for name in ("short_factors", "long_factors"):
        when = "up to" if name == "short_factors" else "beyond"
        lists[name] = part.take((SPELLINGS[name],), row_of(number()), f"divisors for lengths {when} the trained one", needed=True)
    settings: dict[str, Any] = {"original_length": original, "factor": _stretch(part, max_length, original), **lists}
    if part.has("attention_factor"):
        settings["attention_factor"] = part.take(("attention_factor",), number(), "magnitude of cos and sin {}")
    return _made(part, LongRoPE, **settings), original


def _made(part: Fields, kind: Callable[..., R], **settings: Any) -> R | None:
    """Make a rule; what it refuses is a fault, in the configuration's words."""
    if _faulty(part):
        return None
    try:
        return kind(**settings)
    except ValueError as fault:
        part.faults.append(f"{part.prefix.removesuffix('.')}: {_translated(fault)}")
        return None


def _tried(part: Fields, rule: Rule, base: float, width: int) -> Rule | None:
    """Apply a rule once, so that numbers that do not fit together are found before anything is built."""
    try:
        frequencies = [base ** (-2 * pair / width) for pair in range(width // 2)]
        rule.apply(frequencies, base=base)
    except (ValueError, OverflowError) as fault:
        part.faults.append(f"{part.prefix.removesuffix('.')}: {_translated(fault)}")
        return None
    return rule


def _faulty(part: Fields) -> bool:
    """A stand-in for a faulty number would only bring faults of its own."""
    return any(fault.startswith(part.prefix) for fault in part.faults)


def _translated(fault: Exception) -> str:
    text = str(fault)
    for ours, theirs in SPELLINGS.items():
        text = text.replace(f"{ours}:", f"{theirs}:")
    return text


def _leftovers(part: Fields, kind: str) -> None:
    """Keys of the dictionary that nothing read."""
    left = {key for key, value in part.values.items() if key not in part.used and value is not None}
    idle = {key for key in left if key in RULE_KEYS}
    for key in sorted(idle):
        part.warn(key, f"changes nothing beside the rule {kind}")
        part.note(key, part.values[key], "nothing")
    for key in sorted(left & TELLING_KEYS):
        part.fault(key, f"cannot be honoured: {part.model_type} reads no such key")
    unknown = sorted(str(key) for key in left - idle - TELLING_KEYS)
    if unknown:
        part.faults.append(f"{part.prefix.removesuffix('.')}: unknown keys {', '.join(map(short, unknown))}")
    part.used |= left
