"""Positions (time, row, column) of text with images in it, by Qwen2-VL's rule, and of the frames of a video."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.comparing import Array, Mistake, Question, as_array
from ordinate.testing.counting.answers import parts
from ordinate.testing.findings import Report, not_asked

KIND = "mrope-index"
Grid = tuple[int, int]  # rows, columns, after merging
Part = int | Grid  # so many tokens of text, or an image
Sample = tuple[Part, ...]
Place = tuple[int, int, int]
INPUTS: tuple[Sample, ...] = (
    (1,),
    (3,),
    ((2, 2),),
    (1, (1, 1), 1),
    (3, (2, 2), 2),
    (1, (2, 3), 2),
    (2, (3, 1), 1),
    (1, (2, 2), 1, (1, 3), 2),
)


def check_multimodal(fn: Callable[[torch.Tensor, list[tuple[int, int, int]]], Any]) -> Report:
    """Check the three coordinates of tokens, and where decoding goes on.

    Text has one number on all axes. An image that begins at p puts its patch of row h, column w at (p, p + h, p + w); the text
    after it goes on at p + max(rows, columns).

    Args:
        fn: fn(token_types [1, T] (0 text, 1 image), grids) -> positions [3, T], [3, 1, T] or [1, T, 3], or (positions, delta),
            where the next token is at delta + T. grids: (1, rows, columns) of each image, after merging.

    Returns:
        A finding for positions and one for the next token.

    Example:
        >>> from ordinate.multimodal import qwen2_vl_positions
        >>> right = lambda types, grids: qwen2_vl_positions(types, image_grids=grids, spatial_merge=1)
        >>> check_multimodal(right).broken
        ()
        >>> counted = lambda types, grids: torch.arange(types.shape[1]).expand(3, -1)
        >>> print(check_multimodal(counted).broken[0].said)
        positions count tokens, as if all were text
    """
    placed = _positions_question().answered(lambda sample: _ask(fn, sample).positions)
    name = "next position"
    if _ask(fn, INPUTS[0]).following is None:
        return Report("multimodal positions", (placed, not_asked(name, "the function gives no delta")))
    return Report("multimodal positions", (placed, _next_question(name).answered(lambda sample: _next(fn, sample))))


def check_frame_times(fn: Callable[[int, float, float], Any]) -> Report:
    """Check the time coordinates of a video's frames: floor(frame x seconds x tokens), multiplied first and cut last.

    Args:
        fn: fn(frames, seconds_per_frame, tokens_per_second) -> one whole number a frame.

    Returns:
        One finding.

    Example:
        >>> print(check_frame_times(lambda frames, seconds, tokens: [n * int(seconds) * tokens for n in range(frames)]).broken[0])
        BROKEN  times of frames: seconds are cut to whole ones before they are multiplied [ORD404 mrope-index]
                input    4 frames of 0.5 s, 2 tokens a second
                expected [0, 1, 2, 3]
                actual   [0, 0, 0, 0]
                remedy   multiply first and take the floor last: floor(frame x seconds x tokens)
    """
    return Report("times of frames", (_times_question().answered(lambda each: attempt(lambda: as_array(fn(*each)).ravel())),))


@dataclass(frozen=True)
class _Answer:
    positions: Array | Failed
    following: float | None


def _ask(fn: Callable[..., Any], sample: Sample) -> _Answer:
    types = [kind for part in sample for kind in ([0] * part if isinstance(part, int) else [1] * (part[0] * part[1]))]
    grids = [(1, *part) for part in sample if not isinstance(part, int)]
    given = attempt(lambda: fn(torch.tensor([types]), grids))
    if isinstance(given, Failed):
        return _Answer(given, None)
    positions = attempt(lambda: _by_axis(as_array(parts(given)[0]), len(types)))
    following = attempt(lambda: float(as_array(parts(given)[1]).ravel()[0]) + len(types))
    return _Answer(positions, None if isinstance(following, Failed) else following)


def _by_axis(positions: Array, length: int) -> Array:
    """[3, T] of [3, 1, T], [1, 3, T], [1, T, 3] or [T, 3]."""
    if positions.ndim == 3:
        if positions.shape == (3, 1, length):
            return positions[:, 0]
        return positions[0].T if positions.shape == (1, length, 3) else positions.reshape(3, length)
    return positions.T if positions.shape == (length, 3) and length != 3 else positions.reshape(3, length)


def _next(fn: Callable[..., Any], sample: Sample) -> Array | Failed:
    answer = _ask(fn, sample)
    if isinstance(answer.positions, Failed):
        return answer.positions
    return np.array(math.nan if answer.following is None else answer.following)


@dataclass(frozen=True)
class _Rule:
    """How a builder lays tokens out; the defaults are right."""

    patch: Callable[[int, int, int, int], Place] = lambda start, row, column, _: (start, start + row, start + column)
    advance: Callable[[Grid], int] = lambda grid: max(grid)
    first: int = 0

    def places(self, sample: Sample) -> Array:
        out: list[Place] = []
        start = self.first
        for part in sample:
            if isinstance(part, int):
                out += [(start + n,) * 3 for n in range(part)]
                start += part
            else:
                rows, columns = part
                out += [self.patch(start, n // columns, n % columns, n) for n in range(rows * columns)]
                start += self.advance(part)
        return np.array(out, dtype=np.float64).T


def _shown(sample: Sample) -> str:
    return " + ".join(f"{part} text" if isinstance(part, int) else f"1 x {part[0]} x {part[1]} image" for part in sample)


def _positions_question() -> Question[Sample]:
    start = "an image begins after the largest position so far, at (p, p + row, p + column)"
    after = "text after an image goes on at p + max(rows, columns)"
    wrong: tuple[tuple[str, str, _Rule], ...] = (
        ("text after an image counts all its patches", after, _Rule(advance=lambda grid: grid[0] * grid[1])),
        ("text after an image goes on after one position", after, _Rule(advance=lambda _: 1)),
        ("text after an image goes on where the image began", after, _Rule(advance=lambda _: 0)),
        ("text after an image goes on after its rows", after, _Rule(advance=lambda grid: grid[0])),
        ("text after an image goes on after its columns", after, _Rule(advance=lambda grid: grid[1])),
        ("text after an image goes on after the sum of its sides", after, _Rule(advance=sum)),
        ("text after an image goes on one position too late", after, _Rule(advance=lambda grid: max(grid) + 1)),
        ("text after an image goes on at the image's last position", after, _Rule(advance=lambda grid: max(grid) - 1)),
        ("rows and columns are exchanged", start, _Rule(patch=lambda p, row, column, _: (p, p + column, p + row))),
        ("an image begins at 0, whatever came before", start, _Rule(patch=lambda _, row, column, __: (0, row, column))),
        ("rows and columns of an image begin at 0", start, _Rule(patch=lambda p, row, column, _: (p, row, column))),
        ("the time of an image begins at 0", start, _Rule(patch=lambda p, row, column, _: (0, p + row, p + column))),
        (
            "the time rises within an image",
            "all patches of a frame share one time",
            _Rule(patch=lambda p, row, column, n: (p + n, p + row, p + column)),
        ),
        (
            "an image begins one position too late",
            start,
            _Rule(patch=lambda p, row, column, _: (p + 1, p + row + 1, p + column + 1)),
        ),
        ("positions are counted from 1", "the first token is at 0", _Rule(first=1)),
        ("positions count tokens, as if all were text", start, _Rule(patch=lambda p, _, __, n: (p + n,) * 3, advance=math.prod)),
    )
    return Question(
        property="positions of tokens",
        kind=KIND,
        inputs=INPUTS,
        right=_Rule().places,
        shown=_shown,
        mistakes=[Mistake(said=said, remedy=remedy, gives=rule.places) for said, remedy, rule in wrong],
    )


def _next_question(name: str) -> Question[Sample]:
    def largest(sample: Sample) -> float:
        return float(_Rule().places(sample).max())

    def one(number: Callable[[Sample], float]) -> Callable[[Sample], Array]:
        return lambda sample: np.array(number(sample))

    def tokens(sample: Sample) -> int:
        return int(_Rule().places(sample).shape[1])

    remedy = "the next token is at the largest position + 1: delta = largest + 1 - number of tokens"
    wrong: tuple[tuple[str, Callable[[Sample], float]], ...] = (
        ("decoding goes on at the number of tokens: delta is 0", lambda sample: float(tokens(sample))),
        ("decoding goes on at the largest position itself", largest),
        (
            "delta is the next position, not its difference from the number of tokens",
            lambda sample: largest(sample) + 1 + tokens(sample),
        ),
        ("delta has the wrong sign", lambda sample: 2 * tokens(sample) - largest(sample) - 1),
        ("decoding goes on one position too late", lambda sample: largest(sample) + 2),
    )
    return Question(
        property=name,
        kind=KIND,
        inputs=INPUTS,
        right=one(lambda sample: largest(sample) + 1),
        shown=_shown,
        mistakes=[Mistake(said=said, remedy=remedy, gives=one(gives)) for said, gives in wrong],
    )


Video = tuple[int, float, float]  # frames, seconds a frame, tokens a second


def _times_question() -> Question[Video]:
    def times(time: Callable[[int, float, float], float]) -> Callable[[Video], Array]:
        return lambda video: np.array([float(time(n, video[1], video[2])) for n in range(video[0])])

    wrong: tuple[tuple[str, Callable[[int, float, float], float]], ...] = (
        ("seconds are cut to whole ones before they are multiplied", lambda n, seconds, tokens: n * math.floor(seconds) * tokens),
        ("tokens a frame are cut before they are multiplied", lambda n, seconds, tokens: n * math.floor(seconds * tokens)),
        (
            "seconds are cut after the frame's number, before the tokens",
            lambda n, seconds, tokens: math.floor(n * seconds) * tokens,
        ),
        ("times are rounded to the nearest", lambda n, seconds, tokens: round(n * seconds * tokens)),
        ("times are not cut to whole numbers", lambda n, seconds, tokens: n * seconds * tokens),
        ("frames are counted: seconds are ignored", lambda n, _, __: n),
        ("tokens a second are ignored", lambda n, seconds, _: math.floor(n * seconds)),
        ("seconds are ignored", lambda n, _, tokens: n * tokens),
    )
    remedy = "multiply first and take the floor last: floor(frame x seconds x tokens)"
    return Question(
        property="times of frames",
        kind=KIND,
        inputs=((1, 1.0, 2.0), (2, 1.0, 2.0), (4, 0.5, 2.0), (5, 0.75, 2.0), (4, 1.25, 2.0), (4, 1.0, 25.0)),
        right=times(lambda n, seconds, tokens: math.floor(n * seconds * tokens)),
        shown=lambda video: f"{video[0]} frames of {video[1]:g} s, {video[2]:g} tokens a second",
        mistakes=[Mistake(said=said, remedy=remedy, gives=times(time)) for said, time in wrong],
    )
