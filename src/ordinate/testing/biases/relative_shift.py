"""Transformer-XL's relative shift: from scores by distance to scores by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.comparing import Array, Mistake, Question, as_array
from ordinate.testing.findings import Report, not_asked

KIND = "relative-index-logic"
Sizes = tuple[int, int]  # queries, keys


def check_relative_shift(fn: Callable[[torch.Tensor], Any], *, two_way: bool) -> Report:
    """Check a function that moves scores by distance to scores by key.

    With columns from the farthest past to the present (and on to the farthest future, if attention is two-way), column c of query i
    of Q belongs to the key j = c + i + 1 - Q: the result is out[i, j] = scores[i, j + Q - 1 - i].

    Args:
        fn: from scores [1, 1, Q, R] to [1, 1, Q, K] (more columns than K are not looked at).
        two_way: R = Q + K - 1 columns; otherwise R = K, and keys after a query are not compared.

    Returns:
        A finding for queries and keys in equal number, and one with a memory of earlier keys.

    Example:
        >>> print(check_relative_shift(lambda scores: scores, two_way=False).broken[0].said)
        the scores are not shifted
    """
    right = _place(two_way, lambda i, j, queries, _: j + queries - 1 - i)
    square = _question("equal numbers", [(n, n) for n in (1, 2, 3, 5)], right, two_way).answered(
        lambda each: _ask(fn, each, two_way)
    )
    property = "with a memory"
    if square.verdict == "broken":
        return Report("relative shift", (square, not_asked(property, "the shift is wrong without one")))
    longer = _question(property, [(1, 2), (2, 3), (2, 5), (3, 7)], right, two_way).answered(lambda each: _ask(fn, each, two_way))
    return Report("relative shift", (square, longer))


def _question(property: str, inputs: list[Sizes], right: Callable[[Sizes], Array], two_way: bool) -> Question[Sizes]:
    columns = "the columns are read in the wrong direction"
    order = "columns go from the farthest past to the present (to the farthest future)"
    one_off = "the shift is off by one: query i of Q moves by Q - 1 - i"
    places: tuple[tuple[str, str, Callable[[int, int, int, int], int]], ...] = (
        ("the scores are not shifted", order, lambda _, j, __, ___: j),
        (columns, order, lambda i, j, _, keys: keys - 1 - (j - i)),
        (columns, order, lambda i, j, _, __: i - j),
        ("the shift goes the wrong way", order, lambda i, j, _, __: j + i),
        ("the shift is off by one", one_off, lambda i, j, queries, _: j + queries - i),
        ("the shift is off by one", one_off, lambda i, j, queries, _: j + queries - 2 - i),
        ("the memory is left out of the shift", one_off, lambda i, j, _, keys: j + keys - 1 - i),
    )
    mistakes = [Mistake(said=said, remedy=remedy, gives=_place(two_way, place)) for said, remedy, place in places]
    return Question(
        property=property,
        kind=KIND,
        inputs=inputs,
        right=right,
        shown=lambda sizes: f"scores {sizes[0]} x {_width(sizes, two_way)}, counted up, to {sizes[0]} x {sizes[1]}",
        mistakes=mistakes,
    )


def _width(sizes: Sizes, two_way: bool) -> int:
    return sum(sizes) - 1 if two_way else sizes[1]


def _scores(sizes: Sizes, two_way: bool) -> Array:
    width = _width(sizes, two_way)
    return 1.0 + np.arange(sizes[0] * width, dtype=np.float64).reshape(sizes[0], width)


def _compared(i: int, j: int, sizes: Sizes, two_way: bool) -> bool:
    return two_way or j <= i + sizes[1] - sizes[0]


def _place(two_way: bool, column: Callable[[int, int, int, int], int]) -> Callable[[Sizes], Array]:
    """What a function gives that reads this column for query i and key j; 0 where it is not compared or there is no column."""

    def gives(sizes: Sizes) -> Array:
        scores, out = _scores(sizes, two_way), np.zeros(sizes)
        for i, j in np.ndindex(sizes):
            place = column(i, j, *sizes)
            if _compared(i, j, sizes, two_way) and 0 <= place < scores.shape[1]:
                out[i, j] = scores[i, place]
        return out

    return gives


def _ask(fn: Callable[[torch.Tensor], Any], sizes: Sizes, two_way: bool) -> Array | Failed:
    scores = torch.from_numpy(_scores(sizes, two_way)).float()[None, None]
    given = attempt(lambda: as_array(fn(scores)))
    if isinstance(given, Failed):
        return given
    if given.ndim < 2 or given.shape[-2] != sizes[0] or given.shape[-1] < sizes[1]:
        return Failed(f"shape {list(given.shape)}, needed [1, 1, {sizes[0]}, {sizes[1]}]")
    out = given.reshape(-1, *given.shape[-2:])[0, :, : sizes[1]]
    return np.array([[out[i, j] if _compared(i, j, sizes, two_way) else 0.0 for j in range(sizes[1])] for i in range(sizes[0])])
