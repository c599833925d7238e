"""The API reference: which names stand on which page. mkdocstrings reads their docstrings."""

from __future__ import annotations

import importlib

import ordinate
from ordinate.schemes import AXES_SCHEMES, LARGE_SCHEMES, SCHEMES
from website import prose

# Names of ``ordinate`` by page; schemes have pages of their own.
NAMES = {
    "attention": ("attend", "attention_at", "score_mod", "KeyValueCache"),
    "modules": ("MultiheadAttention", "TokenAndPositionEmbedding", "DebertaTable"),
    "sites": ("InputScheme", "QueryKeyScheme", "ScoreScheme", "DistanceScheme"),
    "rotation": ("rotate", "rotate_"),
    "attaching": ("attach", "detach"),
    "tables": ("schemes_table", "theory"),
}
SAID = {
    "attention": "Attention under any scheme",
    "modules": "Parts of a model",
    "sites": "What a scheme is",
    "rotation": "Rotation alone",
    "attaching": "Into a running model",
    "tables": "Schemes side by side, and RoPE in theory",
}
SCALING = """\
[Scaling rules](../scaling.md) has a section for each rule.

::: ordinate.scaling.Rule

::: ordinate.scaling.Scaled
"""
MODULES = ("positions", "phases", "plots", "scaling", "checkpoints", "multimodal", "testing", "reference")


def pages() -> dict[str, str]:
    """Write all pages of the reference.

    Returns:
        Markdown by path.
    """
    named = {f"api/{page}.md": _page(SAID[page], [f"ordinate.{name}" for name in names]) for page, names in NAMES.items()}
    return {"api/index.md": _index(), **named, **{f"api/{module}.md": _module(module) for module in MODULES}}


def scheme_classes() -> dict[str, str]:
    """Say which page shows a scheme's class.

    Returns:
        The scheme's name by its class's name.
    """
    return {kind.__name__: name for name, kind in {**SCHEMES, **AXES_SCHEMES, **LARGE_SCHEMES}.items() if kind is not None}


def public(module: str) -> list[str]:
    """Give a module's public functions and classes.

    Args:
        module: one of ``MODULES``.

    Returns:
        Their names, in the order that the module exports them.
    """
    loaded = importlib.import_module(f"ordinate.{module}")
    names = getattr(loaded, "__all__", None) or [name for name in vars(loaded) if not name.startswith("_")]
    return [name for name in names if getattr(getattr(loaded, name), "__module__", "").startswith("ordinate")]


def _page(title: str, paths: list[str]) -> str:
    return f"# {title}\n\n" + "\n\n".join(f"::: {path}" for path in paths) + "\n"


def _module(module: str) -> str:
    head = f"# ordinate.{module}\n\n::: ordinate.{module}\n    options:\n      members: false\n      show_root_heading: false\n\n"
    if module == "scaling":
        return head + SCALING
    return head + "\n\n".join(f"::: ordinate.{module}.{name}" for name in public(module)) + "\n"


def _index() -> str:
    lines = ["# API", "", "What `import ordinate` gives. Names load on first use.", "", "| name | |", "|---|---|"]
    homes = {name: f"{page}.md#ordinate.{name}" for page, names in NAMES.items() for name in names}
    schemes = {kind: f"../schemes/{name}.md" for kind, name in scheme_classes().items()}
    for name in sorted({*homes, *schemes}, key=str.lower):
        said = prose.markdown((getattr(ordinate, name).__doc__ or "").partition("\n")[0])
        lines.append(f"| [`{name}`]({schemes.get(name) or homes[name]}) | {said} |")
    lines += ["| `SCHEMES` | [table](../schemes/index.md) from a scheme's name to its class |"]
    lines += [f"| [`{module}`]({module}.md) | {_first_line(module)} |" for module in MODULES]
    return "\n".join(lines) + "\n"


def _first_line(module: str) -> str:
    said = (importlib.import_module(f"ordinate.{module}").__doc__ or "").partition("\n")[0]
    return said.partition(". ")[0].rstrip(".")


def missing() -> set[str]:
    """Give the public names of ``ordinate`` that no page shows.

    Returns:
        Their names.
    """
    shown = {name for names in NAMES.values() for name in names} | set(scheme_classes()) | set(MODULES) | {"SCHEMES", "__version__"}
    return set(ordinate.__all__) - shown
