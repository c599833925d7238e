"""The page of each scheme: docstring, facts, figure, class and source, with what is known of it; and the table of all."""

from __future__ import annotations

import functools

from ordinate.catalogue import SchemeRow, schemes_table
from ordinate.schemes import AXES_SCHEMES, LARGE_SCHEMES, SCHEMES
from website import evidence, figures, prose
from website.homes import TITLES

NOPE = """\
No positions at all: attention sees a set of tokens. Its output for permuted tokens is the permuted output, so "dog bites man" and
"man bites dog" are one to it. Under a causal mask that is no longer so: each token sees only itself and what stands before it, and
a decoder can tell its place from how many tokens that is.

In `attend`, `MultiheadAttention` and `TokenAndPositionEmbedding` it is `scheme=None`; on the command line it is `nope`. Some
published models have layers without positions between others (`ordinate read` says which).
"""
INDEX = """\
# Schemes

Where each is applied, what it learns, how far it reaches and what it encodes; numbers for a model of BERT-base's size. `ordinate
schemes` prints the same. [How to choose a scheme](../choosing.md) says which fits where.

| scheme | applied at | parameters | of BERT-base | maximum length | encodes |
|---|---|---|---|---|---|
"""
FIRST_IN_SEARCH = "---\nsearch:\n  boost: 8\n---"
REFERENCE = {
    "sinusoidal": "inputs",
    "learned": "inputs",
    "rope": "rotary",
    "axial_rope": "rotary_axes",
    "multimodal_rope": "rotary_axes",
    "entrywise_rope": "rotary_axes",
    "alibi": "scores",
    "t5": "scores",
    "shaw": "scores",
    "deberta": "scores",
    "transformer_xl": "relative",
}


def page(name: str) -> str:
    """Write a scheme's page.

    Args:
        name: as in ``TITLES``.

    Returns:
        Markdown.
    """
    first, form = (NOPE, "") if name == "nope" else prose.of_module(sources(name)[0])
    parts = [
        FIRST_IN_SEARCH,
        f"# {TITLES[name]}",
        first if name == "nope" else prose.markdown(first),
        f"[![{figures.SCHEMES[name][1]}]({name}.png)]({name}.png)",  # a click shows it large, for narrow screens
        _facts(_rows()[name]),
        f"## Formula\n\n{prose.markdown(form)}" if form else "",
        _class(name),
        evidence.measured(name),
        evidence.claims(name),
        evidence.faults(name),
        evidence.decisions(name),
        "## In the code\n\n" + "\n".join(f"- [{path}](../source/{path}.md)" for path in sources(name)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def index() -> str:
    """Write the table of all schemes.

    Returns:
        Markdown.
    """
    return INDEX + "".join(_line(_rows()[name]) for name in TITLES)


def sources(name: str) -> list[str]:
    """Say where a scheme stands in the code.

    Args:
        name: as in ``TITLES``.

    Returns:
        Paths from the repository's root.
    """
    if name == "nope":
        return ["src/ordinate/attention/attending.py"]
    return [f"src/ordinate/schemes/{name}.py", f"src/ordinate/reference/{REFERENCE[name]}.py"]


@functools.cache
def _rows() -> dict[str, SchemeRow]:
    return {row.name: row for row in schemes_table()}


def _line(row: SchemeRow) -> str:
    cells = (f"[{TITLES[row.name]}]({row.name}.md)", row.applied, _formula(row), f"{row.count:,}", row.max_length, row.encodes)
    return f"| {' | '.join(cells)} |\n"


def _formula(row: SchemeRow) -> str:
    return row.parameters if row.parameters == "0" else f"`{row.parameters}`"


def _facts(row: SchemeRow) -> str:
    facts = {
        "Applied at": row.applied,
        "Parameters": f"{_formula(row)}; {row.count:,} for a model of BERT-base's size" if row.count else "0",
        "Maximum length": row.max_length,
        "Encodes": row.encodes,
        "Source": row.source,
    }
    if row.name in SCHEMES:
        facts["On the command line"] = f"`{row.name}`"
    return "\n".join(["| | |", "|---|---|", *(f"| {title} | {said} |" for title, said in facts.items())])


def _class(name: str) -> str:
    kind = {**SCHEMES, **AXES_SCHEMES, **LARGE_SCHEMES}[name]
    if kind is None:
        return ""
    return f"## Class\n\n::: {kind.__module__}.{kind.__name__}\n    options:\n      heading_level: 3"
