"""Docstrings as Markdown: formulas that stand indented become code, and signs that Markdown would read are kept as they are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from website.places import ROOT

CODE = re.compile(r"(``?[^`]+``?)")
# What Markdown, or the links between pages of an API, would take for itself.
SIGNS = re.compile(r"[*\[\]|]|(?<!\w)_|<")


def of_module(path: str) -> tuple[str, str]:
    """Read a source file's docstring.

    Args:
        path: from the repository's root.

    Returns:
        Its first line, and the rest.
    """
    text = ast.get_docstring(ast.parse((ROOT / Path(path)).read_text(encoding="utf-8"))) or ""
    first, _, rest = text.partition("\n")
    return first, rest.strip("\n")


def markdown(text: str) -> str:
    r"""Turn plain text into Markdown that shows it.

    Args:
        text: paragraphs; lines indented by four spaces are code.

    Returns:
        The same for Markdown.

    Example:
        >>> print(markdown("w_i * [2], as ``*w``"))
        w_i \* \[2\], as ``*w``
    """
    return "\n".join(line if line.startswith("    ") else _escaped(line) for line in text.splitlines())


def _escaped(line: str) -> str:
    parts = CODE.split(line)
    return "".join(part if index % 2 else SIGNS.sub(_kept, part) for index, part in enumerate(parts))


def _kept(sign: re.Match[str]) -> str:
    return "&lt;" if sign[0] == "<" else "\\" + sign[0]
