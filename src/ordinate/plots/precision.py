"""The picture of precision: how wrong cosine and sine are at a position, by what is rounded on the way to them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from ordinate import phases
from ordinate.checks import described, whole_number
from ordinate.plots import canvas
from ordinate.plots.choices import array_of
from ordinate.plots.texts import name_of, texts
from ordinate.schemes.rope import Rope
from ordinate.schemes.sinusoidal import Sinusoidal

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

USUAL, MOST = 2**20, 2**24
# Every position up to here, and so many of each octave beyond.
ALL, AN_OCTAVE = 64, 32
SIZE = (9.6, 5.0)
LOWEST, HIGHEST = 1e-8, 4.0
Pair = tuple[torch.Tensor, torch.Tensor]


def precision(scheme: Rope | Sinusoidal, *, positions: int = USUAL, language: str = "en") -> Figure:
    """Draw the error of cosine and sine against the position, one line a way to work them out; both axes are logarithmic.

    Drawn at position p is max |cos - cos(p' w)|, |sin - sin(p' w)| over all frequencies w and all drawn positions p' <= p, in
    absolute terms: 2 is the largest possible, and from about 1 on nothing of the position is left. The ways: exact (rounded to
    float32 once); angles in float32, as most libraries have them; and those with positions or frequencies first rounded to
    bfloat16 or float16. float16 has no numbers above 65504: its line ends there.

    Args:
        scheme: has the frequencies; float64 values of them count as exact.
        positions: n for the first n: all up to 64, then 32 an octave.
        language: "en" or "ru".

    Returns:
        A matplotlib figure.

    Raises:
        TypeError: if the scheme has no frequencies.
        ValueError: if there are too few or too many positions, or the language is another.
        ImportError: if matplotlib is missing.

    Example:
        >>> figure = precision(Rope(head_dim=128, layout="half"), positions=2**17)
        >>> {line.get_label(): f"{line.get_ydata()[-1]:.0e}" for line in figure.axes[0].lines[:3]}
        {'exact': '3e-08', 'angles in float32': '6e-03', 'positions in bfloat16': '2e+00'}
    """
    words = texts(language)
    if not isinstance(scheme, (Rope, Sinusoidal)):
        raise TypeError(
            f"precision: needed a scheme that turns by position times frequency (Rope, Sinusoidal), got {described(scheme)}"
        )
    last = whole_number("positions", positions, least=2) - 1
    if last >= MOST:
        raise ValueError(f"positions: needed at most {MOST}, which float32 still tells apart, got {last + 1}")
    places = torch.tensor(_places(last))
    figure = canvas.empty(words["precision_title"].format(name=name_of(scheme)), repr(scheme), size=SIZE)
    axes = figure.subplots()
    for index, (way, error) in enumerate(errors(places, scheme.inverse_frequencies).items()):
        shown = int(np.isfinite(error).sum())
        axes.plot(places[:shown], error[:shown], label=words[way], **canvas.line_style(index))
    axes.set(xscale="log", yscale="log", xlim=(1, max(last, 2)), ylim=(LOWEST, HIGHEST))
    axes.set_xlabel(words["position"])
    axes.set_ylabel(words["precision"])
    canvas.quiet(axes)
    canvas.legend(axes)
    return figure


def errors(places: torch.Tensor, radians: tuple[float, ...]) -> dict[str, npt.NDArray[np.float64]]:
    """Measure the largest error so far, over rising positions, of every way.

    Args:
        places: whole positions, rising.
        radians: inverse frequencies.

    Returns:
        By way: one number a position; infinite from where float16 has no number for it.

    Shape:
        [T] -> [T]

    Example:
        >>> found = errors(torch.tensor([256, 257]), (1.0,))
        >>> [round(value, 4) for value in found["bfloat16_positions"].tolist()]
        [0.0, 0.8591]
    """
    exact = phases.from_values(radians)
    truth = phases.exact(places, exact, dtype=torch.float64)
    found = {"exact_angles": phases.exact(places, exact), "float32_angles": phases.float32(places, radians)}
    for dtype in (torch.bfloat16, torch.float16):
        name = str(dtype).removeprefix("torch.")
        found[f"{name}_positions"] = phases.float32(places.to(dtype).float(), radians)
    for dtype in (torch.bfloat16, torch.float16):
        name = str(dtype).removeprefix("torch.")
        found[f"{name}_frequencies"] = phases.float32(places, torch.tensor(radians, dtype=torch.float64).to(dtype).tolist())
    return {way: _largest(pair, truth) for way, pair in found.items()}


def _largest(pair: Pair, truth: Pair) -> npt.NDArray[np.float64]:
    """The largest error of both over all frequencies, up to each position."""
    apart = torch.stack([abs(part.double() - true) for part, true in zip(pair, truth, strict=True)])
    worst = apart.amax(dim=(0, -1))
    known = worst.isfinite()
    error = np.full(len(worst), np.inf)
    error[: int(known.sum())] = np.maximum.accumulate(array_of(worst[known]))
    return error


def _places(last: int) -> list[int]:
    """Odd ones beyond the first: a power of two survives every rounding."""
    few = range(1, min(last, ALL) + 1)
    octaves = range(int(AN_OCTAVE * math.log2(ALL)), int(AN_OCTAVE * math.log2(last)) + 1)
    return sorted({*few, *(place for place in (int(2 ** (step / AN_OCTAVE)) | 1 for step in octaves) if ALL < place < last), last})
