"""What flows into sine and cosine: a function's expressions, followed backwards through its own assignments."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator

from ordinate.doctor.source.names import dotted, last, subject
from ordinate.doctor.source.tree import Function

TURNED = ("cos", "sin", "cos_", "sin_")
# Numbers of these libraries are float64.
EXACT_ROOTS = ("math", "np", "numpy", "cmath", "mpmath")
# What is read of a tensor without its values.
OUTLINES = ("shape", "size", "device", "ndim", "dim", "numel", "dtype", "requires_grad")
CASTS = ("to", "type", "type_as")
# Functions that pass values on; what a model's own module makes of them is no phase any more.
PASSING = frozenset({"einsum", "rearrange", "repeat", "outer", "cat", "concat", "stack", "arange", "float", "torch", "expand"})


def angles(function: Function) -> list[ast.expr]:
    """Find what sine, cosine and ``torch.polar`` are taken of.

    Args:
        function: where.

    Returns:
        The expressions.
    """
    found = []
    for call in function.calls:
        name, root = last(call.func), dotted(call.func).split(".")[0]
        if name in TURNED and root not in EXACT_ROOTS:
            found.append(subject(call))
        elif name == "polar" and root == "torch" and len(call.args) == 2:
            found.append(call.args[1])
    return [each for each in found if each is not None]


def flowing_into(function: Function, roots: list[ast.expr], *, through_turns: bool = False) -> Iterator[ast.AST]:
    """Follow expressions backwards.

    Args:
        function: in which.
        roots: from which.
        through_turns: whether what sine and cosine are taken of flows through them.

    Yields:
        Every expression whose value flows into them, each once.
    """
    left: list[ast.AST] = [*roots]
    seen: set[ast.AST] = set()
    done: dict[str, int] = {}
    while left:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        if isinstance(node, (ast.Name, ast.Attribute)):
            left.extend(_earlier(function, node, done))
        left.extend(_parts(node, through_turns))


def _earlier(function: Function, node: ast.expr, done: dict[str, int]) -> list[ast.expr]:
    """Values that a name had before its line, each given out once."""
    name = dotted(node)
    values = function.assigned.get(name, [])
    end = bisect_left(values, node.lineno, key=lambda each: each[0])
    start = done.get(name, 0)
    done[name] = max(start, end)
    return [value for _, value in values[start:end]]


def _parts(node: ast.AST, through_turns: bool) -> list[ast.AST]:
    """Operands whose values a node passes on."""
    if isinstance(node, ast.Attribute):
        return [] if node.attr in OUTLINES else [node.value]
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Call):
        return _operands(node, through_turns)
    if isinstance(node, (ast.Lambda, ast.Compare)):
        return []
    return list(ast.iter_child_nodes(node))


def _operands(call: ast.Call, through_turns: bool) -> list[ast.AST]:
    name, root = last(call.func), dotted(call.func).split(".")[0]
    if name in (*OUTLINES, "len") or (name in TURNED and not through_turns):
        return []
    if root == "torch" or name in PASSING:
        return [*call.args]
    if isinstance(call.func, ast.Attribute) and root != "self":
        return [call.func.value] if name in CASTS else [call.func.value, *call.args]
    if isinstance(call.func, ast.Attribute) and dotted(call.func).count(".") > 1:
        return [call.func.value]
    return []
