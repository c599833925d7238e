"""Rules by the names that the command takes, for one checkpoint and one length; and the same as a configuration block."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.scaling import NTK, DynamicNTK, Linear, LongRoPE, Rule, YaRN
from ordinate.stretching.subject import Subject

NATIVE, NONE = "native", "none"
ROTARY = (NATIVE, NONE, "linear", "ntk", "dynamic", "yarn")
WITH_VALUE = ("longrope", "theta")
FIXED = ("fixed", "continued")  # biases that run at any length as they are
TABLES = (NATIVE, "resize-linear", "resize-nearest")
LARGEST_FILE = 2**20


@dataclass(frozen=True)
class Setting:
    """What is done to a checkpoint's positions for one length.

    Attributes:
        name: as the command takes it.
        rule: put in place of the checkpoint's own; None: nothing is put in.
    """

    name: str
    rule: Rule | None


def require_rules(names: tuple[str, ...], subject: Subject, lengths: tuple[int, ...]) -> tuple[str, ...]:
    """Check every name against the checkpoint and all lengths; the checkpoint's own rule is always one of them.

    Args:
        names: as given; empty for what the command does by itself.
        subject: what is stretched.
        lengths: that are asked for.

    Returns:
        Names without repetition, "native" first.

    Raises:
        ValueError: if a rule is unknown, or does not apply; all faults in one message.

    Example:
        >>> from types import SimpleNamespace
        >>> require_rules(("yarn",), SimpleNamespace(kind="fixed", plan=SimpleNamespace(model_type="bloom")), (4096,))
        Traceback (most recent call last):
        ValueError: --rules: bloom runs at any length as it is; needed native alone, got yarn
    """
    names = tuple(dict.fromkeys((NATIVE, *(names or _by_itself(subject)))))
    if subject.kind in FIXED:
        if names != (NATIVE,):
            raise ValueError(
                f"--rules: {subject.plan.model_type} runs at any length as it is; needed native alone, got {', '.join(names[1:])}"
            )
        return names
    if subject.kind != "rotary":
        wrong = [name for name in names if name not in TABLES]
        if wrong:
            raise ValueError(f"--rules: a learned table needs one of {', '.join(TABLES)}, got {', '.join(wrong)}")
        return names
    faults = []
    for name in names:
        try:
            for length in lengths:
                setting_of(name, subject, length)
        except ValueError as fault:
            faults.append(str(fault))
    if faults:
        raise ValueError("; ".join(faults))
    if NONE in names and subject.native_rule is None:
        names = tuple(name for name in names if name != NONE)  # the checkpoint's own is none: one row says it
    return names


def setting_of(name: str, subject: Subject, length: int) -> Setting:
    """Make the rule of a name for a length: factor = length / trained length, which "dynamic" takes from the sequence itself.

    Args:
        name: as the command takes it.
        subject: a checkpoint with rotations.
        length: at least the trained one where the rule needs a factor.

    Returns:
        What is put in.

    Raises:
        ValueError: if the rule is unknown or does not apply.
    """
    kind, _, value = name.partition(":")
    factor = max(length / subject.trained, 1.0)
    if kind not in ROTARY + WITH_VALUE or (kind in WITH_VALUE) != bool(value):
        known = ", ".join((*ROTARY, "longrope:FILE", "theta:NUMBER"))
        raise ValueError(f"--rules: needed some of {known}, got {name!r:.80}")
    if kind == NATIVE:
        return Setting(name, None)
    if kind == NONE:
        return Setting(name, Linear(factor=1.0))
    if kind == "linear":
        return Setting(name, Linear(factor=factor))
    if kind == "ntk":
        return Setting(name, NTK(alpha=factor))
    if kind == "dynamic":
        return Setting(name, DynamicNTK(factor=1.0, original_length=subject.trained))
    if kind == "yarn":
        return Setting(name, YaRN(factor=factor, original_length=subject.trained))
    return Setting(name, _longrope(value, subject, factor) if kind == "longrope" else _theta(value, subject))


def config_block(setting: Setting, subject: Subject, length: int) -> dict[str, Any]:
    """Give what to put into config.json: ``rope_parameters`` and the length that the model then declares.

    Args:
        setting: the rule.
        subject: the checkpoint.
        length: that it is meant for.

    Returns:
        Keys and values of config.json.
    """
    base = subject.rotation.base
    own = getattr(subject.config, "rope_parameters", None)
    kept = {key: own[key] for key in ("partial_rotary_factor",) if isinstance(own, Mapping) and key in own}
    rule = setting.rule
    if rule is None:
        by_length = subject.native_rule is not None and subject.native_rule.needs_length
        declared = getattr(subject.config, "max_position_embeddings", subject.trained) if by_length else length
        return {"max_position_embeddings": declared, "rope_parameters": dict(own or {"rope_type": "default"})}
    parameters: dict[str, Any]
    declared = length
    match rule:
        case Linear(factor=1.0):
            parameters = {"rope_type": "default", "rope_theta": base}
        case Linear():
            parameters = {"rope_type": "linear", "rope_theta": base, "factor": rule.factor}
        case NTK():
            width = subject.rotation.rotary_dim
            parameters = {"rope_type": "default", "rope_theta": rule.source(base, width, None)[0]}
        case DynamicNTK():
            # transformers takes the trained length of this rule from max_position_embeddings
            parameters = {"rope_type": "dynamic", "rope_theta": base, "factor": rule.factor}
            declared = subject.trained
        case YaRN():
            parameters = {
                "rope_type": "yarn",
                "rope_theta": base,
                "factor": rule.factor,
                "original_max_position_embeddings": rule.original_length,
            }
        case LongRoPE():
            parameters = {
                "rope_type": "longrope",
                "rope_theta": base,
                "short_factor": list(rule.short_factors),
                "long_factor": list(rule.long_factors),
                "original_max_position_embeddings": rule.original_length,
                "factor": length / rule.original_length,
            }
        case _:
            raise ValueError(f"{setting.name}: needed a rule that a configuration can say, got {rule!r:.80}")
    return {"max_position_embeddings": declared, "rope_parameters": {**parameters, **kept}}


def _by_itself(subject: Subject) -> tuple[str, ...]:
    if subject.kind in FIXED:
        return (NATIVE,)
    return (NATIVE, "linear", "ntk", "yarn") if subject.kind == "rotary" else (NATIVE, "resize-linear")


def _theta(value: str, subject: Subject) -> Rule:
    base, width = subject.rotation.base, subject.rotation.rotary_dim
    try:
        theta = float(value)
    except ValueError:
        theta = 0.0
    if not base <= theta <= 1e15:
        raise ValueError(f"--rules: needed theta:NUMBER from the checkpoint's own {base:g} to 1e15, got theta:{value:.40}")
    return NTK(alpha=(theta / base) ** ((width - 2) / width))


def _longrope(value: str, subject: Subject, factor: float) -> Rule:
    try:
        path = Path(value)
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError("it is too large")
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it holds no object")
        found = found.get("rope_parameters", found)
        if not isinstance(found, dict) or not all(isinstance(found.get(key), list) for key in ("short_factor", "long_factor")):
            raise ValueError("it has no such lists")
        lists = {key: tuple(float(number) for number in found[key]) for key in ("short_factor", "long_factor")}
        pairs = subject.rotation.rotary_dim // 2
        if any(len(numbers) != pairs for numbers in lists.values()):
            raise ValueError(f"needed {pairs} numbers in each list")
        short, long = lists["short_factor"], lists["long_factor"]
        return LongRoPE(short_factors=short, long_factors=long, original_length=subject.trained, factor=factor)
    except OSError as fault:
        raise ValueError(f"--rules: longrope: could not read {value} ({fault.strerror})") from None
    except (KeyError, TypeError, ValueError, RecursionError) as fault:
        raise ValueError(
            f"--rules: longrope: needed a JSON file with short_factor and long_factor, got {value} ({fault})"
        ) from None
