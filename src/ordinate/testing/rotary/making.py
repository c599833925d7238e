"""Making objects of classes whose arguments have the usual names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ordinate.testing.attempts import RAISED, told
from ordinate.testing.rotary.fitting import parameters_of

WIDTHS = ("head_dim", "dim", "head_size", "d_head", "dim_head", "embedding_size", "hidden_size", "d_model", "d", "features", "dims")
BASES = ("base", "theta", "rope_theta", "rotary_base", "rope_base", "max_wavelength")
LENGTHS = (
    "max_seq_len",
    "max_len",
    "max_length",
    "max_position_embeddings",
    "max_seq_length",
    "max_positions",
    "seq_len",
    "max_position",
)
ROTARY = ("rotary_dim", "rot_dim", "rope_dim", "n_elem", "rotary_dims")
LENGTH = 4096


@dataclass(frozen=True)
class Maker:
    """A class or a function that makes rotations, and the names of its arguments.

    Attributes:
        target: the class.
        width: the argument for the entries of a head.
        base: the argument for the base, or None.
        rotary: the argument for the entries that turn, or None.
        length: the argument for the longest sequence, if it must be given.
        fixed: further arguments.
    """

    target: Callable[..., Any]
    width: str
    base: str | None
    rotary: str | None
    length: str | None
    fixed: dict[str, Any]

    def __call__(self, *, head_dim: int, base: float | None = None, rotary_dim: int | None = None) -> Any:
        """Make one.

        Args:
            head_dim: entries of a head.
            base: also called theta; its default if None, or if there is no such argument.
            rotary_dim: entries that turn.

        Returns:
            What the class makes.
        """
        given = {**self.fixed, self.width: head_dim}
        if base is not None and self.base is not None:
            given[self.base] = base
        if rotary_dim is not None and self.rotary is not None:
            given[self.rotary] = rotary_dim
        if self.length is not None:
            given[self.length] = LENGTH
        try:
            return self.target(**given)
        except RAISED as fault:
            raise ValueError(f"{self.target.__qualname__} could not be made with {given}: {told(fault)}") from fault


def maker_of(target: Callable[..., Any], fixed: dict[str, Any]) -> Maker:
    """Find a class's arguments by their names.

    Args:
        target: a class.
        fixed: arguments that the caller gives.

    Returns:
        A maker.

    Raises:
        ValueError: if no argument is a width, or another one must be given and is not known.

    Example:
        >>> class Turning:
        ...     def __init__(self, dim, theta=1e4):
        ...         pass
        >>> maker = maker_of(Turning, {})
        >>> maker.width, maker.base
        ('dim', 'theta')
    """
    named = parameters_of(target)
    width = _first(named, WIDTHS) or (_first(named, ROTARY))
    if width is None:
        raise ValueError(f"needed an argument for the entries of a head, {', '.join(WIDTHS[:4])}, got {', '.join(named) or 'none'}")
    rotary = _first(named, ROTARY)
    length = _first(named, LENGTHS)
    found = Maker(
        target,
        width,
        _first(named, BASES),
        rotary if rotary != width else None,
        length if length is not None and _must(named[length]) else None,
        fixed,
    )
    known = {found.width, found.length, found.rotary, *fixed}
    lacking = [name for name, each in named.items() if _must(each) and name not in known]
    if lacking:
        raise ValueError(f"needed values for {', '.join(lacking)}; give them as settings, {lacking[0]}=...")
    return found


def declared_layout(target: Any) -> Literal["half", "interleaved"] | None:
    """Find which pairs an object says that it turns: an attribute, a default, or one word of its docstring.

    Args:
        target: a class, an object or a function.

    Returns:
        The layout, or None if it says nothing, or both.

    Example:
        >>> def rope(x, offset=0):
        ...     '''Rotary embedding of half-split pairs.'''
        >>> declared_layout(rope)
        'half'
    """
    named = parameters_of(target if isinstance(target, type) else type(target))
    named = {**parameters_of(target), **named}
    for name in ("layout", "interleaved", "interleave", "is_neox_style"):
        default = named[name].default if name in named else inspect.Parameter.empty
        value = getattr(target, name, default)
        if value in ("half", "interleaved"):
            return value  # type: ignore[no-any-return]
        if isinstance(value, bool):
            return "half" if value == (name == "is_neox_style") else "interleaved"
    text = (target.__doc__ if isinstance(target, type) or inspect.isroutine(target) else type(target).__doc__) or ""
    half, neighbours = (
        bool(re.search(words, text, re.IGNORECASE))
        for words in (r"half[- ]split|rotate_half|\bhalves\b|neox", r"interleav|gpt-?j|adjacent")
    )
    return None if half == neighbours else "half" if half else "interleaved"


def declared_base(target: Any) -> float | None:
    """Find the base that an object has, or that a function takes by default.

    Args:
        target: an object or a function.

    Returns:
        The base, or None if it says nothing.

    Example:
        >>> declared_base(lambda x, offset=0, theta=500000.0: x)
        500000.0
    """
    named = parameters_of(target)
    for name in BASES:
        value = getattr(target, name, named[name].default if name in named else None)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 1:
            return float(value)
    return None


def declared_size(target: Any, name: str) -> int | None:
    """Find a width that an object has as an attribute.

    Args:
        target: an object.
        name: "head_dim" or "rotary_dim".

    Returns:
        The width, or None if it says nothing.

    Example:
        >>> import ordinate
        >>> declared_size(ordinate.Rope(head_dim=64, layout="half"), "head_dim")
        64
    """
    value = getattr(target, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _first(named: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in named), None)


def _must(parameter: inspect.Parameter) -> bool:
    plain = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    return plain and parameter.default is parameter.empty
