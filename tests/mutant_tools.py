"""How the library is changed to see that a check fails: a mutant, and two ways to make one."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mutant:
    apply: Callable[[Patch], None]
    check: str
    case: str | None  # None: the check is one of FAULTS
    error: type[BaseException] = AssertionError

    @property
    def name(self) -> str:
        return self.apply.__name__


class Proxy(types.ModuleType):
    """A module seen through some replaced names."""

    def __init__(self, module: Any, **replaced: Any) -> None:
        super().__init__(module.__name__)
        self.__dict__.update({**vars(module), **replaced})


def wrap(patch: Patch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replace owner.name by a function that is given the original first."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **kwargs: change(original, *args, **kwargs))
