"""The picture of what a score scheme adds: bias against distance, one line a head, and one head's matrix."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch

from ordinate.checks import described, whole_number
from ordinate.plots import canvas
from ordinate.plots.choices import Choice, array_of, chosen, device_of, spread
from ordinate.plots.texts import name_of, number, texts
from ordinate.schemes.alibi import ALiBi
from ordinate.schemes.deberta import Deberta
from ordinate.schemes.shaw import Shaw, relative_rows
from ordinate.schemes.t5 import T5Bias
from ordinate.sites import DistanceScheme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = len(canvas.PALETTE)
USUAL = 64
SIZE = (12.4, 4.8)


def bias(
    scheme: DistanceScheme | Shaw | Deberta,
    *,
    positions: int | range | None = None,
    heads: Choice | None = None,
    language: str = "en",
) -> Figure:
    """Draw what a score scheme adds, against distance = key position - query position: the past is on the left, negative.

    ALiBi, T5Bias and any other ``DistanceScheme``: on the left the bias, one line a head; on the right one head's matrix, the first
    query at the top, keys after their query (the future, hidden under a causal mask) above the diagonal.

    Shaw and Deberta add dot products with queries and keys, so no number belongs to a distance alone. What does is the row of
    their tables that it reads, the same for all heads: drawn are those rows, with their clipping and their buckets.

    Args:
        scheme: acts on scores and looks at the distance.
        positions: queries and keys: n for the first n, or a rising range; enough to reach beyond max_distance if None, or 64.
        heads: n for the first n, or their numbers, at most 8; all, or 8 spread evenly, if None. The matrix is the first one's.
        language: "en" or "ru".

    Returns:
        A matplotlib figure.

    Raises:
        TypeError: if the scheme does not look at the distance.
        ValueError: if positions or heads do not fit, or the language is another.
        ImportError: if matplotlib is missing.

    Example:
        >>> from ordinate import ALiBi
        >>> figure = bias(ALiBi(n_heads=2, slopes=(0.5, 0.25)), positions=3)
        >>> [line.get_ydata().tolist() for line in figure.axes[0].lines[:2]]
        [[-1.0, -0.5, -0.0, -0.5, -1.0], [-0.5, -0.25, -0.0, -0.25, -0.5]]
    """
    words = texts(language)
    if not isinstance(scheme, (DistanceScheme, Shaw, Deberta)):
        raise TypeError(
            "bias: needed a scheme of the scores that looks at the distance (ALiBi, T5Bias, Shaw, Deberta), "
            f"got {described(scheme)}; draw other schemes with plots.heatmap or plots.scores_by_distance"
        )
    places = _rising(scheme, positions)
    if isinstance(scheme, DistanceScheme):
        return _biases(scheme, places, heads, words, language)
    if heads is not None:
        warnings.warn(f"bias: heads={heads} has no effect, all heads of {type(scheme).__name__} read the same rows", stacklevel=2)
    return _rows(scheme, places, words)


def draw_lines(
    axes: Axes, scheme: DistanceScheme, distances: Sequence[int], heads: Sequence[int], words: dict[str, str], language: str
) -> None:
    """Draw the bias against the distance, one line a head, with a legend on the right.

    Args:
        axes: where.
        scheme: looks at the distance only.
        distances: key position - query position, rising.
        heads: which.
        words: the language's texts.
        language: "en" or "ru".

    Example:
        >>> from ordinate import ALiBi
        >>> axes = canvas.empty("", "", size=(3, 3)).subplots()
        >>> draw_lines(axes, ALiBi(n_heads=1, slopes=(0.5,)), range(-1, 2), [0], texts("en"), "en")
        >>> axes.lines[0].get_label()
        'head 0, slope 0.5'
    """
    with torch.no_grad():
        by_head = array_of(scheme.by_distance(torch.tensor(distances, dtype=torch.float64, device=device_of(scheme))))
    for index, head in enumerate(heads):
        label = words["head"].format(head=head)
        if isinstance(scheme, ALiBi):
            label = words["head_slope"].format(head=head, slope=number(scheme.slope_values[head], language))
        steps = "default" if scheme.fractional else "steps-mid"
        axes.plot(distances, by_head[head], label=label, drawstyle=steps, **canvas.line_style(index))
    canvas.distance_axis(axes, distances, words)
    canvas.legend(axes)


def heads_of(scheme: DistanceScheme, heads: Choice | None) -> list[int]:
    """Take the heads to draw.

    Args:
        scheme: has them.
        heads: n for the first n, or their numbers; all, or 8 spread evenly, if None.

    Returns:
        Their numbers.

    Raises:
        ValueError: if one is not there, or there are too many.

    Example:
        >>> from ordinate import ALiBi
        >>> heads_of(ALiBi(n_heads=16, slopes="paper"), None)
        [0, 2, 4, 6, 8, 10, 12, 14]
    """
    return chosen("heads", spread(scheme.n_heads, MOST) if heads is None else heads, scheme.n_heads, most=MOST)


def _biases(scheme: DistanceScheme, places: range, heads: Choice | None, words: dict[str, str], language: str) -> Figure:
    picked = heads_of(scheme, heads)
    figure = canvas.empty(words["bias_title"].format(name=name_of(scheme)), repr(scheme), size=SIZE)
    lines, matrix = figure.subplots(1, 2)
    draw_lines(lines, scheme, _distances(places), picked, words, language)
    lines.set_ylabel(words["bias"])
    one = scheme.heads(picked[0], picked[0] + 1)
    vectors = torch.zeros(1, 1, len(places), 1, device=device_of(scheme))
    with torch.no_grad():
        values = array_of(one.bias(vectors, vectors, one.at(places, places))[0, 0])
    largest = float(abs(values).max()) or 1.0
    canvas.image(
        matrix, values, rows=places, columns=places, limits=(-largest, largest), colours=canvas.SIGNED, label=words["bias"]
    )
    _sides(matrix, len(places), words, words["head_matrix"].format(head=picked[0]))
    return figure


def _rows(scheme: Shaw | Deberta, places: range, words: dict[str, str]) -> Figure:
    figure = canvas.empty(words["rows_title"].format(name=name_of(scheme)), repr(scheme), size=SIZE)
    lines, matrix = figure.subplots(1, 2)
    distances = _distances(places)
    rows = _row_of(scheme, torch.tensor(distances)).tolist()
    lines.plot(distances, rows, drawstyle="steps-mid", **canvas.line_style(0))
    lines.set_ylabel(words["row"])
    canvas.distance_axis(lines, distances, words)
    there = torch.arange(len(places))
    values = array_of(_row_of(scheme, places.step * (there[None, :] - there[:, None])).double())
    canvas.image(
        matrix,
        values,
        rows=places,
        columns=places,
        limits=(values.min(), values.max()),
        colours=canvas.COUNTED,
        label=words["row"],
    )
    _sides(matrix, len(places), words, words["row_matrix"])
    return figure


def _row_of(scheme: Shaw | Deberta, distance: torch.Tensor) -> torch.Tensor:
    if isinstance(scheme, Shaw):
        return relative_rows(distance, scheme.max_distance, scheme.max_future)
    return scheme.rows(distance)


def _sides(axes: Axes, n: int, words: dict[str, str], title: str) -> None:
    """The diagonal, where a query meets its own key, and what lies on its two sides."""
    axes.plot((-0.5, n - 0.5), (-0.5, n - 0.5), color="#000000", linewidth=0.8, linestyle=(0, (4, 3)))
    box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    axes.text(0.04, 0.04, words["past_side"], transform=axes.transAxes, ha="left", va="bottom", fontsize=9, bbox=box)
    axes.text(0.96, 0.96, words["future_side"], transform=axes.transAxes, ha="right", va="top", fontsize=9, bbox=box)
    axes.set_xlabel(words["key"])
    axes.set_ylabel(words["query"])
    axes.set_title(title, fontsize=10)


def usual_reach(scheme: object, otherwise: int) -> int:
    """Say how far a figure goes if nothing is asked: beyond the distance from which nothing changes, where there is one.

    Args:
        scheme: any.
        otherwise: for schemes that have no such distance.

    Returns:
        A distance.

    Example:
        >>> usual_reach(T5Bias(n_heads=1, bidirectional=True), 64)
        192
    """
    if isinstance(scheme, Shaw):
        return max(scheme.max_distance, scheme.max_future) * 3 // 2
    return scheme.max_distance * 3 // 2 if isinstance(scheme, (T5Bias, Deberta)) else otherwise


def _rising(scheme: DistanceScheme | Shaw | Deberta, positions: int | range | None) -> range:
    if positions is None:
        return range(usual_reach(scheme, USUAL) + 1)
    if not isinstance(positions, range):
        return range(whole_number("positions", positions, least=2))
    if positions.step < 0 or len(positions) < 2:
        raise ValueError(f"positions: needed a rising range of at least 2, got {positions}")
    return positions


def _distances(places: range) -> range:
    span = places[-1] - places[0]
    return range(-span, span + 1, places.step)
