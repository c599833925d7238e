"""``ordinate compare``: train short, test long, scheme beside scheme."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import sys
from collections.abc import Sized
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.cli.numbers import count, counts

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

NEEDS = ("matplotlib", "rich", "jinja2")
DEFAULT_TASKS = ("text", "shift", "last")
SEEDS, STEPS, QUICK_STEPS = 2, 220, 100
LONGEST = 2**15
FILE_WIDTH = 100  # columns where no terminal says how many it has
MOST_MODELS = 10_000
EPILOG = """\
examples:
  ordinate compare                                   nine rows, three tasks, two seeds; under four minutes on two cores
  ordinate compare --quick                           one seed, fewer steps: a first look
  ordinate compare --task order                      "dog bites man" or "man bites dog"? chance without positions
  ordinate compare --schemes alibi,rope --tasks text --text book.txt
  ordinate compare --seeds 5 --output study          more seeds: smaller differences can be told from chance
"""


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "compare",
        help="train small models with each scheme and test them beyond their training length",
        description="Train one small Transformer per scheme on short sequences and test all of them on longer ones.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--tasks",
        "--task",
        type=_names,
        default=DEFAULT_TASKS,
        help="text: next byte; shift: repeat the token five places back; "
        "last: read the value written last to a register; order: who bites whom (default: the first three)",
    )
    parser.add_argument(
        "--schemes", type=_names, default=None, help="for example nope,rope,gru; nope is no positions at all (default: all)"
    )
    parser.add_argument(
        "--text", type=Path, nargs="+", default=[], metavar="FILE", help="text to learn (default: Python help topics)"
    )
    parser.add_argument("--quick", action="store_true", help=f"a first look: 1 seed, {QUICK_STEPS} steps, unless they are given")
    parser.add_argument("--seeds", type=count, default=None, help=f"models a row and task, for the spread (default: {SEEDS})")
    parser.add_argument("--length", type=count, default=64, help="training length in tokens (default: 64)")
    parser.add_argument("--multiples", type=counts, default=(1, 2, 4, 8), help="tested lengths (default: 1,2,4,8 times --length)")
    parser.add_argument("--steps", type=count, default=None, help=f"training steps (default: {STEPS})")
    parser.add_argument(
        "--overflow", choices=("wrap", "clamp", "error"), default="wrap", help="a learned table beyond its end (default: wrap)"
    )
    parser.add_argument("--workers", type=count, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("compare-report"),
        metavar="DIR",
        help="report folder; an earlier report in it is replaced (default: compare-report)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check everything, then train, show and write.

    Args:
        options: from the parser.

    Returns:
        0, or 2 for bad input.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        return _refuse(f"needed the packages {', '.join(missing)}; install them with: pip install 'ordinate[lab]'")
    from rich.console import Console

    from ordinate.lab import report
    from ordinate.lab.compare import compare
    from ordinate.lab.display import follow, notes, tables
    from ordinate.lab.said import all_findings
    from ordinate.lab.speed import milliseconds_a_token

    try:
        comparison = _prepare(options)
        report.claim_folder(options.output)
    except ValueError as fault:
        return _refuse(str(fault))
    console = Console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    if options.text and "text" not in options.tasks:
        print("ordinate compare: warning: --text has no effect without the text task", file=sys.stderr)
    settings = comparison.settings
    console.print(
        f"{len(settings.cells())} models: {_counted(settings.schemes, 'row')} x {_counted(settings.tasks, 'task')} x "
        + _counted(range(settings.seeds), "seed")
        + (f", trained at {settings.budget.length}, tested up to {settings.budget.longest} tokens" * bool(settings.length_tasks)),
        highlight=False,
    )
    try:
        follow(comparison, compare(comparison, workers=options.workers), console)
    except BrokenProcessPool:
        return _refuse("a worker process died (out of memory?); try fewer --workers or smaller lengths", status=1)
    comparison.milliseconds.update(milliseconds_a_token(settings.schemes, settings.budget))
    try:
        report.write(comparison, options.output)
    except OSError as error:
        return _refuse(f"could not write to {options.output} ({error.strerror or error})", status=1)
    said = all_findings(comparison)
    console.print(*tables(comparison), sep="\n")
    for line in (*said, *notes(comparison), f"written: {options.output / report.REPORT}"):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    return 0


def _prepare(options: argparse.Namespace) -> Comparison:
    """Turn options into a comparison.

    Args:
        options: from the parser.

    Returns:
        A comparison without outcomes.

    Raises:
        ValueError: if a name is unknown, a number does not fit, or the text cannot be used.
    """
    from ordinate.lab.results import ORDER, TASKS, Comparison, Settings
    from ordinate.lab.rows import ROWS, Budget, require_row
    from ordinate.lab.tasks import SHIFT_OFFSET, read_corpus

    schemes = tuple(require_row(name) for name in options.schemes or ROWS)
    for task in options.tasks:
        if task not in (*TASKS, ORDER):
            raise ValueError(f"unknown task {task!r}; there are {', '.join((*TASKS, ORDER))}")
    if options.length <= SHIFT_OFFSET:
        raise ValueError(f"--length: needed more than {SHIFT_OFFSET} tokens, got {options.length}")
    steps = options.steps or (QUICK_STEPS if options.quick else STEPS)
    seeds = options.seeds or (1 if options.quick else SEEDS)
    budget = Budget(length=options.length, steps=steps, multiples=tuple(sorted(set(options.multiples))), overflow=options.overflow)
    if budget.longest > LONGEST:
        raise ValueError(f"--length: needed at most {LONGEST} tokens in the longest test, got {budget.longest}")
    settings = Settings(tasks=options.tasks, schemes=schemes, seeds=seeds, budget=budget)
    if len(schemes) * len(options.tasks) * seeds > MOST_MODELS:
        raise ValueError(f"--seeds: needed at most {MOST_MODELS} models in all, got {seeds} seeds of each")
    corpus = read_corpus(options.text, longest=budget.longest) if "text" in options.tasks else None
    return Comparison(settings, corpus, shlex.join(["ordinate", *sys.argv[1:]]))


def _refuse(reason: str, status: int = 2) -> int:
    print(f"ordinate compare: {reason}", file=sys.stderr)
    return status


def _counted(things: Sized, name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError(f"needed at least one name, got {text!r}")
    return names
