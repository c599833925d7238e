"""Calls of other people's functions: what they give, or how they fail: something to report, never the end of a check."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

T = TypeVar("T")


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
        except Exception as error:
            first = next(iter(str(error).splitlines()), "")
            return Failed(f"{type(error).__name__}: {first}" if first else type(error).__name__)
