"""Query and key positions to ask for, smallest first, and what a bias gives that takes other positions than it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.testing.biases.function import BiasFunction, Places
from ordinate.testing.comparing import Array, Mistake

FAR_AWAY = 1000


@dataclass(frozen=True)
class Asked:
    """A property of the geometry and the positions that show it.

    Attributes:
        property: its name.
        why_not: why a function that takes lengths alone cannot be asked.
        places: smallest first.
    """

    property: str
    why_not: str
    places: tuple[Places, ...]


def _square(length: int) -> Places:
    return range(length), range(length)


def _last(queries: int, keys: int) -> Places:
    return range(keys - queries, keys), range(keys)


FIRST = Asked("distances", "", tuple(_square(length) for length in (1, 2, 3, 5, 8)))
LATER = (
    Asked(
        "alignment of queries and keys",
        "the function takes one length for both",
        (_last(1, 2), _last(1, 5), _last(2, 5), _last(3, 8)),
    ),
    Asked(
        "positions that do not begin at 0",
        "the function takes lengths, no positions",
        ((range(1, 2), range(1, 2)), (range(5, 8), range(5, 8)), (range(9, 10), range(5, 10)), (range(3, 4), range(8))),
    ),
    Asked(
        "shift of all positions",
        "the function takes lengths, no positions",
        tuple((range(FAR_AWAY, FAR_AWAY + n), range(FAR_AWAY, FAR_AWAY + n)) for n in (1, 2, 5)),
    ),
    Asked(
        "positions in any order",
        "the function takes lengths, no positions",
        (((2,), (0, 2)), ((6,), (0, 1, 5, 6)), ((3, 0, 2), (1, 3, 0, 2)), ((0, 1, 2, 0, 1), (0, 1, 2, 0, 1))),
    ),
)


def visible(places: Places, causal: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Say which keys each query sees.

    Args:
        places: positions of queries and keys.
        causal: whether keys after the query are hidden.

    Returns:
        One truth a pair, [Q, K].

    Example:
        >>> visible((range(2), range(2)), True).tolist()
        [[True, False], [True, True]]
    """
    q, k = (np.array(list(side)) for side in places)
    return (k[None, :] <= q[:, None]) if causal else np.ones((len(q), len(k)), dtype=bool)


def shown(places: Places) -> str:
    """Write positions down.

    Args:
        places: positions of queries and keys.

    Returns:
        Them in words.

    Example:
        >>> shown(((4,), range(5)))
        'queries at [4], keys at [0, 1, 2, 3, 4]'
    """
    q, k = (list(side) for side in places)
    return f"queries at {_few(q)}, keys at {_few(k)}"


def _few(side: list[int]) -> str:
    return str(side) if len(side) <= 8 else f"[{side[0]}, {side[1]}, ... {side[-1]}]"


def misplaced(bias: Callable[[Places], Array], seen: Callable[[Array, Places], Array]) -> tuple[Mistake[Places], ...]:
    """Mistakes of any bias of distances: it is right for other positions than the given ones.

    Args:
        bias: what is right for given positions.
        seen: what is compared of a bias for given positions.

    Returns:
        The mistakes.

    Example:
        >>> wrong = misplaced(lambda places: np.array([*places[0], *places[1]]), lambda bias, _: bias)
        >>> wrong[1].gives(((4,), (3, 4))).tolist()
        [0, 3, 4]
    """

    def mistake(said: str, remedy: str, moved: Callable[[Sequence[int], Sequence[int]], Places]) -> Mistake[Places]:
        return Mistake(said=said, remedy=remedy, gives=lambda places: seen(bias(moved(*places)), places))

    aligned = "with a cache the last query stands at the last key: query i of Q is at position K - Q + i"
    taken = "take query and key positions as arguments, and use their values"
    return (
        mistake(
            "the sign of the distance is wrong: query - key where key - query is meant",
            "distance = key position - query position; the past is negative",
            lambda q, k: ([-place for place in q], [-place for place in k]),
        ),
        mistake(
            "queries are counted from 0, so the first query is aligned to the first key", aligned, lambda q, k: (range(len(q)), k)
        ),
        mistake(
            "positions are ignored: queries and keys are both counted from 0",
            taken,
            lambda q, k: (range(len(q)), range(len(k))),
        ),
        mistake(
            "positions are ignored: the queries are taken for the last of the keys",
            taken,
            lambda q, k: (range(len(k) - len(q), len(k)), range(len(k))),
        ),
        mistake("the offset of the keys is ignored", taken, lambda q, k: (q, range(len(k)))),
        mistake("one distance is one too large", "distance = key position - query position", lambda q, k: ([p + 1 for p in q], k)),
        mistake("one distance is one too small", "distance = key position - query position", lambda q, k: ([p - 1 for p in q], k)),
    )


def history(function: BiasFunction, length: int = 3, longer: int = 8) -> bool | None:
    """Say whether an answer stays the same after a longer question, as it does unless something is remembered wrongly.

    Args:
        function: the bias.
        length: of the question that is asked twice.
        longer: of the one between.

    Returns:
        Whether; None if it gives no value.

    Example:
        >>> history(BiasFunction(lambda q, k: (k[None, :] - q[:, None])[None]))
        True
    """
    first, _, again = (function.ask(_square(n)) for n in (length, longer, length))
    if not isinstance(first, np.ndarray) or not isinstance(again, np.ndarray):
        return None
    return first.shape == again.shape and bool(np.array_equal(first, again, equal_nan=True))
