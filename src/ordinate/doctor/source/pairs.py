"""The layout of pairs: how angles are repeated over a head, and how its entries are turned."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ordinate.doctor.source.names import argument, dotted, last, number, subject, written
from ordinate.doctor.source.slices import angles, flowing_into
from ordinate.doctor.source.spotted import Spotted
from ordinate.doctor.source.tree import Function, Source

KIND = "layout-mismatch"
ANGLES = re.compile(r"_*\w*(freqs?|angles?|thetas?|phases?|cos|sin|cosines?|sines?|emb)\w*")
JOINED = ("cat", "concat", "concatenate")
OTHER = {"half": "torch.cat((angles, angles), dim=-1)", "interleaved": "angles.repeat_interleave(2, dim=-1)"}


def spot(source: Source) -> Iterator[Spotted]:
    """Find angles repeated for one layout where the file turns pairs of the other, and turns that mix both.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    turns = [(function, layout, place) for function in source.functions for layout, place in _turns(function)]
    for function, layout, place in turns:
        if layout == "mixed":
            message = f"{function.name} takes every second entry but writes two halves: entries meet the angles of other pairs"
            yield _certain(place, message, "stack the two parts on a last axis and flatten it, or take two halves of x")
    repeated = [found for function in source.functions for found in _repeated(function)]
    ways, needed = {layout for layout, _ in repeated}, {layout for _, layout, _ in turns}
    if len(ways) == 1 and len(needed) == 1 and ways != needed and "mixed" not in needed:
        (way,), (need,) = ways, needed
        message = f"angles are repeated for {way} pairs, but {turns[0][0].name} turns {need} ones"
        yield _certain(repeated[0][1], message, f"repeat them by {OTHER[need]}")


def _certain(node: ast.expr, message: str, remedy: str) -> Spotted:
    return Spotted(kind=KIND, severity="error", line=node.lineno, message=message, evidence=written(node), remedy=remedy)


def _turns(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """``cat((-x2, x1))`` of two halves, ``stack((-x2, x1), -1)`` of every second entry."""
    for call in function.calls:
        name, parts = last(call.func), call.args[0] if call.args else None
        if name not in (*JOINED, "stack") or not isinstance(parts, (ast.Tuple, ast.List)) or len(parts.elts) != 2:
            continue
        first, second = parts.elts
        if not isinstance(first, ast.UnaryOp) or not isinstance(first.op, ast.USub) or isinstance(second, ast.UnaryOp):
            continue
        if number(argument(call, 1, "dim") or argument(call, None, "axis")) != -1:
            continue
        strided = [_every_second(function, each) for each in (first.operand, second)]
        if None in strided:
            continue  # a name that stands for halves in one branch, and for every second entry in another
        if name == "stack":
            yield "interleaved", call
        elif all(strided):
            yield "mixed", call
        elif not any(strided):
            yield "half", call


def _every_second(function: Function, part: ast.expr) -> bool | None:
    """Whether it is ``x[..., ::2]`` or ``x[..., 1::2]``, by itself or by its name; None if the name is given both."""
    values = [value for _, value in function.assigned.get(dotted(part), [])] or [part]
    found = {any(isinstance(each, ast.Slice) and number(each.step) == 2 for each in ast.walk(value)) for value in values}
    return found.pop() if len(found) == 1 else None


def _repeated(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """Calls that write each angle twice, with the layout that they are made for."""
    flowing = {id(node) for node in flowing_into(function, angles(function))}
    for call in function.calls:
        layout, given = _layout(call)
        turning = {"cos", "sin"} <= function.words
        if layout and given is not None and (id(call) in flowing or ANGLES.fullmatch(last(given)) or turning):
            yield layout, call


def _layout(call: ast.Call) -> tuple[str, ast.expr | None]:
    """The layout for which a call repeats, and what it repeats; "" for other calls."""
    name, first = last(call.func), call.args[0] if call.args else None
    if name == "repeat_interleave":
        times = argument(call, 0 if _method(call) else 1, "repeats")
        along = number(argument(call, 1 if _method(call) else 2, "dim"))
        return ("interleaved" if number(times) == 2 and along in (-1, None) else ""), subject(call)
    if name in (*JOINED, "stack") and isinstance(first, (ast.Tuple, ast.List)) and len(first.elts) == 2:
        along = number(argument(call, 1, "dim") or argument(call, None, "axis"))
        twice = dotted(first.elts[0]) == dotted(first.elts[1]) != "" and along == -1
        return ("" if not twice else "interleaved" if name == "stack" else "half"), first.elts[0]
    if name in ("repeat", "tile") and _method(call) and [number(each) for each in call.args] == [1] * (len(call.args) - 1) + [2]:
        return "half", subject(call)
    if name == "repeat" and first is not None and isinstance(call.args[-1], ast.Constant) and isinstance(call.args[-1].value, str):
        return _pattern(call.args[-1].value), first
    return "", None


def _pattern(text: str) -> str:
    """The layout of an einops pattern such as ``... n -> ... (n r)``."""
    found = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*->\s*(.*?)\s*\((\w+) (\w+)\)\s*", text)
    if found is None or found[2] not in (found[4], found[5]):
        return ""
    return "interleaved" if found[4] == found[2] else "half"


def _method(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and dotted(call.func.value) != "torch"
