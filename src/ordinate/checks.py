"""Checks of arguments that many constructors and calls share: what was needed, what came."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any, SupportsIndex

import torch

LARGEST_FLOAT32 = 3.4028234e38


def whole_number(name: str, value: SupportsIndex, *, least: int = 0, most: int | None = None) -> int:
    """Take a size: any whole number (Python's or NumPy's), no bool, float, text or tensor.

    Args:
        name: what the caller calls it.
        value: what came.
        least: smallest allowed.
        most: largest allowed, if any is too large.

    Returns:
        A Python int.

    Raises:
        ValueError: if it is no whole number, too small or too large.

    Example:
        >>> whole_number("d_model", 8.0, least=1)
        Traceback (most recent call last):
        ValueError: d_model: needed a whole number >= 1, got float 8.0
    """
    # An int, also a symbolic one of a graph being traced, stays what it is.
    number: int | None = value if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool) else _index(value)  # type: ignore[assignment]
    if number is None:
        raise ValueError(f"{name}: needed a whole number >= {least}, got {described(value)}")
    if number < least:
        raise ValueError(f"{name}: needed a whole number >= {least}, got {number}")
    if most is not None and number > most:
        raise ValueError(f"{name}: needed a whole number from {least} to {most}, got {number}")
    return number


def _index(value: SupportsIndex) -> int | None:
    """What another kind of whole number is as an int."""
    if isinstance(value, (bool, torch.Tensor)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def probability(name: str, value: float) -> float:
    """Take a dropout probability.

    Args:
        name: what the caller calls it.
        value: what came.

    Returns:
        The number.

    Raises:
        ValueError: if it is no number in [0, 1).

    Example:
        >>> probability("dropout", 0.1)
        0.1
    """
    if not isinstance(value, (int, float)) or not 0.0 <= value < 1.0:
        raise ValueError(f"{name}: needed a probability in [0, 1), got {value}")
    return value


def finite_number(name: str, value: Any, *, hint: str = "") -> float:
    """Take a number, Python's or NumPy's.

    Args:
        name: what the caller calls it.
        value: what came.
        hint: ends the message.

    Returns:
        A Python float.

    Raises:
        ValueError: if it is no number, not finite, or beyond what float32 holds.

    Example:
        >>> finite_number("scale", 1)
        1.0
    """
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if abs(number) <= LARGEST_FLOAT32:
        return number
    raise ValueError(f"{name}: needed a finite number, got {described(value)}{hint}")


def one_of(name: str, value: object, known: tuple[Any, ...]) -> None:
    """Refuse a named choice that is not there.

    Args:
        name: what the caller calls it.
        value: what came.
        known: the choices.

    Raises:
        ValueError: if value is none of them.

    Example:
        >>> one_of("layout", "Half", ("half", "interleaved"))
        Traceback (most recent call last):
        ValueError: layout: needed one of half, interleaved, got 'Half'
    """
    if value not in known:
        raise ValueError(f"{name}: needed one of {', '.join(map(str, known))}, got {value!r}")


def finite_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Take a row of finite numbers.

    Args:
        name: what the caller calls it.
        values: a list, tuple, array or tensor of one dimension.

    Returns:
        Python floats.

    Raises:
        ValueError: if it is anything else.

    Example:
        >>> finite_numbers("slopes", [1, 0.5])
        (1.0, 0.5)
    """
    try:
        numbers = () if isinstance(values, str) else tuple(float(value) for value in values)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        numbers = ()
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"{name}: needed finite numbers in one row, got {described(values)}")
    return numbers


def whole_numbers(name: str, values: Any) -> tuple[int, ...]:
    """Take a row of sizes.

    Args:
        name: what the caller calls it.
        values: a list or tuple of whole numbers.

    Returns:
        Python ints.

    Raises:
        ValueError: if it is anything else.

    Example:
        >>> whole_numbers("sections", [16, 24, 24])
        (16, 24, 24)
    """
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{name}: needed whole numbers in one row, got {described(values)}")
    return tuple(whole_number(name, value) for value in values)


def described(value: object) -> str:
    """Say what came: dtype and shape of a tensor or array, type and text of anything else.

    Args:
        value: anything.

    Returns:
        A short text.

    Example:
        >>> described(torch.zeros(2, 3)), described("8")
        ('float32 [2, 3]', "str '8'")
    """
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    text = repr(value)
    name = type(value).__name__
    kind = f"numpy.{name}" if type(value).__module__ == "numpy" else name
    return f"{kind} {text if len(text) <= 60 else text[:57] + '...'}"
