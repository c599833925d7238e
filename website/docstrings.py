"""How the API pages read a docstring: the project's own sections, and formulas whose signs are no Markdown."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # mkdocstrings loads this file by its path

import griffe

from website import prose

SECTION = re.compile(r"^(\w[\w ]*):$")
VERBATIM = ("Shape", "Example")
NAMED = ("Args", "Attributes", "Raises", "Warns")
ITEM = re.compile(r"^    [\w*., ]+: ?")


class PlainText(griffe.Extension):
    """Before a docstring is parsed: ``Example`` is named as griffe has it, ``Shape`` becomes code, and text is escaped."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ARG002, D102
        if obj.docstring:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    r"""Make a docstring of this project one that griffe and Markdown show well.

    Args:
        text: as it stands in the code, without its indentation.

    Returns:
        The same in griffe's form.

    Example:
        >>> rewritten("Adds a * b.\n\nExample:\n    >>> 2 * 3\n    6").splitlines()[:3]
        ['Adds a \\* b.', '', 'Examples:']
    """
    section, lines = "", []
    for line in text.splitlines():
        if match := SECTION.match(line):
            section = match[1]
            lines += ["Examples:"] if section == "Example" else [line]
            lines += ["    ```text"] * (section == "Shape")
            continue
        if section == "Shape" and not line.strip():
            lines.append("    ```")
            section = ""
        lines.append(line if section in VERBATIM else _text(line, section))
    return "\n".join([*lines, "    ```"] if section == "Shape" else lines)


def _text(line: str, section: str) -> str:
    """Escape a line; the name before an argument's or an exception's colon is griffe's to read."""
    if not section:
        return prose.markdown(line)
    name = ITEM.match(line) if section in NAMED else None
    kept = name[0] if name else line[: len(line) - len(line.lstrip())]
    return kept + prose.markdown(line[len(kept) :])
