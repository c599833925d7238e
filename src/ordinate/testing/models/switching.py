"""A sequence in the cache that grows beyond the trained length, where frequencies depend on the length."""

from __future__ import annotations

import torch

from ordinate.attaching import attach
from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.caching import cannot_cache
from ordinate.testing.models.subject import LONGEST, Subject, same, shown

PROPERTY = "cached across the trained length"
BEYOND = 3


def grows_in_the_cache(subject: Subject) -> Finding:
    """Fill the cache up to the trained length, and decode beyond it.

    Right is what one call gives, where all keys have the frequencies of the whole length; or what a table gives that is pinned for
    the sequence. A mix of both is wrong.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.rule is None or not subject.of_transformers:
        return not_asked(PROPERTY, "no configuration of transformers declares a rule that depends on the length")
    if reason := cannot_cache(subject):
        return not_asked(PROPERTY, reason)
    trained = subject.trained or subject.maximum or LONGEST
    if trained + BEYOND > LONGEST:
        return not_asked(PROPERTY, f"the trained length of {trained} tokens is long to run")
    ids = subject.rows(1, trained + BEYOND)
    chunks = (trained, *([1] * BEYOND))
    actual = subject.fresh().decoded(ids, chunks)[-1]
    whole = subject.fresh().logits(ids)[:, -1:]
    pinned = attempt(lambda: _pinned(subject.fresh(), ids, chunks))
    if same(actual, whole):
        return holds(PROPERTY, "all keys have the frequencies of the whole length")
    if isinstance(pinned, Failed):
        return not_asked(PROPERTY, f"what a pinned table gives cannot be worked out: {pinned}")
    if same(actual, pinned):
        return holds(PROPERTY, "the sequence keeps the frequencies of its first call")
    return broken(
        PROPERTY,
        subject.rule,
        "keys that were cached before the trained length keep other frequencies than the queries after it",
        smallest=f"{trained} tokens in the cache, then {BEYOND}, one by one",
        expected=f"{shown(whole)} as in one call, or {shown(pinned)} with a pinned table",
        actual=shown(actual),
        remedy="turn cached keys again, pin the table, or empty the cache there; ordinate.attach(model) does the first two",
    )


def _pinned(subject: Subject, ids: torch.Tensor, chunks: tuple[int, ...]) -> torch.Tensor:
    assert subject.module is not None
    with attach(subject.module, on_switch="pin"):
        return subject.decoded(ids, chunks)[-1]
