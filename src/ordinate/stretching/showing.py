"""What the command prints: the plan, a line a step, the tables, the block for config.json."""

from __future__ import annotations

import json
import sys
from typing import Any

from ordinate.stretching.perplexity import BINS, summary
from ordinate.stretching.probing import Probe, estimated
from ordinate.stretching.recommending import recommended
from ordinate.stretching.results import Results
from ordinate.stretching.rules import NATIVE
from ordinate.stretching.settings import DRIFT, NEEDLE, PPL, SHIFT, Cell
from ordinate.stretching.stretch import Step, first_cells

GIB = 2**30


def plan_lines(results: Results, probe: Probe | None) -> list[str]:
    """Say what will be run, and about how long it takes.

    Args:
        results: for rules, lengths and tests.
        probe: of this machine; None: nothing is said of time and memory.

    Returns:
        Lines.
    """
    settings, subject = results.settings, results.subject
    cells = first_cells(settings, subject)
    needles = len(settings.lengths) * min(2, len(settings.rules)) if NEEDLE in settings.tests else 0
    costs = ""
    if probe is not None:
        seconds = sum(estimated(cell, probe, settings) for cell in cells)
        seconds += sum(estimated(Cell(NEEDLE, NATIVE, n), probe, settings) for n in settings.lengths) * min(needles, 2)
        memory = probe.memory(settings.lengths[-1])
        costs = f"; about {max(seconds / 60, 0.1):.1f} minutes, {memory / GIB:.1f} GiB beside the model"
    lines = [
        f"{subject.checkpoint.name}: {subject.plan.model_type}, trained at {subject.trained} tokens, "
        f"its own rule: {'none' if subject.native_rule is None else repr(subject.native_rule)}",
        f"text: {results.text.source}, {results.tokens} tokens, from token {settings.start}; {settings.protocol} windows",
        f"{len(cells) + needles} cells: {', '.join(settings.tests)} at {', '.join(map(str, settings.lengths))} tokens, "
        f"rules {', '.join(settings.rules)}{costs}",
    ]
    if results.expected:
        lines.append("expected from the trained phases:")
        lines += [
            f"  {row.rule} at {row.length}: {row.never_complete} of {row.pairs} pairs never complete a turn in training, "
            f"{row.unseen} reach unseen phases; slowest wavelength {row.slowest:.0f} -> {row.slowest_now:.0f} tokens; "
            f"magnitude {row.magnitude:.3f}"
            for row in results.expected
        ]
    return lines


def step(results: Results, found: Step) -> None:
    """Print a step as it comes; chunks go over one another on a terminal, and only ends are told elsewhere.

    Args:
        results: so far.
        found: the step.
    """
    cell, record = found.cell, found.record
    name = f"{cell.test} {cell.rule} {cell.length}"
    if "failed" in record:
        _say(f"{name}: failed: {record['failed']}")
    elif "ended" in record:
        _say(f"{name}: {_outcome(results, cell)} ({record['seconds']:.0f} s)")
    elif sys.stdout.isatty():
        done = sum("losses" in line for line in results.cells[cell])
        of = -(-cell.length // results.settings.chunk) * results.settings.windows
        part = f"chunk {done} of {of}" if cell.test == PPL else f"step {len(results.cells[cell])}"
        left = f", {record['seconds'] / done * (of - done):.0f} s left" if cell.test == PPL and done else ""
        print(f"\r\033[K{name}: {part}{left}", end="", flush=True)


def tables(results: Results) -> list[Any]:
    """Give the tables: loss by position at every length, and the shift.

    Args:
        results: with all cells.

    Returns:
        Rich tables.
    """
    from rich.table import Table

    found = []
    for length in results.settings.lengths:
        measured = [(rule, losses) for rule in results.settings.rules if (losses := results.losses(rule, length)) is not None]
        if not measured:
            continue
        table = Table(title=f"loss by position, {length} tokens (nats a token, eighths of the length)", title_justify="left")
        table.add_column("rule")
        for column in ("all", *(f"..{(place + 1) * length // BINS}" for place in range(BINS))):
            table.add_column(column, justify="right")
        for rule, losses in measured:
            table.add_row(rule, f"{losses['loss']:.3f}", *("-" if value is None else f"{value:.2f}" for value in losses["bins"]))
        found.append(table)
    if results.shifts():
        table = Table(title="the same passage farther out: change of a log-probability, root mean square", title_justify="left")
        table.add_column("angles")
        shifts = results.shifts()
        for line in next(iter(shifts.values())):
            table.add_column(f"{line['offset']:,}", justify="right")
        for phases, lines in shifts.items():
            table.add_row(phases, *(f"{line['rms']:.1e}" for line in lines))
        found.append(table)
    if results.drifts():
        table = Table(title="pooled embeddings: cosine to those with the old table", title_justify="left")
        for column in ("rule", "length", "mean", "lowest"):
            table.add_column(column, justify="left" if column == "rule" else "right")
        for line in results.drifts():
            table.add_row(line["rule"], str(line["length"]), f"{line['mean']:.4f}", f"{line['lowest']:.4f}")
        found.append(table)
    return found


def block_lines(results: Results) -> list[str]:
    """Give the block for config.json.

    Args:
        results: with the losses.

    Returns:
        Lines.
    """
    block = recommended(results)
    if block is None:
        return []
    if block["read_back"] != "as measured":
        return [f"no block for config.json: {block['read_back']}"]
    return [
        f"for config.json ({block['rule']}, {block['length']} tokens; read back: {block['read_back']}):",
        json.dumps(block["config"], indent=1),
    ]


def _outcome(results: Results, cell: Cell) -> str:
    lines = results.cells[cell]
    if cell.test == PPL:
        found = summary(lines, cell.length)
        return f"{found['loss']:.3f} nats a token, last eighth {found['bins'][-1]:.3f}"
    if cell.test == SHIFT:
        last = [line for line in lines if "offset" in line][-1]
        return f"{last['rms']:.1e} at {last['offset']:,}"
    if cell.test == DRIFT:
        cosines = [line["cosine"] for line in lines if "cosine" in line]
        return f"cosine {sum(cosines) / len(cosines):.4f}, lowest {min(cosines):.4f}"
    depths = [line for line in lines if "depth" in line]
    return f"{sum(line['found'] for line in depths)} of {len(depths)} keys found"


def _say(line: str) -> None:
    print(f"\r\033[K{line}" if sys.stdout.isatty() else line, flush=True)
