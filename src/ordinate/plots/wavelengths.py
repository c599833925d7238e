"""The picture of wavelengths: how many tokens each pair needs for a full turn, beside the trained length."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ordinate.checks import described, whole_number
from ordinate.plots import canvas
from ordinate.plots.texts import name_of, number, texts
from ordinate.schemes.rope import Rope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (9.6, 5.0)
SHADE = "#d55e00"


def wavelengths(scheme: Rope, *, trained: int, language: str = "en") -> Figure:
    """Draw the wavelength of every pair, 2 pi / w_i tokens, on a logarithmic axis, and the trained length across it.

    Pairs above the line never completed a turn in training: at a longer length they reach phases that no weight has met. A scheme
    with a scaling rule has a second line, the wavelengths without it: of a model trained without the rule, this one says which
    pairs never completed a turn, and the rule's line how many tokens they need for one under the rule.

    Args:
        scheme: has the frequencies; a pair that stands still is left out.
        trained: length of the training sequences, in tokens.
        language: "en" or "ru".

    Returns:
        A matplotlib figure.

    Raises:
        TypeError: if the scheme is no Rope.
        ValueError: if the length is none, or the language is another.
        ImportError: if matplotlib is missing.

    Example:
        >>> figure = wavelengths(Rope(head_dim=128, layout="half"), trained=4096)
        >>> line = figure.axes[0].lines[0]
        >>> round(float(line.get_ydata()[0]), 3), round(float(line.get_ydata()[-1]))
        (6.283, 54410)
    """
    words = texts(language)
    if not isinstance(scheme, Rope):
        raise TypeError(f"wavelengths: needed a Rope, got {described(scheme)}")
    trained = whole_number("trained", trained, least=1)
    figure = canvas.empty(words["wavelengths_title"].format(name=name_of(scheme)), repr(scheme), size=SIZE)
    axes = figure.subplots()
    lines = [("wavelength", scheme.inverse_frequencies)]
    if scheme.scaling is not None:
        plain = tuple(scheme.base ** (-2 * pair / scheme.rotary_dim) for pair in range(scheme.rotary_dim // 2))
        lines = [("wavelength_ruled", scheme.inverse_frequencies), ("wavelength_plain", plain)]
    for index, (label, frequencies) in enumerate(lines):
        turning = [(pair, 2 * math.pi / abs(each)) for pair, each in enumerate(frequencies) if each]
        axes.plot(*zip(*turning, strict=True), label=words[label], **canvas.line_style(index))
    axes.axhline(
        trained, color=SHADE, linewidth=1.2, linestyle=":", label=words["trained_length"].format(length=number(trained, language))
    )
    top = max(axes.get_ylim()[1], 2 * trained)
    axes.axhspan(trained, top, color=SHADE, alpha=0.07)
    axes.set(yscale="log", ylim=(5, top))
    axes.set_xlabel(words["pair"])
    axes.set_ylabel(words["wavelength_axis"])
    canvas.quiet(axes)
    canvas.legend(axes)
    return figure
