"""The functions and classes of a file, each with what stands directly inside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ordinate.doctor.source.names import INNER, assignments, dotted, words_of

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """A function, and what stands inside it but not inside a function or class of its own.

    Attributes:
        node: its definition.
        owner: the class whose method it is.
        nodes: inside, in the order of the file.
    """

    node: AnyFunction
    owner: ast.ClassDef | None
    nodes: tuple[ast.AST, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of its arguments."""
        arguments = self.node.args
        return tuple(each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))

    @cached_property
    def words(self) -> frozenset[str]:
        """Names, attributes and short strings in its body."""
        return frozenset(words_of(self.nodes))

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """Calls in its body."""
        return tuple(node for node in self.nodes if isinstance(node, ast.Call))

    @cached_property
    def assigned(self) -> dict[str, list[tuple[int, ast.expr]]]:
        """Last line and value of all that is assigned, by dotted name of the target, first lines first."""
        found: dict[str, list[tuple[int, ast.expr]]] = {}
        for node in self.nodes:
            for target, value in assignments(node):
                found.setdefault(dotted(target), []).append((value.end_lineno or value.lineno, value))
        found.pop("", None)
        for values in found.values():
            values.sort(key=lambda each: each[0])
        return found


@dataclass(frozen=True)
class Source:
    """A file that is looked at.

    Attributes:
        tree: of the whole file.
        functions: all of them.
        classes: all of them.
        parents: of each node.
    """

    tree: ast.Module
    functions: tuple[Function, ...] = field(init=False)
    classes: tuple[ast.ClassDef, ...] = field(init=False)
    parents: dict[ast.AST, ast.AST] = field(init=False)

    def __post_init__(self) -> None:
        nodes = list(ast.walk(self.tree))
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        functions = [Function(node, _owner(node, parents), tuple(_inside(node))) for node in nodes if isinstance(node, AnyFunction)]
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "functions", tuple(functions))
        object.__setattr__(self, "classes", tuple(node for node in nodes if isinstance(node, ast.ClassDef)))

    @cached_property
    def words(self) -> frozenset[str]:
        """Names, attributes and short strings of the whole file."""
        return frozenset(words_of(self.parents))

    @cached_property
    def methods(self) -> dict[ast.ClassDef, list[Function]]:
        """Methods of each class."""
        found: dict[ast.ClassDef, list[Function]] = {each: [] for each in self.classes}
        for function in self.functions:
            if function.owner is not None:
                found[function.owner].append(function)
        return found

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Everything around a node, the nearest first.

        Args:
            node: of this file.

        Yields:
            Its parent, the parent's parent, and so on.
        """
        while node in self.parents:
            node = self.parents[node]
            yield node


def _owner(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.ClassDef | None:
    parent = parents.get(node)
    while isinstance(parent, (ast.If, ast.Try, ast.With)):
        parent = parents.get(parent)
    return parent if isinstance(parent, ast.ClassDef) else None


def _inside(function: AnyFunction) -> Iterator[ast.AST]:
    left: list[ast.AST] = list(reversed([*function.body]))
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, INNER):
            left.extend(reversed(list(ast.iter_child_nodes(node))))
