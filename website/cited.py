"""Numbers in a page that name their source, ``1.72<!-- compare/text/rope/1 -->``: ``python -m website.cited PAGE`` renews them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from website.measured import value_of

CITED = re.compile(r"(?P<said>\d[\d,]*(?:\.(?P<decimals>\d+))?)<!-- (?P<name>[^>]+?) -->")


def renewed(text: str) -> str:
    """Put the measured numbers in place of those that a page has, with as many decimals.

    Args:
        text: of the page.

    Returns:
        The same if nothing is stale.

    Example:
        >>> renewed("0<!-- found/yarn --> of 3")
        '1<!-- found/yarn --> of 3'
    """
    return CITED.sub(lambda match: f"{_said(match)}<!-- {match['name']} -->", text)


def _said(match: re.Match[str]) -> str:
    return f"{value_of(match['name']):,.{len(match['decimals'] or '')}f}"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
