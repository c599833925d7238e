"""The rules of a rope dictionary: numbers under the names that configurations use, checked, made and tried once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ordinate.checkpoints.fields import Fields, Place
from ordinate.checkpoints.kinds import flag, ordinary, row_of, whole
from ordinate.scaling import NTK, DynamicNTK, Linear, Llama3, LongRoPE, Proportional, Rule, YaRN

R = TypeVar("R", bound=Rule)
ORIGINAL = "original_max_position_embeddings"
TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional")
BANDS = ("low_frequency_factor", "high_frequency_factor")
# Our names of a rule's numbers, as configurations write them.
SPELLINGS = {
    "low_frequency_factor": "low_freq_factor",
    "high_frequency_factor": "high_freq_factor",
    "original_length": ORIGINAL,
    "short_factors": "short_factor",
    "long_factors": "long_factor",
    "proportion": "partial_rotary_factor",
}


def read_rule(
    fields: Fields,
    part: Fields,
    kind: str,
    *,
    max_length: int,
    share: float,
    scales_softmax: bool = False,
    two_magnitudes: bool = False,
) -> tuple[Rule | None, int | None]:
    """Read a rule's numbers and make it.

    Args:
        fields: the configuration, for what may stand beside the dictionary.
        part: the dictionary.
        kind: the rule's usual name.
        max_length: longest sequence declared.
        share: of the head that turns.
        scales_softmax: whether YaRN's mscale_all_dim multiplies the softmax scale.
        two_magnitudes: whether LongRoPE has short_mscale and long_mscale.

    Returns:
        The rule, None without one or with faults; and the trained length, where the dictionary says it.

    Example:
        >>> part = Fields({"factor": 4.0}, source="mapping", model_type="llama")
        >>> read_rule(part, part, "linear", max_length=2048, share=1.0)
        (Linear(factor=4.0), None)
    """
    match kind:
        case "linear":
            return _made(part, Linear, factor=_factor(part)), None
        case "dynamic":
            return _made(part, DynamicNTK, factor=_factor(part), original_length=max_length), None
        case "ntk":
            return _made(part, NTK, alpha=part.take(("alpha",), ordinary(least=1.0), "base times {}^(d / (d - 2))")), None
        case "llama3":
            original = original_length(fields, part)
            factors = {
                name: part.take((SPELLINGS[name],), ordinary(), f"{name.replace('_', ' ')} {{}}", needed=True) for name in BANDS
            }
            return _made(part, Llama3, factor=_factor(part), original_length=original, **factors), original
        case "proportional":
            return _made(part, Proportional, proportion=share, factor=_factor(part, default=1.0)), None
        case "yarn":
            return _yarn(fields, part, max_length, scales_softmax)
        case "longrope":
            return _longrope(fields, part, max_length, two_magnitudes)
        case _:
            return None, None


def _factor(part: Fields, *, default: float | None = None) -> float:
    return part.take(("factor",), ordinary(least=1.0), "factor {}", default=default, needed=default is None)


def original_length(fields: Fields, part: Fields, *, default: int | None = None) -> int:
    """Read the trained length, inside the dictionary or beside it.

    Args:
        fields: the configuration.
        part: the dictionary.
        default: stands in where neither has it, nor the model type; without one that is a fault.

    Returns:
        The length.

    Example:
        >>> beside = Fields({"original_max_position_embeddings": 4096}, source="mapping", model_type="phi3")
        >>> original_length(beside, beside.part("rope_scaling", {}))
        4096
    """
    beside: Place = (fields, ORIGINAL)
    default = fields.defaults.get(ORIGINAL, default)
    return part.take((ORIGINAL,), whole(least=1), "trained length {}", also=[beside], default=default, needed=default is None)


def _stretch(part: Fields, max_length: int, original: int) -> float:
    """The factor, or the ratio of the lengths if it is left out."""
    if part.has("factor"):
        return _factor(part)
    part.used.add("factor")
    ratio = max_length / original
    if ratio < 1.0 and not part.faults:
        part.fault("factor", f"needed, since max_position_embeddings = {max_length} is below {ORIGINAL} = {original}, got nothing")
    became = f"factor {ratio:g}; absent, so max_position_embeddings / {ORIGINAL}"
    part.note("factor", None, became, source="derived")
    return max(ratio, 1.0)


def _yarn(fields: Fields, part: Fields, max_length: int, scales_softmax: bool) -> tuple[Rule | None, int]:
    known = part.has(ORIGINAL) or fields.has(ORIGINAL) or ORIGINAL in fields.defaults
    if not known and not part.has("factor"):
        part.refuse(f"{part.name('factor')} and {ORIGINAL}: yarn needed at least one of them, got neither")
        return None, 1
    if not known:
        part.warn(ORIGINAL, f"absent, so max_position_embeddings = {max_length} is taken as the trained length")
    original = original_length(fields, part, default=max_length)
    if "truncate" in part.values and part.values["truncate"] is None:
        part.fault("truncate", "needed true or false, got null, which models take for false")
    settings: dict[str, Any] = {
        "factor": _stretch(part, max_length, original),
        "original_length": original,
        "beta_fast": part.take(("beta_fast",), ordinary(), "pairs that turn {} times or more are kept", default=32.0),
        "beta_slow": part.take(("beta_slow",), ordinary(), "pairs that turn {} times or less are slowed", default=1.0),
        "truncate": part.take(("truncate",), flag, "ramp rounded outwards to whole pairs: {}", default=True),
        "scales_softmax": scales_softmax,
    }
    if part.has("attention_factor"):
        settings["attention_factor"] = part.take(("attention_factor",), ordinary(), "magnitude of cos and sin {}")
    for name in ("mscale", "mscale_all_dim"):
        if part.has(name):
            settings[name] = part.take((name,), ordinary(least=0.0), f"{name} {{}}")
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
    factor = part.take(("attn_factor",), ordinary(), f"multiplies YaRN's magnitude {own:.6f} (transformers leaves it out)")
    return replace(rule, attention_factor=own * factor)


def _longrope(fields: Fields, part: Fields, max_length: int, two_magnitudes: bool) -> tuple[Rule | None, int]:
    original = original_length(fields, part)
    lists = {}
    for name in ("short_factors", "long_factors"):
        when = "up to" if name == "short_factors" else "beyond"
        lists[name] = part.take((SPELLINGS[name],), row_of(ordinary()), f"divisors for lengths {when} the trained one", needed=True)
    settings: dict[str, Any] = {"original_length": original, "factor": _stretch(part, max_length, original), **lists}
    if part.has("attention_factor"):
        settings["attention_factor"] = part.take(("attention_factor",), ordinary(), "magnitude of cos and sin {}")
    for name in ("short", "long") if two_magnitudes else ():
        became = f"magnitude of cos and sin of {name} sequences {{}}"
        settings[f"{name}_magnitude"] = part.take((f"{name}_mscale",), ordinary(), became, needed=True)
    return _made(part, LongRoPE, **settings), original


def _made(part: Fields, kind: Callable[..., R], **settings: Any) -> R | None:
    """Make a rule; what it refuses is a fault, in the configuration's words."""
    if _faulty(part):
        return None
    try:
        return kind(**settings)
    except ValueError as fault:
        part.refuse(f"{part.prefix.removesuffix('.')}: {_translated(fault)}", key=_about(part, kind is LongRoPE))
        return None


def tried(part: Fields, rule: Rule, *, base: float, width: int) -> Rule | None:
    """Apply a rule once, so that numbers that do not fit together are found before anything is built.

    Args:
        part: the dictionary.
        rule: made from it.
        base: beside it.
        width: entries that turn.

    Returns:
        The rule, or None with a fault.

    Example:
        >>> part = Fields({}, source="mapping", model_type="llama").part("rope_scaling", {})
        >>> tried(part, YaRN(factor=2.0, original_length=64), base=1.0, width=8), part.faults
        (None, ['rope_scaling: YaRN: base: needed a number > 1, got 1.0'])
    """
    try:
        frequencies = [base ** (-2 * pair / width) for pair in range(width // 2)]
        with np.errstate(all="ignore"):
            rule.apply(frequencies, base=base)
    except ValueError as fault:
        part.refuse(f"{part.prefix.removesuffix('.')}: {_translated(fault)}", key=_about(part, isinstance(rule, LongRoPE)))
        return None
    except OverflowError:
        part.refuse(f"{part.prefix.removesuffix('.')}: needed numbers that give finite frequencies, got others")
        return None
    return rule


def _about(part: Fields, has_lists: bool) -> str:
    """The key that a rule's own refusal is about: LongRoPE's lists, else the dictionary."""
    return part.name("short_factor") if has_lists else part.prefix.removesuffix(".")


def _faulty(part: Fields) -> bool:
    """A stand-in for a faulty number would only bring faults of its own."""
    return any(fault.startswith(part.prefix) for fault in part.faults)


def _translated(fault: Exception) -> str:
    text = str(fault)
    for ours, theirs in SPELLINGS.items():
        text = re.sub(rf"\b{ours}\b", theirs, text)
    return text
