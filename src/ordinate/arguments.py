"""Constructor arguments as a scheme keeps and writes them."""

from __future__ import annotations

from typing import Any

from torch import nn


def fixed(name: str) -> Any:
    """Make an attribute that is set once, in ``__init__``: numbers derive from it, and a later change would reach only the repr.

    Args:
        name: the attribute's name.

    Returns:
        A property.

    Example:
        >>> from ordinate import Rope
        >>> rope = Rope(head_dim=8, layout="half")
        >>> rope.base = 500000.0
        Traceback (most recent call last):
        AttributeError: base is fixed when the scheme is built; build another Rope
    """
    slot = f"_{name}"

    def read(scheme: nn.Module) -> Any:
        return getattr(scheme, slot)

    def write(scheme: nn.Module, value: Any) -> None:
        if slot in scheme.__dict__:
            raise AttributeError(f"{name} is fixed when the scheme is built; build another {type(scheme).__name__}")
        setattr(scheme, slot, value)

    return property(read, write)


def call_arguments(**arguments: object) -> str:
    """Write keyword arguments as the call has them; a scheme's repr is the call that makes it.

    Args:
        **arguments: names and values.

    Returns:
        The text between the call's parentheses.

    Example:
        >>> call_arguments(n_heads=4, slopes="paper")
        "n_heads=4, slopes='paper'"
    """
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
