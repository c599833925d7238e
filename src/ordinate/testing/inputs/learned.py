"""Checks of tables that are read by position: learned vectors, and cached cosines and sines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.classes import only_table
from ordinate.testing.comparing import Array, Mistake, Question, as_array, close, numbers
from ordinate.testing.findings import Finding, Report, broken, holds, not_asked
from ordinate.testing.inputs.adapters import adapted
from ordinate.testing.inputs.function import InputFunction
from ordinate.testing.inputs.sinusoidal import memory

TABLE, RANGE = "table-range-and-base", "cos-sin-range"
Overflow = Literal["error", "wrap", "clamp"]
Positions = tuple[int, ...]
CHECK = "check 0 <= position < {} before indexing, and raise a ValueError that names both"


def check_learned(
    fn: Any,
    *,
    d_model: int,
    max_length: int,
    table: Any = None,
    padding_offset: int = 0,
    overflow: Overflow = "error",
) -> Report:
    """Check a learned table: which rows are read, and what happens outside of it.

    Args:
        fn: fn(positions [T]) -> [T, d_model]; other signatures go through an adapter, most of them by themselves.
        d_model: width.
        max_length: usable positions.
        table: the weights [max_length + padding_offset, d_model], to check which rows are read. A module's own is found.
        padding_offset: rows before that of position 0.
        overflow: what is meant to happen from max_length on.

    Returns:
        A finding for each property.

    Raises:
        ValueError: if the function's signature is unknown, or the table has another number of rows.

    Example:
        >>> weights = torch.arange(8.0).view(4, 2)
        >>> report = check_learned(lambda positions: weights[positions], d_model=2, max_length=4)
        >>> print(report.broken[0].smallest, "|", report.broken[0].said)
        position -1 | a negative position wraps around to the last row
    """
    function = adapted(fn, d_model)
    table = only_table(fn, max_length + padding_offset, d_model) if table is None else table
    if table is not None and len(table) != max_length + padding_offset:
        raise ValueError(f"table: needed {max_length} + {padding_offset} rows (max_length, padding_offset), got {len(table)}")
    weights = None if table is None else as_array(table)
    rows = _rows_read(function, max_length, weights, padding_offset)
    if rows[0].verdict == "broken":
        return Report("learned table", (*rows, not_asked("outside of the table", "the rows inside are wrong already")))
    past = _past_the_end(function, max_length, overflow)
    after = _after_an_update(function, table)
    return Report("learned table", (*rows, past, *_outside(function, max_length, RANGE), memory(function), after))


def _after_an_update(function: InputFunction, table: Any) -> Finding:
    """Whether a training step reaches what is given: the table changes by 1, and changes back."""
    name = "after an update of the weights"
    if not isinstance(table, torch.nn.Parameter):
        return not_asked(name, "no Parameter was found or given as the table")
    before = function.ask((0, 1))
    with torch.no_grad():
        kept = table.detach().clone()
        table.add_(1.0)
        after = function.ask((0, 1))
        table.copy_(kept)
    if isinstance(before, Failed) or isinstance(after, Failed) or not np.allclose(after, before, atol=1e-6):
        return holds(name, "it is seen")
    return broken(
        name,
        "cache-key-and-sharing",
        "the vectors are kept from before: an update of the weights is not seen",
        smallest="positions [0, 1], 1 added to the table, then again",
        expected=f"{before[0, 0] + 1:.6g}",
        actual=f"{after[0, 0]:.6g}",
        remedy="read the table in every call",
    )


def check_table(fn: Callable[[torch.Tensor], Any], max_length: int) -> Report:
    """Check a function that reads cosines and sines (or anything else) from a cache of some rows.

    Args:
        fn: fn(positions [T]) -> a tensor, or a pair of them, with a row for each position.
        max_length: rows of the cache.

    Returns:
        A finding for each property: the last row is there; max_length, -1 and 2.0 are refused by an error.

    Example:
        >>> cos = torch.arange(4.0)[:, None].cos()
        >>> [finding.smallest for finding in check_table(lambda positions: cos[positions % 4], 4).broken]
        ['position 4', 'position -1']
    """
    function = InputFunction(lambda positions: _joined(fn(positions)))
    inside = function.ask((0, max_length - 1))
    if isinstance(inside, Failed):
        said = "a position of the table gives no value"
        where = f"positions [0, {max_length - 1}]"
        finding = broken("rows of the table", RANGE, said, smallest=where, expected="two rows", actual=str(inside))
        return Report("table", (finding, not_asked("outside of the table", "the rows inside are wrong already")))
    found = holds("rows of the table", f"positions 0 and {max_length - 1}")
    return Report("table", (found, _refused(function, (max_length,), max_length, RANGE), *_outside(function, max_length, RANGE)))


def _joined(given: Any) -> torch.Tensor:
    """One [T, n] of a tensor [.., T, n], or of a pair of them."""
    parts = given if isinstance(given, (tuple, list)) else (given,)
    tensors = [torch.as_tensor(part) for part in parts]
    return torch.cat([part.reshape(-1, part.shape[-1]) if part.ndim > 1 else part[:, None] for part in tensors], dim=-1)


def _rows_read(function: InputFunction, max_length: int, table: Array | None, offset: int) -> list[Finding]:
    name = "rows of the table"
    inputs = [each for each in _inside(max_length) if function.may_be_asked(each)]
    if table is not None:
        return [_rows_question(name, inputs, table, offset).answered(function.ask)]
    base = not_asked("first row", "no table= was given to compare with")
    rows = function.ask(tuple(range(max_length)))
    if isinstance(rows, Failed):
        where, said = f"positions 0 .. {max_length - 1}", "positions of the table give no value"
        return [broken(name, TABLE, said, smallest=where, expected=f"{max_length} rows", actual=str(rows)), base]
    if max_length > 1 and not rows.any():
        return [not_asked(name, "all vectors are 0: draw the weights before the check"), base]
    if (twins := _twins(rows)) is not None:
        where, said = f"positions {list(twins)}", "two positions have one vector"
        shown = numbers(rows[twins[0]])
        return [broken(name, TABLE, said, smallest=where, expected="two vectors", actual=f"{shown} for both"), base]
    return [holds(name, f"all {max_length} positions have vectors of their own"), base]


def _twins(rows: Array) -> tuple[int, int] | None:
    first: dict[bytes, int] = {}
    for place, row in enumerate(rows):
        earlier = first.setdefault(row.tobytes(), place)
        if earlier != place:
            return earlier, place
    return None


def _inside(max_length: int) -> list[Positions]:
    last = max_length - 1
    sizes = sorted({1, min(2, max_length), min(3, max_length), max_length})
    return [*(tuple(range(size)) for size in sizes), (last,), (last, 0)]


def _rows_question(name: str, inputs: Sequence[Positions], table: Array, offset: int) -> Question[Positions]:
    rows = len(table)

    def read(place: Callable[[int, int], int]) -> Callable[[Positions], Array]:
        return lambda positions: table[[place(index, position) % rows for index, position in enumerate(positions)]]

    base = f"position p reads row p + {offset}: the offset is added once"
    wrong: list[tuple[str, Callable[[int, int], int]]] = [
        ("the padding offset is not added", lambda _, p: p),
        ("the padding offset is added twice", lambda _, p: p + 2 * offset),
        ("the first row read is one too high", lambda _, p: p + offset + 1),
        ("the first row read is one too low", lambda _, p: p + offset - 1),
        ("positions are ignored: rows are counted from the first", lambda index, _: index + offset),
        ("positions are ignored: one row serves all", lambda _, __: offset),
        ("the rows are read in reverse order", lambda _, p: rows - 1 - p),
        ("a padding offset of 1 is added", lambda _, p: p + 1),
        ("a padding offset of 2 is added", lambda _, p: p + 2),
    ]
    mistakes = [Mistake(said=said, remedy=base, gives=read(place)) for said, place in wrong]
    return Question(
        property=name,
        kind=TABLE,
        inputs=inputs,
        right=read(lambda _, p: p + offset),
        shown=lambda positions: f"positions {list(positions)}" if len(positions) < 9 else f"positions 0 .. {positions[-1]}",
        mistakes=mistakes,
        raising="every position below max_length has a row",
    )


def _past_the_end(function: InputFunction, max_length: int, overflow: Overflow) -> Finding:
    past = (max_length,) if function.may_be_asked((max_length,)) else tuple(range(max_length + 1))
    if overflow == "error":
        return _refused(function, past, max_length, TABLE)
    name = "past the end"
    got, place = function.ask(past), 0 if overflow == "wrap" else max_length - 1
    right = function.ask((place,) if function.may_be_asked((place,)) else tuple(range(place + 1)))
    where = f"position {max_length}"
    if isinstance(right, Failed) or (not isinstance(got, Failed) and close(got[-1:], right[-1:])):
        return holds(name, f"position {max_length} reads the row of {place}, as declared")
    actual = str(got) if isinstance(got, Failed) else numbers(got[-1])
    said = f"position {max_length} does not read the row of {place}, as declared by {overflow!r}"
    return broken(name, TABLE, said, smallest=where, expected=numbers(right[-1]), actual=actual)


def _outside(function: InputFunction, max_length: int, kind: str) -> list[Finding]:
    if function.takes != "positions":
        return [not_asked(name, "the function takes no positions") for name in ("negative positions", "fractional positions")]
    return [_refused(function, (-1,), max_length, kind), _refused(function, (2.0 if max_length > 2 else 0.0,), max_length, kind)]


def _refused(function: InputFunction, positions: Sequence[float], max_length: int, kind: str) -> Finding:
    """Any error will do; a value will not."""
    wrong = positions[-1]
    names = {-1: "negative positions", max_length: "past the end"}
    name = "fractional positions" if isinstance(wrong, float) else names[wrong]
    given = function.raw(positions)
    got = given if isinstance(given, Failed) else attempt(lambda: as_array(given))
    if isinstance(got, Failed):
        return holds(name, f"position {wrong} is refused: {got}")
    rows = got.reshape(-1, got.shape[-1]) if got.ndim > 1 else got[:, None]
    said = _taken(function, rows, wrong, max_length, len(positions))
    actual = f"no error, {numbers(rows[-1:])}"
    remedy = CHECK.format(max_length) if not isinstance(wrong, float) else "refuse positions that are no integers"
    return broken(name, kind, said, smallest=f"position {wrong}", expected="a ValueError", actual=actual, remedy=remedy)


def _taken(function: InputFunction, rows: Array, wrong: float, max_length: int, asked: int) -> str:
    """How a position that should be refused was taken."""
    if len(rows) != asked:
        return f"{len(rows)} rows come for {asked} positions"
    inside = function.ask(tuple(range(max_length)))
    what = "a negative position" if wrong == -1 else f"position {wrong}"
    if isinstance(inside, Failed):
        return f"{what} is taken"
    places = [place for place, row in enumerate(inside) if np.array_equal(row, rows[-1])]
    if isinstance(wrong, float):
        return "a floating position is cut to an integer" if int(wrong) in places else "a floating position is taken"
    if wrong == -1 and max_length - 1 in places:
        return f"{what} wraps around to the last row"
    if wrong == max_length and 0 in places:
        return f"{what} wraps around to the first row"
    if wrong == max_length and max_length - 1 in places:
        return f"{what} reads the last row again"
    return f"{what} reads row {places[0]}" if places else f"{what} reads a vector that no position has"
