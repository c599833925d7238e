"""A figure as the page shows it: drawn twice, for wide and narrow screens, with its title and settings as text beside it."""

from __future__ import annotations

import base64
import html
import io
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Up to here a screen gets the narrow drawing; inches of both.
NARROW_SCREEN = 640
WIDE, NARROW, PANEL = 9.2, 4.3, 3.4
LETTERS = 9.0
# Two open pages are two threads, and matplotlib reads formulas with one parser for all.
DRAWING = threading.Lock()


def shown(figure: Figure, *, code: str = "", note: str = "", alt: str = "") -> str:
    """Write a figure as HTML; its title and caption become text, which wraps and can be read aloud.

    Args:
        figure: as ``ordinate.plots`` makes it; it is used up.
        code: the call that it is drawn from; the figure's caption if "".
        note: a sentence below the title.
        alt: what a reader who does not see it needs; title, note and code if "".

    Returns:
        A ``<figure>`` with the images inside.

    Example:
        >>> from ordinate.plots import canvas
        >>> figure = canvas.empty("A <title>", "Scheme()", size=(4, 3))
        >>> axes = figure.subplots()
        >>> page = shown(figure)
        >>> "<figcaption><strong>A &lt;title&gt;</strong><code>Scheme()</code></figcaption>" in page
        True
    """
    title, code = figure.get_suptitle(), code or figure.get_supxlabel().replace("\n", " ")
    figure.suptitle("")
    figure.supxlabel("")
    figure.set_size_inches(WIDE, figure.get_figheight() * WIDE / figure.get_figwidth())
    wide = svg(figure)
    narrow_down(figure)
    narrow = svg(figure)
    parts = {"strong": title, "span": note, "code": code}
    caption = "".join(f"<{tag}>{html.escape(text)}</{tag}>" for tag, text in parts.items() if text)
    alt = html.escape(alt or ". ".join(text for text in parts.values() if text), quote=True)
    return (
        f'<figure class="ordinate"><figcaption>{caption}</figcaption><picture>'
        f'<source media="(max-width: {NARROW_SCREEN}px)" srcset="{narrow}"><img src="{wide}" alt="{alt}"></picture></figure>'
    )


def svg(figure: Figure) -> str:
    """Write a figure as SVG in a data URI; letters are outlines, so that no font is looked for.

    Args:
        figure: any.

    Returns:
        The address.

    Example:
        >>> from ordinate.plots import canvas
        >>> figure = canvas.empty("", "", size=(1, 1))
        >>> axes = figure.subplots()
        >>> svg(figure).startswith("data:image/svg+xml;base64,")
        True
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    engine: Any = figure.get_layout_engine()
    canvas: Any = FigureCanvasSVG(figure)
    written = io.BytesIO()
    with DRAWING:
        engine.execute(figure)
        figure.set_layout_engine("none")
        canvas.print_svg(written, metadata={"Date": None})  # savefig draws twice; a slider should not wait for that
    figure.set_layout_engine(engine)
    return "data:image/svg+xml;base64," + base64.b64encode(written.getvalue()).decode()


def narrow_down(figure: Figure) -> None:
    """Lay a figure out for a narrow screen: panels below each other (dials in twos), legends below their panel.

    Args:
        figure: is changed.

    Example:
        >>> from ordinate.plots import canvas
        >>> figure = canvas.empty("", "", size=(9, 3))
        >>> left, right = figure.subplots(1, 2)
        >>> narrow_down(figure)
        >>> right.get_subplotspec().rowspan.start, float(figure.get_figwidth())
        (1, 4.3)
    """
    from matplotlib.gridspec import GridSpec

    panels = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    dials = len(panels) > 1 and all(panel.get_aspect() == 1.0 for panel in panels)
    columns = 2 if dials else 1
    rows = -(-len(panels) // columns) or 1
    grid = GridSpec(rows, columns, figure=figure)
    for index, panel in enumerate(panels):
        panel.set_subplotspec(grid[index // columns, index % columns])
    longest = max((_legend_below(panel) for panel in panels), default=0)
    figure.set_size_inches(NARROW, rows * (NARROW * 0.6 if dials else PANEL) + 0.2 * longest)
    for panel in panels:
        for label in (panel.xaxis.label, panel.yaxis.label):
            label.set_fontsize(min(label.get_fontsize(), LETTERS))
        panel.tick_params(labelsize=LETTERS - 1)


def _legend_below(panel: Axes) -> int:
    """Move a panel's legend from its right to below it; says how many lines it has."""
    legend = panel.get_legend()
    if legend is None:
        return 0
    handles, labels = panel.get_legend_handles_labels()
    columns = 2 if max(map(len, labels)) < 22 else 1
    title = legend.get_title().get_text() or None
    panel.legend(
        handles,
        [label.replace("\n", " ") for label in labels],
        title=title,
        title_fontsize=8,
        alignment="left",
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        ncols=columns,
        frameon=False,
        fontsize=8,
        handlelength=3.0,
    )
    return -(-len(labels) // columns) + (title is not None)
