"""Python numbers taken out of tensors in the forward pass of a positional part."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ordinate.doctor.source.names import dotted, last, named, subject
from ordinate.doctor.source.spotted import Spotted, warning
from ordinate.doctor.source.tree import Function, Source
from ordinate.doctor.source.vocabulary import POSITIONAL_CLASS, POSITIONS, ROTATING

KIND = "compile-unfriendly"
READING = ("item", "tolist", "numpy")
REDUCING = ("max", "min", "any", "all", "amax", "amin")
AWARE = frozenset(
    {
        "is_compiling",
        "is_tracing",
        "is_dynamo_compiling",
        "is_torchdynamo_compiling",
        "is_scripting",
        "torch_compilable_check",
        "_check",
    }
)
REMEDY = "pass the length as a Python int (x.shape, or an argument), and keep no table that grows"


def spot(source: Source) -> Iterator[Spotted]:
    """Find reads of tensor values that break a traced graph.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for function in source.functions:
        if _traced(function) and not function.words & AWARE:
            yield from _reads(function)
            yield from _branches(function)


def _traced(function: Function) -> bool:
    positional = function.owner is not None and POSITIONAL_CLASS.fullmatch(function.owner.name) is not None
    return (positional and function.name == "forward") or ROTATING.fullmatch(function.name) is not None


def _reads(function: Function) -> Iterator[Spotted]:
    for call in function.calls:
        name = last(call.func)
        if name in READING and isinstance(call.func, ast.Attribute) and not call.args and not _shape(call.func.value):
            yield warning(KIND, call, f".{name}() in {function.name} waits for the device and breaks the traced graph", REMEDY)
        elif name in ("int", "bool", "float") and call.args and _value_of_tensor(function, call.args[0]):
            yield warning(
                KIND, call, f"{name}() of a tensor in {function.name} waits for the device and breaks the traced graph", REMEDY
            )


def _branches(function: Function) -> Iterator[Spotted]:
    """``if positions.max() > n`` decides in Python by what a tensor holds; the first one is told."""
    for node in function.nodes:
        if isinstance(node, (ast.If, ast.While, ast.IfExp)) and any(_decides(function, part) for part in ast.walk(node.test)):
            message = f"a branch in {function.name} depends on what a tensor holds: the traced graph breaks"
            yield warning(KIND, node.test, message, REMEDY)
            return


def _decides(function: Function, part: ast.AST) -> bool:
    """A value of a tensor, here or by the name that it was given; numbers taken out by int() are told of where they are taken."""
    if isinstance(part, ast.Call):
        return last(part.func) in REDUCING and _value_of_tensor(function, part)
    if not isinstance(part, ast.Name):
        return False
    values = [value for _, value in function.assigned.get(part.id, [])]
    return (
        len(values) == 1
        and _value_of_tensor(function, values[0])
        and not _shape(values[0])
        and not named(values[0]) & {"int", "item"}
    )


def _value_of_tensor(function: Function, node: ast.expr) -> bool:
    """``positions.max()``, ``torch.max(positions)`` and sums of them, for what is called positions and given as an argument."""
    for each in ast.walk(node):
        if not isinstance(each, ast.Call) or last(each.func) not in REDUCING or dotted(each.func) in REDUCING:
            continue
        tensor = subject(each)
        if tensor is not None and POSITIONS.fullmatch(last(tensor)) and last(tensor) in function.parameters:
            return True
    return False


def _shape(node: ast.expr) -> bool:
    return bool(named(node) & {"shape", "size"})
