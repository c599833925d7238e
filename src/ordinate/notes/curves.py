"""The extrapolation curves of a comparison: loss against context length, one line a scheme, for one task."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ordinate.lab.curves import STYLES
from ordinate.lab.results import chance
from ordinate.notes.pictures import shown
from ordinate.notes.texts import TEXTS
from ordinate.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ordinate.claims.claim import Language
    from ordinate.lab.results import Comparison, Spread

TITLES = {"text": "text", "shift": "shift_task", "last": "last"}


def curves(comparison: Comparison, *, task: str, language: Language) -> str:
    """Draw a task's curves for the page.

    Args:
        comparison: what was measured.
        task: one that is tested at several lengths.
        language: "en" or "ru".

    Returns:
        HTML; a sentence where there is nothing to draw.

    Example:
        >>> from ordinate.lab.kept import read_comparison
        >>> "rope" in curves(read_comparison(), task="shift", language="en")
        True
    """
    indices = range(len(comparison.settings.budget.multiples))
    if not any(_finite(comparison, task, scheme, index) for scheme in comparison.settings.schemes for index in indices):
        return f"<p>{TEXTS['results_empty'].said(language)}</p>"
    figure = drawn(comparison, task=task, language=language)
    last = [(scheme, _finite(comparison, task, scheme, -1)) for scheme in comparison.settings.schemes]
    values = ", ".join(f"{scheme} {spread.mean:.2f}" for scheme, spread in last if spread is not None)
    alt = TEXTS["curves_alt"].said(language).format(values=values)
    return shown(figure, alt=f"{figure.get_suptitle()}. {alt}")


def drawn(comparison: Comparison, *, task: str, language: Language) -> Figure:
    """Draw a task's curves.

    Args:
        comparison: what was measured.
        task: one that is tested at several lengths.
        language: "en" or "ru".

    Returns:
        A matplotlib figure.

    Example:
        >>> from ordinate.lab.kept import read_comparison
        >>> [int(x) for x in drawn(read_comparison(), task="shift", language="en").axes[0].lines[0].get_xdata()]
        [64, 128, 256, 512]
    """
    budget = comparison.settings.budget
    lengths = [budget.length * multiple for multiple in budget.multiples]
    figure = canvas.empty(TEXTS[TITLES[task]].said(language), "", size=(9.2, 4.6))
    axes = figure.subplots()
    for scheme in comparison.settings.schemes:
        _line(axes, comparison, task, scheme, lengths, language)
    guess = chance(task)
    if guess is not None:
        axes.axhline(guess, color="#999999", linestyle=":", linewidth=1.2, label=TEXTS["chance"].said(language))
        axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, [f"{length}\n{times}×" for length, times in zip(lengths, budget.multiples, strict=True)])
    axes.minorticks_off()
    axes.set_xlabel(TEXTS["curves_length"].said(language))
    axes.set_ylabel(TEXTS["curves_loss"].said(language))
    canvas.quiet(axes)
    canvas.legend(axes)
    return figure


def _finite(comparison: Comparison, task: str, scheme: str, index: int) -> Spread | None:
    """The losses at a length, if there are any that can be drawn."""
    spread = comparison.spread(task, scheme, index)
    return spread if spread is not None and math.isfinite(spread.low) and math.isfinite(spread.high) else None


def _line(axes: Axes, comparison: Comparison, task: str, scheme: str, lengths: list[int], language: Language) -> None:
    """One scheme: the mean over the seeds, and the band from the lowest to the highest."""
    spreads = [_finite(comparison, task, scheme, index) for index in range(len(lengths))]
    known = [(length, spread) for length, spread in zip(lengths, spreads, strict=True) if spread is not None]
    if not known:
        return
    colour, marker = STYLES[scheme]
    places, values = zip(*known, strict=True)
    label = scheme if len(known) == len(lengths) else TEXTS["refused"].said(language).format(scheme=scheme)
    axes.plot(places, [value.mean for value in values], color=colour, marker=marker, linewidth=1.8, markersize=5, label=label)
    axes.fill_between(places, [v.low for v in values], [v.high for v in values], color=colour, alpha=0.18, linewidth=0)
