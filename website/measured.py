"""Numbers that pages cite, out of benchmarks/results: ``compare/text/rope/8`` is RoPE's loss on text at 8 times the length."""

from __future__ import annotations

import functools
import json
import statistics
from collections.abc import Callable
from typing import Any

from website.places import ROOT

RESULTS = {
    "compare": "benchmarks/results/compare_2cores_202612/results.json",
    "stretch": "benchmarks/results/stretch_smollm2_202612.json",
    "speed": "benchmarks/results/speed_2cores_202612.json",
}


def value_of(name: str) -> float:
    """Give a number by its name.

    Args:
        name: ``compare/TASK/SCHEME/MULTIPLE`` (mean loss in nats), ``spread/TASK/MULTIPLE`` (most between two seeds),
            ``order/SCHEME/FORM`` (mean accuracy), ``cost/SCHEME`` (microseconds a token), ``stretch/RULE/EIGHTH`` (loss; ``all``),
            ``found/RULE`` (needles), ``shift/ANGLES/OFFSET`` (rms), ``speed/GROUP/COLUMN/ROW`` (ratio), ``memory/COLUMN/ROW`` (peak
            of an attention in MiB).

    Returns:
        The number.

    Raises:
        ValueError: if there is none of that name.

    Example:
        >>> value_of("compare/shift/rope/1") < value_of("compare/shift/rope/8")
        True
    """
    kind, *rest = name.split("/")
    try:
        return float(_KINDS[kind](*rest))
    except (LookupError, StopIteration, TypeError, ValueError) as error:
        raise ValueError(f"needed the name of a number in benchmarks/results, got {name!r}") from error


@functools.cache
def results(name: str) -> Any:
    """Read one of the files.

    Args:
        name: a key of ``RESULTS``.

    Returns:
        What it holds.
    """
    return json.loads((ROOT / RESULTS[name]).read_text(encoding="utf-8"))


def _loss(task: str, scheme: str, multiple: str) -> float:
    place = results("compare")["settings"]["budget"]["multiples"].index(int(multiple))
    return statistics.mean(float(cell["losses"][place]) for cell in _cells(task, scheme))


def _accuracy(scheme: str, form: str) -> float:
    return statistics.mean(float(cell["accuracies"][int(form)]) for cell in _cells("order", scheme))


def _cells(task: str, scheme: str) -> list[Any]:
    return [cell for cell in results("compare")["cells"] if (cell["task"], cell["scheme"]) == (task, scheme)]


def _spread(task: str, multiple: str) -> float:
    place = results("compare")["settings"]["budget"]["multiples"].index(int(multiple))
    losses = [[cell["losses"][place] for cell in _cells(task, scheme)] for scheme in results("compare")["settings"]["schemes"]]
    return float(max(max(each) - min(each) for each in losses))


def _found(rule: str) -> float:
    return float(sum(row["found"] for row in results("stretch")["needle"] if row["rule"] == rule))


def _cost(scheme: str) -> float:
    return 1000 * float(results("compare")["milliseconds_a_token"][scheme])


def _stretched(rule: str, part: str) -> float:
    cell = next(cell for cell in results("stretch")["cells"] if cell["rule"] == rule and cell["test"] == "ppl")
    return float(cell["loss"] if part == "all" else cell["bins"][int(part) - 1])


def _shifted(angles: str, offset: str) -> float:
    return float(next(row["rms"] for row in results("stretch")["shift"][angles] if row["offset"] == int(offset)))


def _ratio(group: str, column: str, row: str) -> float:
    records = results("speed")["records"]
    record = next(each for each in records if each["group"].startswith(group) and each["column"] == column)
    return float(record["rows"][row]["ratio"])


def _memory(column: str, row: str) -> float:
    records = results("speed")["records"]
    peak = "peak of one call, attention: forward"
    record = next(each for each in records if each["group"].startswith(peak) and each["column"] == column)
    return float(record["rows"][row]["median"])


_KINDS: dict[str, Callable[..., float]] = {
    "compare": _loss,
    "order": _accuracy,
    "cost": _cost,
    "spread": _spread,
    "found": _found,
    "stretch": _stretched,
    "shift": _shifted,
    "speed": _ratio,
    "memory": _memory,
}
