"""The survey as a page."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from benchmarks.survey.cases import Case
from benchmarks.survey.families import Family

from ordinate.testing import Finding, Report

PACKAGES = ("ordinate", "torch", "transformers", "x-transformers", "rotary-embedding-torch", "positional-encodings", "torchtune")
# Of every rotary module of transformers, so said once.
OF_ALL = ("module.to(bfloat16)", "meta and to_empty")


def page(families: list[tuple[Family, Report]], left: dict[str, str], cases: list[tuple[Case, Report | None]]) -> str:
    """The whole page, in Markdown."""
    lines = [
        "# What the kit says of other libraries",
        "",
        "Made by `make survey`: the checks of [testing.md](testing.md), run over what is installed. Versions: "
        + ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
        + f"; Python {platform.python_version()}, CPU.",
        "",
        "A finding is no verdict on a library: many of these are choices that its own models never meet.",
        "",
        "## What was known, and what is found",
        "",
        "| package | known | found | said | smallest input |",
        "|---|---|---|---|---|",
        *(_case_row(case, report) for case, report in cases),
        "",
        *_of_families(families, left),
    ]
    return "\n".join(lines) + "\n"


def missed(cases: list[tuple[Case, Report | None]]) -> list[str]:
    """Cases whose kind was not found."""
    return [case.what for case, report in cases if report is not None and case.kind is not None and case.kind not in report.kinds]


def _of_families(families: list[tuple[Family, Report]], left: dict[str, str]) -> list[str]:
    types = sum(len(family.types) for family, _ in families)
    both = [report for _, report in families if {each.property for each in report.broken} >= set(OF_ALL)]
    lines = [
        "## Rotary modules of transformers",
        "",
        f"{len(families)} different codes of {types} modules, each with its default configuration, against the formula, layout,",
        "base and width that `checkpoints.read` gives for it.",
        "",
        f"Of {len(both)} codes a cast of the module reaches the frequencies (`ORD201`), and nothing in the module makes them again",
        "after `to_empty` (`ORD702`; transformers does so from outside, when it loads weights). Beside these:",
        "",
        "| code | modules | findings | far positions |",
        "|---|---|---|---|",
    ]
    for family, report in families:
        other = [each for each in report.broken if each.property not in OF_ALL]
        far = next((each.said for each in report if each.property == "far positions" and each.verdict == "holds"), "")
        said = "; ".join(f"`{each.code}` {_cell(each.said)}" for each in other) or "none"
        lines.append(f"| `{family.types[0]}` | {len(family.types)} | {said} | {far.partition(',')[0]} |")
    lines += ["", f"{len(left)} modules were passed over:", "", "| module | why |", "|---|---|"]
    return [*lines, *(f"| `{name}` | {_cell(why)} |" for name, why in left.items())]


def _case_row(case: Case, report: Report | None) -> str:
    if report is None:
        return f"| {case.package} | {_cell(case.what)} | not by the kit | {_cell(case.why)} | |"
    found: list[Finding] = [each for each in report.broken if case.kind in (None, each.kind)]
    if not found:
        return f"| {case.package} | {_cell(case.what)} | nothing | | |"
    first = found[0]
    cells = (case.package, _cell(case.what), f"`{first.code}` {first.kind}", _cell(first.said), _cell(first.smallest or ""))
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:180]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
