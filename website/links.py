"""Links of the pages that lead out of docs/: each is given a place on the site, so that it works there as in the repository."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from website import sources
from website.homes import HOMES, ROOT_PAGES, RUSSIAN_HOMES
from website.places import DOCS, ROOT

# Code comes first, so that what looks like a link inside of it is left alone.
LINK = re.compile(r"(?ms)^ *```.*?^ *```|`[^`\n]*`|\]\((?P<target>[^()\s#]+)(?P<anchor>#[^()\s]*)?\)")


def pointed_to(pages: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str | bytes]:
    """Give the files of the repository that pages point to and that have no page of their own, as files of the site.

    Args:
        pages: text by path on the site.
        also: further paths of the repository.

    Returns:
        Content by path on the site.
    """
    found = set(also)
    for page, text in pages.items():
        found |= {path for match in LINK.finditer(text) if (path := _meant(page, match)) and site_uri(path) == sources.uri(path)}
    for path in tuple(found):
        found |= set(sources.inside(path))
    return {sources.uri(path): sources.content(path) for path in sorted(found)}


def inside_the_site(page: str, text: str) -> str:
    """Point a page's links at places of the site.

    Args:
        page: its path on the site.
        text: Markdown.

    Returns:
        The same; links to pages beside it and to the web are as they were.
    """

    def moved(match: re.Match[str]) -> str:
        path = _meant(page, match)
        if path is None:
            return match[0]
        place = RUSSIAN_HOMES.get(path) if page.startswith("ru/") else None
        there = os.path.relpath(place or site_uri(path), posixpath.dirname(page) or ".").replace(os.sep, "/")
        return f"]({there}{match['anchor'] or ''})"

    return LINK.sub(moved, text)


def site_uri(path: str) -> str:
    """Say where the site has a path of the repository.

    Args:
        path: from the repository's root.

    Returns:
        The page that stands for it, if there is one; a folder's index; or the source.
    """
    if path in HOMES:
        return HOMES[path]
    if not path.startswith("docs/"):
        return sources.uri(path)
    inside = path.removeprefix("docs/")
    indices = (posixpath.join(inside, name) for name in ("index.md", "README.md"))
    return next((index for index in indices if (DOCS / index).is_file()), inside)


def _meant(page: str, match: re.Match[str]) -> str | None:
    """The path that a link means, from the repository's root; None if it is the web's, or the site has it where the link says."""
    target = unquote(match["target"] or "")
    if not target or "://" in target or target.startswith(("/", "mailto:")):
        return None
    home = ROOT_PAGES.get(page, f"docs/{page}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(home), target))
    if not (ROOT / path).exists() or (home.startswith("docs/") and path.startswith("docs/") and (ROOT / path).is_file()):
        return None
    return path
