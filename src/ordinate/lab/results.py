"""What a comparison found: every figure by task, scheme and seed, and what may be said about them."""

from __future__ import annotations

import dataclasses
import math
import os
import platform
from dataclasses import dataclass, field
from typing import Any

import torch

import ordinate
from ordinate.lab.rows import Budget
from ordinate.lab.tasks import SHIFT_SYMBOLS, VALUES, Corpus
from ordinate.lab.train import Outcome

MADE_BY = "ordinate compare"
RESOLUTION = 0.01  # nats
NEAR_CHANCE = 0.8
TASKS = {
    "text": "next byte of held-out text",
    "shift": "repeat the token five places back",
    "last": "read the value written last to a register",
}
ORDER = "order"


@dataclass(frozen=True)
class Cell:
    """One model to train."""

    task: str
    scheme: str
    seed: int


@dataclass(frozen=True)
class Settings:
    """What is compared, and how."""

    tasks: tuple[str, ...]
    schemes: tuple[str, ...]
    seeds: int
    budget: Budget

    @property
    def length_tasks(self) -> tuple[str, ...]:
        """The tasks that are tested at several lengths."""
        return tuple(task for task in self.tasks if task != ORDER)

    def cells(self) -> list[Cell]:
        """All models to train, the seeds outermost, so that early results cover everything once."""
        return [Cell(t, s, seed) for seed in range(self.seeds) for t in self.tasks for s in self.schemes]


@dataclass(frozen=True)
class Spread:
    """Mean, lowest and highest loss over the seeds that are done."""

    mean: float
    low: float
    high: float
    seeds: int

    @property
    def half(self) -> float | None:
        """Half the distance from lowest to highest; None for one seed, which says nothing about scatter."""
        return (self.high - self.low) / 2 if self.seeds > 1 else None

    def overlaps(self, other: Spread) -> bool:
        """Whether the two cannot be told apart: their seeds overlap, or lie closer than the tables show."""
        return self.low <= other.high + RESOLUTION and other.low <= self.high + RESOLUTION


@dataclass
class Comparison:
    """Settings, corpus and the outcomes so far."""

    settings: Settings
    corpus: Corpus | None
    command: str
    outcomes: dict[Cell, Outcome] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)

    def spread(self, task: str, scheme: str, index: int) -> Spread | None:
        """Loss at the index-th length over the seeds that are done, or None if there is none."""
        losses = [outcome.losses[index] for cell, outcome in self.outcomes.items() if (cell.task, cell.scheme) == (task, scheme)]
        return _spread([loss for loss in losses if loss is not None])

    def rise(self, task: str, scheme: str) -> Spread | None:
        """Loss at the longest length less the same model's loss at the shortest, over the seeds."""
        rises = []
        for cell, outcome in self.outcomes.items():
            first, last = outcome.losses[0], outcome.losses[-1]
            if (cell.task, cell.scheme) == (task, scheme) and first is not None and last is not None:
                rises.append(last - first)
        return _spread(rises)

    def of_order(self, scheme: str) -> list[Outcome]:
        """What a scheme reached on the task of word order, one outcome a seed."""
        return [outcome for cell, outcome in self.outcomes.items() if (cell.task, cell.scheme) == (ORDER, scheme)]

    def parameters(self, scheme: str) -> int | None:
        """How many of a scheme's parameters hold positions, in one model; None before any is done."""
        counts = [outcome.position_parameters for cell, outcome in self.outcomes.items() if cell.scheme == scheme]
        return max(counts, default=None)

    def lowest(self, task: str, index: int) -> list[str]:
        """Schemes with the lowest loss at a length, best mean first: all that the seeds cannot tell from the best.

        With one seed nothing can be told, and there is none.
        """
        if self.settings.seeds < 2:
            return []
        spreads = {scheme: self.spread(task, scheme, index) for scheme in self.settings.schemes}
        ranked = sorted((spread.mean, scheme) for scheme, spread in spreads.items() if spread is not None)
        if not ranked:
            return []
        best = spreads[ranked[0][1]]
        return [name for _, name in ranked if best is not None and (other := spreads[name]) is not None and best.overlaps(other)]

    def as_json(self) -> dict[str, Any]:
        """All of it, for results.json."""
        return {
            "made_by": MADE_BY,
            "format": 2,
            "command": self.command,
            "versions": versions(),
            "settings": dataclasses.asdict(self.settings),
            "text": None
            if self.corpus is None
            else {"source": self.corpus.source, "bytes": self.corpus.size, "sha256": self.corpus.sha256},
            "loss": "nats per target, mean; multiples of the training length in the order of settings.budget.multiples",
            "milliseconds_a_token": self.milliseconds,
            "cells": [
                {**dataclasses.asdict(cell), **dataclasses.asdict(outcome)} for cell, outcome in sorted_outcomes(self.outcomes)
            ],
        }


def _spread(values: list[float]) -> Spread | None:
    return Spread(sum(values) / len(values), min(values), max(values), len(values)) if values else None


def sorted_outcomes(outcomes: dict[Cell, Outcome]) -> list[tuple[Cell, Outcome]]:
    """Give the outcomes in a fixed order, whatever order they finished in."""
    return sorted(outcomes.items(), key=lambda item: (item[0].task, item[0].scheme, item[0].seed))


def signed(value: float) -> str:
    """Write a rise with its sign and two digits; what rounds to nothing has a plus.

    Args:
        value: nats.

    Returns:
        As in "+0.25".

    Example:
        >>> signed(0.251), signed(-0.001)
        ('+0.25', '+0.00')
    """
    return f"{round(value, 2) + 0.0:+.2f}"


def chance(task: str) -> float | None:
    """Loss of a model that knows nothing but the answers' alphabet: its logarithm; None for text."""
    return {"shift": math.log(SHIFT_SYMBOLS), "last": math.log(VALUES), ORDER: math.log(2)}.get(task)


def versions() -> dict[str, str]:
    """Give what the figures depend on."""
    return {
        "ordinate": ordinate.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def has_not_learned(comparison: Comparison, task: str, scheme: str) -> bool:
    """Whether a scheme's mean loss at the shortest length is still near chance: then it has nothing to lose at longer ones.

    Args:
        comparison: as far as it is.
        task: which task.
        scheme: the row.

    Returns:
        True above 80 % of the loss at chance; False for a task without chance.
    """
    guess, spread = chance(task), comparison.spread(task, scheme, 0)
    return guess is not None and spread is not None and spread.mean > NEAR_CHANCE * guess
