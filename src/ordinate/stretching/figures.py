"""The three figures: loss by position, loss against offset, the needle's grid."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ordinate.stretching.perplexity import BINS
from ordinate.stretching.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("loss", "shift", "needle")
COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#e8871e", "#6f4e9c", "#00798c", "#8d6346", "#444444")
GRAY = "#777777"


def draw(results: Results) -> dict[str, dict[str, bytes]]:
    """Draw what was measured.

    Args:
        results: with all cells.

    Returns:
        PNG and SVG by name of the figure; none for a test that was not run.
    """
    drawn = {"loss": _loss(results), "shift": _shift(results), "needle": _needle(results)}
    return {name: {kind: _saved(figure, kind) for kind in ("png", "svg")} for name, figure in drawn.items() if figure is not None}


def _loss(results: Results) -> Figure | None:
    lengths = [n for n in results.settings.lengths if any(results.losses(rule, n) for rule in results.settings.rules)]
    if not lengths:
        return None
    figure = _figure(7.2, 2.6 + 1.9 * len(lengths))
    for number, length in enumerate(lengths):
        axes = figure.add_subplot(len(lengths), 1, number + 1)
        for index, rule in enumerate(results.settings.rules):
            found = results.losses(rule, length)
            if found is None:
                continue
            places = [(place + 0.5) * length / BINS for place in range(BINS)]
            axes.plot(places, _with_gaps(found["bins"]), marker="o", markersize=3.5, color=COLORS[index % len(COLORS)], label=rule)
        axes.axvline(results.subject.trained, color=GRAY, linewidth=0.8, linestyle="--")
        axes.annotate(
            "trained length", (results.subject.trained, 1), xycoords=("data", "axes fraction"), xytext=(3, -9),
            textcoords="offset points", fontsize=7, color=GRAY,
        )  # fmt: skip
        axes.set_xlim(0, length)
        axes.set_xlabel("position")
        axes.set_ylabel("nats a token")
        axes.set_title(f"{length} tokens", fontsize=9, loc="left")
        axes.legend(frameon=False, fontsize=8, ncols=4, loc="upper left", bbox_to_anchor=(0, -0.2))
        _bare(axes)
    return figure


def _shift(results: Results) -> Figure | None:
    shifts = results.shifts()
    if not shifts:
        return None
    figure = _figure(7.2, 3.2)
    axes = figure.add_subplot(1, 1, 1)
    for index, (phases, lines) in enumerate(shifts.items()):
        shown = [(line["offset"], line["rms"]) for line in lines if line["offset"] > 0]
        axes.plot(*zip(*shown, strict=True), marker="o", markersize=3.5, color=COLORS[index], label=f"{phases} angles")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("position of the passage's first token")
    axes.set_ylabel("change of a log-probability\n(root mean square, nats)")
    axes.legend(frameon=False, fontsize=8)
    _bare(axes)
    return figure


def _needle(results: Results) -> Figure | None:
    needles = results.needles()
    if not needles:
        return None
    rows = list(dict.fromkeys((line["rule"], line["length"]) for line in needles))
    depths = sorted({line["depth"] for line in needles})
    losses = {(line["rule"], line["length"], line["depth"]): line for line in needles}
    figure = _figure(7.2, 1.4 + 0.45 * len(rows))
    axes = figure.add_subplot(1, 1, 1)
    nan = float("nan")
    grid = [[losses[(*row, depth)]["loss"] if (*row, depth) in losses else nan for depth in depths] for row in rows]
    axes.imshow(grid, aspect="auto", cmap="YlOrRd", vmin=0, vmax=4)
    for y, row in enumerate(rows):
        for x, depth in enumerate(depths):
            line = losses.get((*row, depth))
            if line is not None:
                dark = line["loss"] > 2.6
                text = f"{'found' if line['found'] else 'lost'} ({line['loss']:.2f})"
                axes.text(x, y, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")
    axes.set_xticks(range(len(depths)), [f"{depth:.0%}" for depth in depths])
    axes.set_yticks(range(len(rows)), [f"{rule}, {length}" for rule, length in rows])
    axes.set_xlabel("depth of the needle (loss of the key, nats a token)")
    axes.tick_params(length=0, labelsize=8)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _bare(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.tick_params(labelsize=8)


def _with_gaps(values: list[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _saved(figure: Figure, kind: str) -> bytes:
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "ordinate", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()
