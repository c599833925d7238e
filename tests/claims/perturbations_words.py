"""For every claim of the second note, wrong formulas that must change its verdict."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import torch
from torch import nn

from ordinate import reference
from ordinate.claims.order import attention
from ordinate.claims.words_biases import deberta
from ordinate.claims.words_code import module
from ordinate.claims.words_example import SUMS
from ordinate.claims.words_tables import GPT, T5
from ordinate.lab.kept import read_comparison
from ordinate.lab.results import Comparison

FLAT, STEEP = (0.0, 0.0, 0.0, 0.0), (0.0, 9.0, 9.0, 9.0)
LENGTH_TASKS = ("text", "shift", "last")
RIGHT = ((0.0, 1.0, 0.0, 1.0), (0.84, 0.54, 0.01, 1.0), (0.91, -0.42, 0.02, 1.0))


def with_losses(losses: tuple[float, ...], *schemes: str, tasks: tuple[str, ...] = LENGTH_TASKS) -> Comparison:
    """The kept comparison with other losses in some of its rows."""
    results = read_comparison()
    for cell, outcome in results.outcomes.items():
        if cell.scheme in schemes and cell.task in tasks:
            results.outcomes[cell] = dataclasses.replace(outcome, losses=losses)
    return results


def with_order(scheme: str, accuracy: float) -> Comparison:
    """The kept comparison with another accuracy in one row."""
    results = read_comparison()
    for cell, outcome in results.outcomes.items():
        if (cell.task, cell.scheme) == ("order", scheme):
            results.outcomes[cell] = dataclasses.replace(outcome, accuracies=(accuracy, accuracy))
    return results


def _looks_at_places(x: Any, hidden: Any = None) -> Any:
    return attention(x + np.arange(len(x))[:, None], hidden)


def _turned_back(angle: float, pair: Any) -> Any:
    sine, cosine = pair
    return np.array([sine * math.cos(angle) - cosine * math.sin(angle), cosine * math.cos(angle) + sine * math.sin(angle)])


def _by_distance(q: Any, k: Any, keys: Any, queries: Any) -> Any:
    return np.subtract.outer(np.arange(len(q)), np.arange(len(k))) * (1.0 if keys.any() and queries.any() else 0.5)


def _keys_alone(q: Any, k: Any, keys: Any, _: Any) -> Any:
    return reference.deberta(q, k, range(len(q)), range(len(k)), keys, None, len(keys) // 2)


def _from_the_end(q: Any, k: Any, keys: Any, queries: Any) -> Any:
    """The distance with the other sign."""
    return deberta(q[::-1].copy(), k[::-1].copy(), keys, queries)[::-1, ::-1]


def _penalty(power: float, factor: float) -> Any:
    slopes = factor * 2.0 ** -np.arange(1, 9)
    return lambda distance: -np.multiply.outer(slopes, abs(distance) ** power)


def _frozen(length: int, width: int) -> nn.Module:
    return nn.Embedding.from_pretrained(torch.zeros(length, width))


class _Bare(nn.Module):
    """Word vectors without positions."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.embedding(tokens)


PERTURBED_WORDS: dict[str, list[dict[str, Any]]] = {
    "parallel-reading": [{"attend": lambda x, hidden: np.cumsum(attention(x, hidden), axis=0)}],
    "word-by-word": [{"read": np.tanh}, {"read": lambda x: np.cumsum(x, axis=0)}],
    "explicit-positions": [
        {"results": with_order("nope", 1.0)},
        {"results": with_order("sinusoidal", 0.5)},
        {"results": with_losses(STEEP, "sinusoidal", tasks=("text",))},
        {"results": with_losses(FLAT, "nope", tasks=("shift",))},
    ],
    "first-word": [{"attend": _looks_at_places}, {"causal": np.zeros((3, 3), dtype=bool)}],
    "formula-function": [
        {"function": lambda length, width: reference.sinusoidal(length, width, base=1000.0)},
        {"definition": lambda length, width: reference.sinusoidal(length, width, spacing="closed")},
    ],
    "formula-index": [{"columns": lambda i: (i,)}, {"columns": lambda i: (2 * i + 1, 2 * i + 2)}],
    "sine-columns": [
        {"function": lambda length, width: reference.sinusoidal(length, width, layout="sin_cos")},
        {"function": lambda length, width: reference.sinusoidal(length, width)[:, ::-1]},
    ],
    "function-widths": [{"function": reference.sinusoidal}],
    "rows-from-zero": [{"function": lambda length, width: reference.sinusoidal(range(1, length + 1), width)}],
    "wave-picture": [{"columns": 512}, {"function": lambda length, width: reference.sinusoidal(length, width, base=1.0)}],
    "example-position-0": [{"vector": RIGHT[0]}],
    "example-position-1": [{"vector": RIGHT[1]}, {"angle_of": lambda _: math.atan2(0.99, -0.13)}],
    "example-position-2": [{"vector": RIGHT[2]}, {"vector": (0.91, -0.42, 0.67, -0.74)}],
    "example-one-table": [{"vectors": RIGHT}],
    "example-first-pair": [{"vectors": RIGHT}],
    "example-sums": [{"sums": (*SUMS[:2], (1.51, -0.11, 0.27, -0.16))}, {"vectors": RIGHT}],
    "unique-words": [{"definition": lambda positions, width: np.zeros((len(positions), width))}],
    "unique-pattern": [{"counted_in": "float32"}, {"counted_in": "float64"}],
    "scales-automatically": [
        {"results": with_losses(FLAT, "sinusoidal")},
        {"definition": lambda positions, width: 0.5 * reference.sinusoidal(positions, width)},
    ],
    "relative-distances": [{"results": with_losses(FLAT, "sinusoidal")}, {"turn": _turned_back}],
    "bert-gpt-sinusoids": [{"bert": T5}, {"gpt": T5}, {"gpt_2": T5}],
    "t5-table": [{"t5": GPT}],
    "table-weights": [{"table": _frozen}, {"table": lambda length, width: nn.Embedding(length, 2 * width)}],
    "table-optimal": [{"results": with_losses(STEEP, "learned")}, {"results": with_losses((1.6,) * 4, "learned", tasks=("last",))}],
    "table-lengths": [{"overflow": "wrap"}],
    "deberta-bias": [
        {"bias": _by_distance},
        {"bias": _keys_alone},
        {"bias": _from_the_end},
        {"formula": lambda q, k, keys, queries: 3**0.5 * deberta(q, k, keys, queries)},
    ],
    "relative-universal": [
        {"results": with_losses(FLAT, "t5", "rope")},
        {"results": with_losses(FLAT, "t5")},
        {"results": with_losses(STEEP, "alibi")},
    ],
    "bloomberg-alibi": [{"bloom": GPT}],
    "alibi-shift": [{"penalty": _penalty(0.5, 1.0)}, {"penalty": _penalty(1.0, 2.0)}, {"penalty": _penalty(1.0, 0.5)}],
    "module-adds": [{"make": _Bare}],
    "module-lengths": [{"make": _Bare}],
    "module-imports": [{"own": lambda: {"math": math}}, {"earlier": {}}],
    "module-table": [{"make": lambda: module("buffer")}, {"mended": module}],
}
