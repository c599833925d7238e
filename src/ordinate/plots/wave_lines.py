"""The picture of waves: values of a few dimensions against the position, fast ones and slow ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from ordinate.plots import canvas
from ordinate.plots.choices import Choice, array_of, chosen, numbers_of, spread
from ordinate.plots.table_image import title_of, vectors_of
from ordinate.plots.texts import number, texts
from ordinate.positions import Positions
from ordinate.schemes.sinusoidal import Sinusoidal, arrange
from ordinate.sites import InputScheme

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

SOME, MOST = 4, len(canvas.PALETTE)
# Points of a smooth curve between two positions.
FINE = 8
# Longer waves hide nothing between two positions, and dots would blur their dashes.
DOTTED = 32
WIDEST = 2**17


def waves(
    scheme: InputScheme, *, dimensions: Choice | None = None, positions: int | Positions = 100, language: str = "en"
) -> Figure:
    """Draw values of position vectors against the position, one line a dimension, the fastest first and the slowest last.

    Sinusoids are drawn between the positions too, with dots for the vectors' entries where a wave is short, and each is named by
    its wavelength in positions, 2 pi / w_i. The dimensions of a learned table have none and keep their order.

    Args:
        scheme: adds vectors to the input.
        dimensions: n for the first n, or their numbers, at most 8; four spread evenly if None (0, 4, 8 and 12 of 16).
        positions: n for the first n (or all, where a table has fewer), a range, or a tensor [T].
        language: "en" or "ru".

    Returns:
        A matplotlib figure.

    Raises:
        TypeError: if it is no scheme that adds vectors to the input.
        ValueError: if a position or dimension is not there, there are too many, or the language is another.
        ImportError: if matplotlib is missing.

    Example:
        >>> from ordinate import Sinusoidal
        >>> [text.get_text() for text in waves(Sinusoidal(d_model=16)).axes[0].get_legend().get_texts()]
        ['dimension 0, sine: 6.28', 'dimension 4, sine: 62.8', 'dimension 8, sine: 628', 'dimension 12, sine: 6,283']
    """
    words = texts(language)
    if not isinstance(scheme, InputScheme):
        raise TypeError(
            f"waves: needed a scheme that adds vectors to the input (Sinusoidal, Learned), got {scheme!r}; "
            "draw other schemes with plots.bias or plots.scores_by_distance"
        )
    vectors, places = vectors_of("waves", scheme, positions, least=2)
    width = vectors.shape[1]
    picked = chosen("dimensions", _some(scheme, width) if dimensions is None else dimensions, width, most=MOST)
    named = {dimension: wave_of(scheme, dimension) for dimension in picked} if isinstance(scheme, Sinusoidal) else {}
    picked = sorted(picked, key=lambda dimension: named.get(dimension, (0.0, ""))[0])
    title = words["waves"].format(vectors=title_of(scheme, words), columns=", ".join(map(str, sorted(picked))), width=width)
    figure = canvas.empty(title, repr(scheme), size=(9.6, 4.2))
    axes = figure.subplots()
    dots, values = numbers_of(places), array_of(vectors)[:, picked]
    smooth, curve = _between(scheme, dots, picked) if named else (dots, values)
    for index, dimension in enumerate(picked):
        length, kind = named.get(dimension, (math.inf, ""))
        label = words["wave" if kind else "no_wave"].format(
            dimension=dimension, kind=words.get(kind, ""), length=number(length, language) if kind else ""
        )
        style = canvas.line_style(index)
        axes.plot(smooth, curve[:, index], label=label, **style)
        if length < DOTTED or not kind:
            axes.plot(dots, values[:, index], linestyle="none", marker=".", markersize=5, color=style["color"], label="_dots")
    axes.set_xlabel(words["position"])
    axes.set_ylabel(words["value"])
    axes.set_xlim(min(dots), max(dots))
    canvas.quiet(axes)
    canvas.legend(axes, words["waves_legend"] if named else None)
    return figure


def wave_of(scheme: Sinusoidal, dimension: int) -> tuple[float, str]:
    """Say which wave a dimension holds.

    Args:
        scheme: its layout decides.
        dimension: which entry of the vectors.

    Returns:
        The wavelength in positions, and "sin" or "cos"; infinity and "" for an entry that is always 0.

    Example:
        >>> from ordinate import Sinusoidal
        >>> wave_of(Sinusoidal(d_model=4), 0), wave_of(Sinusoidal(d_model=3, layout="sin_cos"), 2)
        ((6.283185307179586, 'sin'), (inf, ''))
    """
    pairs = torch.arange(1, len(scheme.inverse_frequencies) + 1)
    # Cosines carry their pair's number, sines its negative, an appended zero stays 0.
    pair = int(arrange(pairs, -pairs, scheme.d_model, scheme.layout)[dimension])
    if pair == 0:
        return math.inf, ""
    return 2 * math.pi / scheme.inverse_frequencies[abs(pair) - 1], "cos" if pair > 0 else "sin"


def _some(scheme: InputScheme, width: int) -> list[int]:
    """Four dimensions of rising wavelength: sines of pairs spread evenly, where there are pairs."""
    if not isinstance(scheme, Sinusoidal):
        return spread(width, SOME)
    first: dict[float, int] = {}
    for dimension in range(width):
        first.setdefault(wave_of(scheme, dimension)[0], dimension)
    return [list(first.values())[index] for index in spread(len(first), SOME)]


def _between(scheme: InputScheme, dots: list[float], picked: list[int]) -> tuple[list[float], npt.NDArray[np.float64]]:
    """Positions and values of a smooth curve."""
    low, high = min(dots), max(dots)
    if high - low > WIDEST:
        raise ValueError(f"positions: needed a span of at most {WIDEST} to draw every wave, got {high - low:g}; choose nearer ones")
    places = torch.linspace(low, high, FINE * math.ceil(high - low) + 1, dtype=torch.float64)
    values = [vectors_of("waves", scheme, part)[0][:, picked] for part in torch.split(places, 4096)]
    return places.tolist(), array_of(torch.cat(values))
