"""How the pairs of a rotary scheme are shared out among several coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

SectionOrder = Literal["contiguous", "interleaved", "space_first"]


def axes_of_pairs(sections: Sequence[int], order: SectionOrder) -> tuple[int, ...]:
    """Give the coordinate that turns each pair.

    Args:
        sections: pairs of each coordinate.
        order: "contiguous" (one section after another), "interleaved" (the axes take turns, the first also has the turns of those
            whose sections are used up) or "space_first" (all axes but the first take turns, then come the first axis' pairs).

    Returns:
        One number a pair.

    Example:
        >>> axes_of_pairs((4, 2, 2), "interleaved")
        (0, 1, 2, 0, 1, 2, 0, 0)
        >>> axes_of_pairs((2, 2, 2), "space_first")
        (1, 2, 1, 2, 0, 0)
    """
    if order == "contiguous":
        return tuple(axis for axis, share in enumerate(sections) for _ in range(share))
    if order == "space_first":
        return tuple(range(1, len(sections))) * sections[1] + (0,) * sections[0]
    axes = len(sections)
    return tuple(i % axes if i < axes * sections[i % axes] else 0 for i in range(sum(sections)))


def section_faults(sections: Sequence[int], order: SectionOrder, pairs: int) -> list[str]:
    """Find what is wrong with sections.

    Args:
        sections: pairs of each coordinate.
        order: how they lie.
        pairs: how many turn.

    Returns:
        Faults.

    Example:
        >>> section_faults((4, 2, 2), "interleaved", 8), section_faults((2, 4, 2), "interleaved", 8)[0][:42]
        ([], 'sections: needed room for the turns of eve')
    """
    shares = tuple(sections)
    if len(shares) < 2 or sum(shares) != pairs:
        return [f"sections: needed two numbers or more that add up to {pairs} pairs, got {shares}"]
    if order == "space_first" and len(set(shares[1:])) > 1:
        return [f"sections: needed equal ones after the first to let them take turns, got {shares}"]
    dealt = axes_of_pairs(shares, order)
    if shares != tuple(dealt.count(axis) for axis in range(len(shares))):
        return [f"sections: needed room for the turns of every axis (none longer than the first), got {shares}"]
    return []
