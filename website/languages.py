"""The language switch: to the same page in the other language, or to its first page."""

from __future__ import annotations

from collections.abc import Collection

RUSSIAN = "ru/"
# Material asks for one beside the other language's pages; the addresses are not known here.
SITEMAP = {
    "ru/sitemap.xml": '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>\n'
}


def switch(page: str, pages: Collection[str]) -> list[dict[str, str]]:
    """Give the entries of a page's switch.

    Args:
        page: its path.
        pages: all pages.

    Returns:
        Name, link and language of both.

    Example:
        >>> [entry["link"] for entry in switch("ru/start.md", {"start.md", "ru/start.md"})]
        ['start.html', 'ru/start.html']
    """
    english = page.removeprefix(RUSSIAN)
    both = english in pages and RUSSIAN + english in pages
    name = english.removesuffix(".md") if both else "index"
    return [
        {"name": "English", "link": f"{name}.html", "lang": "en"},
        {"name": "Русский", "link": f"{RUSSIAN}{name}.html", "lang": "ru"},
    ]
