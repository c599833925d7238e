"""The picture of how a score depends on the distance between two tokens, under a scheme of any site."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from ordinate.checks import described, whole_number
from ordinate.plots import canvas
from ordinate.plots.bias_panels import draw_lines, heads_of, usual_reach
from ordinate.plots.choices import array_of, device_of
from ordinate.plots.texts import name_of, texts
from ordinate.schemes.learned import Learned
from ordinate.sites import DistanceScheme, InputScheme, QueryKeyScheme, ScoreScheme

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

USUAL = 128
SIZE = (9.0, 4.6)


def scores_by_distance(
    scheme: InputScheme | QueryKeyScheme | ScoreScheme,
    *,
    distances: int | Iterable[int] | None = None,
    language: str = "en",
) -> Figure:
    """Draw the score of two tokens with fixed contents against distance = key position - query position.

    Query-key schemes (Rope): q . k for q = k = (1, ..., 1) / sqrt(head_dim), turned by the scheme: 1 at distance 0, and for a whole
    Rope the mean of cos(distance w_i). Other contents peak elsewhere and need not fall with the distance.

    Score schemes: what the scheme adds to the score, one line a head for ``DistanceScheme`` (8 spread evenly, if there are more);
    for Shaw with that same q.

    Input schemes: the dot product of two position vectors, P_pos . P_pos+distance. Sinusoids give one curve, the same from every
    position; a learned table its mean over all positions with the band from the smallest to the largest.

    Args:
        scheme: of any site.
        distances: n for -n .. n, or whole numbers; enough to reach beyond max_distance if None, or 128 (for a learned table
            at most half of it).
        language: "en" or "ru".

    Returns:
        A matplotlib figure.

    Raises:
        TypeError: if it is no scheme, or its bias needs tables that it does not hold (Deberta).
        ValueError: if distances do not fit, or the language is another.
        ImportError: if matplotlib is missing.

    Example:
        >>> from ordinate import Rope
        >>> figure = scores_by_distance(Rope(head_dim=2, layout="half"), distances=[-1, 0])
        >>> figure.axes[0].lines[0].get_ydata().round(6).tolist()
        [0.540302, 1.0]
    """
    words = texts(language)
    name = type(scheme).__name__
    if not isinstance(scheme, (InputScheme, QueryKeyScheme, ScoreScheme)):
        raise TypeError(
            f"scores_by_distance: needed a scheme, got {described(scheme)}; no positions at all leave every score alike"
        )
    if isinstance(scheme, ScoreScheme) and scheme.extras:
        raise TypeError(
            f"scores_by_distance: needed a scheme that holds its weights, got {name}, whose tables ({', '.join(scheme.extras)}) "
            "belong to the layers; plots.bias draws the rows that it reads"
        )
    apart = _apart(scheme, distances)
    title = words["vectors_title" if isinstance(scheme, InputScheme) else "scores_title"].format(name=name_of(scheme))
    figure = canvas.empty(title, repr(scheme), size=SIZE)
    axes = figure.subplots()
    if isinstance(scheme, DistanceScheme):
        draw_lines(axes, scheme, apart, heads_of(scheme, None), words, language)
        axes.set_ylabel(words["added"])
        return figure
    if isinstance(scheme, InputScheme):
        mean, low, high = _products(scheme, apart)
        axes.set_ylabel(words["vectors"])
        banded = bool((high - low > 1e-9 * abs(mean).max()).any())
        axes.plot(apart, mean, label=words["mean"], **canvas.line_style(0))
        if banded:
            axes.fill_between(apart, low, high, color=canvas.PALETTE[0], alpha=0.2, linewidth=0, label=words["spread"])
            canvas.legend(axes)
    else:
        stepped = isinstance(scheme, ScoreScheme)
        axes.plot(apart, _scores(scheme, apart), drawstyle="steps-mid" if stepped else "default", **canvas.line_style(0))
        axes.set_ylabel(words["added_content" if stepped else "rotated"].format(width=scheme.head_dim))
    canvas.distance_axis(axes, apart, words)
    return figure


def _apart(scheme: InputScheme | QueryKeyScheme | ScoreScheme, distances: int | Iterable[int] | None) -> list[int]:
    """The distances to draw, rising."""
    table = scheme.max_length if isinstance(scheme, Learned) else None
    if distances is None:
        distances = usual_reach(scheme, USUAL) if table is None else max(1, min(USUAL, table // 2))
    if isinstance(distances, torch.Tensor):
        distances = distances.tolist()
    if isinstance(distances, Iterable):
        try:
            apart = sorted({operator.index(distance) for distance in distances})
        except TypeError:
            raise ValueError(f"distances: needed whole numbers, got {described(distances)}") from None
    else:
        reach = whole_number("distances", distances, least=1)
        apart = list(range(-reach, reach + 1))
    if len(apart) < 2:
        raise ValueError(f"distances: needed at least 2 to draw, got {len(apart)}")
    farthest = max(abs(apart[0]), abs(apart[-1]))
    if table is not None and farthest >= table:
        raise ValueError(f"distances: needed at most {table - 1} within a table of {table} positions, got {farthest}")
    return apart


def _scores(scheme: QueryKeyScheme | ScoreScheme, apart: list[int]) -> npt.NDArray[np.float64]:
    """One query meets keys at all distances; positions stay >= 0."""
    here = max(0, -apart[0])
    device = device_of(scheme)
    heads, width = scheme.n_heads or 1 if isinstance(scheme, ScoreScheme) else 1, scheme.head_dim or 1
    q = torch.full((1, heads, 1, width), width**-0.5, dtype=torch.float64, device=device)
    k = q[:, :1].expand(1, 1, len(apart), width)
    q_positions, k_positions = range(here, here + 1), here + torch.tensor(apart, device=device)
    with torch.no_grad():
        if isinstance(scheme, ScoreScheme):
            return array_of(scheme.bias(q, k, scheme.at(q_positions, k_positions))[0, 0, 0])
        turned_q = scheme.queries(q, scheme.at(q_positions, device=device))
        turned_k = scheme.keys(k, scheme.at(k_positions, device=device))
        return array_of((turned_q * turned_k).sum(-1)[0, 0])


def _products(scheme: InputScheme, apart: list[int]) -> tuple[npt.NDArray[np.float64], ...]:
    """Mean, least and largest P_pos . P_pos+distance over all positions that have a partner."""
    farthest = max(abs(apart[0]), abs(apart[-1]))
    length = scheme.max_length if isinstance(scheme, Learned) else 2 * farthest + 1
    with torch.no_grad():
        vectors = scheme.at(range(length), dtype=torch.float64)
    found = []
    for distance in map(abs, apart):
        products = (vectors[: length - distance] * vectors[distance:]).sum(-1)
        found.append(torch.stack((products.mean(), products.min(), products.max())))
    return tuple(array_of(torch.stack(found, dim=-1)))
