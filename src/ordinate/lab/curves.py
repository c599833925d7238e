"""The comparison as a picture: loss against context length, one panel a task, one line a scheme."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from ordinate.lab.results import TASKS, Comparison, chance

# Okabe and Ito's palette, told apart by colour-blind readers too; the markers tell the lines apart without colour.
STYLES = {
    "nope": ("#7f7f7f", "o"),
    "sinusoidal": ("#e69f00", "s"),
    "learned": ("#cc79a7", "D"),
    "alibi": ("#009e73", "^"),
    "rope": ("#0072b2", "v"),
}


def draw(comparison: Comparison) -> Any:
    """Draw the curves; the band around a line is the spread over seeds.

    Args:
        comparison: with all its outcomes.

    Returns:
        A matplotlib figure.
    """
    from matplotlib.figure import Figure

    tasks = comparison.settings.tasks
    figure = Figure(figsize=(6.2 * len(tasks), 4.6), dpi=110, layout="constrained")
    for panel, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        _panel(panel, comparison, task)
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


def _panel(panel: Any, comparison: Comparison, task: str) -> None:
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
        panel.set_ylim(bottom=0)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    _label_ends(panel, lengths[-1], labels)


def _label_ends(panel: Any, place: float, labels: list[tuple[float, str, str]]) -> None:
    """Names beside the lines' ends, pushed apart so that they can be read."""
    gap = 0.055 * (panel.get_ylim()[1] - panel.get_ylim()[0])
    height = -gap
    for value, name, color in sorted(labels):
        height = max(value, height + gap)
        panel.annotate(
            name,
            (place, height),
            xytext=(9, 0),
            textcoords="offset points",
            color=color,
            fontsize=10,
            fontweight="bold",
            va="center",
            annotation_clip=False,
        )
