"""The navigation: entries of mkdocs.yml that hold ``*`` stand for all pages that match."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Any

from website.homes import ORDER

INDEX = ("index.md", "README.md")


def pages_of(docs: Path) -> set[str]:
    """Give the pages that lie in a folder.

    Args:
        docs: the folder.

    Returns:
        Their paths inside it.
    """
    return {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


def filled(entries: list[Any], pages: Collection[str]) -> list[Any]:
    """Put pages in place of patterns.

    Args:
        entries: a list of the navigation as mkdocs.yml has it: pages, patterns, and titles with one page or a list.
        pages: all pages.

    Returns:
        The same without patterns. A pattern gives an index first, schemes in the library's order, the rest in the alphabet's, and
        leaves out what the list names itself.

    Raises:
        ValueError: if a pattern stands for no page.
    """
    values = [value for entry in entries for value in (entry.values() if isinstance(entry, dict) else [entry])]
    named = {value for value in values if isinstance(value, str)}
    full: list[Any] = []
    for entry in entries:
        if isinstance(entry, str) and "*" in entry:
            full += _matching(entry, [page for page in pages if page not in named])
        elif isinstance(entry, dict):
            full.append({title: filled(part, pages) if isinstance(part, list) else part for title, part in entry.items()})
        else:
            full.append(entry)
    return full


def _matching(pattern: str, pages: Collection[str]) -> list[str]:
    found = [page for page in pages if fnmatch.fnmatchcase(page, pattern)]
    if not found:
        raise ValueError(f"mkdocs.yml: nav: needed a pattern that stands for a page, got {pattern}; correct it or add the page")
    return sorted(found, key=_place)


def _place(page: str) -> tuple[bool, int, str]:
    path = PurePosixPath(page)
    return path.name not in INDEX, ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.name
