"""Whose comparison the page shows: one that was asked for, one that lies where the page was started, or the package's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ordinate.lab.kept import read_comparison
from ordinate.notes.texts import TEXTS

if TYPE_CHECKING:
    from ordinate.claims.claim import Language
    from ordinate.lab.results import Comparison

# How the command tells the page; also for one who runs the page by marimo itself.
RESULTS, LANGUAGE = "ORDINATE_NOTES_RESULTS", "ORDINATE_NOTES_LANGUAGE"
USUAL = Path("compare-report") / "results.json"


def chosen() -> tuple[Comparison, Path | None]:
    """Read the comparison.

    Returns:
        It, and its file; None for the package's own.

    Raises:
        ValueError: if what was asked for cannot be read.

    Example:
        >>> comparison, path = chosen()
        >>> comparison.settings.budget.length
        64
    """
    asked = os.environ.get(RESULTS)
    path = Path(asked) if asked else None
    return read_comparison(path), path


def first_language() -> str:
    """Say in which language the page opens.

    Returns:
        "en" or "ru".

    Example:
        >>> first_language()
        'en'
    """
    return "ru" if os.environ.get(LANGUAGE) == "ru" else "en"


def whose(comparison: Comparison, path: Path | None, *, language: Language) -> str:
    """Say whose results they are, how they were made and what they rest on.

    Args:
        comparison: what was measured.
        path: its file; None for the package's own.
        language: "en" or "ru".

    Returns:
        Markdown.

    Example:
        >>> comparison, path = chosen()
        >>> "<code>ordinate compare" in whose(comparison, None, language="en")
        True
    """
    settings = comparison.settings
    says = TEXTS["beyond_says"].said(language).format(length=settings.budget.length, seeds=settings.seeds)
    from_where = TEXTS["results_kept" if path is None else "results_own"].said(language).format(path=_quoted(str(path)))
    return f"{says}\n\n{from_where} {_quoted(comparison.command)}."


def _quoted(text: str) -> str:
    """Somebody's text as code: by the numbers of its characters, which neither Markdown nor HTML takes for its own."""
    return f"<code>{''.join(each if each.isalnum() or each == ' ' else f'&#{ord(each)};' for each in text)}</code>"
