"""Calls of other people's functions: what they give, or how they fail: something to report, never the end of a check."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

T = TypeVar("T")
RAISED = (Exception, SystemExit, GeneratorExit)  # what other people's code may end with; Ctrl-C is the user's


@dataclass(frozen=True)
class Failed:
    """A call that gave nothing to compare.

    Attributes:
        said: the error's type and first line, or what was wrong with its value.
    """

    said: str

    def __str__(self) -> str:
        return self.said


def attempt(call: Callable[[], T]) -> T | Failed:
    """Call a function without gradients; its warnings are not heard, for they are no part of what is checked.

    Args:
        call: takes no arguments.

    Returns:
        What it gives, or how it fails.

    Example:
        >>> attempt(lambda: [1, 2][1]), attempt(lambda: [1, 2][2])
        (2, Failed(said='IndexError: list index out of range'))
    """
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            return call()
        except RAISED as error:
            return Failed(told(error))


def told(error: BaseException) -> str:
    """Give an error's type and first line.

    Args:
        error: caught; one that cannot be told has its type alone.

    Returns:
        A line.

    Example:
        >>> told(ValueError("needed 2, got 3")), told(KeyError())
        ('ValueError: needed 2, got 3', 'KeyError')
    """
    try:
        first = next(iter(str(error).strip().splitlines()), "")[:200]
    except Exception:  # its own words fail
        first = ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
