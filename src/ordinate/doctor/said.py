"""What a configuration's dictionary of the rule says, as it stands there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ordinate.checkpoints.faulty import Fault
from ordinate.checkpoints.rope_dictionary import DICTIONARIES
from ordinate.checkpoints.rope_rules import ORIGINAL

OLD_RULES = {"su": "longrope"}


def dictionary_of(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the dictionary of the rule, under either of its names.

    Args:
        values: a configuration.

    Returns:
        It; empty if there is none.

    Example:
        >>> dictionary_of({"rope_scaling": {"type": "linear"}})
        {'type': 'linear'}
    """
    return next((values[key] for key in DICTIONARIES if isinstance(values.get(key), Mapping) and values[key]), {})


def said_of(values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Give what is said for some layers, with the trained length where that stands beside the dictionary.

    Args:
        values: a configuration.
        where: name of a rotation, which ends with its layer type.

    Returns:
        The rule's keys and values.

    Example:
        >>> said_of({"rope_scaling": {"factor": 2.0}, "original_max_position_embeddings": 64})
        {'original_max_position_embeddings': 64, 'factor': 2.0}
    """
    found = dictionary_of(values)
    nested = [value for key, value in found.items() if isinstance(value, Mapping) and where.split(" ")[-1] == key]
    inner = nested[0] if nested else found
    beside = {ORIGINAL: values[ORIGINAL]} if values.get(ORIGINAL) is not None else {}
    return {**beside, **inner}


def rule_name(values: Mapping[str, Any]) -> object:
    """Give the rule's name as the file has it.

    Args:
        values: a configuration.

    Returns:
        A word, or whatever stands there; None without one.

    Example:
        >>> rule_name({"rope_scaling": {"type": "su"}})
        'su'
    """
    found = dictionary_of(values)
    return found.get("rope_type", found.get("type"))


def old_spellings(values: Mapping[str, Any]) -> list[str]:
    """List the old names that a configuration has.

    Args:
        values: a configuration.

    Returns:
        In words.

    Example:
        >>> old_spellings({"rope_scaling": {"type": "su", "factor": 2.0}})
        ['rope_scaling, now rope_parameters', 'type, now rope_type', 'su, now longrope']
    """
    found, old = dictionary_of(values), []
    if values.get("rope_scaling"):
        old.append("rope_scaling, now rope_parameters")
    if found.get("type") is not None and found.get("rope_type") is None:
        old.append("type, now rope_type")
    name = rule_name(values)
    if isinstance(name, str) and name in OLD_RULES:
        old.append(f"{name}, now {OLD_RULES[name]}")
    return old


def without(values: Mapping[str, Any], faults: Iterable[Fault]) -> dict[str, Any]:
    """Give a configuration without the keys that faults are about.

    Args:
        values: the configuration.
        faults: of the reader, about keys that nobody reads.

    Returns:
        A copy; the dictionaries on the way are copies, too.

    Example:
        >>> without({"a": {"b": 1, "c": 2}}, [Fault("b", key="a.b")])
        {'a': {'c': 2}}
    """
    left: dict[str, Any] = dict(values)
    for fault in faults:
        for path in [f"{fault.key}.{name}" for name in fault.names] or [fault.key]:
            *outer, last = path.split(".")
            inner = left
            for key in outer:
                if not isinstance(inner.get(key), Mapping):
                    break
                inner[key] = dict(inner[key])
                inner = inner[key]
            else:
                inner.pop(last, None)
    return left
