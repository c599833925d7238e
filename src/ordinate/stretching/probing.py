"""How long a run will take and how much memory, from two chunks run before it starts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ordinate.stretching.running import fed, keeps_all, new_cache
from ordinate.stretching.settings import NEEDLE, PPL, SHIFT, Cell, Settings, windows_of

FLOAT32 = 4
WORDS = 2.5  # logits, their copy in float32 and what the loss makes of them


@dataclass(frozen=True)
class Probe:
    """What a chunk costs on this machine.

    Attributes:
        seconds: of a chunk with an empty cache.
        seconds_a_token: more for every token in the cache.
        bytes_a_token: of keys and values.
        chunk: its tokens.
        vocabulary: entries of a row of logits.
    """

    seconds: float
    seconds_a_token: float
    bytes_a_token: float
    chunk: int
    vocabulary: int

    def prefill(self, length: int) -> float:
        """Seconds for a window.

        Example:
            >>> Probe(1.0, 0.5, 0.0, 2, 1).prefill(4)
            3.0
        """
        chunks = -(-length // self.chunk)
        return chunks * self.seconds + self.seconds_a_token * self.chunk * chunks * (chunks - 1) / 2

    def memory(self, length: int) -> int:
        """Bytes that a window takes beside the model: keys and values, and a chunk's logits."""
        return round(self.bytes_a_token * length + WORDS * FLOAT32 * self.chunk * self.vocabulary)


def probed(model: Any, tokens: torch.Tensor, settings: Settings, longest: int) -> Probe:
    """Run a chunk with an empty cache, and one with a cache as long as the longest window's.

    Args:
        model: loaded.
        tokens: of the text.
        settings: start and chunk.
        longest: length of the longest window.

    Returns:
        What they cost.
    """
    chunk = min(settings.chunk, longest)
    part = tokens[settings.start : settings.start + chunk]
    fed(model, part[:8], new_cache(model))  # the first call of all is dearer
    cache = new_cache(model)
    first = _timed(model, part, cache)
    filled = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers if layer.keys is not None)
    far, grown = longest - chunk, 0.0
    if far > chunk:
        if keeps_all(cache):
            for layer in cache.layers:
                layer.keys, layer.values = (_repeated(kept, far) for kept in (layer.keys, layer.values))
        else:
            far = chunk  # layers with a window cannot be filled by hand: the next chunk has to do
        grown = max(_timed(model, part, cache) - first, 0.0) / far
    vocabulary = model.get_output_embeddings().weight.shape[0] if model.get_output_embeddings() is not None else 0
    return Probe(first, grown, filled / chunk, chunk, vocabulary)


def estimated(cell: Cell, probe: Probe, settings: Settings) -> float:
    """Estimate the seconds of a cell.

    Args:
        cell: which one.
        probe: of this machine.
        settings: windows and depths.

    Returns:
        Seconds.
    """
    if cell.test == SHIFT:
        return 6 * probe.seconds * 256 / probe.chunk
    if cell.test == PPL:
        return len(windows_of(settings, cell.length)) * probe.prefill(cell.length)
    if cell.test != NEEDLE:
        return 0.0
    return probe.prefill(cell.length) + len(settings.depths) * probe.seconds / 8


def free_memory(model: Any) -> int | None:
    """Ask how many bytes are free where the model lies.

    Args:
        model: loaded.

    Returns:
        Bytes, or None where that cannot be known.
    """
    if model.device.type == "cuda":
        return int(torch.cuda.mem_get_info(model.device)[0])
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def _timed(model: Any, tokens: torch.Tensor, cache: Any) -> float:
    began = time.perf_counter()
    fed(model, tokens, cache).sum().item()
    return time.perf_counter() - began


def _repeated(kept: torch.Tensor, length: int) -> torch.Tensor:
    """Keys or values [B, H, T, D] of as many tokens."""
    times = -(-length // kept.shape[-2])
    return kept.repeat(1, 1, times, 1)[..., :length, :]
