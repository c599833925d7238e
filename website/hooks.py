"""MkDocs' hooks: the navigation, the pages that are made, and links that leave docs/."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

# MkDocs puts this folder on the path, not the one above it, and only while it loads this file: so all imports stand here.
sys.path.insert(0, str(Path(__file__).parents[1]))

from mkdocs.structure.files import File, Files

from website import decisions, languages, links, navigation, written
from website.places import DOCS


def on_config(config: Any) -> Any:
    """Fill in the navigation's patterns.

    Args:
        config: MkDocs' configuration.

    Returns:
        The same, changed.
    """
    config.nav = navigation.filled(config.nav, navigation.pages_of(DOCS) | set(written.pages()))
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures that are made, and every file of the repository that a page points to.

    Args:
        files: of docs/.
        config: MkDocs' configuration.

    Returns:
        The same, with more in it.
    """
    pages = written.pages()
    texts = pages | {file.src_uri: file.content_string for file in files.documentation_pages()}
    sources = links.pointed_to(texts, also=written.shown_sources())
    for uri, content in {**pages, **written.pictures(), **sources, **languages.SITEMAP}.items():
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    """Let the language switch lead to the same page in the other language, where there is one.

    Args:
        context: of the template.
        page: that is written.
        config: MkDocs' configuration.
        nav: the navigation.

    Returns:
        The context.
    """
    config.extra["alternate"] = languages.switch(page.file.src_uri, {each.file.src_uri for each in nav.pages})
    return context


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001 (MkDocs names them)
    """Leave out of the contents what repeats the heading above it, as a class does under its own title.

    Args:
        html: of the page.
        page: whose contents are made.
        config: MkDocs' configuration.
        files: of the site.

    Returns:
        The same.
    """
    waiting = list(page.toc)
    while waiting:
        heading = waiting.pop()
        heading.children = [below for below in heading.children if below.title != heading.title]
        waiting += heading.children
    return html


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001 (MkDocs names them)
    """Turn links into the repository into links of the site.

    Args:
        markdown: of the page.
        page: where it stands.
        config: MkDocs' configuration.
        files: of the site.

    Returns:
        The page's text.
    """
    if page.file.src_uri == decisions.INDEX:
        markdown += f"\n{decisions.listed()}"
    return links.inside_the_site(page.file.src_uri, markdown)
