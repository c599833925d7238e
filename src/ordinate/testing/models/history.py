"""A call gives the same whatever was asked before it."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds
from ordinate.testing.models.lengths import SHARED, far_ends, length_kind
from ordinate.testing.models.subject import LONGEST, STRICT, Subject, apart, same, shown

PROPERTY = "no dependence on earlier calls"
Call = Callable[[Subject], torch.Tensor]
REMEDIES = {
    "dynamic-ntk": "work the base out of the sequence's own length at every call, and keep nothing of the last one",
    "longrope-switch": "choose the factors by the sequence's own length at every call, and keep nothing of the last one",
}


def independent_of_history(subject: Subject) -> Finding:
    """Ask twice, with other calls between.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    asked = subject.fresh()
    between = {told: call for told, (_, call) in _between(subject).items()}
    for told, call in _repeated(subject).items():
        before = attempt(lambda call=call: call(subject.fresh()))  # type: ignore[misc]
        if isinstance(before, Failed):
            continue
        for other in reversed(between.values()):  # those that move positions first: tables may keep the first that they see
            attempt(lambda other=other: other(asked))  # type: ignore[misc]
            after = attempt(lambda call=call: call(asked))  # type: ignore[misc]
            if isinstance(after, Failed) or not same(after, before, STRICT):
                return _found(subject, told, call, before)
    return holds(PROPERTY, f"asked again after {len(between)} other calls: {', '.join(between)}")


def _repeated(subject: Subject) -> dict[str, Call]:
    """Calls that are made again: a short one, and one beyond the trained length, where a rule changes frequencies."""
    calls: dict[str, Call] = {f"{subject.length} tokens": _of_length(subject.length)}
    for end in far_ends(subject)[:1]:
        calls[f"a sequence of {end}"] = _ending(end)
    return calls


def _between(subject: Subject) -> dict[str, tuple[int | None, Call]]:
    """Calls between: short ones, then longer ones by their length, then those that only move positions."""
    short = subject.length
    calls: dict[str, tuple[int | None, Call]] = {
        "another row": (None, lambda asked: asked.logits(asked.rows(1, short, start=1))),
        "three rows": (None, lambda asked: asked.logits(asked.rows(3, short, start=2))),
        "one token": (None, lambda asked: asked.logits(asked.rows(1, 1, start=3))),
        "the row in bfloat16": (None, _in_bfloat16),
    }
    ends = (2 * short, subject.limit, *far_ends(subject), *(2 * end for end in far_ends(subject)))
    for end in sorted({end for end in ends if end > short}):
        calls[f"a sequence of {end}"] = (end, _ending(end))
    if subject.positions is not None and subject.limit >= short + 5:
        calls["the row at later positions"] = (
            None,
            lambda asked: asked.logits(asked.rows(1, short), positions=_places(asked, 5, 0)),
        )
        calls["the row with a gap"] = (None, lambda asked: asked.logits(asked.rows(1, short), positions=_places(asked, 0, 5)))
    return calls


def _places(asked: Subject, start: int, gap: int) -> torch.Tensor:
    """Positions of a short row, with a gap before its last token."""
    places = asked.at(asked.rows(1, asked.length), start).clone()
    places[:, -1] += gap
    return places


def _of_length(length: int) -> Call:
    return lambda asked: asked.logits(asked.rows(1, length))


def _ending(end: int) -> Call:
    """A call that ends at that length: of so many tokens, or where those are too many, of a few at the last positions."""

    def call(asked: Subject) -> torch.Tensor:
        if end <= LONGEST:
            return asked.logits(asked.rows(1, end))
        if asked.positions is None:
            raise ValueError("too long to run")
        ids = asked.rows(1, asked.length)
        return asked.logits(ids, positions=asked.at(ids, end - ids.shape[1]))

    return call


def _in_bfloat16(asked: Subject) -> torch.Tensor:
    with torch.autocast(asked.rows(1, 1).device.type, torch.bfloat16):
        return asked.logits(asked.rows(1, asked.length))


def _found(subject: Subject, told: str, call: Call, before: torch.Tensor) -> Finding:
    """The first call alone that changes the answer, or all of them together."""
    calls = _between(subject)
    for other, (end, between) in calls.items():
        after = _after(subject, between, call)
        if isinstance(after, Failed) or not same(after, before, STRICT):
            kind = SHARED
            if end is not None and not isinstance(after, Failed):
                longer = [length for length, _ in calls.values() if length is not None and length > end]
                kind = length_kind(subject, end, after, _after(subject, _ending(max(longer, default=2 * end)), call))
            return _broken(kind, told, f"after {other}", before, after)
    return _broken(SHARED, told, "after several other calls", before, None)


def _after(subject: Subject, between: Call, call: Call) -> torch.Tensor | Failed:
    asked = subject.fresh()
    attempt(lambda: between(asked))
    return attempt(lambda: call(asked))


def _broken(kind: str, told: str, after: str, before: torch.Tensor, found: torch.Tensor | Failed | None) -> Finding:
    expected, actual = (
        apart(before, found) if isinstance(found, torch.Tensor) else (shown(before), None if found is None else str(found))
    )
    return broken(
        PROPERTY,
        kind,
        f"the same call gives other logits {after}",
        smallest=f"{told}, asked {after}",
        expected=f"{expected}, as asked first",
        actual=actual,
        remedy=REMEDIES.get(kind),
    )
