"""What stands in an expression: names, arguments, numbers, and its source text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
MODULES = frozenset({"torch", "math", "np", "numpy", "F", "functional", "einops", "jnp"})


def dotted(node: ast.AST | None) -> str:
    """Give a name as it is written, or "" for anything else.

    Example:
        >>> dotted(ast.parse("self.rope.inv_freq", mode="eval").body), dotted(ast.parse("f()", mode="eval").body)
        ('self.rope.inv_freq', '')
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def last(node: ast.AST | None) -> str:
    """Give the last part of a name or attribute, and of what is called or indexed.

    Example:
        >>> [last(ast.parse(text, mode="eval").body) for text in ("torch.arange", "x.mean(0).half()", "self.cos[3]", "1 + 1")]
        ['arange', 'half', 'cos', '']
    """
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def subject(call: ast.Call) -> ast.expr | None:
    """Give what a call works on: x for ``x.cos()`` and ``torch.cos(x)`` alike.

    Example:
        >>> [dotted(subject(ast.parse(text, mode="eval").body)) for text in ("x.cos()", "torch.cos(x)", "cos(x)", "cos()")]
        ['x', 'x', 'x', '']
    """
    if isinstance(call.func, ast.Attribute) and dotted(call.func.value).split(".")[-1] not in MODULES:
        return call.func.value
    return call.args[0] if call.args else None


def argument(call: ast.Call, place: int | None, name: str) -> ast.expr | None:
    """Give an argument of a call.

    Args:
        call: where.
        place: among the positional ones.
        name: as a keyword.

    Returns:
        It, or None.

    Example:
        >>> call = ast.parse("f(1, b=2)", mode="eval").body
        >>> number(argument(call, 0, "a")), number(argument(call, 1, "b")), argument(call, 2, "c")
        (1, 2, None)
    """
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if place is not None and place < len(call.args) else None


def number(node: ast.AST | None) -> float | None:
    """Give a written number, or None.

    Example:
        >>> number(ast.parse("-8", mode="eval").body)
        -8
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand) if isinstance(node.operand, ast.Constant) else None
        return None if value is None else -value
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node.value
    return None


def written(node: ast.AST, most: int = 90) -> str:
    """Give source text in one line, cut where it is long.

    Example:
        >>> written(ast.parse("torch.arange( 8 )", mode="eval").body)
        'torch.arange(8)'
    """
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else text[: most - 4] + " ..."


def named(node: ast.AST) -> set[str]:
    """Give all names, attributes and arguments' names below a node.

    Example:
        >>> sorted(named(ast.parse("a.b(c=d)", mode="eval").body))
        ['a', 'b', 'c', 'd']
    """
    return words_of(ast.walk(node))


def words_of(nodes: Iterable[ast.AST]) -> set[str]:
    """Give names, attributes, keywords and strings without spaces.

    Example:
        >>> sorted(words_of(ast.walk(ast.parse("a['rope_type']"))))
        ['a', 'rope_type']
    """
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, (ast.arg, ast.keyword)) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 60 and " " not in node.value:
            found.add(node.value)
        elif isinstance(node, INNER):
            found.add(node.name)
    return found


def assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Give the targets of a statement with their values; a tuple's targets share a value that is no tuple.

    Example:
        >>> [(dotted(target), number(value)) for target, value in assignments(ast.parse("a, self.b = 1, 2").body[0])]
        [('a', 1), ('self.b', 2)]
    """
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple):
                same = isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(target.elts)
                values = node.value.elts if isinstance(node.value, ast.Tuple) and same else [node.value] * len(target.elts)
                yield from zip(target.elts, values, strict=True)
            else:
                yield target, node.value
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value
