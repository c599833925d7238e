"""Losses of the comparison that comes with the package: what a claim about trained models rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

TRAINED, TWICE = 0, 1  # which length: the training length and its double
LONGEST = -1
SOLVED = 0.05  # nats


def kept(results: Comparison | None) -> Comparison:
    """Give a comparison, or the package's own.

    Args:
        results: of ``ordinate compare``, or None.

    Returns:
        The comparison.

    Example:
        >>> kept(None).settings.budget.multiples
        (1, 2, 4, 8)
    """
    if results is not None:
        return results
    from ordinate.lab.kept import read_comparison

    return read_comparison()


def loss(results: Comparison, task: str, scheme: str, length: int = TRAINED) -> float:
    """Give a scheme's loss on a task: the mean over the seeds, in nats.

    Args:
        results: the comparison.
        task: "text", "shift" or "last".
        scheme: the row.
        length: index of the tested length.

    Returns:
        Nats a target.

    Raises:
        ValueError: if it was not measured.

    Example:
        >>> round(loss(kept(None), "text", "rope"), 2)
        1.72
    """
    spread = results.spread(task, scheme, length)
    if spread is None:
        raise ValueError(f"needed results of {scheme!r} on {task!r}, got none; run `ordinate compare` with both")
    return spread.mean
