"""What a built page holds: its anchors, what it links to, what it loads, its figures."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# By element: the attributes that make a browser load something, and those that wait for a click.
LOADS = {
    "link": ("href",),
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "input": ("src",),
}
LEADS = ("a", "area")


@dataclass
class Page:
    """One page, read."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    images: list[tuple[str, str]] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    language: str = ""
    title: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._inside = tag
        self.page.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in LEADS and "href" in given:
            self.page.links.append(given["href"])
        self.page.loaded += [given[name] for name in LOADS.get(tag, ()) if given.get(name)]
        if tag == "img":
            self.page.images.append((given.get("src", ""), given.get("alt", "")))
        if tag == "html":
            self.page.language = given.get("lang", "")
        self.page.styles += [given["style"]] if "style" in given else []

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.page.styles.append(data)
        if self._inside == "title":
            self.page.title += data

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == self._inside else self._inside


def parsed(path: Path) -> Page:
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


def is_external(target: str) -> bool:
    parts = urlsplit(target)
    return bool(parts.netloc) or parts.scheme not in ("", "data", "mailto")


def broken(folder: Path, pages: dict[str, Page]) -> list[str]:
    """Targets of links and loads that are not there, as "page -> target"."""
    return [
        f"{name} -> {target}"
        for name, page in pages.items()
        for target in (*page.links, *page.loaded)
        if not is_external(target) and not target.startswith(("data:", "mailto:")) and not _there(folder, pages, name, target)
    ]


def _there(folder: Path, pages: dict[str, Page], page: str, target: str) -> bool:
    path, _, anchor = target.partition("#")
    path = unquote(path.partition("?")[0])
    if path.startswith("/"):
        where = path.lstrip("/")
    else:
        where = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    if where.startswith(".."):
        return False
    file = folder / where
    if file.is_dir():
        where, file = posixpath.normpath(posixpath.join(where, "index.html")), file / "index.html"
    if not file.is_file():
        return False
    return not anchor or where not in pages or unquote(anchor) in pages[where].anchors or anchor.startswith("__")
