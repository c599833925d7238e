"""Write what a comparison found: results.json, curves.png and a report.html that can be read offline."""

from __future__ import annotations

import io
import json
import os
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any

from ordinate.lab import curves
from ordinate.lab.folders import is_made_by, listed, names_in
from ordinate.lab.order import order_budget
from ordinate.lab.results import MADE_BY, ORDER, TASKS, Comparison, Spread, signed, versions
from ordinate.lab.rows import site_of
from ordinate.lab.said import NOTES_COLUMNS, ORDER_COLUMNS, beyond_the_table, findings, notes_row, order_findings, order_row
from ordinate.lab.speed import MOST_TOKENS

RESULTS, CURVES, REPORT = "results.json", "curves.png", "report.html"


def claim_folder(folder: Path) -> None:
    """Make the output folder, or refuse it before anything runs: nothing that is not ours is ever overwritten.

    Args:
        folder: new, empty, or made by an earlier comparison.

    Raises:
        ValueError: if it is a file, cannot be written, or holds other files.
    """
    names = names_in(folder)
    if names and not is_made_by(folder / RESULTS, MADE_BY):
        raise ValueError(
            f"--output: needed a new or empty folder, or one that an earlier comparison made, got {folder}, which holds "
            f"{listed(names)}; "
            "choose another folder"
        )


def write(comparison: Comparison, folder: Path) -> None:
    """Write the three files beside the old ones, then put all of them in place; a failure leaves the old ones.

    Args:
        comparison: with all its outcomes.
        folder: claimed before.

    Raises:
        OSError: if the folder cannot be written.
    """
    results = json.dumps(comparison.as_json(), indent=1).encode(errors="backslashreplace")
    page = render(comparison).encode(errors="backslashreplace")
    folder.mkdir(parents=True, exist_ok=True)
    partial = {name: folder / f".{name}.partial" for name in (RESULTS, CURVES, REPORT)}
    try:
        partial[RESULTS].write_bytes(results)
        partial[REPORT].write_bytes(page)
        curves.save(comparison, partial[CURVES], "png")
        for name, path in partial.items():
            os.replace(path, folder / name)
    finally:
        for path in partial.values():
            path.unlink(missing_ok=True)


def render(comparison: Comparison) -> str:
    """Give the report as one self-contained HTML page.

    Args:
        comparison: with all its outcomes.

    Returns:
        The page.
    """
    import jinja2

    template = resources.files("ordinate.lab").joinpath("report.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    settings = comparison.settings
    return environment.from_string(template).render(
        budget=settings.budget,
        signed=signed,
        speed_tokens=MOST_TOKENS,
        settings=settings,
        corpus=comparison.corpus,
        table_note=beyond_the_table(settings.budget) if "learned" in settings.schemes else "",
        order=_order(comparison),
        notes={"columns": NOTES_COLUMNS, "rows": [notes_row(comparison, scheme) for scheme in settings.schemes]},
        command=comparison.command,
        versions=versions(),
        today=date.today().isoformat(),
        figure=_svg(comparison),
        tasks=[_task(comparison, task) for task in settings.length_tasks],
        parameters=max((outcome.parameters for outcome in comparison.outcomes.values()), default=0),
        seconds=round(sum(outcome.seconds for outcome in comparison.outcomes.values())),
    )


def _task(comparison: Comparison, task: str) -> dict[str, Any]:
    settings = comparison.settings
    multiples = settings.budget.multiples
    rows = []
    for scheme in settings.schemes:
        spreads = [comparison.spread(task, scheme, index) for index in range(len(multiples))]
        first = spreads[0]
        cells = [_cell(spread, first, scheme in comparison.lowest(task, i)) for i, spread in enumerate(spreads)]
        rows.append({"scheme": scheme, "site": site_of(scheme), "cells": cells, "rise": comparison.rise(task, scheme)})
    return {"name": task, "meaning": TASKS[task], "rows": rows, "findings": findings(comparison, task)}


def _order(comparison: Comparison) -> dict[str, Any] | None:
    if ORDER not in comparison.settings.tasks:
        return None
    rows = [order_row(comparison, scheme) for scheme in comparison.settings.schemes]
    training = order_budget(comparison.settings.budget)
    return {
        "columns": ORDER_COLUMNS,
        "rows": rows,
        "findings": order_findings(comparison),
        "steps": training.steps,
        "sentences": training.batch_size,
        "rate": training.learning_rate,
    }


def _cell(spread: Spread | None, first: Spread | None, lowest: bool) -> dict[str, Any]:
    if spread is None or first is None:
        return {"text": "refused", "half": None, "heat": 0.0, "lowest": False}
    heat = min(max((spread.mean - first.mean) / 2.0, 0.0), 1.0)
    return {"text": f"{spread.mean:.2f}", "half": spread.half, "heat": round(heat, 3), "lowest": lowest}


def _svg(comparison: Comparison) -> str:
    buffer = io.StringIO()
    curves.save(comparison, buffer, "svg")
    text = buffer.getvalue()
    return text[text.index("<svg") :]
