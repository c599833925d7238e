"""One check for all schemes of the input."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ordinate.testing.classes import LENGTH, LENGTHS, WIDTHS, made, subject
from ordinate.testing.findings import Report
from ordinate.testing.inputs.learned import Overflow, check_learned
from ordinate.testing.inputs.sinusoidal import check_sinusoidal

InputKind = Literal["sinusoidal", "learned"]
CHECKS: dict[str, tuple[Callable[..., Report], tuple[str, ...]]] = {
    "sinusoidal": (check_sinusoidal, ("convention", "base", "max_length", "padding_offset", "make")),
    "learned": (check_learned, ("max_length", "padding_offset", "overflow", "table")),
}


def check_input(
    fn: Any,
    *,
    scheme: InputKind | None = None,
    d_model: int = 16,
    max_length: int | None = None,
    convention: str | None = None,
    base: float | None = None,
    padding_offset: int | None = None,
    overflow: Overflow | None = None,
    table: Any = None,
    make: Callable[[int], Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Report:
    """Check vectors that are added to token embeddings.

    Args:
        fn: fn(positions [T]) -> [T, d_model]; other signatures go through an adapter, most of them by themselves; or a class of
            such objects, with the usual arguments.
        scheme: "sinusoidal" or "learned"; by the name if None.
        d_model: width.
        max_length: as ``check_sinusoidal`` or ``check_learned``.
        convention: as ``check_sinusoidal``.
        base: as ``check_sinusoidal``.
        padding_offset: as ``check_sinusoidal`` or ``check_learned``.
        overflow: as ``check_learned``.
        table: as ``check_learned``.
        make: as ``check_sinusoidal``; a class makes its own.
        settings: further arguments of a class.
        name: for the report.

    Returns:
        A finding for each property.

    Raises:
        ValueError: for an unknown scheme, a setting that it does not have, or a function that does not fit.

    Example:
        >>> import torch
        >>> def from_one(positions):
        ...     angles = (positions[:, None] + 1) * torch.tensor([1.0, 0.01])
        ...     return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        >>> print(check_input(from_one, scheme="sinusoidal", d_model=4).broken[0])
        BROKEN  convention: positions are counted from 1 [ORD601 sinusoid-construction]
                input    positions [0]
                expected [[0, 1, 0, 1]]
                actual   [[0.841471, 0.540302, 0.00999983, 0.99995]]
                remedy   position 0 is the first: sines are 0 and cosines 1 there
    """
    title = subject(fn, name)
    kind = scheme or _scheme_of(f"{title} {subject(fn, None)}")
    if kind not in CHECKS:
        raise ValueError(f"scheme: needed one of {', '.join(CHECKS)}, got {kind!r}")
    check, known = CHECKS[kind]
    shared = {"max_length": max_length, "padding_offset": padding_offset, "make": make}
    own = {"convention": convention, "base": base, "overflow": overflow, "table": table}
    given = {key: value for key, value in {**shared, **own}.items() if value is not None}
    if foreign := [key for key in given if key not in known]:
        raise ValueError(f"{kind}: needed some of {', '.join(known)}, got {', '.join(foreign)}")
    if kind == "learned" and max_length is None:
        raise ValueError("max_length: needed the number of usable positions, got None")

    def one(width: int) -> Any:
        usual = {WIDTHS: width, LENGTHS: max_length or LENGTH, ("padding_offset",): padding_offset, ("base", "theta"): base}
        return made(fn, {**usual, ("overflow",): overflow}, settings or {})

    if isinstance(fn, type) and "make" in known:
        given.setdefault("make", one)
    return Report(title, check(one(d_model), d_model=d_model, **given).findings)


def assert_input(fn: Any, **expected: Any) -> None:
    """Raise what ``check_input`` finds.

    Args:
        fn: as there.
        **expected: as there.

    Raises:
        AssertionError: if a property is broken.

    Example:
        >>> from ordinate import Learned
        >>> assert_input(Learned(max_length=8, d_model=4), scheme="learned", d_model=4, max_length=8)
    """
    check_input(fn, **expected).raise_if_broken()


def _scheme_of(name: str) -> str:
    for scheme, words in (("sinusoidal", "sinus|encod"), ("learned", "learn|table|embedding")):
        if re.search(words, name, re.IGNORECASE):
            return scheme
    raise ValueError(f"scheme: needed one of {', '.join(CHECKS)}, for the name {name!r} does not say it")
