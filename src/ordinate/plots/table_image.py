"""The picture of position vectors: positions downwards, dimensions to the right, values as colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ordinate.checks import described
from ordinate.plots import canvas
from ordinate.plots.choices import Choice, array_of, chosen, device_of, numbers_of, places_of
from ordinate.plots.texts import texts
from ordinate.positions import Positions, check
from ordinate.schemes.learned import Learned
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.sites import InputScheme

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heatmap(scheme_or_table: Any, *, positions: int | Positions = 50, dimensions: Choice = 100, language: str = "en") -> Figure:
    """Draw position vectors as an image: one row a position (the first at the top), one column a dimension.

    Sinusoids use colours from -1 to 1; other tables from minus to plus their largest size, so that white is 0.

    Args:
        scheme_or_table: a scheme that adds vectors to the input, or a table of vectors (tensor, array or lists).
        positions: n for the first n (or all, where a table has fewer), a range, or a tensor [T].
        dimensions: n for the first n (or all, where there are fewer), or their numbers.
        language: "en" or "ru".

    Returns:
        A matplotlib figure.

    Shape:
        a table: [T, d]

    Raises:
        TypeError: if a scheme acts elsewhere.
        ValueError: if a position or dimension is not there, the table does not fit, or the language is another.
        ImportError: if matplotlib is missing.

    Example:
        >>> from ordinate import Sinusoidal
        >>> heatmap(Sinusoidal(d_model=512)).axes[0].images[0].get_array().shape
        (50, 100)
    """
    words = texts(language)
    vectors, places = vectors_of("heatmap", scheme_or_table, positions)
    columns = chosen("dimensions", dimensions, vectors.shape[1])
    values = array_of(vectors)[:, columns]
    largest = 1.0 if isinstance(scheme_or_table, Sinusoidal) else float(abs(values).max()) or 1.0
    title = words["heatmap"].format(
        vectors=title_of(scheme_or_table, words), rows=len(values), columns=len(columns), width=vectors.shape[1]
    )
    caption = repr(scheme_or_table) if isinstance(scheme_or_table, InputScheme) else ""
    figure = canvas.empty(title, caption, size=(8.4, 5.2))
    axes = figure.subplots()
    canvas.image(
        axes,
        values,
        rows=numbers_of(places),
        columns=columns,
        limits=(-largest, largest),
        colours=canvas.SIGNED,
        label=words["value"],
    )
    axes.set_xlabel(words["dimension"])
    axes.set_ylabel(words["position"])
    return figure


def vectors_of(figure: str, scheme_or_table: Any, positions: int | Positions, *, least: int = 1) -> tuple[torch.Tensor, Positions]:
    """Give position vectors of a scheme, or the rows of a table.

    Args:
        figure: what is drawn, for errors.
        scheme_or_table: an input scheme, or a table [T, d].
        positions: n for the first n (or all, where a table has fewer), a range, or a tensor [T].
        least: how many positions the figure needs.

    Returns:
        The vectors, in float64, and their positions.

    Shape:
        [T, d]

    Raises:
        TypeError: if a scheme acts elsewhere.
        ValueError: if a position is not there, or the table does not fit.

    Example:
        >>> vectors_of("heatmap", [[1.0, 2.0], [3.0, 4.0]], range(1, 2))
        (tensor([[3., 4.]], dtype=torch.float64), range(1, 2))
    """
    if isinstance(scheme_or_table, InputScheme):
        places = places_of(positions, least=least, most=_length(scheme_or_table))
        with torch.no_grad():
            return scheme_or_table.at(_on(scheme_or_table, places), dtype=torch.float64), places
    table = _table(figure, scheme_or_table)
    places = places_of(positions, least=least, most=len(table))
    check(places, fractional=False)
    rows = torch.tensor(numbers_of(places), dtype=torch.int64)
    if len(table) == 0 or int(rows.min()) < 0 or int(rows.max()) >= len(table):
        raise ValueError(f"positions: needed rows 0..{len(table) - 1} of the table, got {int(rows.min())}..{int(rows.max())}")
    return table[rows], places


def title_of(scheme_or_table: Any, words: dict[str, str]) -> str:
    """Name position vectors in a title.

    Args:
        scheme_or_table: where they come from.
        words: the language's texts.

    Returns:
        A text.

    Example:
        >>> title_of([[1.0]], texts("ru"))
        'Позиционные векторы'
    """
    if isinstance(scheme_or_table, Sinusoidal):
        return words["vectors_of_sinusoidal"]
    return words["vectors_of_learned" if isinstance(scheme_or_table, Learned) else "vectors_of_any"]


def _length(scheme: InputScheme) -> int | None:
    """How many positions there are, where that is limited."""
    return scheme.max_length if isinstance(scheme, Learned) and scheme.overflow == "error" else None


def _on(scheme: InputScheme, places: Positions) -> Positions:
    return places.to(device_of(scheme)) if isinstance(places, torch.Tensor) else places


def _table(figure: str, given: Any) -> torch.Tensor:
    if isinstance(given, torch.nn.Module) or given is None:
        raise TypeError(
            f"{figure}: needed a scheme that adds vectors to the input (Sinusoidal, Learned) or a table [T, d], "
            f"got {described(given)}; draw other schemes with plots.bias or plots.scores_by_distance"
        )
    try:
        table = torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{figure}: needed a table of numbers [T, d], got {described(given)}") from None
    if table.ndim != 2 or table.is_complex() or table.dtype == torch.bool or 0 in table.shape:
        raise ValueError(f"{figure}: needed a table of numbers [T, d] that is not empty, got {described(table)}")
    return table.detach().double().cpu()
