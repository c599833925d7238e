"""Complex numbers and float64 in a forward pass: some backends have neither."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ordinate.doctor.source.names import last
from ordinate.doctor.source.spotted import Spotted, warning
from ordinate.doctor.source.tree import Function, Source
from ordinate.doctor.source.vocabulary import POSITIONAL_CLASS, ROTATING

KIND = "backend-dtype"
COMPLEX = ("view_as_complex", "polar", "complex64", "complex128")
# Who names such a backend has thought of it.
AWARE = frozenset({"mps", "npu", "xla", "is_exporting", "is_in_onnx_export", "is_torchdynamo_compiling"})
PAIRS = "turn with pairs of real numbers: x * cos + rotate_half(x) * sin"
NARROW = "work in float32 here; where float64 is wanted, compute it on the CPU before the model is moved"


def spot(source: Source) -> Iterator[Spotted]:
    """Find complex and float64 arithmetic in what rotates or embeds positions, once a function.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for function in source.functions:
        if not _runs_forward(function) or function.words & AWARE:
            continue
        yield from _complex(function)
        yield from _double(function)


def _runs_forward(function: Function) -> bool:
    positional = function.owner is not None and POSITIONAL_CLASS.fullmatch(function.owner.name) is not None
    return ROTATING.fullmatch(function.name) is not None or (function.name == "forward" and positional)


def _complex(function: Function) -> Iterator[Spotted]:
    for node in function.nodes:
        if isinstance(node, (ast.Name, ast.Attribute)) and last(node) in COMPLEX:
            message = f"{last(node)} in {function.name}: ONNX and several accelerators have no complex numbers"
            yield warning(KIND, node, message, PAIRS)
            return


def _double(function: Function) -> Iterator[Spotted]:
    for node in function.nodes:
        named = isinstance(node, ast.Attribute) and node.attr == "float64"
        called = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "double" and not node.args
        )
        if (named or called) and isinstance(node, ast.expr):
            yield warning(KIND, node, f"float64 in {function.name}: MPS has none, and other accelerators are slow in it", NARROW)
            return
