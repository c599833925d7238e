"""Loss by position on a long text with full context: the text goes through the model in chunks, with a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ordinate.stretching.continuing import Continuing
from ordinate.stretching.running import fed, losses_of, new_cache
from ordinate.stretching.settings import Settings, windows_of

BINS = 8


def chunk_losses(
    model: Any, tokens: torch.Tensor, settings: Settings, length: int, done: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Run the chunks that are not done yet.

    Args:
        model: under its rule.
        tokens: of the whole text.
        settings: protocol, start, chunk.
        length: of a window.
        done: what an earlier run has found; the last window's cache is computed again.

    Yields:
        One record a chunk: window, chunk, first place in the window that is scored, losses.
    """
    finished = {(line["window"], line["chunk"]) for line in done if "losses" in line}
    for window, (begin, scored) in enumerate(windows_of(settings, length)):
        begin += settings.start
        inside = tokens[begin : begin + length + 1]
        chunks = range(0, length, settings.chunk)
        if all((window, number) in finished for number in range(len(chunks))):
            continue
        reader = model
        if settings.continued:
            inside, reader = tokens[begin + length - 1 : begin + 2 * length], Continuing(model, tokens[begin : begin + length])
        cache = new_cache(model)
        for number, first in enumerate(chunks):
            last = min(first + settings.chunk, length)
            if (window, number) in finished:
                fed(reader, inside[first:last], cache, keep=1)
                continue
            logits = fed(reader, inside[first:last], cache)
            losses = losses_of(logits, inside[first + 1 : last + 1])[max(scored - first, 0) :]
            yield {"window": window, "chunk": number, "first": max(first, scored), "losses": losses.tolist()}


def summary(lines: list[dict[str, Any]], length: int) -> dict[str, Any]:
    """Put chunks together.

    Args:
        lines: records of ``chunk_losses``, in any order.
        length: of a window.

    Returns:
        Mean loss, tokens scored, and the mean in eighths of the window by place; None for an eighth without any.

    Example:
        >>> summary([{"window": 0, "chunk": 0, "first": 0, "losses": [1.0, 3.0]}], 2)["bins"]
        [1.0, None, None, None, 3.0, None, None, None]
    """
    sums, counts = [0.0] * BINS, [0] * BINS
    chunks = {(line["window"], line["chunk"]): line for line in lines if "losses" in line}
    for _, line in sorted(chunks.items()):
        for place, loss in enumerate(line["losses"], line["first"]):
            sums[place * BINS // length] += loss
            counts[place * BINS // length] += 1
    of = sum(counts)
    return {
        "loss": sum(sums) / of if of else None,
        "tokens": of,
        "bins": [total / count if count else None for total, count in zip(sums, counts, strict=True)],
    }
