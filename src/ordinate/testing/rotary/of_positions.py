"""Checks of how a rotation takes positions: any order, rows of their own, behind one another, outside of a table."""

from __future__ import annotations

import torch

from ordinate.testing.findings import Finding, broken, holds, not_asked, smallest
from ordinate.testing.rotary.subject import SEEN, CannotAskError, Maps, RaisedError, Subject, drawn

SHUFFLED = (5, 0, 9, 3, 1, 8, 2)
TOLERANCE = 2e-3


def offset_findings(subject: Subject, maps: Maps) -> list[Finding]:
    """Whether a token that comes alone is turned by its own position.

    Args:
        subject: under test.
        maps: measured in whole sequences.

    Returns:
        One finding.
    """
    name = "one token alone"
    x = drawn(1, 1, 1, subject.form.head_dim)

    def turned(position: int) -> torch.Tensor:
        return subject(x, x.clone(), torch.tensor([position]))[0].detach().double()

    def wrong(position: int) -> bool:
        return _gap(turned(position), maps.expected(x, torch.tensor([position]))) > TOLERANCE

    position = smallest(range(SEEN), wrong)
    if position is None:
        return [holds(name, f"at positions 0 to {SEEN - 1}, as in a whole sequence")]
    got, want = turned(position), maps.expected(x, torch.tensor([position]))
    taken = next((at for at in range(SEEN) if _gap(got, maps.expected(x, torch.tensor([at]))) < TOLERANCE), None)
    said, kind = "a token alone is turned otherwise than in its sequence", "decode-offset"
    if _right_at_a_new_length(subject, position, maps):
        said, kind = "a table is kept by the length of the call, and answers for every offset", "cache-key-and-sharing"
    elif taken == 0:
        said = "the offset is ignored: every call counts from 0"
    elif taken is not None:
        said = f"the token at position {position} is turned as if it were at {taken}"
    return [_broken(name, kind, said, f"one token at position {position}, after one at another position", got, want)]


def _right_at_a_new_length(subject: Subject, position: int, maps: Maps) -> bool:
    """Whether a call of a length that no call had before is right, which a table kept by the length would be."""
    count = SEEN - position
    x = drawn(1, 1, count, subject.form.head_dim)
    longer = torch.cat((x, drawn(1, 1, 40 - count, subject.form.head_dim)), 2)
    got = subject(longer, longer.clone(), torch.arange(position, position + 40))[0][:, :, :count].detach().double()
    return _gap(got, maps.expected(x, torch.arange(position, SEEN))) < TOLERANCE


def order_findings(subject: Subject, maps: Maps) -> list[Finding]:
    """Whether positions may come in any order.

    Args:
        subject: under test.
        maps: measured.

    Returns:
        One finding.
    """
    name = "positions in any order"
    lists = [torch.tensor(each) for each in ((3, 1), (0, 2), (0, 0), SHUFFLED)]

    def result(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = drawn(1, 2, len(positions), subject.form.head_dim)
        return subject(x, x.clone(), positions)[0].detach().double(), maps.expected(x, positions)

    found = smallest(lists, lambda positions: _gap(*result(positions)) > TOLERANCE)
    if found is None:
        return [holds(name, "as packed documents and left padding need them")]
    got, want = result(found)
    x = drawn(1, 2, len(found), subject.form.head_dim)
    in_order = _gap(got, maps.expected(x, torch.arange(len(found)))) < TOLERANCE
    said = (
        "positions are ignored: tokens count 0, 1, 2, ... as they come"
        if in_order
        else "positions in another order give other angles"
    )
    return [_broken(name, "packed-positions", said, f"positions {found.tolist()}", got, want)]


def rows_findings(subject: Subject, maps: Maps) -> list[Finding]:
    """Whether rows of a batch have positions of their own, and a batch is turned as its rows are.

    Args:
        subject: under test.
        maps: measured.

    Returns:
        Two findings.
    """
    found = []
    for name, kind, rows in (
        ("batches of one position vector", "decode-offset", torch.tensor((4, 5, 6))),
        ("rows with positions of their own", "mask-blind-positions", torch.tensor(((1, 2, 3), (4, 5, 6)))),
    ):
        x = drawn(2, 4, 3, subject.form.head_dim)  # as many heads as no axis of the positions has
        try:
            got = subject(x, x.clone(), rows)[0].detach().double()
        except CannotAskError as reason:
            found.append(not_asked(name, str(reason)))
            continue
        except RaisedError as fault:
            if rows.ndim == 2:
                found.append(not_asked(name, f"positions [B, T] are refused: {fault}"))
                continue
            raise
        want = maps.expected(x, rows)
        if _gap(got, want) <= TOLERANCE:
            found.append(holds(name, f"positions {rows.tolist()}"))
            continue
        said = "a batch is turned otherwise than its rows alone"
        if _gap(got, maps.expected(x, torch.arange(3))) < TOLERANCE:
            said = "positions are ignored where there are several rows: all count from 0"
        elif rows.ndim == 2 and _gap(got, maps.expected(x, rows[0])) < TOLERANCE:
            said = "all rows are turned by the positions of the first"
        found.append(_broken(name, kind, said, f"2 rows, positions {rows.tolist()}", got, want))
    return found


def range_findings(subject: Subject, maps: Maps) -> list[Finding]:
    """Look at positions below 0 and between whole numbers: turned by the formula, or refused, but not wrapped around.

    Args:
        subject: under test.
        maps: measured; the inverse of a rotation is its transpose.

    Returns:
        Two findings.
    """
    return [_negative(subject, maps), _fractional(subject, maps), _furthest(subject)]


def _negative(subject: Subject, maps: Maps) -> Finding:
    name = "negative positions"
    x = drawn(1, 1, 1, subject.form.head_dim)
    try:
        got = subject(x, x.clone(), torch.tensor([-1]))[0].detach().double()
    except CannotAskError as reason:
        return not_asked(name, str(reason))
    except RaisedError as fault:
        return holds(name, f"refused: {fault}")
    first = torch.tensor(maps.queries[1])
    scale = (first @ first.mT).diagonal().mean()
    if not ((first @ first.mT) / scale - torch.eye(len(first))).abs().max() <= TOLERANCE:
        return not_asked(name, "position 1 is no rotation, so there is no turning back")
    back = torch.tensor(maps.queries[0]) @ first.inverse() @ torch.tensor(maps.queries[0])
    want = torch.einsum("ij,bhtj->bhti", back, x.double())
    if _gap(got, want) <= TOLERANCE:
        return holds(name, "turn back")
    said = "position -1 is no turn back: it reads the last row of a table" if not _still(got, x) else "position -1 does not turn"
    return _broken(name, "cos-sin-range", said, "one token at position -1", got, want)


def _fractional(subject: Subject, maps: Maps) -> Finding:
    name = "positions of another dtype"
    x = drawn(1, 1, 1, subject.form.head_dim)
    try:
        got = subject(x, x.clone(), torch.tensor([2.0]))[0].detach().double()
    except CannotAskError as reason:
        return not_asked(name, str(reason))
    except RaisedError as fault:
        return holds(name, f"refused: {fault}")
    want = maps.expected(x, torch.tensor([2]))
    if _gap(got, want) <= TOLERANCE:
        return holds(name, "2.0 is taken as 2")
    return _broken(name, "cos-sin-range", "position 2.0 is not 2", "one token at position 2.0", got, want)


def _furthest(subject: Subject) -> Finding:
    """A table ends somewhere; past it there must be an error, and not the last row, the first, or none."""
    name = "positions past any table"
    x = drawn(1, 1, 1, subject.form.head_dim)
    seen: dict[int, torch.Tensor] = {}
    for position in (100, 1000, 4095, 4096, 8192, 65536, 131072):
        try:
            seen[position] = subject(x, x.clone(), torch.tensor([position]))[0].detach().double()
        except CannotAskError as reason:
            return not_asked(name, str(reason))
        except RaisedError as fault:
            return holds(name, f"{position} is refused: {fault}")
        if position > 1000 and _still(seen[position], x) and not _still(seen[100], x):
            return broken(
                name,
                "cos-sin-range",
                "far positions do not turn at all: past the end of a table nothing is said",
                smallest=f"one token at position {position}",
                remedy="raise an error that names the position and the size of the table, or work cos and sin out",
            )
    same = next((pair for pair in ((4096, 8192), (65536, 131072)) if _gap(seen[pair[0]], seen[pair[1]]) < 1e-6), None)
    if same and not _still(seen[100], x):
        return broken(
            name,
            "cos-sin-range",
            f"positions {same[0]} and {same[1]} turn alike: a table is read past its end by its last row",
            smallest=f"one token at position {same[1]}",
            remedy="raise an error that names the position and the size of the table, or work cos and sin out",
        )
    return holds(name, "131072 turns")


def _still(got: torch.Tensor, x: torch.Tensor) -> bool:
    return _gap(got, x.double()) < 1e-5


def _gap(first: torch.Tensor, second: torch.Tensor) -> float:
    gap = (first - second).abs().max().item()
    return gap if gap == gap else float("inf")


def _broken(name: str, kind: str, said: str, at: str, got: torch.Tensor, want: torch.Tensor) -> Finding:
    place = int((got - want).abs().flatten().nan_to_num(float("inf")).argmax())
    return broken(
        name, kind, said, smallest=at, expected=f"{want.flatten()[place].item():.6f}", actual=f"{got.flatten()[place].item():.6f}"
    )
