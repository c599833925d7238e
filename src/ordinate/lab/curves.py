"""The comparison as a picture: loss against context length, one panel a task, one line a scheme; the rises; word order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

from ordinate.lab.order import FORMS
from ordinate.lab.results import ORDER, TASKS, Comparison, chance, has_not_learned, signed

# Okabe and Ito's palette, told apart by colour-blind readers too; the markers tell the lines apart without colour.
STYLES = {
    "nope": ("#7f7f7f", "o"),
    "sinusoidal": ("#e69f00", "s"),
    "learned": ("#cc79a7", "D"),
    "shaw": ("#56b4e9", "P"),
    "t5": ("#d55e00", "X"),
    "deberta": ("#000000", "p"),
    "alibi": ("#009e73", "^"),
    "rope": ("#0072b2", "v"),
    "gru": ("#8c564b", "*"),
}
FULL_COLOR = 2.0  # nats of rise


def draw(comparison: Comparison) -> Any:
    """Draw the curves; the band around a line is the spread over seeds.

    Args:
        comparison: with all its outcomes.

    Returns:
        A matplotlib figure.
    """
    from matplotlib.figure import Figure

    settings = comparison.settings
    panels: list[Callable[[Any], None]] = [partial(_panel, comparison=comparison, task=task) for task in settings.length_tasks]
    if len(settings.length_tasks) > 1 and len(settings.budget.multiples) > 1:
        panels.append(partial(_rises, comparison=comparison))
    if ORDER in settings.tasks:
        panels.append(partial(_order, comparison=comparison))
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(6.6 * columns, 4.8 * rows), dpi=110, layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False).flatten()
    for place, panel in itertools.zip_longest(places, panels):
        place.set_axis_off() if panel is None else panel(place)
    return figure


def save(comparison: Comparison, path: Path | IO[str], kind: str) -> None:
    """Draw and write the curves.

    Args:
        comparison: with all its outcomes.
        path: the file, or where its text goes.
        kind: "png" or "svg".
    """
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ordinate"}):
        metadata = {"Date": None} if kind == "svg" else None
        draw(comparison).savefig(path, format=kind, metadata=metadata)


def _panel(panel: Any, *, comparison: Comparison, task: str) -> None:
    budget = comparison.settings.budget
    lengths = [budget.length * multiple for multiple in budget.multiples]
    labels: list[tuple[float, str, str]] = []
    for scheme in comparison.settings.schemes:
        color, marker = STYLES[scheme]
        spreads = [comparison.spread(task, scheme, index) for index in range(len(lengths))]
        known = [(length, spread) for length, spread in zip(lengths, spreads, strict=True) if spread is not None]
        if not known:
            continue
        places, values = zip(*known, strict=True)
        panel.plot(places, [v.mean for v in values], color=color, marker=marker, linewidth=2, markersize=6, label=scheme)
        panel.fill_between(places, [v.low for v in values], [v.high for v in values], color=color, alpha=0.18, linewidth=0)
        if places[-1] == lengths[-1]:
            labels.append((values[-1].mean, scheme, color))
        else:
            panel.annotate(
                f"{scheme}: no rows beyond", (places[-1], values[-1].mean), xytext=(8, -3), textcoords="offset points", color=color
            )
    guess = chance(task)
    if guess is not None:
        panel.axhline(guess, color="#999999", linestyle=":", linewidth=1)
        panel.annotate("chance", (lengths[0], guess), xytext=(0, 3), textcoords="offset points", fontsize=8, color="#777777")
    panel.set_title(f"{task}: {TASKS[task]}", fontsize=11)
    panel.set_xscale("log", base=2)
    panel.set_xticks(lengths, [f"{length}\n{m}x" for length, m in zip(lengths, budget.multiples, strict=True)])
    panel.minorticks_off()
    panel.set_xlabel("context length in tokens (multiples of the training length)")
    panel.set_ylabel("loss on the same targets, nats")
    panel.margins(y=0.12)
    if guess is not None:
        panel.set_ylim(bottom=-0.03 * panel.get_ylim()[1])
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    _label_ends(panel, lengths[-1], labels)


def _rises(panel: Any, *, comparison: Comparison) -> None:
    """Every scheme's rise on every task, as numbers on a warmer or paler ground; hatched where there was nothing to lose."""
    from matplotlib.patches import Rectangle

    settings = comparison.settings
    rises = [[comparison.rise(task, scheme) for task in settings.length_tasks] for scheme in settings.schemes]
    shown = [[math.nan if rise is None else rise.mean for rise in row] for row in rises]
    panel.imshow(shown, cmap="Oranges", vmin=0, vmax=FULL_COLOR, aspect="auto")
    for row, column in itertools.product(range(len(settings.schemes)), range(len(settings.length_tasks))):
        value = shown[row][column]
        text, color = ("refused", "#555555") if math.isnan(value) else (signed(value), "white" if value > 1.3 else "black")
        if has_not_learned(comparison, settings.length_tasks[column], settings.schemes[row]):
            panel.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor="#e8e8e8", edgecolor="#c4c4c4", hatch="///"))
            text, color = "not learned", "#555555"
        panel.text(column, row, text, ha="center", va="center", color=color, fontsize=11)
    multiples = settings.budget.multiples
    panel.set_title(f"what {multiples[-1]} times the training length costs: rise from {multiples[0]}x, nats", fontsize=11)
    panel.set_xticks(range(len(settings.length_tasks)), settings.length_tasks)
    panel.set_yticks(range(len(settings.schemes)), settings.schemes)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def _order(panel: Any, *, comparison: Comparison) -> None:
    """Held-out accuracy of both forms, one pair of bars a scheme."""
    schemes = [scheme for scheme in comparison.settings.schemes if comparison.of_order(scheme)]
    for form, (label, shade) in enumerate(zip(FORMS, ("#0072b2", "#9ecae1"), strict=True)):
        of_seeds = [[outcome.accuracies[form] for outcome in comparison.of_order(scheme)] for scheme in schemes]
        means = [sum(values) / len(values) for values in of_seeds]
        places = [row + 0.4 * form - 0.2 for row in range(len(schemes))]
        panel.barh(places, means, height=0.38, color=shade, label=f'"{label}"')
    panel.axvline(0.5, color="#999999", linestyle=":", linewidth=1)
    panel.annotate("chance", (0.5, -0.75), xytext=(3, 0), textcoords="offset points", fontsize=8, color="#777777")
    panel.set_title('order: "dog bites man" or "man bites dog"?', fontsize=11)
    panel.set_yticks(range(len(schemes)), schemes)
    panel.set_ylim(len(schemes) - 0.4, -0.9)
    panel.set_xlim(0, 1)
    panel.set_xlabel("held-out accuracy of a classifier of the mean vector")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=9, frameon=False)


def _label_ends(panel: Any, place: float, labels: list[tuple[float, str, str]]) -> None:
    """Names beside the lines' ends, pushed apart so that they can be read, each tied to its end."""
    bottom, top = panel.get_ylim()
    gap = 0.055 * (top - bottom)
    for (value, name, color), height in zip(sorted(labels), _apart([label[0] for label in sorted(labels)], gap, top), strict=True):
        panel.annotate(
            name,
            (place, value),
            xytext=(1.03, height),
            textcoords=panel.get_yaxis_transform(),
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 3},
            color=color,
            fontsize=10,
            fontweight="bold",
            va="center",
            annotation_clip=False,
        )


def _apart(values: list[float], gap: float, top: float) -> list[float]:
    """Rising heights at least a gap apart and none above the top, each as near to its value as the others let it."""
    heights = list(values)
    for index in range(1, len(heights)):
        heights[index] = max(heights[index], heights[index - 1] + gap)
    limit = top
    for index in reversed(range(len(heights))):
        heights[index] = min(heights[index], limit)
        limit = heights[index] - gap
    return heights
