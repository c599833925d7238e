"""Coordinates of a token in words: which there are, and which pairs turn by each."""

from __future__ import annotations

from collections.abc import Sequence

from ordinate.sections import SectionOrder

NAMES = {2: ("row", "column"), 3: ("time", "row", "column")}


def names(axes: int) -> tuple[str, ...]:
    """Name the coordinates.

    Args:
        axes: how many there are.

    Returns:
        One word each.

    Example:
        >>> names(3), names(4)[3]
        (('time', 'row', 'column'), 'coordinate 3')
    """
    return NAMES.get(axes) or tuple(f"coordinate {axis}" for axis in range(axes))


def words(axes: int, called: Sequence[str] = ()) -> str:
    """List the coordinates.

    Args:
        axes: how many there are.
        called: their names, where they are not the usual ones.

    Returns:
        Text.

    Example:
        >>> words(3), words(2, ("row", "image"))
        ('a time, a row and a column', 'a row and an image')
    """
    listed = called or NAMES.get(axes, ())
    return _listed([f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in listed]) if listed else f"{axes} coordinates"


def shared_out(sections: Sequence[int], order: SectionOrder) -> str:
    """Say which pairs turn by which coordinate.

    Args:
        sections: pairs of each coordinate.
        order: how they lie.

    Returns:
        Text.

    Example:
        >>> shared_out((16, 24, 24), "contiguous")
        'pairs 0-15 by time, 16-39 by row and 40-63 by column'
        >>> shared_out((24, 20, 20), "interleaved")
        'pairs by time, row and column in turns: 24, 20 and 20 of them'
        >>> shared_out((20, 22, 22), "space_first")
        'pairs 0-43 by row and column in turns, 44-63 by time'
    """
    called, pairs = names(len(sections)), sum(sections)
    if order == "interleaved":
        return f"pairs by {_listed(called)} in turns: {_listed(list(map(str, sections)))} of them"
    if order == "space_first":
        border = pairs - sections[0]
        return f"pairs {_run(0, border)} by {_listed(called[1:])} in turns, {_run(border, pairs)} by {called[0]}"
    return f"pairs {_one_after_another(sections, called)}"


def entries_of(shares: Sequence[int], *, named: bool) -> str:
    """Say which entries have which coordinate.

    Args:
        shares: entries of each coordinate, one after another.
        named: whether the coordinates are the usual ones; else they are numbered.

    Returns:
        Text.

    Example:
        >>> entries_of((20, 20, 20), named=True)
        'entries 0-19 by time, 20-39 by row and 40-59 by column'
    """
    called = names(len(shares)) if named else tuple(f"coordinate {axis}" for axis in range(len(shares)))
    return f"entries {_one_after_another(shares, called)}"


def _one_after_another(shares: Sequence[int], called: Sequence[str]) -> str:
    starts = [sum(shares[:axis]) for axis in range(len(shares))]
    rows = zip(called, starts, shares, strict=True)
    return _listed([f"{_run(start, start + share)} by {name}" for name, start, share in rows if share])


def _run(start: int, stop: int) -> str:
    return f"{start}-{stop - 1}" if stop - start > 1 else f"{start}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
