"""Writes a page for every code, out of the catalogue: ``python -m ordinate.doctor.pages docs/findings``."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from ordinate.doctor.catalogue import ENTRIES, Entry

WIDTH = 120


def page(entry: Entry) -> str:
    """Give a code's page.

    Args:
        entry: of the catalogue.

    Returns:
        Markdown, which is plain enough for a terminal.

    Example:
        >>> print(page(ENTRIES["ORD101"]).splitlines()[0])
        # ORD101: a declared key is dropped
    """
    parts = (
        ("What it is", entry.what),
        ("Why it matters", entry.why),
        ("Example", entry.example),
        ("How to mend it", entry.mend),
        ("What it is not", entry.is_not),
    )
    kind = f", kind `{entry.kind}`" if entry.kind else ""
    text = [f"# {entry.code}: {entry.title}", "", f"Usual severity: {entry.severity}{kind}."]
    for title, said in parts:
        text += ["", f"## {title}", "", *textwrap.wrap(said, WIDTH, break_long_words=False, break_on_hyphens=False)]
    return "\n".join(text) + "\n"


def index() -> str:
    """Give the table of all codes.

    Returns:
        Markdown.

    Example:
        >>> index().splitlines()[0]
        '# Findings'
    """
    head = ["# Findings", "", "Codes are stable. Errors and warnings make exit status 1; notes do not.", ""]
    rows = [f"| [{e.code}]({e.code}.md) | {e.severity} | {e.title} | {e.kind or ''} |" for e in ENTRIES.values()]
    return "\n".join([*head, "| code | severity | title | kind |", "|---|---|---|---|", *rows]) + "\n"


def pages() -> dict[str, str]:
    """Give every file's name and text.

    Returns:
        One a code, and README.md.

    Example:
        >>> "README.md" in pages()
        True
    """
    return {"README.md": index(), **{f"{entry.code}.md": page(entry) for entry in ENTRIES.values()}}


def write(folder: Path) -> None:
    """Write all pages.

    Args:
        folder: made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
