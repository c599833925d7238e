"""How long a forward pass takes a token, scheme beside scheme: in one process, one thread, rounds in random order."""

from __future__ import annotations

import dataclasses
import random
import statistics
import time
from collections.abc import Sequence

import torch

from ordinate.lab.rows import Budget, build_row

VOCABULARY_SIZE = 128
ROWS_AT_ONCE = 4
ROUNDS = 7
MOST_TOKENS = 512


def milliseconds_a_token(names: Sequence[str], budget: Budget) -> dict[str, float]:
    """Measure every row at the longest tested length, at most 512 tokens, in its causal model with fresh weights.

    Args:
        names: rows.
        budget: sizes and lengths.

    Returns:
        The median over rounds, by row.
    """
    budget = dataclasses.replace(budget, overflow="wrap")
    models = {name: build_row(name, budget, vocabulary_size=VOCABULARY_SIZE, causal=True)[0] for name in names}
    length = min(budget.longest, MOST_TOKENS)
    tokens = torch.randint(VOCABULARY_SIZE, (ROWS_AT_ONCE, length), generator=torch.Generator().manual_seed(0))
    taken: dict[str, list[float]] = {name: [] for name in names}
    order, shuffled = list(names), random.Random(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for _ in range(ROUNDS + 1):
                shuffled.shuffle(order)
                for name in order:
                    started = time.perf_counter()
                    models[name](tokens, range(length))
                    taken[name].append(1e3 * (time.perf_counter() - started) / tokens.numel())
    finally:
        torch.set_num_threads(threads)
    return {name: statistics.median(times[1:]) for name, times in taken.items()}  # the first round warms up
