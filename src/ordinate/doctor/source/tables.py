"""Learned tables and tables of cosines: what is done with positions outside of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ordinate.doctor.source.names import argument, dotted, last, named, number, written
from ordinate.doctor.source.spotted import Spotted, note, warning
from ordinate.doctor.source.tree import Function, Source
from ordinate.doctor.source.vocabulary import COSINES, POSITIONAL_CLASS, POSITIONS

TABLE, RANGE = "table-range-and-base", "cos-sin-range"
CHECKING = frozenset({"clamp", "clip", "max", "amax", "_assert_async", "_check", "check", "remainder", "max_position_embeddings"})
WRAP = "say so by an error: a position past the table has no vector of its own; resize the table, or cut the text"
CHECK = "check 0 <= position < rows before indexing, or work cos and sin out of the position"


def spot(source: Source) -> Iterator[Spotted]:
    """Find tables that are too short by their padding offset, and positions that are folded or clamped into a table unsaid.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for owner, methods in source.methods.items():
        yield from _short_by_offset(owner, methods)
    for function in source.functions:
        yield from _folded(function)
        yield from _unchecked(function)


def _short_by_offset(owner: ast.ClassDef, methods: list[Function]) -> Iterator[Spotted]:
    """An embedding that reads ``positions + offset`` and was made without the offset's rows."""
    if "Embedding" not in [last(base) for base in owner.bases]:
        return
    read = next((added for method in methods if method.name == "forward" for added in _offset_read(method)), None)
    made = [call for method in methods if method.name == "__init__" for call in method.calls if _is_super(call, "__init__")]
    if read is None:
        return
    for call in made:
        rows = argument(call, 0, "num_embeddings")
        if isinstance(rows, ast.Name) and _plain(rows.id, methods):
            message = (
                f"rows are read at position + {written(read)}, but there are {rows.id} rows: the last positions are past the end"
            )
            yield warning(TABLE, call, message, f"make {rows.id} + {written(read)} rows")


def _is_super(call: ast.Call, name: str) -> bool:
    func = call.func
    return (
        isinstance(func, ast.Attribute)
        and func.attr == name
        and isinstance(func.value, ast.Call)
        and last(func.value.func) == "super"
    )


def _offset_read(method: Function) -> Iterator[ast.expr]:
    """What is added to the positions that ``super().forward`` reads."""
    for call in method.calls:
        given = call.args[0] if _is_super(call, "forward") and call.args else None
        if (
            isinstance(given, ast.BinOp)
            and isinstance(given.op, ast.Add)
            and (number(given.right) or "offset" in last(given.right))
        ):
            yield given.right


def _plain(name: str, methods: list[Function]) -> bool:
    """Whether nothing is added to the number of rows first."""
    return all(name not in method.assigned for method in methods if method.name == "__init__")


def _folded(function: Function) -> Iterator[Spotted]:
    """``arange(T) % max_len`` and ``position_ids.clamp(max=...)`` in a forward pass."""
    if function.name != "forward":
        return
    positional = function.owner is not None and POSITIONAL_CLASS.fullmatch(function.owner.name) is not None
    for node in function.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _positions(node.left) and _rows(node.right):
            yield note(TABLE, node, f"positions past the table start again at 0: {written(node, 60)}", WRAP)
        elif (
            (
                isinstance(node, ast.Call)
                and last(node.func) in ("clamp", "clip", "clamp_", "minimum")
                and _limited(node)
                and positional
            )
            and isinstance(node.func, ast.Attribute)
            and POSITIONS.fullmatch(last(node.func.value))
        ):
            yield note(TABLE, node, f"positions past the table all take its last row: {written(node, 60)}", WRAP)


def _positions(node: ast.expr) -> bool:
    counted = isinstance(node, ast.Call) and last(node.func) == "arange"
    return counted or (bool(dotted(node)) and POSITIONS.fullmatch(last(node)) is not None)


def _rows(node: ast.expr) -> bool:
    return any(re.fullmatch(r"\w*(max|num_emb|n_pos|n_ctx|table|rows|context)\w*", name) for name in named(node))


def _limited(call: ast.Call) -> bool:
    return argument(call, 1, "max") is not None or last(call.func) == "minimum"


def _unchecked(function: Function) -> Iterator[Spotted]:
    """``cos_cached[position_ids]``, once a function."""
    if function.words & CHECKING:
        return
    for node in function.nodes:
        if (
            isinstance(node, ast.Subscript)
            and dotted(node.value)
            and COSINES.fullmatch(last(node.value))
            and _given(function, node.slice)
        ):
            yield note(RANGE, node, f"{written(node, 50)} takes -1 for the last row, and nothing checks the range", CHECK)
            return


def _given(function: Function, index: ast.expr) -> bool:
    return bool(dotted(index)) and POSITIONS.fullmatch(last(index)) is not None and bool(named(index) & {*function.parameters})
