"""Functions that rotate and write over what they were given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ordinate.doctor.source.names import dotted, last
from ordinate.doctor.source.spotted import Spotted, warning
from ordinate.doctor.source.tree import Function, Source
from ordinate.doctor.source.vocabulary import ROTATING

KIND = "fused-kernel-shape"
VECTORS = re.compile(r"q|k|x|xq|xk|query|key|queries|keys|query_states|key_states|query_layer|key_layer|q_embed|k_embed|tensor")
WRITING = re.compile(r"(mul|add|sub|copy|addcmul|neg|div)_")
REMEDY = "write into a new tensor, torch.cat((turned, x[..., rotary_dim:]), dim=-1): autograd and callers still need the input"


def spot(source: Source) -> Iterator[Spotted]:
    """Find writes into queries and keys that are arguments.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for function in source.functions:
        if ROTATING.fullmatch(function.name) and not _announced(function):
            for node in function.nodes:
                name = _written_over(node)
                if name in function.parameters and VECTORS.fullmatch(name) and not _new_before(function, name, node):
                    message = f"{function.name} writes over {name}, which its caller gave it"
                    yield warning(KIND, node, message, REMEDY)  # type: ignore[arg-type]
                    break


def _announced(function: Function) -> bool:
    """Whether its name, an argument or a no_grad says that it works in place."""
    return any("inplace" in word or "in_place" in word for word in (function.name, *function.parameters)) or bool(
        function.words & {"no_grad", "inference_mode"}
    )


def _written_over(node: ast.AST) -> str:
    """Name of what a statement or call changes in place."""
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Tuple) and target.elts:
            target = target.elts[0]
        if isinstance(target, ast.Subscript):
            return dotted(target.value)
        return dotted(target) if isinstance(node, ast.AugAssign) else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and WRITING.fullmatch(node.func.attr):
        inner = node.func.value
        return dotted(inner.value) if isinstance(inner, ast.Subscript) else dotted(inner)
    return ""


def _new_before(function: Function, name: str, node: ast.AST) -> bool:
    """Whether the name stood for something else by then."""
    line = node.lineno if isinstance(node, (ast.stmt, ast.expr)) else 0
    return any(end < line for end, value in function.assigned.get(name, []) if last(value) != name)
