"""The report folder: results.json, figures, config-block.json and report.html, and which lengths fit into time and memory."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any

from ordinate.lab.folders import is_made_by, listed, names_in
from ordinate.stretching import figures
from ordinate.stretching.probing import Probe, estimated
from ordinate.stretching.recommending import recommended, said
from ordinate.stretching.results import MADE_BY, Results, versions
from ordinate.stretching.rules import NATIVE
from ordinate.stretching.settings import NEEDLE, PPL, Cell
from ordinate.stretching.stretch import CELLS, first_cells, runs

RESULTS, REPORT, BLOCK, LOCK = "results.json", "report.html", "config-block.json", ".lock"
OURS = (CELLS, RESULTS, REPORT, BLOCK, LOCK, *(f"{name}.{kind}" for name in figures.NAMES for kind in ("png", "svg")))


def claim_folder(folder: Path) -> None:
    """Make the output folder, or refuse it before anything runs: nothing that is not ours is ever overwritten.

    Args:
        folder: new, empty, or made by an earlier run.

    Raises:
        ValueError: if it is a file, cannot be written, or holds other files.
    """
    names, results = names_in(folder), folder / RESULTS
    if results.exists() and not is_made_by(results, MADE_BY):
        raise ValueError(f"--output: {results} was not made by an earlier run; choose another folder")
    foreign = [name for name in names if name not in OURS and not (name.startswith(".") and name.endswith(".partial"))]
    if foreign:
        raise ValueError(
            f"--output: needed a new or empty folder, or one of an earlier run, got {folder}, which holds "
            f"{listed(foreign)}; "
            "choose another folder"
        )


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder, where the system can.

    Args:
        folder: claimed before.

    Yields:
        Nothing.

    Raises:
        ValueError: if another run is at work there.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"--output: another run is at work in {folder}; wait for it, or choose another folder") from None
        yield


def fitting(results: Results, probe: Probe, free: int | None, budget: float | None) -> tuple[tuple[int, ...], list[str]]:
    """Choose the lengths that fit.

    Args:
        results: for lengths and rules.
        probe: of this machine.
        free: bytes, or None if not known.
        budget: seconds, or None for any.

    Returns:
        Lengths, and a line for each that is left out.
    """
    kept: list[int] = []
    left_out, spent = [], 0.0
    for length in results.settings.lengths:
        needs, costs = probe.memory(length), _cost(results, probe, length)
        if free is not None and needs > free:
            left_out.append(f"left out: {length} tokens need about {_gib(needs)} beside the model, {_gib(free)} are free")
        elif budget is not None and spent + costs > budget:
            left_out.append(f"left out: {length} tokens would take about {costs / 60:.1f} minutes more than the budget leaves")
        else:
            spent += costs
            kept.append(length)
    return tuple(kept), left_out


def write(results: Results, folder: Path, command: str) -> None:
    """Write every file beside the old one, then put all of them in place.

    Args:
        results: with all cells.
        folder: claimed before.
        command: that was run.

    Raises:
        OSError: if the folder cannot be written.
    """
    block = recommended(results)
    document = {
        **results.as_json(),
        "recommendation": block,
        "run": {
            "command": command,
            "date": date.today().isoformat(),
            "seconds": round(sum(lines[-1].get("seconds", 0.0) for lines in results.cells.values() if lines)),
        },
    }
    files: dict[str, bytes] = {RESULTS: (json.dumps(document, indent=1, allow_nan=False) + "\n").encode()}
    if block is not None and block["read_back"] == "as measured":
        files[BLOCK] = (json.dumps(block["config"], indent=1) + "\n").encode()
    drawn = figures.draw(results)
    files |= {f"{name}.{kind}": data for name, kinds in drawn.items() for kind, data in kinds.items()}
    files[REPORT] = render(results, document, {name: kinds["svg"].decode() for name, kinds in drawn.items()}).encode()
    partial = {name: folder / f".{name}.partial" for name in files}
    try:
        for name, path in partial.items():
            path.write_bytes(files[name])
        for name, path in partial.items():
            os.replace(path, folder / name)
    finally:
        for path in partial.values():
            path.unlink(missing_ok=True)


def render(results: Results, document: dict[str, Any], drawings: dict[str, str]) -> str:
    """Give the report as one self-contained HTML page.

    Args:
        results: with all cells.
        document: as results.json has it.
        drawings: SVG by name.

    Returns:
        The page.
    """
    import jinja2

    template = resources.files("ordinate.stretching").joinpath("report.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        made_by=MADE_BY,
        document=document,
        said=said(results),
        drawings={name: text[text.index("<svg") :] for name, text in drawings.items()},
        versions=versions(),
        block=json.dumps(document["recommendation"]["config"], indent=2) if document["recommendation"] else None,
        failures={
            f"{cell.test} {cell.rule} {cell.length}": results.failure(cell) for cell in results.cells if results.failure(cell)
        },
    )


def _cost(results: Results, probe: Probe, length: int) -> float:
    """Seconds of all cells of a length; the shift test belongs to none."""
    cells = [cell for cell in first_cells(results.settings, results.subject) if cell.length == length and cell.test == PPL]
    if NEEDLE in results.settings.tests:
        rules = results.settings.rules if PPL not in results.settings.tests else (NATIVE, *results.settings.rules[-1:])
        cells += [Cell(NEEDLE, rule, length) for rule in dict.fromkeys(rules) if runs(rule, results.subject, length)]
    return sum(estimated(cell, probe, results.settings) for cell in cells)


def _gib(number: int) -> str:
    return f"{number / 2**30:.1f} GiB"
