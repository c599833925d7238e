"""A module's class for as long as the module is attached: its own, with another forward.

A class of its own, not an attribute of the instance: the module's ``__dict__``, and with it its state dict, stays as it was, a deep
copy is bound to itself, and ``torch.compile`` sees a common method.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar, NoReturn, Self

from torch import nn

from ordinate.attaching.functions import Function


class AttachedModule:
    """Marks the classes that are made here."""

    __slots__ = ()

    original: ClassVar[type[nn.Module]]
    state: ClassVar[Any]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the module: the copy is attached, too, and knows nothing of this one's forwards."""
        kind = type(self)
        again: Self = object.__new__(_class_of(kind.original, vars(kind)["forward"], copy.deepcopy(kind.state, memo)))
        memo[id(self)] = again
        again.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return again

    def __copy__(self) -> Self:
        """Copy the module, not what it holds."""
        again = object.__new__(type(self))
        again.__dict__.update(self.__dict__)
        return again

    def __reduce_ex__(self, _: object) -> NoReturn:
        """Refuse to be pickled: a class that is made while running cannot be found again."""
        raise ValueError(
            "attach: needed a model without an attached rotation to pickle it, got an attached one; "
            "call ordinate.detach(model) first, or save its state_dict or save_pretrained, which hold nothing of it"
        )


def attach_module(module: nn.Module, forward: Function, state: object) -> None:
    """Give a module another forward.

    Args:
        module: not attached yet.
        forward: a function of the module and its inputs.
        state: what the forward finds as ``self.state``.

    Example:
        >>> import torch
        >>> module = nn.Identity()
        >>> attach_module(module, lambda self, x: x + self.state, 2.0)
        >>> module(torch.ones(1)), isinstance(module, nn.Identity)
        (tensor([3.]), True)
        >>> detach_module(module)
        >>> type(module) is nn.Identity
        True
    """
    module.__class__ = _class_of(type(module), forward, state)


def detach_module(module: nn.Module) -> None:
    """Give an attached module its own class back.

    Args:
        module: attached.

    Example:
        >>> module = nn.Identity()
        >>> attach_module(module, lambda self, x: x, None)
        >>> detach_module(module)
        >>> type(module) is nn.Identity
        True
    """
    module.__class__ = type(module).original  # type: ignore[attr-defined]


def _class_of(own: type[nn.Module], forward: Any, state: object) -> type[Any]:
    names = {"forward": forward, "original": own, "state": state, "__module__": own.__module__, "__qualname__": own.__qualname__}
    # In this order: Python lets a module change to a class whose first base is its own.
    return type(own.__name__, (own, AttachedModule), names)
