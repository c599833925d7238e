"""Positions of documents that are laid end to end."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch

from ordinate.testing.attempts import Failed
from ordinate.testing.comparing import Array, Mistake, Question
from ordinate.testing.counting.answers import asked, row
from ordinate.testing.findings import Report

Lengths = tuple[int, ...]
Given = Literal["lengths", "cu_seqlens", "document_ids"]
INPUTS: tuple[Lengths, ...] = ((1,), (2,), (1, 1), (2, 1), (1, 2), (3, 2), (2, 2, 2), (1, 3, 2), (4, 1, 5, 2))


def check_packed(fn: Callable[[Any], Any], *, given: Given = "lengths") -> Report:
    """Check a builder of positions for packed documents: they begin at 0 in every document.

    Positions alone do not keep documents apart: attention needs to know them, too (``check_model`` looks at that).

    Args:
        fn: gives positions [N] or [1, N], or several things with them first.
        given: what fn takes: a list of lengths, borders [0, l1, l1 + l2, ...] as an int32 tensor, or document ids [N] as a tensor.

    Returns:
        One finding.

    Example:
        >>> print(check_packed(lambda lengths: range(sum(lengths))).broken[0])
        BROKEN  positions of documents: positions run on over the border [ORD402 packed-positions]
                input    lengths [1, 1]
                expected [0, 0]
                actual   [0, 1]
                remedy   start from 0 again in every document
    """

    def ask(lengths: Lengths) -> Array | Failed:
        return asked(lambda: fn(_as_given(lengths, given)), row)

    return Report("packed positions", (_question().answered(ask),))


def _as_given(lengths: Lengths, given: Given) -> Any:
    if given == "lengths":
        return list(lengths)
    if given == "cu_seqlens":
        return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)
    return torch.tensor([document for document, length in enumerate(lengths) for _ in range(length)])


def _question() -> Question[Lengths]:
    def counted(place: Callable[[int, int, int], int]) -> Callable[[Lengths], Array]:
        """From (document, place in it, place in all) to a position."""

        def gives(lengths: Lengths) -> Array:
            inside = [(document, n) for document, length in enumerate(lengths) for n in range(length)]
            return np.array([place(document, n, whole) for whole, (document, n) in enumerate(inside)], dtype=np.float64)

        return gives

    def wrapped(lengths: Lengths) -> Array:
        return np.array([whole % max(lengths) for whole in range(sum(lengths))], dtype=np.float64)

    def late(lengths: Lengths) -> Array:
        """The first token of a document still belongs to the one before."""
        out, place = [], -1
        starts = [border + 1 for border in itertools.accumulate(lengths)][:-1]
        for whole in range(sum(lengths)):
            place = 0 if whole in starts else place + 1
            out.append(place)
        return np.array(out, dtype=np.float64)

    start = "start from 0 again in every document"
    wrong: tuple[tuple[str, str, Callable[[Lengths], Array]], ...] = (
        ("positions run on over the border", start, counted(lambda _, __, whole: whole)),
        ("positions are counted from 1", "the first token of a document is at 0", counted(lambda _, n, __: n + 1)),
        ("positions run on, counted from 1", start, counted(lambda _, __, whole: whole + 1)),
        (
            "the number of the document stands for the position",
            "count tokens in the document",
            counted(lambda document, _, __: document),
        ),
        ("positions begin again one token late", "the first token of a document is at 0", late),
        (
            "positions begin again at 1",
            "subtract the document's first place, not the last one before",
            counted(lambda d, n, _: n + (d > 0)),
        ),
        ("all documents are taken to be as long as the longest", "count each document's own tokens", wrapped),
        ("positions are counted backwards from the next border", "subtract the document's first place", _backwards),
    )
    return Question(
        property="positions of documents",
        kind="packed-positions",
        inputs=INPUTS,
        right=counted(lambda _, n, __: n),
        shown=lambda lengths: f"lengths {list(lengths)}",
        mistakes=[Mistake(said=said, remedy=remedy, gives=gives) for said, remedy, gives in wrong],
    )


def _backwards(lengths: Lengths) -> Array:
    return np.array([length - 1 - n for length in lengths for n in range(length)], dtype=np.float64)
