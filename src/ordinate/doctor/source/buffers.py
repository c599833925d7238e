"""Buffers that a method makes, by ``register_buffer`` or ``nn.Buffer``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ordinate.doctor.source.names import argument, last
from ordinate.doctor.source.tree import Function


@dataclass(frozen=True)
class Buffer:
    """One of them.

    Attributes:
        name: of the attribute.
        value: that it gets.
        persistent: whether the state dict has it.
        place: the call.
    """

    name: str
    value: ast.expr | None
    persistent: bool
    place: ast.Call


def buffers_of(function: Function) -> Iterator[Buffer]:
    """Find the buffers that a function makes.

    Args:
        function: a method.

    Yields:
        Each.
    """
    for call in function.calls:
        first = argument(call, 0, "name")
        if last(call.func) == "register_buffer" and isinstance(first, ast.Constant):
            yield Buffer(str(first.value), argument(call, 1, "tensor"), _persistent(argument(call, 2, "persistent")), call)
    for name, values in function.assigned.items():
        for _, value in values:
            if name.startswith("self.") and isinstance(value, ast.Call) and last(value.func) == "Buffer":
                data, persistent = argument(value, 0, "data"), argument(value, None, "persistent")
                yield Buffer(name.removeprefix("self."), data, _persistent(persistent), value)


def _persistent(given: ast.expr | None) -> bool:
    return given is None or (isinstance(given, ast.Constant) and given.value is True)
