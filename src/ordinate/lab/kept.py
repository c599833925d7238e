"""Reading a comparison back: one's own, or the one that comes with the package."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from ordinate.lab.results import MADE_BY, ORDER, TASKS, Cell, Comparison, Settings
from ordinate.lab.rows import Budget
from ordinate.lab.train import Outcome

KEPT = Path(__file__).with_name("kept_comparison.json")
FORMAT = 2
LARGEST = 2**26


def read_comparison(path: Path | None = None) -> Comparison:
    """Read a results.json of ``ordinate compare``.

    Args:
        path: the file, or the report's folder; the package's own results (all four tasks, two seeds) if None.

    Returns:
        The comparison, without the text that it was made with.

    Raises:
        ValueError: if it cannot be read, or is something else.

    Example:
        >>> read_comparison().settings.length_tasks
        ('text', 'shift', 'last')
    """
    file = KEPT if path is None else path / "results.json" if path.is_dir() else path
    try:
        if file.stat().st_size > LARGEST:
            raise ValueError(f"{file} has {file.stat().st_size} bytes")
        return _comparison(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise ValueError(f"needed a results.json of `{MADE_BY}`, or its folder, got {file} ({error.strerror or error})") from None
    except (KeyError, TypeError, ValueError, IndexError, RecursionError, AttributeError) as error:
        reason = f"without {error}" if isinstance(error, KeyError) else str(error)[:200]
        raise ValueError(f"needed a results.json of `{MADE_BY}` in format {FORMAT}, got {file} ({reason})") from None


def _comparison(data: Any) -> Comparison:
    if data["made_by"] != MADE_BY or data["format"] != FORMAT:
        raise ValueError(f"made by {data['made_by']!r}, format {data['format']!r}")
    settings = dict(data["settings"])
    budget = Budget(**{**settings["budget"], "multiples": tuple(settings["budget"]["multiples"])})
    comparison = Comparison(
        settings=Settings(tuple(settings["tasks"]), tuple(settings["schemes"]), int(settings["seeds"]), budget),
        corpus=None,
        command=str(data["command"]),
        milliseconds={str(name): float(value) for name, value in data["milliseconds_a_token"].items()},
    )
    for cell in data["cells"]:
        place = Cell(cell["task"], cell["scheme"], cell["seed"])
        comparison.outcomes[place] = _outcome(cell, comparison.settings)
    return comparison


def _outcome(cell: dict[str, Any], settings: Settings) -> Outcome:
    if cell["task"] not in {*TASKS, ORDER} & set(settings.tasks) or cell["scheme"] not in settings.schemes:
        raise ValueError(f"a cell of {cell['task']!r} and {cell['scheme']!r}, which the settings do not name")
    values = {field.name: cell[field.name] for field in dataclasses.fields(Outcome)}
    losses = tuple(None if loss is None else float(loss) for loss in values["losses"])
    needed = 2 if cell["task"] == ORDER else len(settings.budget.multiples)
    if len(losses) != needed:
        raise ValueError(f"a cell of {cell['task']!r} with {len(losses)} losses where {needed} belong")
    return Outcome(**{**values, "losses": losses, "accuracies": tuple(float(value) for value in values["accuracies"])})
