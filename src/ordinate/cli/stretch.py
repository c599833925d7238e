"""``ordinate stretch``: how far a checkpoint really goes, and which rule takes it further."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.cli.numbers import count, counts
from ordinate.cli.stretch_settings import prepared

if TYPE_CHECKING:
    from ordinate.stretching.results import Results
    from ordinate.stretching.stretch import Run
    from ordinate.stretching.work import Worker

NEEDS = ("transformers", "matplotlib", "rich", "jinja2")
FILE_WIDTH = 100
EPILOG = """\
examples:
  ordinate stretch                                   SmolLM2-135M at twice its length: ten to twelve minutes on two cores
  ordinate stretch ./my-model --to 4x --budget 30m   as long as half an hour allows
  ordinate stretch ./my-model --lengths 8192,32768 --rules none,yarn,theta:2e6 --text book.txt
  ordinate stretch model.gguf --tests shift          precision of the angles alone, under a minute
"""


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "stretch",
        help="measure a checkpoint beyond its trained length, rule by rule",
        description="Measure a checkpoint beyond the length it was trained on: loss by position, precision, retrieval.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a transformers folder, a GGUF file or a name on a hub")
    lengths = parser.add_mutually_exclusive_group()
    lengths.add_argument("--to", type=_times, default=None, metavar="2x", help="times the trained length (default: 2x)")
    lengths.add_argument("--lengths", type=counts, default=None, metavar="N,...", help="lengths in tokens, in its place")
    parser.add_argument(
        "--rules",
        type=_names,
        default=(),
        metavar="RULE,...",
        help="of none,linear,ntk,dynamic,yarn,longrope:FILE,theta:NUMBER; native is always one (default: native,linear,ntk,yarn)",
    )
    parser.add_argument(
        "--tests",
        type=_names,
        default=None,
        metavar="TEST,...",
        help="of ppl,shift,needle (default: all); drift of models that see both ways",
    )
    parser.add_argument("--text", type=Path, nargs="+", default=[], metavar="FILE", help="text (default: Python help topics)")
    parser.add_argument("--start", type=_place, default=2000, metavar="TOKEN", help="first token of the text (default: 2000)")
    parser.add_argument("--chunk", type=count, default=1024, help="tokens that go through the model at once (default: 1024)")
    parser.add_argument("--windows", type=count, default=1, help="stretches of text a length (default: 1)")
    parser.add_argument("--protocol", choices=("non-overlapping", "sliding"), default="non-overlapping")
    parser.add_argument("--stride", type=count, default=512, help="tokens that a sliding window moves (default: 512)")
    parser.add_argument("--trained", type=count, default=None, metavar="N", help="trained length, in place of the declared one")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), default="float32", help="(default: float32)")
    parser.add_argument("--device-map", default=None, metavar="MAP", help="for accelerate, as auto; a model on several devices")
    parser.add_argument("--budget", type=_seconds, default=None, metavar="10m", help="leave out lengths that would not fit")
    parser.add_argument("--ray", default=None, metavar="ADDRESS", help="run the cells on this Ray cluster, auto for the local one")
    parser.add_argument("--output", type=Path, default=Path("stretch-report"), metavar="DIR", help="(default: stretch-report)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check everything, then measure, show and write.

    Args:
        options: from the parser.

    Returns:
        0; 1 if a cell failed or nothing could be written; 2 for bad input.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        return _refuse(f"needed the packages {', '.join(missing)}; install them with: pip install 'ordinate[lab,hf,gguf]'")
    os.environ.setdefault("TQDM_DISABLE", "1")  # bars of other packages, which read it when they are imported
    from ordinate.stretching import writing

    try:
        results, worker = prepared(options)
        writing.claim_folder(options.output)
        with writing.locked(options.output):
            runs: list[Run] = [worker.run] if options.ray is None else _remote(results, options)
            _plan(results, worker, options)
            return _measure(results, runs, options)
    except ValueError as fault:
        return _refuse(str(fault))


def _remote(results: Results, options: argparse.Namespace) -> list[Run]:
    from ordinate.stretching.cluster import remote_runs

    if options.budget is not None:
        raise ValueError("--budget: needed a run on this machine, which can be probed, got --ray, too")
    return remote_runs(options.ray, results.subject.checkpoint, options.trained, results.settings, results.text)


def _plan(results: Results, worker: Worker, options: argparse.Namespace) -> None:
    """Probe, print what will be done, and leave out the lengths that do not fit.

    Args:
        results: empty.
        worker: with the model, for a run on this machine.
        options: for the budget.

    Raises:
        ValueError: if none is left.
    """
    from ordinate.stretching.probing import free_memory, probed
    from ordinate.stretching.rules import NATIVE
    from ordinate.stretching.running import under
    from ordinate.stretching.showing import plan_lines
    from ordinate.stretching.work import reason_of
    from ordinate.stretching.writing import fitting

    if options.ray is not None or results.subject.kind in ("encoder table", "continued"):
        print(*plan_lines(results, None), sep="\n", flush=True)
        return
    longest = results.settings.lengths[-1]
    is_table = results.subject.kind == "table"  # which is too short as it is
    try:
        plain = dataclasses.replace(results.subject, kind="fixed") if results.subject.kind == "rotary" else results.subject
        with under(worker.model, plain, results.settings.rules[-1] if is_table else NATIVE, longest) as model:
            probe = probed(model, worker.tokens, results.settings, longest)
    except (RuntimeError, IndexError, TypeError) as fault:  # the cell will say it, too
        print(*plan_lines(results, None), f"no estimate: {reason_of(fault)}", sep="\n", flush=True)
        return
    kept, left_out = fitting(results, probe, free_memory(worker.model), options.budget)
    if kept != results.settings.lengths:
        if not kept:
            raise ValueError(f"needed room for one length at least: {'; '.join(left_out)}")
        settings = dataclasses.replace(results.settings, lengths=kept)
        results.settings = worker.settings = settings
        results.expected = [row for row in results.expected if row.length in kept]
    for line in (*plan_lines(results, probe), *left_out):
        print(line, flush=True)


def _measure(results: Results, runs: list[Run], options: argparse.Namespace) -> int:
    """Run the cells, show each as it comes, and write the report.

    Args:
        results: fills.
        runs: what runs a cell, one a worker.
        options: for the folder.

    Returns:
        The exit status.
    """
    from rich.console import Console

    from ordinate.stretching import recommending, showing, writing
    from ordinate.stretching.stretch import stretched

    console = Console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    command = shlex.join(["ordinate", *sys.argv[1:]])
    try:
        for step in stretched(results, runs, options.output):
            showing.step(results, step)
        writing.write(results, options.output, command)
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"ordinate stretch: could not write to {options.output} ({error.strerror or error})", file=sys.stderr)
        return 1
    console.print(*showing.tables(results), sep="\n")
    for line in (*recommending.said(results), *showing.block_lines(results), f"written: {options.output / writing.REPORT}"):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    return 1 if any(results.failure(cell) for cell in results.cells) else 0


def _refuse(reason: str) -> int:
    print(f"ordinate stretch: {reason}", file=sys.stderr)
    return 2


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError(f"needed at least one name, got {text!r}")
    return names


def _place(text: str) -> int:
    return 0 if text == "0" else count(text)


def _times(text: str) -> float:
    found = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)x", text)
    if not found or float(found[1]) < 1:
        raise argparse.ArgumentTypeError(f"needed times the trained length, as 2x or 1.5x, got {text[:40]!r}")
    return float(found[1])


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d{1,5}(?:\.\d)?)([smh])", text)
    if not found or not float(found[1]):
        raise argparse.ArgumentTypeError(f"needed a time, as 90s, 10m or 2h, got {text[:40]!r}")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]
