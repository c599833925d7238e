"""The picture of a rotation as clock hands: one dial a pair, fast pairs like second hands, slow ones like hour hands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from ordinate.checks import described, finite_number
from ordinate.plots import canvas
from ordinate.plots.choices import Choice, chosen, spread
from ordinate.plots.texts import name_of, number, place, texts
from ordinate.positions import check
from ordinate.schemes.rope import Rope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOME, MOST, A_ROW = 4, 8, 4
# The query's hand and the key's; solid and dashed tell them apart without colour.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": canvas.PALETTE[0], "zorder": 3, "solid_capstyle": "round"},
    {"color": canvas.PALETTE[4], "zorder": 4, "linestyle": (0, (2.2, 1.1))},
)
SECTOR = "#f3e3cc"
LONGEST, SHORTEST = 0.88, 0.6
THINNEST, THICKEST = 1.4, 4.5
STRIP = 0.55  # inches


def clock_hands(
    scheme: Rope, *, position: float, key: float | None = None, pairs: Choice | None = None, language: str = "en"
) -> Figure:
    """Draw where a rotation turns its pairs: a hand that starts at twelve and goes clockwise, by position times frequency.

    Pair i of a token at position p stands at the angle p w_i, once round every 2 pi / w_i tokens. A coloured rim shows how far the
    hand has come in its first turn. With a key there is a second hand, and the angle between the two is (position - key) w_i: equal
    shifts of both leave it as it is.

    Args:
        scheme: has the frequencies.
        position: the query's, whole or fractional.
        key: the key's position; one hand a dial if None.
        pairs: n for the first n, or their numbers, at most 8; four spread evenly from fast to slow if None.
        language: "en" or "ru".

    Returns:
        A matplotlib figure.

    Raises:
        TypeError: if the scheme is no Rope.
        ValueError: if a position is no number or out of range, a pair is not there, or the language is another.
        ImportError: if matplotlib is missing.

    Example:
        >>> figure = clock_hands(Rope(head_dim=2, layout="half"), position=1, key=0)
        >>> along, up = (ends[1] for ends in figure.axes[0].lines[0].get_data())
        >>> round(math.atan2(along, up), 6), figure.axes[0].get_title()
        (1.0, 'pair 0: entries 0, 1')
    """
    words = texts(language)
    if not isinstance(scheme, Rope):
        raise TypeError(f"clock_hands: needed a Rope, got {described(scheme)}")
    there = scheme.rotary_dim // 2
    picked = chosen("pairs", spread(there, SOME) if pairs is None else pairs, there, most=MOST)
    position = finite_number("position", position)
    angles = [angles_of(scheme, "position", position)]
    labels = [words["hand" if key is None else "query_hand"].format(position=place(position, language))]
    if key is not None:
        angles.append(angles_of(scheme, "key", key))
        labels.append(words["key_hand"].format(position=place(finite_number("key", key), language)))
    columns = min(A_ROW, len(picked))
    rows = -(-len(picked) // columns)
    size = (2.4 * columns + 0.4, 2.8 * rows + 0.8)
    figure = canvas.empty(words["clock_title"].format(name=name_of(scheme)), repr(scheme), size=size)
    dials = figure.subplots(rows, columns, squeeze=False).flatten()
    for dial in dials[len(picked) :]:
        dial.remove()
    for index, (dial, pair) in enumerate(zip(dials, picked, strict=False)):
        hands = [of_token[pair] for of_token in angles]
        _hands(dial, hands, labels, index / max(len(picked) - 1, 1))
        _face(dial, position * scheme.inverse_frequencies[pair])
        dial.set_title(_title(scheme, pair, words), fontsize=9.5, y=1.0)
        dial.text(0, -1.16, _below(scheme, pair, hands, words, language), ha="center", va="top", fontsize=8.5, color="#404040")
    _legend(figure, dials[0], len(labels))
    return figure


def angles_of(scheme: Rope, name: str, position: float) -> list[float]:
    """Give the angle of every pair as the scheme turns it.

    Args:
        scheme: has the frequencies and the recipe of its angles.
        name: what the caller calls the position.
        position: whole or fractional.

    Returns:
        Radians from -pi to pi, one number a pair.

    Raises:
        ValueError: if it is no number, or out of range.

    Example:
        >>> [round(angle, 4) for angle in angles_of(Rope(head_dim=4, layout="half"), "position", 7)]
        [0.7168, 0.07]
    """
    where = torch.tensor([finite_number(name, position)], dtype=torch.float64, device="cpu")
    check(where)
    at = scheme.at(where)
    return torch.atan2(at.sin[0].double(), at.cos[0].double()).tolist()


def between(query: float, key: float) -> float:
    """Give the angle from a key's hand to a query's, the short way round.

    Args:
        query: the query's angle in radians.
        key: the key's.

    Returns:
        Radians from -pi to pi.

    Example:
        >>> round(between(3.0, -3.0), 4), between(1.0, 0.5)
        (-0.2832, 0.5)
    """
    return math.remainder(query - key, 2 * math.pi)


def _hands(dial: Axes, angles: list[float], labels: list[str], share: float) -> None:
    """One hand a token, long and thin for a fast pair, short and thick for a slow one; the sector between two."""
    from matplotlib.patches import Wedge

    length = LONGEST + share * (SHORTEST - LONGEST)
    for angle, label, look in zip(angles, labels, LOOKS, strict=False):
        ends = ((0.0, length * math.sin(angle)), (0.0, length * math.cos(angle)))
        dial.plot(*ends, linewidth=THINNEST + share * (THICKEST - THINNEST), label=label, **look)
    if len(angles) == 2:
        query, key = angles
        first, last = sorted(90 - math.degrees(angle) for angle in (query, query - between(query, key)))
        dial.add_patch(Wedge((0, 0), 0.6 * length, first, last, facecolor=SECTOR, edgecolor="none", zorder=2))


def _face(dial: Axes, turned: float) -> None:
    """The rim with its twelve marks, and how far the hand has come in its first turn."""
    from matplotlib.patches import Arc, Circle

    dial.set_aspect("equal")
    dial.set_axis_off()
    dial.set(xlim=(-1.12, 1.12), ylim=(-1.6, 1.1), xticks=[], yticks=[])
    dial.add_patch(Circle((0, 0), 1.0, facecolor="#fbfbfb", edgecolor="#b8b8b8"))
    marks: tuple[list[float], list[float]] = ([], [])
    for hour in range(12):
        along, up = math.sin(hour * math.pi / 6), math.cos(hour * math.pi / 6)
        inner = 0.86 if hour % 3 == 0 else 0.93
        marks[0].extend((inner * along, along, math.nan))  # a gap before the next: one line is drawn faster than twelve
        marks[1].extend((inner * up, up, math.nan))
    dial.plot(*marks, color="#b8b8b8", linewidth=1.0, label="_marks", zorder=1)
    dial.plot(0, 0, marker="o", markersize=5, color="#404040", label="_axle", zorder=5)
    if turned:
        swept = math.degrees(max(-2 * math.pi, min(2 * math.pi, turned)))
        first, last = sorted((90.0, 90.0 - swept))
        dial.add_patch(Arc((0, 0), 2.0, 2.0, theta1=first, theta2=last, color=canvas.PALETTE[0], linewidth=3.5, alpha=0.5))


def _legend(figure: Figure, dial: Axes, hands: int) -> None:
    """Whose hands they are, in a strip of its own between the dials and the caption."""
    height = figure.get_figheight()
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, STRIP / height, 1, 1 - STRIP / height))
    handles = list(dial.lines[:hands])
    figure.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 0.3 / height), ncols=hands, frameon=False, fontsize=9)


def _title(scheme: Rope, pair: int, words: dict[str, str]) -> str:
    """Which entries of the head make the pair."""
    n = scheme.rotary_dim // 2
    first, second = (pair, pair + n) if scheme.layout == "half" else (2 * pair, 2 * pair + 1)
    return words["dial"].format(pair=pair, first=scheme.rotary_start + first, second=scheme.rotary_start + second)


def _below(scheme: Rope, pair: int, hands: list[float], words: dict[str, str], language: str) -> str:
    """How long a turn takes, and the angle between two hands."""
    frequency = abs(scheme.inverse_frequencies[pair])
    length = 2 * math.pi / frequency if frequency else math.inf
    lines = [words["dial_turn"].format(length=number(length, language)) if length < math.inf else words["dial_still"]]
    if len(hands) == 2:
        lines.append(words["dial_between"].format(degrees=f"{math.degrees(between(*hands)):+.1f}".replace("-", "\u2212")))
    return "\n".join(lines)
