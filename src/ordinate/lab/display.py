"""The comparison while it runs: a table that fills and the time left on a terminal, one line a model elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ordinate.lab.compare import Progress
from ordinate.lab.results import Comparison, Spread, beyond_the_table, site_of

if TYPE_CHECKING:
    from rich.console import Console


def follow(comparison: Comparison, events: Iterable[Progress], console: Console) -> None:
    """Show progress until the comparison is done; the finished tables are ``tables``.

    Args:
        comparison: fills while the events are read.
        events: from ``lab.compare.compare``.
        console: a terminal or not.
    """
    if console.is_terminal:
        _follow_live(comparison, events, console)
    else:
        _follow_lines(comparison, events, console)


def tables(comparison: Comparison) -> list[Any]:
    """Give one table a task: loss at each length, and the rise from the shortest to the longest.

    Args:
        comparison: as far as it is.

    Returns:
        Rich tables.
    """
    return [_table(comparison, task) for task in comparison.settings.tasks]


def notes(comparison: Comparison) -> list[str]:
    """Say below the tables what a reader must know to read them.

    Args:
        comparison: what was run.

    Returns:
        Lines.
    """
    return [beyond_the_table(comparison.settings.budget)] if "learned" in comparison.settings.schemes else []


def clock(seconds: float | None) -> str:
    """Give minutes and seconds.

    Args:
        seconds: None if not known.

    Returns:
        As in "1:05".

    Example:
        >>> clock(65), clock(None)
        ('1:05', '-:--')
    """
    return "-:--" if seconds is None else f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _follow_live(comparison: Comparison, events: Iterable[Progress], console: Console) -> None:
    from rich.console import Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    with Live(console=console, auto_refresh=False) as live:
        for progress in events:
            status = Text(f"{progress.fraction:4.0%}  {clock(progress.elapsed)} so far, about {clock(progress.left)} left")
            live.update(Group(*tables(comparison), ProgressBar(100, 100 * progress.fraction, width=40), status), refresh=True)
        live.update(Text(""), refresh=True)


def _follow_lines(comparison: Comparison, events: Iterable[Progress], console: Console) -> None:
    total = len(comparison.settings.cells())
    lengths = " ".join(str(comparison.settings.budget.length * multiple) for multiple in comparison.settings.budget.multiples)
    console.print(f"task scheme seed: loss in nats at {lengths} tokens", markup=False, highlight=False, soft_wrap=True)
    for progress in events:
        for cell in progress.finished:
            losses = " ".join("refused" if loss is None else f"{loss:.3f}" for loss in comparison.outcomes[cell].losses)
            done = f"[{len(comparison.outcomes)}/{total}]"
            line = f"{done} {cell.task} {cell.scheme} seed {cell.seed}: {losses}  (about {clock(progress.left)} left)"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(comparison: Comparison, task: str) -> Any:
    from rich import box
    from rich.table import Table

    budget, schemes = comparison.settings.budget, comparison.settings.schemes
    title = f"{task}: loss in nats on the same targets, by context length"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True)
    table.add_column("scheme", no_wrap=True)
    table.add_column("acts at", no_wrap=True)
    for multiple in budget.multiples:
        table.add_column(f"{multiple}x ({multiple * budget.length})", justify="right", no_wrap=True)
    table.add_column("rise", justify="right", no_wrap=True)
    lowest = [comparison.lowest(task, index) for index in range(len(budget.multiples))]
    for scheme in schemes:
        spreads = [comparison.spread(task, scheme, index) for index in range(len(budget.multiples))]
        cells = [_cell(comparison, task, scheme, spread, scheme in best) for spread, best in zip(spreads, lowest, strict=True)]
        rise = comparison.rise(task, scheme)
        table.add_row(
            scheme, site_of(scheme).replace("queries and keys", "q and k"), *cells, "" if rise is None else f"{rise.mean:+.2f}"
        )
    return table


def _cell(comparison: Comparison, task: str, scheme: str, spread: Spread | None, lowest: bool) -> Any:
    from rich.text import Text

    if spread is None:
        done = any((cell.task, cell.scheme) == (task, scheme) for cell in comparison.outcomes)
        return Text("refused" if done else "...", style="dim")
    text = f"{spread.mean:.2f}" if spread.half is None else f"{spread.mean:.2f} ±{spread.half:.2f}"
    return Text(text, style="bold green" if lowest else "")
