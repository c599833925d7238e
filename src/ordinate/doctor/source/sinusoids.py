"""How a sinusoidal table is filled: odd widths, and the exponent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ordinate.doctor.source.names import dotted, last, number, subject, written
from ordinate.doctor.source.slices import angles
from ordinate.doctor.source.spotted import Spotted, note, warning
from ordinate.doctor.source.tree import Function, Source

KIND = "sinusoid-construction"
ODD = "cut the frequencies to the cosines' number: torch.cos(position * div_term[: d // 2])"
EXPONENT = "the exponent is 2i / d: torch.arange(0, d, 2) / d, or 2 * torch.arange(d // 2) / d"


def spot(source: Source) -> Iterator[Spotted]:
    """Find tables that an odd width breaks, and exponents that reach half of their range only.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for function in source.functions:
        yield from _odd_width(function)
        yield from _exponent(function)


def _odd_width(function: Function) -> Iterator[Spotted]:
    """``pe[:, 0::2] = sin(angle)`` and ``pe[:, 1::2] = cos(angle)`` of one angle: one cosine too many for an odd width."""
    if _even_only(function):
        return
    sines: dict[str, ast.Assign] = {}
    for node in function.nodes:
        if (
            not isinstance(node, ast.Assign)
            or not isinstance(node.value, ast.Call)
            or not isinstance(node.targets[0], ast.Subscript)
        ):
            continue
        start, turned = _every_second(node.targets[0].slice), _operand(node.value)
        if start == 0 and last(node.value.func) == "sin":
            sines[turned] = node
        elif start == 1 and last(node.value.func) == "cos" and turned in sines:
            yield note(KIND, node, "an odd width fails here: there is one sine more than there are cosines", ODD)


def _even_only(function: Function) -> bool:
    """Whether an odd width is refused or mended here."""
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and number(node.right) == 2 for node in function.nodes)


def _every_second(index: ast.expr) -> float | None:
    """0 for ``[..., 0::2]``, 1 for ``[..., 1::2]``."""
    part = index.elts[-1] if isinstance(index, ast.Tuple) and index.elts else index
    if not isinstance(part, ast.Slice) or number(part.step) != 2 or part.upper is not None:
        return None
    return 0 if part.lower is None else number(part.lower)


def _operand(call: ast.Call) -> str:
    given = call.args[0] if call.args else call.func
    return written(given, 400) if call.args else dotted(given.value) if isinstance(given, ast.Attribute) else ""


def _exponent(function: Function) -> Iterator[Spotted]:
    """``base ** (torch.arange(d // 2) / d)``: the factor 2 is missing."""
    if not angles(function) and "inv_freq" not in function.words:
        return
    for node in function.nodes:
        exponent = _raised(node)
        if exponent is not None and isinstance(node, ast.expr) and _half_range(*_product(exponent)):
            message = f"the exponent ends at 1/2: {written(exponent, 60)} lacks the factor 2, and the slow waves are missing"
            yield warning(KIND, node, message, EXPONENT)


def _raised(node: ast.AST) -> ast.expr | None:
    """What a base, or e, is raised to."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and number(node.left) != 2:
        return node.right
    return subject(node) if isinstance(node, ast.Call) and last(node.func) == "exp" else None


def _product(node: ast.expr) -> tuple[list[ast.expr], list[ast.expr]]:
    """Factors above and below the line, without signs and casts."""
    above: list[ast.expr] = []
    below: list[ast.expr] = []
    left = [(node, True)]
    while left:
        part, up = left.pop()
        if isinstance(part, ast.UnaryOp):
            left.append((part.operand, up))
        elif isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Mult, ast.Div)):
            left += [(part.left, up), (part.right, up == isinstance(part.op, ast.Mult))]
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in ("float", "to", "double"):
            left.append((part.func.value, up))
        else:
            (above if up else below).append(part)
    return above, below


def _half_range(above: list[ast.expr], below: list[ast.expr]) -> bool:
    """``arange(d // 2)`` over the same ``d``, and no 2 beside it."""
    if any(number(each) is not None for each in (*above, *below)):
        return False
    for made in above:
        if not isinstance(made, ast.Call) or last(made.func) != "arange" or not made.args:
            continue
        end = made.args[min(len(made.args), 2) - 1]
        started = len(made.args) == 1 or (len(made.args) == 2 and number(made.args[0]) == 0)
        if started and isinstance(end, ast.BinOp) and isinstance(end.op, ast.FloorDiv) and number(end.right) == 2:
            return bool(dotted(end.left)) and dotted(end.left) in [dotted(each) for each in below]
    return False
