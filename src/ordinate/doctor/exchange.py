"""Findings for programs: plain JSON, and SARIF 2.1.0 for code review tools."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ordinate
from ordinate.doctor.catalogue import ENTRIES
from ordinate.doctor.finding import Diagnosis, exit_status, worst_first

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LINE = re.compile(r"(?:.*:)?(\d+)")


def as_values(found: Sequence[Diagnosis], targets: Sequence[str]) -> dict[str, Any]:
    """Give findings as values that JSON holds.

    Args:
        found: in any order.
        targets: that were looked at.

    Returns:
        Targets, exit status and findings, worst first.

    Example:
        >>> as_values([], ["config.json"])
        {'targets': ['config.json'], 'exit_status': 0, 'findings': []}
    """
    findings = [dataclasses.asdict(each) for each in worst_first(list(found))]
    return {"targets": list(targets), "exit_status": exit_status(list(found)), "findings": findings}


def as_sarif(found: Sequence[Diagnosis]) -> dict[str, Any]:
    """Give findings in the form of code review tools.

    Args:
        found: in any order.

    Returns:
        A SARIF log of one run.

    Example:
        >>> as_sarif([])["version"]
        '2.1.0'
    """
    ordered = worst_first(list(found))
    rules = [_rule(code) for code in sorted({each.code for each in ordered})]
    places = {rule["id"]: place for place, rule in enumerate(rules)}
    driver = {"name": "ordinate", "version": ordinate.__version__, "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(each, places[each.code]) for each in ordered]}],
    }


def _rule(code: str) -> dict[str, Any]:
    entry = ENTRIES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in re.findall(r"\w+", entry.title)),
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.what},
        "help": {"text": f"{entry.why} {entry.mend}"},
        "defaultConfiguration": {"level": entry.severity},
    }


def _result(found: Diagnosis, rule: int) -> dict[str, Any]:
    text = " ".join(
        filter(None, (found.message, found.evidence and f"({found.evidence})", found.remedy and f"Remedy: {found.remedy}"))
    )
    line = LINE.fullmatch(found.where) if found.target.endswith(".py") else None
    place: dict[str, Any] = {"artifactLocation": {"uri": Path(found.target.split(" and ")[0]).as_posix()}}
    place["region"] = {"startLine": max(int(line.group(1)), 1) if line else 1}
    logical = [{"fullyQualifiedName": found.where}] if found.where and line is None else []
    return {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": found.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": place, **({"logicalLocations": logical} if logical else {})}],
    }
