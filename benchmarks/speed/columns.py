"""A column: variants of one operation on the same inputs, checked, measured in turns, and compared with the limit among them."""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import torch
from benchmarks.speed.arithmetic import met, paired_ratio, summary
from benchmarks.speed.timing import METER, interleaved

LONGEST_REASON = 160


@dataclass(frozen=True)
class Target:
    """A row over another row, at most."""

    row: str
    against: str
    at_most: float


@dataclass(frozen=True)
class Variant:
    """One way to do it.

    Attributes:
        make: gives what is timed for the column's inputs; what that returns is checked.
        read: brings the result into the reference's form, outside the timing.
        missing: why it is not run at all, if so.
    """

    name: str
    make: Callable[[Any], Callable[[], Any]]
    read: Callable[[Any], Any] = lambda result: result
    missing: str | None = None


@dataclass(frozen=True)
class Column:
    """What is measured side by side.

    Attributes:
        group: columns of one group stand in one table.
        limit: the variant that is 1.00.
        inputs: makes the inputs that are timed.
        small: makes the inputs that are checked.
        wrong: what is wrong with a variant's result for the small inputs, or None.
        checked_as: columns with one key share their checks.
        grad: whether autograd is on.
        shown: "ratio", or "seconds" for tables of times.
    """

    part: str
    group: str
    name: str
    limit: str
    variants: tuple[Variant, ...]
    inputs: Callable[[], Any]
    small: Callable[[], Any]
    wrong: Callable[[Any, str, Any], str | None]
    checked_as: Hashable
    targets: tuple[Target, ...] = ()
    grad: bool = False
    shown: str = "ratio"


def largest_difference(got, want):
    """Of tensors or tuples of them, relative to the largest wanted entry; infinite where shapes differ or a number is none."""
    if isinstance(want, (tuple, list)):
        return max(largest_difference(one, other) for one, other in zip(got, want, strict=True))
    if got.shape != want.shape:
        return math.inf
    difference = ((got.double() - want).abs().max() / want.abs().max()).item()
    return math.inf if math.isnan(difference) else difference


def described_failure(error):
    first = (str(error).strip().splitlines() or [""])[0]
    return f"does not run: {type(error).__name__}: {first}"[:LONGEST_REASON]


def measured(column, effort, checks, meter=METER):
    """Check every variant, time those that are right; the column's record.

    Args:
        column: what to measure.
        effort: how long.
        checks: reasons found so far, by check and variant; filled here.
        meter: clock and page faults.
    """
    torch.compiler.reset()
    with torch.set_grad_enabled(column.grad):
        left_out = _refused(column, checks)
        inputs, runs = column.inputs(), {}
        for variant in column.variants:
            if left_out.get(variant.name) is None:
                runs[variant.name], left_out[variant.name] = _warm(variant, inputs)
        samples = interleaved({name: run for name, run in runs.items() if left_out[name] is None}, effort, meter)
    return record(column, samples, {name: reason for name, reason in left_out.items() if reason is not None})


def _refused(column, checks):
    """Reasons by variant: None for a right one."""
    small, reasons = None, {}
    for variant in column.variants:
        key = (column.checked_as, variant.name)
        if variant.missing is None and key not in checks:
            small = column.small() if small is None else small
            checks[key] = fault_of(column, variant, small)
        reasons[variant.name] = variant.missing or checks[key]
    return reasons


def fault_of(column, variant, small):
    """Why a variant is not timed, by its result for the small inputs; None if that is right."""
    try:
        fault = column.wrong(small, variant.name, variant.read(variant.make(small)()))
    except Exception as error:  # a peer may raise anything; its row then says so
        return described_failure(error)
    return None if fault is None else f"refused, wrong result: {fault}"


def _warm(variant, inputs):
    try:
        run = variant.make(inputs)
        run()
    except Exception as error:  # out of memory at this size, say
        return None, described_failure(error)
    return run, None


def record(column, samples, left_out):
    """A column as it is written: every variant has a row, with figures or with the reason why there are none."""
    rows = {}
    for variant in column.variants:
        name = variant.name
        rows[name] = {"left_out": left_out[name]} if name in left_out else _figures(samples[name])
    return compared(column, rows)


def _figures(samples):
    median, quartiles = summary(samples.seconds)
    return {
        "median": median,
        "quartiles": quartiles,
        "rounds": len(samples.seconds),
        "repeats": samples.repeats,
        "turns": samples.turns,
        "seconds": [float(f"{seconds:.4g}") for seconds in samples.seconds],
        "page_faults": round(summary(samples.faults)[0], 1),
    }


def compared(column, rows, unit="s"):
    """Ratios to the limit, and the targets' verdicts."""
    measured = {name: row for name, row in rows.items() if "median" in row}
    for row in measured.values():
        row["ratio"] = paired_ratio(row, measured[column.limit]) if column.limit in measured else None
    return {
        "part": column.part,
        "group": column.group,
        "column": column.name,
        "limit": column.limit,
        "unit": unit,
        "shown": column.shown,
        "rows": rows,
        "targets": [_verdict(target, measured) for target in column.targets],
    }


def _verdict(target, rows):
    both = target.row in rows and target.against in rows
    value = paired_ratio(rows[target.row], rows[target.against]) if both else None
    return {
        "row": target.row,
        "against": target.against,
        "at_most": target.at_most,
        "ratio": value,
        "met": met(value, target.at_most),
    }
