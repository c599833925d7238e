"""What is known of a scheme beside its definition: measurements, claims, faults and decisions, as sections of its page."""

from __future__ import annotations

from ordinate.claims import about
from ordinate.claims.claim import VERDICTS
from ordinate.doctor.catalogue import ENTRIES
from ordinate.faults import KINDS
from website import concerns, prose
from website.decisions import titles
from website.measured import RESULTS, results, value_of

TASKS = {
    "text": "text",
    "shift": "copy of the token a fixed offset back",
    "last": "value last written to a register",
}
MEASURED = """\
## Measured

Loss in nats a target of small models ({n_layers} layers, width {d_model}, {seeds} seeds) that were trained at {length} tokens, at
multiples of that length; the same targets at every length. Out of [results.json](../../{file}); `make compare` repeats it.
"""
FAULTS = """\
## Known faults

What implementations get wrong, as `ordinate doctor` and `ordinate.testing` find it.

| finding | what goes wrong | what to do |
|---|---|---|
"""


def measured(name: str) -> str:
    """Give a scheme's losses by length.

    Args:
        name: of a scheme.

    Returns:
        Markdown; nothing if it is not among those compared.
    """
    settings = results("compare")["settings"]
    if name not in settings["schemes"]:
        return ""
    multiples = settings["budget"]["multiples"]
    head = MEASURED.format(seeds=settings["seeds"], file=RESULTS["compare"], **settings["budget"])
    table = [_row(["task", *(f"{multiple}×" for multiple in multiples)]), "|---" * (1 + len(multiples)) + "|"]
    for task, said in TASKS.items():
        table.append(_row([said, *(f"{value_of(f'compare/{task}/{name}/{multiple}'):.2f}" for multiple in multiples)]))
    return head + "\n" + "\n".join(table)


def claims(name: str) -> str:
    """Give what the course notes say of a scheme, with the verdicts.

    Args:
        name: of a scheme.

    Returns:
        Markdown; nothing if they say nothing.
    """
    rows = []
    for claim in about(name):
        verdict = VERDICTS[claim.verdict].en.capitalize()
        truth = f"*{verdict}:* {prose.markdown(claim.truth.en)}" if claim.truth.en else f"*{verdict}.*"
        rows.append(f"- **[{claim.name}](../claims.md#{claim.name})**: {prose.markdown(claim.statement.en)} {truth}")
    return _section("What the course notes say of it", rows)


def faults(name: str) -> str:
    """Give the kinds of faults that concern a scheme.

    Args:
        name: of a scheme.

    Returns:
        Markdown; nothing if there are none.
    """
    rows = []
    for kind in (kind for kind, schemes in concerns.FAULTS.items() if name in schemes):
        codes = ", ".join(f"[{entry.code}](../findings/{entry.code}.md)" for entry in ENTRIES.values() if entry.kind == kind)
        rows.append(_row([codes, KINDS[kind].what, KINDS[kind].remedy]))
    return FAULTS + "\n".join(rows) if rows else ""


def decisions(name: str) -> str:
    """Give the decisions that concern a scheme.

    Args:
        name: of a scheme.

    Returns:
        Markdown; nothing if there are none.
    """
    made = titles()
    found = [made[number] for number, schemes in concerns.DECISIONS.items() if name in schemes]
    return _section("Decisions", [f"- [{title}](../decisions/{file})" for file, title in found])


def _section(title: str, rows: list[str]) -> str:
    return "\n".join([f"## {title}", "", *rows]) if rows else ""


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
