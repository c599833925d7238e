"""Positions, frequencies or angles that lose bits before sine and cosine."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ordinate.doctor.source.buffers import buffers_of
from ordinate.doctor.source.names import argument, dotted, last, named, written
from ordinate.doctor.source.slices import angles, flowing_into
from ordinate.doctor.source.spotted import Spotted, note, warning
from ordinate.doctor.source.tree import Function, Source
from ordinate.doctor.source.vocabulary import FREQUENCIES, POSITIONS

KIND = "low-precision-phase"
LOW = {"float16": "float16", "half": "float16", "bfloat16": "bfloat16"}
HOLDS = {"float16": "float16 holds whole numbers to 2048 only", "bfloat16": "bfloat16 holds whole numbers to 256 only"}
MAKING = ("arange",)
MULTIPLYING = ("einsum", "matmul", "bmm", "mm", "dot", "baddbmm", "addmm")
GUARDS = ("autocast", "maybe_autocast", "disable_autocast", "custom_fwd", "force_fp32", "no_autocast")
REMEDY = "keep positions and frequencies in float32 up to sine and cosine, and round those: x.float() before, cos.to(dtype) after"
OUTER = "multiply elementwise, positions[..., None].float() * inv_freq, or switch autocast off around it"


def spot(source: Source) -> Iterator[Spotted]:
    """Find casts to a narrow dtype on the way to sine and cosine, and products there that autocast would round.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for function in source.functions:
        flowing = list(flowing_into(function, [*angles(function), *_frequencies(function)]))
        inside, wide = set(flowing), {dotted(each) for each in flowing} | _widened(function)
        by_name = [node for node in function.calls if node not in inside and _of_positions(function, node)]
        for node in (*flowing, *by_name):
            if isinstance(node, ast.Call):
                yield from _cast(function, node, wide)
        yield from _products(function, flowing)


def _frequencies(function: Function) -> list[ast.expr]:
    """What is called frequencies where it is made."""
    values = [
        value for name, pairs in function.assigned.items() if FREQUENCIES.fullmatch(name.split(".")[-1]) for _, value in pairs
    ]
    kept = [buffer.value for buffer in buffers_of(function) if FREQUENCIES.fullmatch(buffer.name) and buffer.value is not None]
    return values + kept


def _cast(function: Function, call: ast.Call, wide: set[str]) -> Iterator[Spotted]:
    """A narrow dtype, or that of a tensor that may be narrow; positions that a caller gives as floats keep their own."""
    name, dtype = last(call.func), _dtype(call)
    low = LOW.get(name) if name in ("half", "bfloat16") and not call.args else LOW.get(last(dtype)) if dtype is not None else None
    if low is not None:
        what = "are made" if name in MAKING else "are rounded to " + low
        where = f"positions or frequencies {what} before sine and cosine: {HOLDS[low]}"
        yield warning(KIND, call, where if name not in MAKING else f"{where}; dtype is {low}", REMEDY)
        return
    owner = _lender(dtype)
    if owner is None:
        return
    if FREQUENCIES.fullmatch(last(owner)):
        if name in MAKING and dotted(owner).startswith("self."):
            message = f"positions take the dtype of {dotted(owner)}, which model.to(bfloat16) rounds with all buffers"
            yield warning(KIND, call, message, "make positions in int64 or float32, whatever the frequencies are")
    elif dotted(owner) in function.parameters and dotted(owner) not in wide:
        message = f"positions or frequencies take the dtype of {dotted(owner)}: with bfloat16 activations, {HOLDS['bfloat16']}"
        yield warning(KIND, call, message, REMEDY)


def _dtype(call: ast.Call) -> ast.expr | None:
    """The dtype that a call makes or casts to."""
    name = last(call.func)
    if name in MAKING:
        return argument(call, None, "dtype")
    if name not in ("to", "type", "type_as"):
        return None
    given = argument(call, None, "dtype")
    if given is not None:
        return given
    return next((each for each in call.args if name == "type_as" or last(each) in (*LOW, "dtype")), None)


def _lender(dtype: ast.expr | None) -> ast.expr | None:
    """The tensor whose dtype is taken: x of ``x.dtype`` and of ``type_as(x)``."""
    if isinstance(dtype, ast.Attribute) and dtype.attr == "dtype":
        return dtype.value
    return dtype if isinstance(dtype, ast.Name) and dtype.id != "dtype" else None


def _widened(function: Function) -> set[str]:
    """Arguments that become float32 in the function."""
    pairs = ((name, value) for name in function.parameters for _, value in function.assigned.get(name, []))
    return {name for name, value in pairs if named(value) & {"float", "float32", "float64", "double"}}


def _of_positions(function: Function, call: ast.Call) -> bool:
    """A cast of what is called positions or frequencies; one that only asks for a device is none."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "half", "bfloat16", "type_as", "type"):
        return False
    name = last(call.func.value) if dotted(call.func.value) else ""
    if FREQUENCIES.fullmatch(name):
        return True
    counted = (value for _, value in function.assigned.get(name, [])[-20:] if "arange" in named(value))
    return name in ("position_ids", "positions") and (name in function.parameters or next(counted, None) is not None)


def _products(function: Function, flowing: list[ast.AST]) -> Iterator[Spotted]:
    """Matrix products run in bfloat16 under autocast; elementwise products do not."""
    if function.name == "__init__" or any(guard in function.words for guard in GUARDS) or _decorated(function):
        return
    for node in flowing:
        called = isinstance(node, ast.Call) and last(node.func) in MULTIPLYING
        at = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
        if (called or at) and isinstance(node, ast.expr) and any(_positional(each) for each in ast.walk(node)):
            yield note(KIND, node, "under autocast this product of positions and frequencies is rounded to bfloat16", OUTER)


def _positional(node: ast.AST) -> bool:
    name = last(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
    return FREQUENCIES.fullmatch(name) is not None or POSITIONS.fullmatch(name) is not None


def _decorated(function: Function) -> bool:
    text = " ".join(written(each) for each in function.node.decorator_list)
    return any(guard in text for guard in GUARDS)
