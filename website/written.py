"""All that is made for the site: pages and pictures by their path."""

from __future__ import annotations

from website import api, figures, ledger, rules, schemes
from website.homes import ROOT_PAGES, TITLES
from website.places import ROOT


def pages() -> dict[str, str]:
    """Write every page that is not written by hand.

    Returns:
        Markdown by path on the site.
    """
    return {
        "schemes/index.md": schemes.index(),
        **{f"schemes/{name}.md": schemes.page(name) for name in TITLES},
        "scaling.md": rules.page(),
        "claims.md": ledger.page("en"),
        "ru/claims.md": ledger.page("ru"),
        **api.pages(),
        **{page: (ROOT / path).read_text(encoding="utf-8") for page, path in ROOT_PAGES.items()},
    }


def pictures() -> dict[str, bytes]:
    """Draw every figure of a made page.

    Returns:
        PNG files by path on the site.
    """
    drawn = {f"schemes/{name}.png": draw() for name, (draw, _) in figures.SCHEMES.items()}
    drawn |= {f"scaling/{name}.png": figures.of_rule(name) for name in figures.RULES}
    return {path: figures.picture(figure) for path, figure in drawn.items()}


def shown_sources() -> set[str]:
    """Give the files of the code that made pages point to.

    Returns:
        Paths from the repository's root.
    """
    return {path for name in TITLES for path in schemes.sources(name)}
