"""One file per scheme. ``SCHEMES`` is the one table from a scheme's name to its class."""

from __future__ import annotations

import difflib

from ordinate.schemes.alibi import ALiBi as ALiBi
from ordinate.schemes.learned import Learned as Learned
from ordinate.schemes.rope import Rope as Rope
from ordinate.schemes.sinusoidal import Sinusoidal as Sinusoidal
from ordinate.sites import InputScheme, QueryKeyScheme, ScoreScheme

SCHEMES: dict[str, type[InputScheme | QueryKeyScheme | ScoreScheme] | None] = {
    "nope": None,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "alibi": ALiBi,
    "rope": Rope,
}


def require_name(name: str) -> str:
    """Check a scheme's name against the table.

    Args:
        name: as in ``SCHEMES``.

    Returns:
        The name.

    Raises:
        ValueError: if there is no such scheme; names the nearest ones.

    Example:
        >>> require_name("rop")
        Traceback (most recent call last):
        ValueError: unknown scheme 'rop'; did you mean 'rope'? There are nope, sinusoidal, learned, alibi, rope
    """
    if name in SCHEMES:
        return name
    near = difflib.get_close_matches(name.lower(), SCHEMES, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise ValueError(f"unknown scheme {name!r}; {hint}There are {', '.join(SCHEMES)}")
