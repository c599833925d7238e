"""Configurations whose model type is unknown or not said: contradictions, slips of known names, rules and their numbers."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import is_number, short
from ordinate.checkpoints.rope_dictionary import DICTIONARIES, FULL, RULE_KEYS, RopeKeys, RopeSettings, read_rope
from ordinate.checkpoints.rope_rules import ORIGINAL, TYPES
from ordinate.checkpoints.vocabulary import KNOWN, is_off, looks_positional
from ordinate.doctor.coding import RENAMED, of_fault
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.rotations import Rotation
from ordinate.doctor.said import dictionary_of, rule_name

THETAS = ("rope_theta", "rotary_emb_base", "rotary_embedding_base")
SHARES = ("partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percent")
# Names of rules that some model types have and that change no frequency by themselves.
ALIASES = {"mrope": "default", "deepseek_yarn": "yarn", "deepseek-yarn": "yarn"}
KEYS = RopeKeys(theta=THETAS, partial=SHARES, aliases=ALIASES, types=(*TYPES, "ntk"))
LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length")
PASSED_OVER = {"mrope_section", "mrope_interleaved", "interleaved", "finetuned", "alpha"}
CLOSE = 0.88
STAND_IN = 128


def of_unlisted(values: Mapping[str, Any], *, named: bool, prefix: str = "") -> tuple[list[Diagnosis], list[Rotation]]:
    """Look at a configuration by what is common to all model types that turn queries and keys.

    Args:
        values: the configuration.
        named: whether it names a model type, whose own code may read keys and rules that nobody else knows.
        prefix: of its keys' full names.

    Returns:
        Findings, and the rotations that were understood.

    Example:
        >>> found, turned = of_unlisted({"rope_theta": 1e4, "rope_scaling": {"rope_type": "yarm", "factor": 4.0}}, named=False)
        >>> found[0].code, turned
        ('ORD103', [])
    """
    if not any(values.get(key) is not None for key in (*DICTIONARIES, *THETAS, *SHARES, "rotary_dim", *RENAMED)):
        return [*_slips(values, prefix, named)], []
    fields = Fields(_without(values), source="", model_type="this file", prefix=prefix, sizes_given=False)
    head, width = _widths(values)
    length = next((int(values[key]) for key in LENGTHS if is_number(values.get(key)) and values[key] >= 1), None)
    labels = _labels(values)
    keys = KEYS if labels == (FULL,) else RopeKeys(theta=THETAS, partial=SHARES, aliases=ALIASES, types=KEYS.types, labels=labels)
    settings = read_rope(fields, keys, labels, max_length=length or reached(values), width=width)
    found = [each for fault in fields.faults if (each := of_fault(fault, rule=rule_name(values))) is not None]
    found = [_softened(each, named) for each in found]
    found += [*_slips(values, prefix, named), *_layers(values, prefix, named)]
    if fields.faults:
        return found, []
    turned = [_rotation(label, each, head, width, length) for label, each in settings.items()]
    found += [each for part in turned for each in _shares(values, part, head, prefix)]
    found += _sections(values, turned, head, prefix, named)
    return found, [part for part in turned if part.rotary_dim >= 2 and part.rotary_dim % 2 == 0]


def _softened(found: Diagnosis, named: bool) -> Diagnosis:
    """A model type of its own may have rules of its own: what resembles no known name is a note there."""
    rule = found.where.split(".")[-1] in ("rope_type", "type")
    near = rule and _near_rule(found.message)
    if near:
        return diagnosis(
            found.code, f"{found.message}; did you mean {near}?", where=found.where, remedy=f"{found.where} = {near!r}"
        )
    if named and rule:
        return diagnosis("ORD111", found.message, where=found.where, remedy="its own code must read it")
    return found


def _near_rule(message: str) -> str:
    got = message.rpartition("got '")[2].partition("'")[0]
    near = difflib.get_close_matches(got.lower(), TYPES, n=1, cutoff=0.7)
    return near[0] if near else ""


def _without(values: Mapping[str, Any]) -> dict[str, Any]:
    """What the reader of dictionaries should see: sections and the like are looked at here."""
    kept = dict(values)
    for key in DICTIONARIES:
        if isinstance(kept.get(key), Mapping):
            kept[key] = {name: value for name, value in kept[key].items() if name not in PASSED_OVER}
    return kept


def _labels(values: Mapping[str, Any]) -> tuple[str, ...]:
    return _nested(values) or (FULL,)


def _nested(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Layer types that the dictionary has a dictionary for."""
    found = [key for key, value in dictionary_of(values).items() if isinstance(value, Mapping) and key.endswith("_attention")]
    return tuple(sorted(found))


def reached(values: Mapping[str, Any]) -> int:
    """Give a stand-in for a length that is not declared: what the rule says it reaches.

    Args:
        values: the configuration.

    Returns:
        A length.

    Example:
        >>> reached({"rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 8192}})
        32768
    """
    said = dictionary_of(values)
    factor: Any = said.get("factor")
    original: Any = said.get(ORIGINAL, values.get(ORIGINAL))
    if is_number(factor) and is_number(original) and factor >= 1 and 1 <= factor * original < 2**40:
        return int(factor * original)
    return int(original) if is_number(original) and 1 <= original < 2**40 else 2048


def _widths(values: Mapping[str, Any]) -> tuple[int | None, int]:
    """The width of a head, if the file says it; and one to read with: that, or twice what a list of factors has."""
    head: Any = values.get("head_dim")
    hidden: Any = values.get("hidden_size")
    heads: Any = values.get("num_attention_heads")
    if not _is_size(head) and _is_size(hidden) and _is_size(heads):
        head = hidden // heads
    if _is_size(head):
        return head, head
    listed = dictionary_of(values).get("short_factor")
    return None, 2 * len(listed) if isinstance(listed, Sequence) and not isinstance(listed, str) and listed else STAND_IN


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 2**16


def _rotation(label: str, setting: RopeSettings, head: int | None, width: int, length: int | None) -> Rotation:
    return Rotation(
        where="" if label == FULL else label,
        base=setting.base,
        head_dim=head,
        rotary_dim=int(width * setting.partial),
        rule=setting.rule,
        max_length=length,
        layout=None,
        layers=(),
    )


def _shares(values: Mapping[str, Any], found: Rotation, head: int | None, prefix: str) -> Iterator[Diagnosis]:
    """The part of a head that turns: even, inside the head, and declared once."""
    if head is None:
        return
    declared = values.get("rotary_dim")
    where = f"{prefix}{'rotary_dim' if declared is not None else 'partial_rotary_factor'}"
    if declared is not None and (not _is_size(declared) or declared % 2 or declared > head):
        yield diagnosis("ORD106", f"rotary_dim: needed an even number up to the head's {head}, got {short(declared)}", where=where)
    elif declared is not None and any(values.get(key) is not None for key in SHARES) and declared != found.rotary_dim:
        message = f"rotary_dim = {declared} and a share of the head, {found.rotary_dim} of {head}, disagree"
        yield diagnosis("ORD106", message, where=where)
    elif found.rotary_dim < 2 or found.rotary_dim % 2:
        yield diagnosis("ORD106", f"needed an even number of entries to turn, got {found.rotary_dim} of {head}", where=where)


def _sections(
    values: Mapping[str, Any], turned: Sequence[Rotation], head: int | None, prefix: str, named: bool
) -> Iterator[Diagnosis]:
    listed = dictionary_of(values).get("mrope_section", values.get("mrope_section"))
    if listed is None or head is None or len(turned) != 1:
        return
    pairs = turned[0].rotary_dim // 2
    whole = isinstance(listed, Sequence) and all(_is_size(each) or each == 0 for each in listed)
    if not whole or sum(listed) != pairs:
        yield diagnosis(
            "ORD404",
            f"mrope_section: needed numbers that add up to {pairs} pairs, got {short(listed)}",
            where=f"{prefix}mrope_section",
            evidence=f"{sum(listed)} beside {pairs}" if whole else "",
            severity="warning" if named else "error",
        )


def _layers(values: Mapping[str, Any], prefix: str, named: bool) -> Iterator[Diagnosis]:
    listed, count = values.get("layer_types"), values.get("num_hidden_layers")
    if isinstance(listed, list) and _is_size(count) and len(listed) != count:
        message = f"layer_types: needed one entry for each of {count} layers, got {len(listed)}"
        yield diagnosis("ORD105", message, where=f"{prefix}layer_types", remedy="one entry a layer")
    labels = _nested(values)
    if named or not labels or not isinstance(listed, list):
        return
    for label in sorted({each for each in listed if isinstance(each, str) and each.endswith("_attention")} - set(labels)):
        message = f"layers of type {label[:60]} have no dictionary, and {', '.join(labels)} have one each"
        yield diagnosis("ORD105", message, where=f"{prefix}layer_types", severity="warning")


def _slips(values: Mapping[str, Any], prefix: str, named: bool) -> Iterator[Diagnosis]:
    """Names that almost are a known one which is not there itself."""
    words = KNOWN | RULE_KEYS
    for key, value in values.items():
        if key in words or is_off(value) or not isinstance(value, (int, float, str, Mapping)):
            continue
        renamed = None if named else RENAMED.get(key)
        if renamed is not None and values.get(renamed) is None and is_number(value):
            message = f"{key} is read by nobody: here it is called {renamed}"
            yield diagnosis("ORD101", message, where=f"{prefix}{key}", remedy=f"{renamed} = {short(value)}")
        elif looks_positional(key):
            near = slip_of(key, words)
            if near and values.get(near) is None:
                message = f"{key} is read by nobody; did you mean {near}?"
                yield diagnosis("ORD101", message, where=f"{prefix}{key}", remedy=f"{near} = {short(value)}")


def slip_of(key: str, words: Collection[str]) -> str:
    """Give the known name that a key is a slip of: one of its words is misspelt, or they are joined or exchanged.

    Args:
        key: unknown.
        words: known names.

    Returns:
        One of them, or nothing: names of other words are other keys.

    Example:
        >>> [slip_of(key, ["rope_theta", "max_position_embeddings"]) for key in ("rope_teta", "num_position_embeddings")]
        ['rope_theta', '']
    """
    parts = key[:60].split("_")
    for near in difflib.get_close_matches(key[:60], sorted(words), n=3, cutoff=CLOSE - 0.08):
        others = near.split("_")
        if sorted(parts) == sorted(others) or "".join(parts) == "".join(others):
            return near
        differ = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
        alike = len(parts) == len(others) and len(differ) == 1
        if alike and min(map(len, differ[0])) > 2 and difflib.SequenceMatcher(None, *differ[0]).ratio() >= CLOSE - 0.18:
            return near
    return ""
