"""Whole numbers as they are written on the command line."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """Read a whole number.

    Args:
        text: as given.

    Returns:
        A number from 1 to 999999999.

    Raises:
        ArgumentTypeError: if it is none.

    Example:
        >>> count("64")
        64
    """
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"needed a whole number from 1 to 999999999, got {text[:40]!r}")
    return int(text)


def counts(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between.

    Args:
        text: as given.

    Returns:
        Numbers.

    Example:
        >>> counts("1, 2")
        (1, 2)
    """
    return tuple(count(part.strip()) for part in text.split(","))
