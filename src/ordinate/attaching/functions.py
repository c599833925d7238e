"""A function's twin, in which some global names stand for other objects. The function itself, and its module, stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import CellType, CodeType, FunctionType
from typing import Any

Function = Callable[..., Any]


def named_functions(function: FunctionType) -> dict[str, FunctionType]:
    """Give the functions that a function calls by a global name, itself or inside its decorators.

    Args:
        function: written in Python.

    Returns:
        Functions by name.

    Example:
        >>> sorted(named_functions(rebound))
        ['_contents', '_names', '_wrapped', 'rebound']
    """
    found: dict[str, FunctionType] = {}
    for layer in _layers(function):
        for name in _names(layer.__code__):
            value = layer.__globals__.get(name)
            if isinstance(value, FunctionType):
                found[name] = value
    return found


def innermost(function: FunctionType) -> FunctionType:
    """Give the function that decorators were put around.

    Args:
        function: decorated with functools.wraps, or not.

    Returns:
        What stands inside.

    Example:
        >>> innermost(innermost) is innermost
        True
    """
    return list(_layers(function))[-1]


def rebound(function: FunctionType, replacements: Mapping[str, Function]) -> FunctionType:
    """Give a function's twin that finds other objects under some global names, through all of its decorators.

    Args:
        function: written in Python.
        replacements: what the names stand for in the twin.

    Returns:
        The twin; the function itself if it uses none of the names.

    Example:
        >>> def shout(text):
        ...     return louder(text)
        >>> louder = str.upper
        >>> rebound(shout, {"louder": str.title})("a b"), shout("a b")
        ('A B', 'A B')
    """
    inside = _wrapped(function)
    new_inside = None if inside is None else rebound(inside, replacements)
    used = {name: value for name, value in replacements.items() if name in _names(function.__code__)}
    if not used and new_inside is inside:
        return function
    cells = tuple(
        CellType(new_inside) if inside is not None and _contents(cell) is inside else cell for cell in function.__closure__ or ()
    )
    scope = {**function.__globals__, **used}
    # torch.compile looks global names up in the module that __name__ says, where the replaced function still is.
    scope.pop("__name__", None)
    twin = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
    twin.__dict__.update(function.__dict__)
    if new_inside is not None:
        twin.__wrapped__ = new_inside  # type: ignore[attr-defined]
    twin.__kwdefaults__, twin.__annotations__ = function.__kwdefaults__, function.__annotations__
    twin.__module__, twin.__qualname__, twin.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return twin


def _layers(function: FunctionType) -> Iterator[FunctionType]:
    """The function and what stands inside its decorators, from the outside."""
    layer: FunctionType | None = function
    while layer is not None:
        yield layer
        layer = _wrapped(layer)


def _wrapped(function: FunctionType) -> FunctionType | None:
    inside = getattr(function, "__wrapped__", None)
    return inside if isinstance(inside, FunctionType) else None


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _names(code: CodeType) -> set[str]:
    """Names that code looks up, with those of the functions written inside it."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*(_names(part) for part in inner))
