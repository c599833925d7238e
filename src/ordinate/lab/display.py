"""The comparison while it runs: a table that fills and the time left on a terminal, one line a model elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ordinate.lab.compare import Progress
from ordinate.lab.order import FORMS
from ordinate.lab.results import ORDER, Comparison, Spread, signed
from ordinate.lab.said import NOTES_COLUMNS, ORDER_COLUMNS, beyond_the_table, notes_row, order_row

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
    """Give what was found: one table a task (loss at each length and the rise), word order, and the columns of the notes.

    Args:
        comparison: as far as it is.

    Returns:
        Rich tables.
    """
    settings = comparison.settings
    found = [_table(comparison, task) for task in settings.length_tasks]
    if ORDER in settings.tasks:
        found.append(_order_table(comparison))
    return [*found, _notes_table(comparison)]


def notes(comparison: Comparison) -> list[str]:
    """Say below the tables what a reader must know to read them.

    Args:
        comparison: what was run.

    Returns:
        Lines.
    """
    with_table = "learned" in comparison.settings.schemes and comparison.settings.length_tasks
    return [beyond_the_table(comparison.settings.budget)] if with_table else []


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
            live.update(Group(_overview(comparison), ProgressBar(100, 100 * progress.fraction, width=40), status), refresh=True)
        live.update(Text(""), refresh=True)


def _follow_lines(comparison: Comparison, events: Iterable[Progress], console: Console) -> None:
    total = len(comparison.settings.cells())
    settings = comparison.settings
    meant = []
    if settings.length_tasks:
        lengths = " ".join(str(settings.budget.length * multiple) for multiple in settings.budget.multiples)
        meant.append(f"loss in nats at {lengths} tokens")
    if ORDER in settings.tasks:
        meant.append(f"{ORDER}: loss on {' and on '.join(map(repr, FORMS))}")
    console.print(f"task scheme seed: {'; '.join(meant)}", markup=False, highlight=False, soft_wrap=True)
    for progress in events:
        for cell in progress.finished:
            losses = " ".join("refused" if loss is None else f"{loss:.3f}" for loss in comparison.outcomes[cell].losses)
            done = f"[{len(comparison.outcomes)}/{total}]"
            line = f"{done} {cell.task} {cell.scheme} seed {cell.seed}: {losses}  (about {clock(progress.left)} left)"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _overview(comparison: Comparison) -> Any:
    """One table while it runs, low enough for a small terminal: each task at the shortest and the longest length, word order."""
    settings = comparison.settings
    ends = sorted({0, len(settings.budget.multiples) - 1})
    places = [(task, index) for task in settings.length_tasks for index in ends]
    table = _new_table("loss in nats on the same targets" if places else "held-out accuracy")
    table.add_column("scheme", no_wrap=True)
    for task, index in places:
        table.add_column(f"{task} {settings.budget.multiples[index]}x", justify="right", no_wrap=True)
    forms = ORDER_COLUMNS[1:3] if ORDER in settings.tasks else ()
    for form in forms:
        table.add_column(form, justify="right")
    for scheme in settings.schemes:
        cells = [_cell(comparison, *place, scheme, scatter=False) for place in places]
        table.add_row(scheme, *cells, *order_row(comparison, scheme)[1 : 1 + len(forms)])
    return table


def _table(comparison: Comparison, task: str) -> Any:
    budget, schemes = comparison.settings.budget, comparison.settings.schemes
    table = _new_table(f"{task}: loss in nats on the same targets, by context length")
    table.add_column("scheme", no_wrap=True)
    for multiple in budget.multiples:
        table.add_column(f"{multiple}x ({multiple * budget.length})", justify="right", no_wrap=True)
    table.add_column("rise", justify="right", no_wrap=True)
    for scheme in schemes:
        cells = [_cell(comparison, task, index, scheme) for index in range(len(budget.multiples))]
        rise = comparison.rise(task, scheme)
        table.add_row(scheme, *cells, "" if rise is None else signed(rise.mean))
    return table


def _order_table(comparison: Comparison) -> Any:
    table = _new_table("order: held-out accuracy of a pooled classifier that sees every word")
    for name in ORDER_COLUMNS:
        table.add_column(name, justify="left" if name == "scheme" else "right")
    for scheme in comparison.settings.schemes:
        table.add_row(*order_row(comparison, scheme))
    return table


def _notes_table(comparison: Comparison) -> Any:
    table = _new_table("the schemes")
    rows = [notes_row(comparison, scheme) for scheme in comparison.settings.schemes]
    for name in NOTES_COLUMNS:
        header = "ms a\ntoken" if name == "ms a token" else name
        justify: Any = "right" if name in ("parameters", "ms a token") else "left"
        table.add_column(header, justify=justify, no_wrap=name in ("scheme", "parallel", "ms a token"))
    for row in rows:
        table.add_row(*row)
    return table


def _new_table(title: str) -> Any:
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)


def _cell(comparison: Comparison, task: str, index: int, scheme: str, *, scatter: bool = True) -> Any:
    from rich.text import Text

    spread: Spread | None = comparison.spread(task, scheme, index)
    if spread is None:
        done = any((cell.task, cell.scheme) == (task, scheme) for cell in comparison.outcomes)
        return Text("refused" if done else "...", style="dim")
    text = f"{spread.mean:.2f}" if spread.half is None or not scatter else f"{spread.mean:.2f} ±{spread.half:.2f}"
    return Text(text, style="bold green" if scheme in comparison.lowest(task, index) else "")
