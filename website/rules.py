"""The page of the scaling rules: each with its docstring and the wavelengths under it."""

from __future__ import annotations

from ordinate.scaling import RULES
from website import figures, prose

HEAD = """\
---
search:
  boost: 4
---

# Scaling rules

A rule changes the frequencies of a RoPE, so that it reaches beyond the length it was trained on: `Rope(..., scaling=RULE)`. Each is
a frozen dataclass of plain numbers, held against transformers bit for bit where transformers has it. The figures show the
wavelength of every pair of a head of 64, base 10000, beside a trained length of 4,096 tokens. A pair that without the rule (the
dashed line) lies above the dotted line never completed a turn in training; when sequences grow, it reaches phases that no weight
has met.

[How far does a checkpoint go?](stretching.md) measures them on a checkpoint; `ordinate theory` says what one does to every pair.

| `rope_type` | rule |
|---|---|
"""
ALT = "Wavelength of every pair under {rule} and without it, on a logarithmic axis, beside the trained length of 4,096 tokens."


def page() -> str:
    """Write the page.

    Returns:
        Markdown.
    """
    table = "".join(f"| `{name}` | [{kind.__name__}](#{kind.__name__.lower()}) |\n" for name, kind in RULES.items())
    return HEAD + table + "\n" + "\n\n".join(_section(name) for name in RULES) + "\n"


def _anchor(name: str) -> str:
    return f"{RULES[name].__module__}.{RULES[name].__name__}"


def _section(name: str) -> str:
    kind = RULES[name]
    first, rest = prose.of_module(f"src/{kind.__module__.replace('.', '/')}.py")
    picture = f"![{ALT.format(rule=kind.__name__)}](scaling/{name}.png)" if name in figures.RULES else ""
    return "\n\n".join(
        [
            f"## {kind.__name__}",
            prose.markdown(first),
            prose.markdown(rest),
            picture,
            f"::: {_anchor(name)}\n    options:\n      heading_level: 3\n      members: false\n      show_root_toc_entry: false",
        ]
    )
