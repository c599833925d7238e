"""What a wrong base costs, in radians."""

from __future__ import annotations

import re

POSITION, PAIR = 1000, 1
DISAGREE = re.compile(r"(?:theta|base\w*) = ([\d.e+]+) and \S*(?:theta|base\w*) = ([\d.e+]+) disagree")
DROPPED = re.compile(r"^(?:\S*(?:theta|base)\S*: .*got ([\d.e+]+)|\S+: .*got ([\d.e+]+)\b.*theta)")


def angles_of(message: str, *, base: float | None, width: int) -> str:
    """Give the angles of two bases, for a finding about a base that is dropped or declared twice.

    angle = position * base^(-2 pair / width), at position 1000 and pair 1.

    Args:
        message: of the finding, with the values, and what it says of a remedy.
        base: that is used in place of a dropped one.
        width: entries that turn.

    Returns:
        A sentence; nothing if the message is about something else.

    Example:
        >>> angles_of("rope_theta = 10000.0 and rope_parameters.rope_theta = 1000000.0 disagree", base=None, width=128)
        'position 1000, pair 1 of 64: 865.9643 rad by base 10000, 805.8422 rad by base 1e+06'
    """
    found = DISAGREE.search(message)
    texts = list(found.groups()) if found else []
    dropped = None if found else DROPPED.search(message)
    if dropped and base is not None:
        texts = [str(base), dropped.group(1) or dropped.group(2)]
    try:
        bases = [float(text) for text in texts]
    except ValueError:
        return ""
    if len(bases) != 2 or width < 4 or min(bases) < 1 or max(bases) > 1e30:
        return ""
    said = [f"{POSITION * each ** (-2 * PAIR / width):.4f} rad by base {each:g}" for each in bases]
    return f"position {POSITION}, pair {PAIR} of {width // 2}: {', '.join(said)}"
