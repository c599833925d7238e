"""Rows of text in columns, for terminals without further packages."""

from __future__ import annotations

import itertools
import textwrap

WIDEST = 24


def aligned(rows: list[tuple[str, ...]], *, widest: int = WIDEST) -> list[str]:
    """Lay rows out in columns, a rule below the first; long cells are broken at spaces.

    Args:
        rows: of equal length.
        widest: where a cell is broken.

    Returns:
        Lines.

    Example:
        >>> aligned([("a", "bb"), ("ccc", "d e f")], widest=3)
        ['a    bb', '---  ---', 'ccc  d e', '     f']
    """
    broken = [[textwrap.wrap(cell, widest, break_long_words=False) or [""] for cell in row] for row in rows]
    widths = [max(len(part) for cell in column for part in cell) for column in zip(*broken, strict=True)]
    broken.insert(1, [["-" * width] for width in widths])
    lines = [line for row in broken for line in itertools.zip_longest(*row, fillvalue="")]
    return ["  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip() for line in lines]
