"""What the length of a sequence changes where it should change nothing: tokens before, other rows of the batch."""

from __future__ import annotations

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.padding import right_padded
from ordinate.testing.models.subject import Subject, apart, same

LATER, ROWS = "later tokens change nothing before them", "rows of a batch are independent"
SHARED = "cache-key-and-sharing"
OWN_LENGTH = "choose frequencies row by row, by the length of the row's own sequence"


def later_tokens(subject: Subject) -> Finding:
    """Ask with more tokens, and with another last token.

    Args:
        subject: the model.

    Returns:
        The finding: a change by length alone, below the trained one, is that of a length-dependent base.
    """
    ids = subject.rows(1, subject.length)
    full = subject.fresh().logits(ids)
    changed = ids.clone()
    changed[:, -1] = (ids[:, -1] + 1) % subject.vocabulary
    if not same(subject.fresh().logits(changed)[:, :-1], full[:, :-1]):
        return not_asked(LATER, "the model sees both ways")
    for length in range(1, subject.length):
        shorter = subject.fresh().logits(ids[:, :length])
        if not same(shorter, full[:, :length]):
            return broken(
                LATER,
                subject.rule or "dynamic-ntk",
                "logits depend on the length of the sequence, not on the tokens that come later, below the trained length",
                smallest=f"{length} tokens, and the same in a call of {subject.length}",
                expected=apart(shorter, full[:, :length])[0],
                actual=apart(shorter, full[:, :length])[1],
                remedy="leave the frequencies as trained up to the trained length",
            )
    return holds(LATER, f"up to {subject.length} tokens")


def independent_rows(subject: Subject) -> Finding:
    """Ask for a row alone, and beside others: of the same length, far away, longer.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    ids = subject.rows(3, subject.length)
    alone = subject.fresh().logits(ids[:1])
    for rows in ([0, 1], [1, 0], [2, 0, 1]):
        beside = subject.fresh().logits(ids[rows])[rows.index(0)][None]
        if not same(beside, alone):
            return _found(SHARED, f"a batch of {len(rows)}, the row at {rows.index(0)}", alone, beside, "its other rows")
    asked = []
    hides = subject.mask is not None and right_padded(subject).verdict == "holds"
    for way, ask in (("positions", _beside_far), *([("mask", _beside_longer)] if hides else [])):
        for end in (2 * subject.length, 4 * subject.length, subject.limit, *far_ends(subject)):
            beside_or_failed = attempt(lambda ask=ask, end=end: ask(subject, end))  # type: ignore[misc]
            if isinstance(beside_or_failed, Failed):
                continue
            asked.append(way)
            if not same(beside_or_failed, alone):
                further = attempt(lambda ask=ask, end=end: ask(subject, 2 * end))  # type: ignore[misc]
                kind = length_kind(subject, end, beside_or_failed, further)
                told = f"{subject.length} tokens beside a row that ends at position {end - 1}"
                return _found(kind, told, alone, beside_or_failed, "the length of another row")
    longer = f", and beside longer ones by {' and '.join(dict.fromkeys(asked))}" if asked else ""
    return holds(ROWS, f"alone, and beside others in any order{longer}")


def far_ends(subject: Subject) -> tuple[int, ...]:
    """Give lengths beyond the trained one, where a call may end if the model lets it.

    Args:
        subject: the model.

    Returns:
        Two lengths, none if none is declared.

    Example:
        >>> from ordinate.testing.models.names import Names
        >>> far_ends(Subject(model=abs, names=Names(), maximum=16))
        (20, 32)
    """
    trained = subject.trained or subject.maximum
    return () if trained is None else (trained + 4, 2 * trained)


def length_kind(subject: Subject, end: int, one: torch.Tensor, other: torch.Tensor | Failed) -> str:
    """Name the kind of a change that a length makes.

    Args:
        subject: the model.
        end: the length.
        one: logits beside or after it.
        other: logits beside or after twice the length.

    Returns:
        That of the declared rule; else by whether the change grows with the length, and whether that was beyond the trained one.

    Example:
        >>> from ordinate.testing.models.names import Names
        >>> length_kind(Subject(model=abs, names=Names(), maximum=8), 16, torch.zeros(1), torch.ones(1))
        'dynamic-ntk'
    """
    grows = not isinstance(other, Failed) and not same(other, one)
    if subject.rule is not None:
        return subject.rule
    if grows:
        return "dynamic-ntk"
    return SHARED if end <= (subject.trained or subject.maximum or end) else "longrope-switch"


def _beside_far(subject: Subject, end: int) -> torch.Tensor:
    """Logits of a row beside one whose positions end there."""
    if subject.positions != "[B, T]":
        raise ValueError("no positions by row")
    ids = subject.rows(2, subject.length)
    places = subject.at(ids).clone()
    places[1] += end - ids.shape[1]
    return subject.fresh().logits(ids, positions=places)[:1]


def _beside_longer(subject: Subject, end: int) -> torch.Tensor:
    """Logits of a row, padded to the right, beside one of that length."""
    if end > max(subject.limit, 4 * subject.length):
        raise ValueError("too long to run")
    ids, length = subject.rows(2, end), subject.length
    ids[0, :length] = subject.rows(1, length)[0]
    real = torch.ones_like(ids, dtype=torch.bool)
    real[0, length:] = False
    return subject.fresh().logits(ids, real=real)[:1, :length]


def _found(kind: str, told: str, alone: torch.Tensor, beside: torch.Tensor, by: str) -> Finding:
    expected, actual = apart(alone, beside)
    return broken(
        ROWS,
        kind,
        f"a row's logits change by {by}",
        smallest=told,
        expected=f"{expected}, as alone",
        actual=actual,
        remedy=OWN_LENGTH if kind != SHARED else None,
    )
