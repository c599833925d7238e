"""What the reader of configurations refuses and warns of, judged: codes, evidence, and milder words for code of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.checkpoints.kinds import is_number
from ordinate.checkpoints.reading import Examined
from ordinate.doctor.angles import angles_of
from ordinate.doctor.coding import of_fault, of_warning
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.said import rule_name, said_of

WIDEST = 2**12


def judged(examined: Examined, values: Mapping[str, Any], *, own_code: bool) -> list[Diagnosis]:
    """Give faults and warnings their codes.

    Args:
        examined: what was read.
        values: the configuration that it was read from; empty for what is none.
        own_code: whether the file names code of its own, which may read keys that nobody else reads.

    Returns:
        Findings.

    Example:
        >>> from ordinate.checkpoints.reading import examine
        >>> from ordinate.checkpoints.sources import find_source
        >>> values = {"model_type": "llama", "rope_theta": 1e4, "rotary_emb_base": 1e6}
        >>> judged(examine(find_source(values)), values, own_code=False)[0].evidence
        'position 1000, pair 1 of 64: 865.9643 rad by base 10000, 805.8422 rad by base 1e+06'
    """
    found = []
    for fault in examined.faults:
        each = of_fault(fault, rule=rule_name(values))
        if each is not None and each.code in ("ORD101", "ORD102"):
            each = replace(each, evidence=_angles(each, values))
        if each is not None and own_code:
            each = _milder(each, unread=fault.sort in ("unread", "unknown"))
        if each is not None:
            found.append(each)
    said = said_of(values)
    nested = [part for part in said.values() if isinstance(part, Mapping)]
    of_rule = any(fault.key.endswith(("rope_type", ".type")) for fault in examined.faults)
    for text in examined.warnings:
        if of_rule and "beside the rule" in text:
            continue  # no rule was understood
        last = text.partition(": ")[0].split(".")[-1]
        beside = next((part for part in nested if last in part), said)
        told = of_warning(text, beside)
        if told is not None:
            found.append(told)
    return found


def _angles(found: Diagnosis, values: Mapping[str, Any]) -> str:
    base, head = values.get("rope_theta", 10000.0), values.get("head_dim")
    whole, heads = values.get("hidden_size"), values.get("num_attention_heads")
    if not isinstance(head, int) and isinstance(whole, int) and isinstance(heads, int) and heads > 0:
        head = whole // heads
    width = head if isinstance(head, int) and 1 <= head <= WIDEST else 128
    return angles_of(f"{found.message}; {found.remedy}", base=float(base) if is_number(base) else None, width=width)


def _milder(found: Diagnosis, *, unread: bool) -> Diagnosis:
    message = f"{found.message} (the file names code of its own in auto_map, which may read it)"
    return diagnosis(
        "ORD111" if unread else found.code,
        message,
        where=found.where,
        evidence=found.evidence,
        severity="note" if unread else "warning" if found.severity == "error" else found.severity,
        remedy=found.remedy,
    )
