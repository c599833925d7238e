"""What all figures are drawn on: an empty figure with title and caption, an image with its axes, colours, and writing to a file."""

from __future__ import annotations

import contextlib
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by colour-blind readers too; grey in place of its yellow, which is faint on white.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#000000", "#7f7f7f")
# Dashes tell the lines apart in print without colour.
DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
SIGNED, COUNTED = "RdBu_r", "cividis"
KINDS = {".png": "png", ".svg": "svg"}
CAPTION_WIDTH, CAPTION_LINES = 115, 2


def empty(title: str, caption: str, *, size: tuple[float, float]) -> Figure:
    """Make an empty figure.

    Args:
        title: above it.
        caption: small below it: which scheme with which settings is drawn.
        size: width and height in inches.

    Returns:
        A figure without axes.

    Raises:
        ImportError: if matplotlib is missing.

    Example:
        >>> empty("Title", "ALiBi(n_heads=1, slopes='paper')", size=(6, 4)).get_suptitle()
        'Title'
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise ImportError("plots: needed matplotlib, got none; install it with: pip install 'ordinate[plots]'") from error
    figure = Figure(figsize=size, dpi=150, layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06), facecolor="white")
    figure.suptitle(title, fontsize=12)
    lines = textwrap.wrap(caption, CAPTION_WIDTH, max_lines=CAPTION_LINES, placeholder=" ...")
    figure.supxlabel("\n".join(lines), fontsize=7.5, color="#606060")
    return figure


def image(
    axes: Axes,
    values: npt.NDArray[np.float64],
    *,
    rows: Sequence[float],
    columns: Sequence[float],
    limits: tuple[float, float],
    colours: str,
    label: str,
) -> None:
    """Draw a matrix, the first row at the top, with a colour bar; the ticks say which row and column it is.

    Args:
        axes: where.
        values: one number a cell.
        rows: what the rows stand for.
        columns: what the columns stand for.
        limits: values of the first and the last colour.
        colours: name of a colour map.
        label: of the colour bar.

    Example:
        >>> import numpy as np
        >>> axes = empty("", "", size=(3, 3)).subplots()
        >>> image(axes, np.eye(2), rows=[0, 1], columns=[0, 1], limits=(-1, 1), colours=SIGNED, label="value")
        >>> bool(axes.yaxis_inverted())
        True
    """
    low, high = limits
    drawn = axes.imshow(
        values, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="antialiased", origin="upper", rasterized=True
    )
    bar = axes.figure.colorbar(drawn, ax=axes, label=label)
    if low < 0 < high and values.any():  # one sign only: the colours of the other say nothing
        bar.ax.set_ylim(low if values.min() < 0 else 0, high if values.max() > 0 else 0)
    _number(axes.yaxis, rows)
    _number(axes.xaxis, columns)


def _number(axis: Any, names: Sequence[float]) -> None:
    """Ticks at whole cells, named by what the cells stand for."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def name(place: float, _: int | None = None) -> str:
        index = round(place)
        if index != place or not 0 <= index < len(names):
            return ""
        return str(names[index]) if isinstance(names[index], int) else f"{names[index]:g}"

    axis.set_major_locator(MaxNLocator(nbins=10, integer=True, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(name))


def line_style(index: int) -> dict[str, Any]:
    """Give the look of a line.

    Args:
        index: which of the figure's lines, from 0.

    Returns:
        Keyword arguments of ``Axes.plot``.

    Example:
        >>> line_style(0)["color"], line_style(8)["color"]
        ('#0072b2', '#0072b2')
    """
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": DASHES[index % len(DASHES)], "linewidth": 1.6}


def quiet(axes: Axes) -> None:
    """Give a panel of lines a faint grid and no frame above and on the right.

    Args:
        axes: the panel.

    Example:
        >>> axes = empty("", "", size=(3, 3)).subplots()
        >>> quiet(axes)
        >>> axes.spines["top"].get_visible()
        False
    """
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def legend(axes: Axes, title: str | None = None) -> None:
    """Put a panel's legend on its right, where no line runs.

    Args:
        axes: the panel.
        title: above the names.

    Example:
        >>> axes = empty("", "", size=(3, 3)).subplots()
        >>> _ = axes.plot([0, 1], [0, 1], label="line")
        >>> legend(axes)
        >>> [text.get_text() for text in axes.get_legend().get_texts()]
        ['line']
    """
    axes.legend(
        title=title,
        title_fontsize=9,
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=9,
        handlelength=3.2,
    )


def distance_axis(axes: Axes, distances: Sequence[int], words: dict[str, str]) -> None:
    """Label a horizontal axis of distances: the past on the left of 0, the future on its right.

    Args:
        axes: the panel.
        distances: what it shows.
        words: the language's texts.

    Example:
        >>> from ordinate.plots.texts import texts
        >>> axes = empty("", "", size=(3, 3)).subplots()
        >>> distance_axis(axes, range(-2, 3), texts("en"))
        >>> axes.get_title(loc="left")
        '← past'
    """
    low, high = min(distances), max(distances)
    axes.set_xlim(low, high)
    axes.set_xlabel(words["distance"])
    if low <= 0 <= high:
        axes.axvline(0, color="#999999", linewidth=0.8, zorder=0)
    if low < 0:
        axes.set_title(words["past"], loc="left", fontsize=9, color="#606060")
    if high > 0:
        axes.set_title(words["future"], loc="right", fontsize=9, color="#606060")
    quiet(axes)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG or SVG. The file is there whole or not at all; an SVG's text stays text, and its bytes repeat.

    Args:
        figure: what to write.
        path: the file, which is replaced; its ending, .png or .svg, says which kind.

    Raises:
        ValueError: for any other ending.
        OSError: if the file cannot be written.

    Example:
        >>> save(empty("", "", size=(3, 3)), "bias.pdf")
        Traceback (most recent call last):
        ValueError: path: needed a file name that ends in .png or .svg, got bias.pdf; rename it
    """
    kind = kind_of(path)
    import matplotlib

    path = Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ordinate"}):
            figure.savefig(partial, format=kind, metadata={"Date": None} if kind == "svg" else None)
        os.replace(partial, path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def kind_of(path: str | os.PathLike[str], *, name: str = "path") -> str:
    """Read the kind of a picture off its file name.

    Args:
        path: the file.
        name: what the caller calls it.

    Returns:
        "png" or "svg".

    Raises:
        ValueError: for any other ending.

    Example:
        >>> kind_of("Figure.SVG")
        'svg'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in KINDS:
        raise ValueError(f"{name}: needed a file name that ends in .png or .svg, got {os.fspath(path)}; rename it")
    return KINDS[suffix]
