"""Positions of the shards of one sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.comparing import Array, Mistake, Question, as_array
from ordinate.testing.findings import Report

KIND = "context-parallel-slice"
Job = tuple[int, int]  # length, ranks
Shards = list[list[int]]
Slices = Literal["zigzag", "contiguous"]
INPUTS: tuple[Job, ...] = ((2, 1), (4, 2), (8, 2), (12, 3), (16, 4))


def check_context_parallel(fn: Callable[[int, int], Any], *, slices: Slices = "zigzag") -> Report:
    """Check the positions of each rank's tokens.

    Args:
        fn: fn(length, ranks) -> the positions of each rank, in order.
        slices: how tokens are cut: "zigzag" (2 R chunks, rank r has chunks r and 2 R - 1 - r, so that causal work is even) or
            "contiguous".

    Returns:
        One finding.

    Example:
        >>> print(check_context_parallel(lambda length, ranks: [range(length // ranks)] * ranks).broken[0])
        BROKEN  positions of each rank: every rank counts from 0 [ORD406 context-parallel-slice]
                input    length 4 on 2 ranks
                expected [[0, 3], [1, 2]]
                actual   [[0, 1], [0, 1]]
                remedy   cut positions exactly as tokens are cut: zigzag, rank r of R has chunks r and 2 R - 1 - r of 2 R
    """

    def ask(job: Job) -> Array | Failed:
        return attempt(lambda: np.stack([as_array(list(part) if isinstance(part, range) else part).ravel() for part in fn(*job)]))

    return Report("context-parallel positions", (_question(slices).answered(ask),))


def contiguous(length: int, ranks: int) -> Shards:
    """Cut a sequence into one piece a rank.

    Args:
        length: of the sequence.
        ranks: how many.

    Returns:
        Positions of each rank.

    Example:
        >>> contiguous(4, 2)
        [[0, 1], [2, 3]]
    """
    share = length // ranks
    return [[rank * share + n for n in range(share)] for rank in range(ranks)]


def zigzag(length: int, ranks: int) -> Shards:
    """Cut a sequence into two pieces a rank, one from the front and one from the back.

    Args:
        length: of the sequence.
        ranks: how many.

    Returns:
        Positions of each rank.

    Example:
        >>> zigzag(8, 2)
        [[0, 1, 6, 7], [2, 3, 4, 5]]
    """
    chunks = contiguous(length, 2 * ranks)
    return [chunks[rank] + chunks[2 * ranks - 1 - rank] for rank in range(ranks)]


def _question(slices: Slices) -> Question[Job]:
    def shards(cut: Callable[[int, int], Shards]) -> Callable[[Job], Array]:
        return lambda job: np.array(cut(*job), dtype=np.float64)

    def from_zero(length: int, ranks: int) -> Shards:
        return [list(range(length // ranks))] * ranks

    def strided(length: int, ranks: int) -> Shards:
        return [list(range(rank, length, ranks)) for rank in range(ranks)]

    def far_chunks(length: int, ranks: int) -> Shards:
        chunks = contiguous(length, 2 * ranks)
        return [chunks[rank] + chunks[rank + ranks] for rank in range(ranks)]

    def turned(length: int, ranks: int) -> Shards:
        chunks = contiguous(length, 2 * ranks)
        return [chunks[rank] + chunks[2 * ranks - 1 - rank][::-1] for rank in range(ranks)]

    def mirrored(length: int, ranks: int) -> Shards:
        chunks = contiguous(length, 2 * ranks)
        return [chunks[2 * ranks - 1 - rank] + chunks[rank] for rank in range(ranks)]

    ways = {"zigzag": zigzag, "contiguous": contiguous}
    rules = {"zigzag": "rank r of R has chunks r and 2 R - 1 - r of 2 R", "contiguous": "rank r of R has piece r of R"}
    remedy = f"cut positions exactly as tokens are cut: {slices}, {rules[slices]}"
    right = ways[slices]
    other = next(name for name in ways if name != slices)
    wrong: tuple[tuple[str, Callable[[int, int], Shards]], ...] = (
        (f"positions are {other}, tokens {slices}", ways[other]),
        ("every rank counts from 0", from_zero),
        ("every rank has the first rank's positions", lambda length, ranks: [right(length, ranks)[0]] * ranks),
        ("every rank has the positions of the whole sequence", lambda length, ranks: [list(range(length))] * ranks),
        ("positions are dealt out one by one", strided),
        ("the second chunk of rank r is r + R, not 2 R - 1 - r", far_chunks),
        ("the second chunk is turned round", turned),
        ("the two chunks of a rank are exchanged", mirrored),
        ("the ranks are in reverse order", lambda length, ranks: right(length, ranks)[::-1]),
    )
    return Question(
        property="positions of each rank",
        kind=KIND,
        inputs=INPUTS,
        right=shards(right),
        shown=lambda job: f"length {job[0]} on {job[1]} ranks",
        mistakes=[Mistake(said=said, remedy=remedy, gives=shards(gives)) for said, gives in wrong],
    )
