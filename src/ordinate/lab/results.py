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
from ordinate.lab.tasks import SHIFT_SYMBOLS, Corpus
from ordinate.lab.train import Budget, Outcome
from ordinate.schemes import SCHEMES
from ordinate.sites import InputScheme, QueryKeyScheme

MADE_BY = "ordinate compare"
RESOLUTION = 0.01  # nats
TASKS = {
    "text": "next byte of held-out text",
    "shift": "repeat the token five places back",
}


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
            "format": 1,
            "command": self.command,
            "versions": versions(),
            "settings": dataclasses.asdict(self.settings),
            "text": None
            if self.corpus is None
            else {"source": self.corpus.source, "bytes": self.corpus.size, "sha256": self.corpus.sha256},
            "loss": "nats per target, mean; multiples of the training length in the order of settings.budget.multiples",
            "cells": [
                {**dataclasses.asdict(cell), **dataclasses.asdict(outcome)} for cell, outcome in sorted_outcomes(self.outcomes)
            ],
        }


def _spread(values: list[float]) -> Spread | None:
    return Spread(sum(values) / len(values), min(values), max(values), len(values)) if values else None


def sorted_outcomes(outcomes: dict[Cell, Outcome]) -> list[tuple[Cell, Outcome]]:
    """Give the outcomes in a fixed order, whatever order they finished in."""
    return sorted(outcomes.items(), key=lambda item: (item[0].task, item[0].scheme, item[0].seed))


def beyond_the_table(budget: Budget) -> str:
    """Say what a learned table does at the longer lengths."""
    meaning = {
        "wrap": "positions start again at 0",
        "clamp": "every position reads the last row",
        "error": "it refuses to run",
    }
    return f"A learned table has {budget.length} rows; beyond them {meaning[budget.overflow]}."


def chance(task: str) -> float | None:
    """Loss of a model that knows nothing about the shift task: the logarithm of its alphabet; None for text."""
    return math.log(SHIFT_SYMBOLS) if task == "shift" else None


def site_of(scheme: str) -> str:
    """Say where a scheme acts, in words."""
    kind = SCHEMES[scheme]
    if kind is None:
        return "nowhere"
    if issubclass(kind, InputScheme):
        return "input"
    return "queries and keys" if issubclass(kind, QueryKeyScheme) else "scores"


def versions() -> dict[str, str]:
    """Give what the figures depend on."""
    return {
        "ordinate": ordinate.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
