"""Whether positions reach the logits at all, and whether a constant shift of them does: told, and never a fault."""

from __future__ import annotations

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, holds, not_asked
from ordinate.testing.models.subject import TOLERANCE, Subject, difference

MATTER, SHIFT = "positions matter", "shift of all positions"
SHIFTS = (1, 7, 100)
ROUNDED = 1e-3  # of the largest logit: float32 angles lose that much over a few thousand positions


def positions_matter(subject: Subject) -> Finding:
    """Ask with tokens in another order, and with positions that have a gap.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    ids = subject.rows(1, subject.length)
    turned = torch.cat((ids[:, :-1].flip(1), ids[:, -1:]), dim=1)
    moved = difference(subject.fresh().logits(turned)[:, -1:], subject.fresh().logits(ids)[:, -1:])
    said = [f"earlier tokens in another order change the last logits by {moved:.1e} of the largest"]
    if subject.positions is not None and subject.limit > subject.length:
        places = subject.at(ids).clone()
        places[:, -1] += 1
        gap = attempt(lambda: subject.fresh().logits(ids, positions=places))
        if not isinstance(gap, Failed):
            said.append(f"a gap in {subject.names.positions} by {difference(gap, subject.fresh().logits(ids)):.1e}")
    if moved <= 10 * TOLERANCE:
        said.append(
            "that is near rounding, and what depends on positions alone could hide: give a model with trained or larger weights"
        )
    return holds(MATTER, "; ".join(said))


def shift_of_positions(subject: Subject) -> Finding:
    """Ask with all positions moved by a constant.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.positions is None:
        return not_asked(SHIFT, "forward takes no positions in order")
    ids = subject.rows(1, subject.length)
    at_zero = subject.fresh().logits(ids)
    changes = {}
    for shift in SHIFTS:
        if shift + subject.length > (subject.maximum or 10**6):
            break
        logits = attempt(lambda shift=shift: subject.fresh().logits(ids, positions=subject.at(ids, shift)))  # type: ignore[misc]
        if isinstance(logits, Failed):
            break
        changes[shift] = difference(logits, at_zero)
    if not changes:
        return not_asked(SHIFT, f"{subject.length} tokens leave no place for a shift")
    told = ", ".join(f"{change:.1e} of the largest logit by {shift}" for shift, change in changes.items())
    invariant = all(change < ROUNDED for change in changes.values())
    return holds(SHIFT, f"{'relative: changes nothing but roundings' if invariant else 'absolute: changes logits'} ({told})")
