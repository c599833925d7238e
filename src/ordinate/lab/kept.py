"""Reading a comparison back: one's own, or the one that comes with the package."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar, get_args

from ordinate.lab.results import MADE_BY, ORDER, TASKS, Cell, Comparison, Settings
from ordinate.lab.rows import Budget, require_row
from ordinate.lab.train import Outcome
from ordinate.schemes.learned import Overflow

KEPT = Path(__file__).with_name("kept_comparison.json")
FORMAT = 2
T = TypeVar("T")
LARGEST = 8 * 2**20
MOST_SEEDS, FARTHEST, MOST = 1000, 10**6, 10**12


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
    file = KEPT if path is None else path / "results.json" if os.path.isdir(path) else path  # (is_dir raises in a closed folder)
    try:
        return _comparison(json.loads(_text(file)))
    except OSError as error:
        raise ValueError(
            f"needed a results.json of `{MADE_BY}`, or its folder, got {_named(file)} ({error.strerror or error})"
        ) from None
    except (KeyError, TypeError, ValueError, IndexError, RecursionError, AttributeError, OverflowError) as error:
        reason = f"without {error}" if isinstance(error, KeyError) else " ".join(str(error).split())[:200]
        raise ValueError(f"needed a results.json of `{MADE_BY}` in format {FORMAT}, got {_named(file)} ({reason})") from None


def _named(file: Path) -> str:
    return str(file) if str(file).isprintable() else ascii(str(file))  # a line break in a name would make two lines


def _text(file: Path) -> str:
    """A pipe or a device may never end, so nothing else than a regular file is opened; a byte order mark does no harm."""
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("needed a regular file")
    if status.st_size > LARGEST:
        raise ValueError(f"needed at most {LARGEST} bytes, got {status.st_size}")
    return file.read_text(encoding="utf-8-sig")


def _comparison(data: Any) -> Comparison:
    if data["made_by"] != MADE_BY or data["format"] != FORMAT:
        raise ValueError(f"made by {data['made_by']!r}, format {data['format']!r}")
    comparison = Comparison(
        settings=_settings(data["settings"]),
        corpus=None,
        command=_kind("command", data["command"], str),
        milliseconds={
            name: _number(f"milliseconds_a_token of {name!r}", value)
            for name, value in _kind("milliseconds_a_token", data["milliseconds_a_token"], dict).items()
        },
    )
    cells = _kind("cells", data["cells"], list)
    if not cells:
        raise ValueError("needed cells, got none")
    for cell in cells:
        settings = comparison.settings
        if cell["task"] not in settings.tasks or cell["scheme"] not in settings.schemes:
            raise ValueError(f"a cell of {cell['task']!r} and {cell['scheme']!r}, which the settings do not name")
        place = Cell(cell["task"], cell["scheme"], _whole("seed of a cell", cell["seed"], 0, settings.seeds - 1))
        if place in comparison.outcomes:
            raise ValueError(f"needed one cell of {place.task!r}, {place.scheme!r} and seed {place.seed}, got two")
        comparison.outcomes[place] = _outcome(cell, settings)
    return comparison


def _settings(data: Any) -> Settings:
    budget = _budget(data["budget"])
    tasks, schemes = (tuple(_kind(name, data[name], list)) for name in ("tasks", "schemes"))
    for task in tasks:
        _one_of("task", task, (*TASKS, ORDER))
    for scheme in schemes:
        require_row(_kind("scheme", scheme, str))
    return Settings(tasks, schemes, _whole("seeds", data["seeds"], 1, MOST_SEEDS), budget)


def _budget(data: Any) -> Budget:
    given = dict(data)
    _one_of("overflow", given["overflow"], get_args(Overflow))
    _number("learning_rate", given["learning_rate"])
    multiples = tuple(_whole("multiple", value, 1, FARTHEST) for value in _kind("multiples", given["multiples"], list))
    if not multiples or list(multiples) != sorted(set(multiples)):
        raise ValueError(f"needed multiples that rise, got {list(multiples)}")
    for name in ("d_model", "n_layers", "n_heads", "batch_size", "steps", "windows"):
        _whole(name, given[name], 1, MOST)
    _whole("length", given["length"], 1, FARTHEST)
    return Budget(**{**given, "multiples": multiples})


def _outcome(cell: dict[str, Any], settings: Settings) -> Outcome:
    whose = f"{cell['task']!r} and {cell['scheme']!r}"
    values = {field.name: cell[field.name] for field in dataclasses.fields(Outcome)}
    losses = tuple(None if loss is None else _number(f"loss of {whose}", loss) for loss in _kind("losses", values["losses"], list))
    shares = tuple(_number(f"accuracy of {whose}", share, 1.0) for share in _kind("accuracies", values["accuracies"], list))
    needed, rates = (2, 2) if cell["task"] == ORDER else (len(settings.budget.multiples), 0)
    if (len(losses), len(shares)) != (needed, rates):
        raise ValueError(
            f"a cell of {whose} with {len(losses)} losses and {len(shares)} accuracies where {needed} and {rates} belong"
        )
    for name in ("parameters", "position_parameters"):
        _whole(f"{name} of {whose}", values[name], 0, MOST)
    _number(f"seconds of {whose}", values["seconds"])
    if values["difference"] is not None:
        _number(f"difference of {whose}", values["difference"])
    return Outcome(**{**values, "losses": losses, "accuracies": shares})


def _kind(name: str, value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"needed {name} as {kind.__name__}, got {_short(value)}")
    return value


def _one_of(name: str, value: Any, known: Collection[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"needed a known {name} ({', '.join(known)}), got {_short(value)}")


def _number(name: str, value: Any, most: float = math.inf) -> float:
    number = -1.0 if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    if not math.isfinite(number) or not 0 <= number <= most:
        bounds = f"from 0 to {most:g}" if most < math.inf else "of 0 or more"
        raise ValueError(f"needed {name} as a finite number {bounds}, got {_short(value)}")
    return number


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"needed {name} as a whole number from {least} to {most}, got {_short(value)}")
    return value


def _short(value: Any) -> str:
    return f"{type(value).__name__} {ascii(value)[:40]}"
