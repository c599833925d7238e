"""What a run has found: the lines of every cell, and what follows from them."""

from __future__ import annotations

import dataclasses
import os
import platform
from dataclasses import dataclass, field
from typing import Any

import torch

import ordinate
from ordinate.stretching.expected import Expected, as_json
from ordinate.stretching.perplexity import BINS, summary
from ordinate.stretching.rules import NATIVE
from ordinate.stretching.settings import DRIFT, NEEDLE, PPL, SHIFT, Cell, Settings, Text
from ordinate.stretching.subject import Subject
from ordinate.stretching.work import FAILED

MADE_BY, FORMAT = "ordinate stretch", 1
HOLDS_WITHIN = 0.5  # nats above the checkpoint's own loss inside the trained length
TOLD_APART = 0.02  # nats


@dataclass
class Results:
    """A run, as far as it is.

    Attributes:
        subject: what is stretched.
        settings: what is measured.
        text: what is read.
        tokens: that the text has.
        expected: what arithmetic says.
        cells: records of every cell.
    """

    subject: Subject
    settings: Settings
    text: Text
    tokens: int
    expected: list[Expected]
    cells: dict[Cell, list[dict[str, Any]]] = field(default_factory=dict)

    def losses(self, rule: str, length: int) -> dict[str, Any] | None:
        """Mean loss, tokens and eighths of a rule at a length; None if it failed or was not run."""
        lines = self.cells.get(Cell(PPL, rule, length), [])
        if not any("losses" in line for line in lines) or any(FAILED in line for line in lines):
            return None
        return summary(lines, length)

    def failure(self, cell: Cell) -> str | None:
        """Why a cell failed, if it did."""
        said = [line[FAILED] for line in self.cells.get(cell, []) if FAILED in line]
        return said[0] if said else None

    def inside(self, rule: str, length: int) -> float | None:
        """Mean loss of the eighths that end within the trained length."""
        return self._mean(rule, length, range(BINS * self.subject.trained // length))

    def beyond(self, rule: str, length: int) -> float | None:
        """Mean loss of the eighths that begin at the trained length or after it; of all, where none does."""
        first = -(-BINS * self.subject.trained // length)
        return self._mean(rule, length, range(first if first < BINS else 0, BINS))

    def holds(self, rule: str, length: int) -> bool | None:
        """Whether the last eighth is no worse than the checkpoint's own loss inside the trained length, by half a nat."""
        own, found = self.inside(NATIVE, length), self.losses(rule, length)
        if own is None or found is None or found["bins"][-1] is None:
            return None
        return bool(found["bins"][-1] <= own + HOLDS_WITHIN)

    def winner(self, length: int) -> str | None:
        """The rule with the lowest loss beyond the trained length; the checkpoint's own, where that is as good."""
        beyond = {rule: loss for rule in self.settings.rules if (loss := self.beyond(rule, length)) is not None}
        if not beyond:
            return None
        best = min(beyond, key=lambda rule: beyond[rule])
        return NATIVE if beyond.get(NATIVE, float("inf")) <= beyond[best] + TOLD_APART else best

    def shifts(self) -> dict[str, list[dict[str, Any]]]:
        """Records of the shift test by how angles are made."""
        found = {
            cell.rule: [_plain(line) for line in lines if "offset" in line]
            for cell, lines in sorted(self.cells.items())
            if cell.test == SHIFT
        }
        return {phases: lines for phases, lines in found.items() if lines}

    def needles(self) -> list[dict[str, Any]]:
        """Every depth of every rule and length."""
        return [
            {"rule": cell.rule, "length": cell.length, **_plain(line)}
            for cell, lines in sorted(self.cells.items())
            if cell.test == NEEDLE
            for line in sorted((line for line in lines if "depth" in line), key=lambda line: float(line["depth"]))
        ]

    def drifts(self) -> list[dict[str, Any]]:
        """Mean and lowest cosine of every rule and length."""
        found = []
        for cell, lines in sorted(self.cells.items()):
            cosines = [line["cosine"] for line in lines if "cosine" in line]
            if cell.test == DRIFT and cosines:
                said = {"rule": cell.rule, "length": cell.length, "mean": sum(cosines) / len(cosines), "lowest": min(cosines)}
                found.append({**said, "passages": [_plain(line) for line in lines if "cosine" in line]})
        return found

    def as_json(self) -> dict[str, Any]:
        """All of it, for results.json; what depends on the clock is under "run" and named "seconds"."""
        settings, subject = self.settings, self.subject
        return {
            "made_by": MADE_BY,
            "format": FORMAT,
            "versions": versions(),
            "model": {
                "name": subject.checkpoint.name,
                "model_type": subject.plan.model_type,
                "kind": subject.kind,
                "trained": subject.trained,
                "native_rule": None if subject.native_rule is None else repr(subject.native_rule),
            },
            "text": {"source": self.text.source, "sha256": self.text.sha256, "tokens": self.tokens},
            "settings": settings.as_json(),
            "theory": as_json(self.expected),
            "cells": [
                {
                    **dataclasses.asdict(cell),
                    "start": settings.start,
                    "chunk": settings.chunk,
                    **(self.losses(cell.rule, cell.length) or {"failed": self.failure(cell)}),
                    "seconds": lines[-1].get("seconds") if lines else None,
                }
                for cell, lines in sorted(self.cells.items())
                if cell.test == PPL
            ],
            "shift": self.shifts(),
            "needle": self.needles(),
            "drift": self.drifts(),
            "winners": {str(length): self.winner(length) for length in settings.lengths},
        }

    def _mean(self, rule: str, length: int, bins: range) -> float | None:
        found = self.losses(rule, length)
        values = [] if found is None else [found["bins"][place] for place in bins]
        return sum(values) / len(values) if values and None not in values else None


def versions() -> dict[str, str]:
    """Give what the figures depend on."""
    import transformers

    return {
        "ordinate": ordinate.__version__,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key != "seconds"}
