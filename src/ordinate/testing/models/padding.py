"""Padding, to the left or to the right, changes nothing for real tokens."""

from __future__ import annotations

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked, smallest
from ordinate.testing.models.subject import Subject, same, shown

LEFT, RIGHT = "left-padded = unpadded", "right-padded = unpadded"
KIND = "mask-blind-positions"
SIZES = ((1, 1), (2, 1), (3, 2), (5, 3))  # real tokens and padding, smallest first
COUNT = "count real tokens alone: cumulative sum of the mask, less one"
HIDE = "hide padding from every query by the mask"


def padded(subject: Subject, ids: torch.Tensor, pads: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Put padding to the left of ids.

    Args:
        subject: the model: where transformers' models take positions, their callers give those of the mask, as ``generate`` does.
        ids: real tokens.
        pads: how many.

    Returns:
        Ids, which of them are real, and the positions that a caller gives.

    Shape:
        [B, T] -> three of [B, pads + T]

    Example:
        >>> from torch import nn
        >>> from ordinate.testing.models.preparing import prepared
        >>> padded(prepared(nn.Embedding(9, 9)), torch.tensor([[5, 6]]), 1)[1]
        tensor([[False,  True,  True]])
    """
    whole = torch.cat((ids[:, :1].expand(-1, pads), ids), dim=1)
    real = torch.ones_like(whole, dtype=torch.bool)
    real[:, :pads] = False
    given = subject.positions is not None and (subject.of_transformers or subject.names.needs_positions)
    return whole, real, (real.cumsum(1) - 1).clamp(min=0) if given else None


def left_padded(subject: Subject) -> Finding:
    """Ask with padding to the left.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.mask is None:
        return not_asked(LEFT, _without(subject))
    sizes = [(real, pads) for real, pads in SIZES if real + pads <= subject.limit]
    size = smallest(sizes, lambda size: not same(_left(subject, *size), subject.fresh().logits(subject.rows(1, size[0]))))
    if size is None:
        beside = " and positions of real tokens beside it" if padded(subject, subject.rows(1, 1), 1)[2] is not None else ""
        return holds(LEFT, f"by the mask{beside}")
    count, pads = size
    said, remedy = _recognised(subject, *sizes[-1])
    return broken(
        LEFT,
        KIND,
        said,
        smallest=f"{pads} of padding and {count} real tokens, mask {[0] * pads + [1] * count}",
        expected=f"positions {list(range(count))}: {shown(subject.fresh().logits(subject.rows(1, count)))}",
        actual=shown(_left(subject, count, pads)),
        remedy=remedy,
    )


def right_padded(subject: Subject) -> Finding:
    """Ask with padding to the right.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.mask is None:
        return not_asked(RIGHT, _without(subject))
    sizes = [(real, pads) for real, pads in SIZES if real + pads <= subject.limit]
    size = smallest(sizes, lambda size: not same(_right(subject, *size), subject.fresh().logits(subject.rows(1, size[0]))))
    if size is None:
        return holds(RIGHT, "by the mask")
    count, pads = size
    return broken(
        RIGHT,
        KIND,
        "padding after the real tokens changes their logits",
        smallest=f"{count} real tokens and {pads} of padding, mask {[1] * count + [0] * pads}",
        expected=shown(subject.fresh().logits(subject.rows(1, count))),
        actual=shown(_right(subject, count, pads)),
        remedy=HIDE,
    )


def _without(subject: Subject) -> str:
    if subject.names.mask is None:
        return "forward takes no mask"
    return f"its {subject.names.mask} is no mask [B, T] of real tokens or of padding that changes nothing where all tokens are real"


def _left(subject: Subject, count: int, pads: int, *, other: bool = False) -> torch.Tensor:
    """Logits of the real tokens; with ``other``, of another padding."""
    whole, real, places = padded(subject, subject.rows(1, count), pads)
    if other:
        whole[:, :pads] = subject.rows(1, pads, start=5)
    return subject.fresh().logits(whole, real=real, positions=places)[:, pads:]


def _right(subject: Subject, count: int, pads: int) -> torch.Tensor:
    ids = subject.rows(1, count)
    whole = torch.cat((ids, subject.rows(1, pads, start=5)), dim=1)
    real = torch.ones_like(whole, dtype=torch.bool)
    real[:, count:] = False
    places = subject.at(whole) if padded(subject, ids, 1)[2] is not None else None
    return subject.fresh().logits(whole, real=real, positions=places)[:, :count]


def _recognised(subject: Subject, count: int, pads: int) -> tuple[str, str]:
    actual = _left(subject, count, pads)
    if not same(actual, _left(subject, count, pads, other=True)):
        return "real tokens see the padding: the mask does not hide it", HIDE
    if subject.positions is not None:
        ids = subject.rows(1, count)
        shifted = attempt(lambda: subject.fresh().logits(ids, positions=subject.at(ids, pads)))
        if not isinstance(shifted, Failed) and same(actual, shifted):
            return "padding is counted: the first real token is at the position after it, not at 0", COUNT
    return "padding is hidden, and counted as positions", COUNT
