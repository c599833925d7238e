"""Tokens that come one after the other, with a cache, have the logits that they have in one call."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.padding import padded
from ordinate.testing.models.subject import Subject, apart, difference, same, shown

PROPERTY = "cached = uncached"
PADDED = "cached, left-padded = unpadded"
KIND = "decode-offset"
CHUNKS = ((1, 1), (2, 1), (6, 1), (6, 1, 1), (3, 3), (4, 2, 2))  # smallest first: tokens of each call
PADS, REAL = 2, 4


@dataclass(frozen=True)
class Slip:
    """Chunks of tokens, and the first of them whose logits differ."""

    chunks: tuple[int, ...]
    index: int
    actual: torch.Tensor
    expected: torch.Tensor

    @property
    def done(self) -> int:
        """Tokens in the cache before the chunk."""
        return sum(self.chunks[: self.index])


def cannot_cache(subject: Subject) -> str | None:
    """Say why a model cannot be asked with a cache.

    Args:
        subject: the model.

    Returns:
        The reason; None if it can be asked.

    Example:
        >>> from torch import nn
        >>> from ordinate.testing.models.preparing import prepared
        >>> cannot_cache(prepared(nn.Embedding(9, 9)))
        'forward takes no cache; where there is one, give cached=, a function (ids, cache) -> (logits, cache)'
    """
    give = "give cached=, a function (ids, cache) -> (logits, cache)"
    if subject.cached is None and subject.names.cache is None:
        return f"forward takes no cache; where there is one, {give}"
    found = attempt(lambda: subject.fresh().step(subject.rows(1, 1), None))
    if isinstance(found, Failed):
        return f"a first call with the cache None fails ({found}); {give}"
    return f"forward takes {subject.names.cache} and gives none back; {give}" if found[1] is None else None


def cached_as_uncached(subject: Subject) -> Finding:
    """Ask chunk by chunk.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if reason := cannot_cache(subject):
        return not_asked(PROPERTY, reason)
    slips = [slip for chunks in CHUNKS if sum(chunks) <= subject.limit for slip in _slips(subject.fresh(), chunks)]
    if not slips:
        return holds(PROPERTY, "prefill and single tokens, and prefill in chunks")
    said, remedy = _recognised(subject, slips)
    first = slips[0]
    expected, actual = apart(first.expected, first.actual)
    return broken(
        PROPERTY,
        KIND,
        said,
        smallest=f"{' + '.join(map(str, first.chunks))} tokens, those from token {first.done} on",
        expected=f"{expected}, as in one call",
        actual=actual,
        remedy=remedy,
    )


def padded_cached(subject: Subject) -> Finding:
    """Ask for a token after a left-padded prompt in the cache.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if reason := cannot_cache(subject):
        return not_asked(PADDED, reason)
    if subject.mask is None or subject.cached is not None:
        return not_asked(PADDED, "it takes no mask of real tokens beside a cache")
    if subject.limit < PADS + REAL + 1:
        return not_asked(PADDED, f"{subject.limit} tokens are too few")
    ids = subject.rows(1, REAL + 1)
    expected = subject.fresh().logits(ids)[:, -1:]
    prompt, real, places = padded(subject, ids[:, :REAL], PADS)
    if not same(subject.fresh().logits(prompt, real=real, positions=places)[:, -1:], subject.fresh().logits(ids[:, :REAL])[:, -1:]):
        return not_asked(PADDED, "left-padded differs from unpadded without a cache already")
    asked = subject.fresh()
    _, cache = asked.step(prompt, None, real=real, positions=places)
    real = torch.cat((real, torch.ones_like(real[:, :1])), dim=1)
    next_place = None if places is None else places[:, -1:] + 1
    actual, _ = asked.step(ids[:, -1:], cache, done=PADS + REAL, real=real, positions=next_place)
    if same(actual, expected):
        return holds(PADDED, "the token after the prompt")
    return broken(
        PADDED,
        KIND,
        "the new token's position counts the padding in the cache, the tokens before it do not",
        smallest=f"{PADS} of padding and {REAL} tokens in the cache, then 1",
        expected=f"position {REAL}: {shown(expected)}",
        actual=shown(actual),
        remedy="count the mask's real tokens, not the cache's length",
    )


def _slips(subject: Subject, chunks: tuple[int, ...]) -> list[Slip]:
    """The first chunk that differs, if one does."""
    ids = subject.rows(1, sum(chunks))
    full, done = subject.fresh().logits(ids), 0
    for index, actual in enumerate(subject.decoded(ids, chunks)):
        expected = full[:, done : done + chunks[index]]
        if not same(actual, expected):
            return [Slip(chunks, index, actual, expected)]
        done += chunks[index]
    return []


def _recognised(subject: Subject, slips: list[Slip]) -> tuple[str, str | None]:
    """Which positions the new tokens were given, by the slip that tells most."""
    after = [slip for slip in slips if slip.index > 0]
    if not after:
        return "the first call, with an empty cache, differs from a call without a cache", None
    slip = max(after, key=lambda each: (each.done, each.chunks[each.index]))
    if _blind(subject, slip):
        return (
            "new tokens do not see the last token in the cache",
            "align the causal mask at its last row and column: with more keys than queries, is_causal alone begins at the first",
        )
    if subject.positions is None:
        return "new tokens differ (forward takes no positions, so which ones it gives them cannot be told)", None
    for said, places in _wrong_places(slip.done, slip.chunks[slip.index]).items():
        ids = subject.rows(1, sum(slip.chunks))[:, : slip.done + len(places)]
        given = torch.tensor([[*range(slip.done), *places]], device=ids.device)
        logits = attempt(lambda ids=ids, given=given: subject.fresh().logits(ids, positions=given))  # type: ignore[misc]
        if not isinstance(logits, Failed) and same(logits[:, slip.done :], slip.actual):
            return said, "count new tokens from the number of tokens in the cache"
    return "new tokens differ, and match no known wrong offset", None


def _blind(subject: Subject, slip: Slip) -> bool:
    """Whether the chunk's logits stay as they are when the last token in the cache is another one."""
    ids = subject.rows(1, sum(slip.chunks))
    ids[:, slip.done - 1] = (ids[:, slip.done - 1] + 1) % subject.vocabulary
    again = subject.fresh().decoded(ids, slip.chunks)[slip.index]
    return slip.done > 1 and difference(again, slip.actual) == 0.0


def _wrong_places(done: int, count: int) -> dict[str, list[int]]:
    steps = range(count)
    return {
        "new tokens are counted from 0 again": list(steps),
        "all new tokens are at position 0": [0 for _ in steps],
        "positions of new tokens are one too small": [done - 1 + step for step in steps],
        "positions of new tokens are one too large": [done + 1 + step for step in steps],
        "new tokens of one call share a position": [done for _ in steps],
        "new tokens stay at the last position of the prompt": [done - 1 for _ in steps],
    }
