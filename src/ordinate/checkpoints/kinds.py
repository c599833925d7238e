"""What a configuration's value must be: each kind reads a value, and says what it lacks."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
# A value's reading, and what it lacks ("" if nothing).
Reading = tuple[T, str]
Kind = Callable[[Any], Reading[T]]

MOST = 2**48  # no model has more of anything; beyond it positions lose bits
LARGEST = 1e30
MOST_LAYERS = 10_000
SHOWN = 60


def short(value: object) -> str:
    """Write a value on one line, cut where it is long.

    Args:
        value: anything.

    Returns:
        At most 60 letters.

    Example:
        >>> short(10000.0), len(short("x" * 10**6)), short([1] * 100)
        ('10000.0', 60, '100 values')
    """
    if isinstance(value, (list, tuple)) and len(value) > SHOWN:
        return f"{len(value)} values"
    text = repr(value[:SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def printable(text: str) -> str:
    """Write a name as it is, or quoted and cut where it would not fit on a line.

    Args:
        text: a key, a path.

    Returns:
        One line.

    Example:
        >>> printable("rope_theta"), printable("a" * 500)[:4]
        ('rope_theta', "'aaa")
    """
    return text if text.isprintable() and len(text) <= 4 * SHOWN else short(text)


def whole(*, least: int = 0, most: int = MOST) -> Kind[int]:
    """Say that a value must be a whole number; a float without a fraction will do, as some files write it.

    Args:
        least: smallest allowed.
        most: largest allowed.

    Returns:
        A kind.

    Example:
        >>> whole(least=1)(8.0), whole(least=1)(True)
        ((8, ''), (1, 'needed a whole number from 1 to 281474976710656, got True'))
    """

    def read(value: Any) -> Reading[int]:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
            return number, ""
        return max(least, 1), f"needed a whole number from {least} to {most}, got {short(value)}"

    return read


def number(*, least: float | None = None, most: float = LARGEST) -> Kind[float]:
    """Say that a value must be a positive finite number.

    Args:
        least: smallest allowed, if it is not enough to be above 0.
        most: largest allowed.

    Returns:
        A kind.

    Example:
        >>> number()(float("inf"))
        (1.0, 'needed a finite number > 0, got inf')
    """
    needed = f"needed a finite number {'> 0' if least is None else f'>= {least:g}'}{'' if most == LARGEST else f' and <= {most:g}'}"

    def read(value: Any) -> Reading[float]:
        if is_number(value) and abs(value) <= most and (value > 0 if least is None else value >= least):
            return float(value), ""
        return 1.0 if least is None else max(least, 1.0), f"{needed}, got {short(value)}"

    return read


def ordinary(*, least: float = 1e-6) -> Kind[float]:
    """Say that a value must be a number of ordinary size, as factors, magnitudes and scales are.

    Args:
        least: smallest allowed.

    Returns:
        A kind.

    Example:
        >>> ordinary()(5e-324)
        (1.0, 'needed a finite number >= 1e-06 and <= 1e+09, got 5e-324')
    """
    return number(least=least, most=1e9)


def flag(value: Any) -> Reading[bool]:
    """Read true or false; absence is false.

    Args:
        value: what came.

    Returns:
        It, and what it lacks.

    Example:
        >>> flag(True), flag(1)
        ((True, ''), (False, 'needed true or false, got 1'))
    """
    if value is None or isinstance(value, bool):
        return bool(value), ""
    return False, f"needed true or false, got {short(value)}"


def switch(value: Any) -> Reading[bool]:
    """Read true, false, or a whole number that stands for it, as published Llama 4 configurations have it.

    Args:
        value: what came.

    Returns:
        Whether it is on, and what it lacks.

    Example:
        >>> switch(4), switch(False)
        ((True, ''), (False, ''))
    """
    return (value != 0, "") if isinstance(value, int) and not isinstance(value, bool) else flag(value)


def one_of(*known: str) -> Kind[str]:
    """Say that a value must be one of some words.

    Args:
        known: the words; the first stands in.

    Returns:
        A kind.

    Example:
        >>> one_of("absolute")("rotary")
        ('absolute', "needed one of absolute, got 'rotary'")
    """

    def read(value: Any) -> Reading[str]:
        if isinstance(value, str) and value in known:
            return value, ""
        return known[0], f"needed one of {', '.join(known)}, got {short(value)}"

    return read


def row_of(kind: Kind[T], *, length: int | None = None) -> Kind[tuple[T, ...]]:
    """Say that a value must be a list whose parts are of a kind.

    Args:
        kind: of each part.
        length: how many, if that is known.

    Returns:
        A kind.

    Example:
        >>> row_of(whole(), length=2)([1, 0])
        ((1, 0), '')
    """

    def read(value: Any) -> Reading[tuple[T, ...]]:
        if not isinstance(value, (list, tuple)) or (length is not None and len(value) != length):
            got = f"{len(value)} of them" if isinstance(value, (list, tuple)) else short(value)
            return (), f"needed a list{'' if length is None else f' of {length} values'}, got {got}"
        read = [kind(part) for part in value]
        lacking = next((text for _, text in read if text), "")
        return tuple(part for part, _ in read), lacking and f"in the list: {lacking}"

    return read


def is_number(value: object) -> bool:
    """Tell whether a value is a finite number, not true or false, that a float can hold.

    Args:
        value: anything.

    Returns:
        Whether it is.

    Example:
        >>> [is_number(value) for value in (1, 0.5, True, float("nan"), "1", 10**400)]
        [True, True, False, False, False, False]
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def listed(names: Iterable[str], *, most: int = 10) -> str:
    """Write names in order, with commas.

    Args:
        names: any.
        most: how many are written.

    Returns:
        Text.

    Example:
        >>> listed({"b", "a"}), listed("abc", most=2)
        ('a, b', 'a, b and 1 more')
    """
    ordered = [printable(name) for name in sorted(names)]
    return ", ".join(ordered[:most]) + (f" and {len(ordered) - most} more" if len(ordered) > most else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """Ask whether a known name was meant.

    Args:
        name: unknown.
        known: the others.

    Returns:
        A question, or nothing.

    Example:
        >>> nearest("rope_teta", ["rope_theta", "alibi"])
        'did you mean rope_theta?'
    """
    near = difflib.get_close_matches(name[:SHOWN], list(known), n=1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else ""
