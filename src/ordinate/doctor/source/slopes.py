"""Slopes of ALiBi written as one power of two."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ordinate.doctor.source.names import argument, last, named, number
from ordinate.doctor.source.spotted import Spotted, warning
from ordinate.doctor.source.tree import Function, Source

KIND = "alibi-slopes"
# What code that knows of head counts between two powers of two says somewhere.
POWERS = frozenset({"is_integer", "bit_length", "bit_count", "floor", "ceil", "closest_power_of_2", "next_power_of_2"})
RULE = "the authors' rule: slopes of the next smaller power of two, then every second one of twice as many"
FIRST = "the exponent of head h (from 0) is -8 (h + 1) / n"


def spot(source: Source) -> Iterator[Spotted]:
    """Find powers 2^(-8 h / n) that start at 1, or that take any number of heads.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    aware = bool(source.words & POWERS) or any(_power_test(node) for node in source.parents)
    alibi = any("alibi" in word.lower() for word in source.words)
    for function in source.functions:
        if alibi or "slopes" in " ".join((function.name, *function.words)):
            yield from _powers(source, function, aware)


def _powers(source: Source, function: Function, aware: bool) -> Iterator[Spotted]:
    """The first power of a function that is a slope, if it is wrong."""
    for node in function.nodes:
        exponent = _exponent(node)
        if not isinstance(node, ast.expr) or not (_root(node) or (exponent and _ruled(exponent, _inverted(source, node)))):
            continue
        if exponent is not None and _starts_at_zero(function, node, exponent):
            yield warning(KIND, node, "the first slope is 2^0 = 1: the exponent is off by one", FIRST)
        elif not aware:
            message = "one geometric series for any number of heads: the published slopes differ where it is no power of two"
            yield warning(KIND, node, message, RULE)
        return


def _exponent(node: ast.AST) -> ast.expr | None:
    """What 2 is raised to, in ``2 ** x``, ``pow(2, x)`` and ``torch.pow(2, x)``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and number(node.left) == 2:
        return node.right
    if isinstance(node, ast.Call) and last(node.func) in ("pow", "exp2"):
        if last(node.func) == "exp2":
            return node.args[0] if node.args else None
        return argument(node, 1, "exponent") if node.args and number(node.args[0]) == 2 else None
    return None


def _inverted(source: Source, node: ast.expr) -> bool:
    """Whether it is the divisor of ``1 / 2 ** x``."""
    parent = source.parents.get(node)
    return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and parent.right is node


def _ruled(exponent: ast.expr, inverted: bool) -> bool:
    """Whether the exponent is that of the rule: -8 / n, or -2^-(log2 n - 3)."""
    parts = list(ast.walk(exponent))
    numbers = {each.value for each in parts if isinstance(each, ast.Constant)}
    quotient = any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div) for each in parts)
    negative = inverted or any(isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub) for each in parts)
    return negative and ((8 in numbers and quotient) or (3 in numbers and "log2" in named(exponent)))


def _root(node: ast.expr) -> bool:
    """``(2 ** 8) ** (1 / n)``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Pow) or not isinstance(node.right, ast.BinOp):
        return False
    base = node.left
    eight = isinstance(base, ast.BinOp) and isinstance(base.op, ast.Pow) and (number(base.left), number(base.right)) == (2, 8)
    return (eight or number(base) == 256) and isinstance(node.right.op, ast.Div) and number(node.right.left) == 1


def _starts_at_zero(function: Function, node: ast.expr, exponent: ast.expr) -> bool:
    """The head's number comes from ``range(n)`` or ``arange(n)`` and nothing is added to it."""
    if any(isinstance(each, ast.BinOp) and isinstance(each.op, (ast.Add, ast.Sub)) for each in ast.walk(exponent)):
        return False
    names = named(exponent)
    for each in function.nodes:
        if isinstance(each, (ast.ListComp, ast.GeneratorExp)) and any(part is node for part in ast.walk(each.elt)):
            return any(named(part.target) & names and _from_zero(part.iter) for part in each.generators)
    made = [exponent, *(value for name in names for _, value in function.assigned.get(name, []))]
    return any(_from_zero(part) for value in made for part in ast.walk(value) if isinstance(part, ast.expr)) and not any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add) for value in made for part in ast.walk(value)
    )


def _from_zero(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or last(node.func) not in ("range", "arange") or not node.args:
        return False
    return len(node.args) == 1 or number(node.args[0]) == 0


def _power_test(node: ast.AST) -> bool:
    """``n & (n - 1)``, or ``int(log2(n))``."""
    cut = isinstance(node, ast.Call) and last(node.func) in ("int", "round") and "log2" in named(node)
    return cut or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd))
