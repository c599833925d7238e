"""Under autocast far positions stay apart."""

from __future__ import annotations

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.subject import Subject, difference, shown

PROPERTY = "far positions stay apart"
FARS = (512, 2048, 4096, 65536)
VISIBLE = 1e-2  # of the largest logit: what bfloat16's own rounding cannot hide


def far_positions_differ(subject: Subject) -> Finding:
    """Ask with the last token one position farther, far from 0, as it is and under autocast to bfloat16.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.positions is None:
        return not_asked(PROPERTY, "forward takes no positions in order")
    ids = subject.rows(1, min(4, subject.length))
    near = difference(*_pair(subject, ids, 0, autocast=False))
    if near < VISIBLE:
        return not_asked(PROPERTY, f"a gap of one position changes logits by {near:.1e} of the largest only, also near 0")
    fars = [far for far in FARS if far + len(ids[0]) < (subject.maximum or FARS[-1] * 2)]
    fars = [far for far in fars if not isinstance(attempt(lambda far=far: _pair(subject, ids, far, autocast=False)), Failed)]  # type: ignore[misc]
    if not fars:
        return not_asked(PROPERTY, f"the model ends at {subject.maximum or FARS[0]} positions")
    for autocast in (False, True):
        if autocast and torch.equal(*_pair(subject, ids, 0, autocast=True)):
            continue  # rounding hides a gap of one position near 0 already
        for far in fars:
            if torch.equal(*(pair := _pair(subject, ids, far, autocast=autocast))):
                return _collapsed(far, pair[0], len(ids[0]), autocast=autocast)
    return holds(PROPERTY, f"up to {fars[-1]}, as it is and under autocast")


def _collapsed(far: int, logits: torch.Tensor, count: int, *, autocast: bool) -> Finding:
    last = far + count - 1
    return broken(
        PROPERTY,
        "low-precision-phase",
        f"{'under autocast ' if autocast else ''}positions {last} and {last + 1} are the same to the model",
        smallest=f"{count} tokens from position {far}{' inside autocast(bfloat16)' if autocast else ''}",
        expected="other logits for the last token one position farther",
        actual=f"{shown(logits)} both times",
        remedy="keep positions in integers or float32, and multiply by frequencies with autocast off",
    )


def _pair(subject: Subject, ids: torch.Tensor, far: int, *, autocast: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of the last token, and those one position farther."""
    found = []
    for gap in (0, 1):
        places = subject.at(ids, far).clone()
        places[:, -1] += gap
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=autocast):
            found.append(subject.fresh().logits(ids, positions=places)[:, -1:])
    return found[0], found[1]
