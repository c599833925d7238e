"""Documents in one row have the logits that each has alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked, smallest
from ordinate.testing.models.subject import Subject, same, shown

PROPERTY = "packed = separate"
KIND = "packed-positions"
LENGTHS = ((1, 1), (1, 2), (3, 2))  # of two documents, smallest first
Ask = Callable[[Subject, torch.Tensor, int], torch.Tensor]


class Way(NamedTuple):
    """How documents are told."""

    said: str
    ask: Ask
    restarts: bool  # whether positions are given, too, and start again


def packed_as_separate(subject: Subject) -> Finding:
    """Ask with two documents in one row.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    ways = _ways(subject)
    if not ways:
        return not_asked(PROPERTY, "forward takes no documents, and no mask of the keys that each query sees beside positions")
    lengths = [each for each in LENGTHS if sum(each) <= subject.limit]
    wrong = {way: smallest(lengths, lambda each, way=way: not _equal(subject, way, *each)) for way in ways}  # type: ignore[misc]
    right = [way.said for way, size in wrong.items() if size is None]
    if right and (len(right) == len(ways) or subject.names.documents is None):
        return holds(PROPERTY, f"by {right[0]}")
    way, size = next((way, size) for way, size in reversed(wrong.items()) if size is not None)
    return _finding(subject, way, size, lengths[-1])


def _ways(subject: Subject) -> list[Way]:
    """Those that the model takes: every one with documents must be right, of others one."""
    where = subject.names.positions
    if subject.names.documents is not None:
        ways = [] if subject.names.needs_positions else [Way(subject.names.documents, _documents, False)]
        both = Way(f"{subject.names.documents} and {where} that start again", _documents_and_positions, True)
        return [*ways, both] if subject.positions is not None else ways
    if subject.positions is None:
        return []
    ways = [Way(f"{where} that start again", _positions, True)] if subject.of_transformers else []
    return [*ways, Way(f"a mask of blocks and {where} that start again", _blocks, True)] if subject.block is not None else []


def _documents(subject: Subject, ids: torch.Tensor, first: int) -> torch.Tensor:
    return subject.fresh().logits(ids, documents=_numbers(ids, first))


def _documents_and_positions(subject: Subject, ids: torch.Tensor, first: int) -> torch.Tensor:
    return subject.fresh().logits(ids, documents=_numbers(ids, first), positions=_restarting(ids, first))


def _positions(subject: Subject, ids: torch.Tensor, first: int) -> torch.Tensor:
    """Without a mask: then transformers takes positions that start again for documents."""
    return dataclasses.replace(subject.fresh(), mask=None).logits(ids, positions=_restarting(ids, first))


def _blocks(subject: Subject, ids: torch.Tensor, first: int) -> torch.Tensor:
    documents = _numbers(ids, first)
    below = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).tril()
    visible = below & (documents[:, :, None] == documents[:, None, :])
    return subject.fresh().logits(ids, visible=visible, positions=_restarting(ids, first))


def _numbers(ids: torch.Tensor, first: int) -> torch.Tensor:
    return (torch.arange(ids.shape[1], device=ids.device) >= first).long().expand(ids.shape)


def _restarting(ids: torch.Tensor, first: int) -> torch.Tensor:
    order = torch.arange(ids.shape[1], device=ids.device)
    return torch.where(order < first, order, order - first).expand(ids.shape)


def _equal(subject: Subject, way: Way, first: int, second: int) -> bool:
    ids = subject.rows(1, first + second)
    found = attempt(lambda: way.ask(subject, ids, first))
    alone = [subject.fresh().logits(part) for part in (ids[:, :first], ids[:, first:])]
    return not isinstance(found, Failed) and same(found, torch.cat(alone, dim=1))


def _finding(subject: Subject, way: Way, wrong: tuple[int, int], largest: tuple[int, int]) -> Finding:
    first, second = wrong
    ids = subject.rows(1, first + second)
    found = attempt(lambda: way.ask(subject, ids, first))
    said, remedy = _recognised(subject, way, *largest)
    return broken(
        PROPERTY,
        KIND,
        said,
        smallest=f"documents of {first} and {second} tokens in one row, told by {way.said}",
        expected=f"positions {[*range(first), *range(second)]}: {shown(subject.fresh().logits(ids[:, first:]))}",
        actual=str(found) if isinstance(found, Failed) else shown(found),
        remedy=remedy,
    )


def _recognised(subject: Subject, way: Way, first: int, second: int) -> tuple[str, str | None]:
    ids = subject.rows(1, first + second)
    found = attempt(lambda: way.ask(subject, ids, first))
    if isinstance(found, Failed):
        return "packed documents give no logits", None
    others = ids.clone()
    others[:, :first] = (ids[:, :first] + 1) % subject.vocabulary
    if not same(way.ask(subject, others, first)[:, first:], found[:, first:]):
        return "documents see each other", "hide documents from each other by their ids; positions that start again do not do it"
    start_again = "count from 0 in every document"
    if subject.positions is not None:
        alone = attempt(lambda: subject.fresh().logits(ids[:, first:], positions=subject.at(ids[:, first:], first)))
        if not isinstance(alone, Failed) and same(alone, found[:, first:]):
            return "positions run on over the border of the documents", start_again
    if not way.restarts:
        return "documents do not see each other, and the second one's positions do not start at 0", start_again
    return "the second document differs, though it does not see the first", None
