"""Positions of rows with padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ordinate.testing.attempts import Failed
from ordinate.testing.comparing import Array, Mistake, Question
from ordinate.testing.counting.answers import asked
from ordinate.testing.findings import Finding, Report, not_asked

Mask = tuple[tuple[int, ...], ...]
PROPERTIES: tuple[tuple[str, tuple[Mask, ...]], ...] = (
    ("no padding", (((1,),), ((1, 1, 1),), ((1, 1), (1, 1)))),
    ("padding on the left", (((0, 1),), ((0, 0, 1, 1, 1),), ((0, 1, 1), (1, 1, 1)), ((1, 1, 1), (0, 0, 1)))),
    ("padding on the right", (((1, 0),), ((1, 1, 1, 0, 0),), ((1, 1, 1), (1, 0, 0)))),
    ("rows of padding alone", (((0, 0), (1, 1)), ((0, 1, 1), (0, 0, 0)))),
)


def check_masked(fn: Callable[[torch.Tensor], Any], *, relative: bool = False) -> Report:
    """Check a builder of positions from an attention mask: real tokens count from 0, padding counts nothing.

    What padding itself is given does not matter and is not compared.

    Args:
        fn: from a mask [B, T] (int64, 1 for a real token) to positions [B, T].
        relative: whether the model sees only distances, as with RoPE: then a row may begin anywhere.

    Returns:
        A finding for each side of the padding.

    Example:
        >>> print(check_masked(lambda mask: torch.arange(mask.shape[1]).expand(mask.shape)).broken[0])
        BROKEN  padding on the left: padding is counted: positions are the places in the row [ORD403 mask-blind-positions]
                input    mask [[0, 1]]
                expected [[0, 0]]
                actual   [[0, 1]]
                remedy   mask.cumsum(-1) - 1, at least 0
    """

    def ask(mask: Mask) -> Array | Failed:
        tensor = torch.tensor(mask)
        positions = asked(lambda: fn(tensor), lambda given: given.reshape(tensor.shape))
        return positions if isinstance(positions, Failed) else _seen(positions, mask, relative)

    found: list[Finding] = []
    for name, masks in PROPERTIES:
        if found and found[0].verdict == "broken":
            found.append(not_asked(name, "positions are wrong without padding already"))
        else:
            found.append(_question(name, masks, relative).answered(ask))
    return Report("positions from a mask", tuple(found))


def _seen(positions: Array, mask: Mask, relative: bool) -> Array:
    """0 at padding; with ``relative`` each row moved so that its first real token is at 0."""
    real = np.array(mask) == 1
    if relative:
        firsts = [row[seen][0] if seen.any() else 0.0 for row, seen in zip(positions, real, strict=True)]
        positions = positions - np.array(firsts)[:, None]
    return np.where(real, positions, 0.0)


def _question(name: str, masks: Sequence[Mask], relative: bool) -> Question[Mask]:
    def seen(gives: Callable[[Array], Array]) -> Callable[[Mask], Array]:
        return lambda mask: _seen(gives(np.array(mask, dtype=np.float64)), mask, relative)

    def places(mask: Array) -> Array:
        return np.broadcast_to(np.arange(mask.shape[1], dtype=np.float64), mask.shape)

    def right(mask: Array) -> Array:
        out = np.zeros(mask.shape)
        for row, column in np.ndindex(mask.shape):
            out[row, column] = sum(mask[row, earlier] for earlier in range(column))
        return out

    def of_the_first_row(mask: Array) -> Array:
        return np.broadcast_to(right(mask[:1]), mask.shape)

    def from_the_right(mask: Array) -> Array:
        """Right for padding on the left alone: the place less all padding of the row."""
        padding: Array = mask.shape[1] - mask.sum(axis=1, keepdims=True)
        return places(mask) - padding

    remedy = "mask.cumsum(-1) - 1, at least 0"
    wrong: tuple[tuple[str, Callable[[Array], Array]], ...] = (
        ("padding is counted: positions are the places in the row", places),
        ("positions are counted from 1", lambda mask: right(mask) + 1),
        ("positions are counted from 2", lambda mask: right(mask) + 2),
        ("the first row's mask is used for all rows", of_the_first_row),
        ("padding is always taken to be on the left", from_the_right),
        ("padding is counted, from 1", lambda mask: places(mask) + 1),
        ("the longest row's padding is taken for all", lambda mask: places(mask) - mask.shape[1] + mask.sum(axis=1).max()),
        ("all real tokens are at one position", lambda mask: 0 * mask),
    )
    return Question(
        property=name,
        kind="mask-blind-positions",
        inputs=masks,
        right=seen(right),
        shown=lambda mask: f"mask {[list(row) for row in mask]}",
        mistakes=[Mistake(said=said, remedy=remedy, gives=seen(gives)) for said, gives in wrong],
    )
