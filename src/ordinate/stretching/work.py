"""One cell after the other on one loaded model; a worker needs nothing but what it was made with, so it may run on any machine."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator
from typing import Any

import torch

from ordinate.checkpoints.located import Checkpoint
from ordinate.stretching.drift import drifted, passages, pooled
from ordinate.stretching.journal import ENDED
from ordinate.stretching.needle import depths_found
from ordinate.stretching.perplexity import chunk_losses
from ordinate.stretching.rules import NATIVE
from ordinate.stretching.running import under
from ordinate.stretching.settings import DRIFT, NEEDLE, PPL, SHIFT, Cell, Settings, Text
from ordinate.stretching.shifting import shifted
from ordinate.stretching.subject import loaded, read_subject, tokenizer_of

FAILED = "failed"


class Worker:
    """Loads a model when the first cell needs it, and runs cells on it.

    Args:
        checkpoint: where the model lies.
        trained: trained length in place of the declared one, or None.
        settings: what is measured.
        text: what is read.

    Raises:
        ValueError: if configuration or tokenizer cannot be loaded.
    """

    def __init__(self, checkpoint: Checkpoint, trained: int | None, settings: Settings, text: Text) -> None:
        self.settings, self.subject = settings, read_subject(checkpoint, trained)
        self.tokenizer = tokenizer_of(self.subject)
        self.tokens = tokens_of(self.tokenizer, text)

    @functools.cached_property
    def model(self) -> Any:
        """The model of transformers."""
        return loaded(self.subject, self.settings.dtype, self.settings.device_map)

    def run(self, cell: Cell, done: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Run what is left of a cell.

        Args:
            cell: which one.
            done: records that an earlier run has found.

        Yields:
            Records; the last one says that the cell has ended, or why it failed.
        """
        began = time.perf_counter()
        before = sum(line.get("seconds", 0.0) for line in done[-1:])
        try:
            for record in self._records(cell, done):
                require_finite(record)
                yield {**record, "seconds": round(before + time.perf_counter() - began, 2)}
        except (MemoryError, RuntimeError, ValueError, IndexError, TypeError) as fault:  # models may raise anything
            yield {FAILED: reason_of(fault)}
            return
        yield {ENDED: True, "seconds": round(before + time.perf_counter() - began, 2)}

    def _records(self, cell: Cell, done: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        if cell.test == SHIFT:
            phases: Any = cell.rule
            with under(self.model, self.subject, NATIVE, self.subject.trained, phases) as model:
                yield from shifted(model, self.tokens, self.settings, cell.length, done)
            return
        if cell.test == DRIFT:
            given = passages(self.tokenizer, self.tokens, self.settings, self.subject.trained)
            before = [pooled(self.model, ids) for ids in given]
            with under(self.model, self.subject, cell.rule, cell.length) as model:
                yield from drifted(model, before, given, done)
            return
        with under(self.model, self.subject, cell.rule, cell.length) as model:
            if cell.test == PPL:
                yield from chunk_losses(model, self.tokens, self.settings, cell.length, done)
            elif cell.test == NEEDLE:
                yield from depths_found(model, self.tokenizer, self.tokens, self.settings, cell.length, done)


def tokens_of(tokenizer: Any, text: Text) -> torch.Tensor:
    """Cut the text into tokens, without special ones.

    Args:
        tokenizer: of the model.
        text: what is read.

    Returns:
        Ids [T].
    """
    tokenizer.model_max_length = 10**12  # or it warns of a text longer than the model, which is what is asked for
    return torch.tensor(tokenizer(text.text, add_special_tokens=False)["input_ids"])


def require_finite(record: dict[str, Any]) -> None:
    """Refuse figures that are no numbers.

    Args:
        record: of a cell.

    Raises:
        ValueError: if there is one.

    Example:
        >>> require_finite({"losses": [1.0, float("nan")]})
        Traceback (most recent call last):
        ValueError: needed finite losses, got others; a dtype of larger range may help: --dtype float32
    """
    values = [*record.get("losses", []), *(value for value in record.values() if isinstance(value, float))]
    if not all(math.isfinite(value) for value in values):
        raise ValueError("needed finite losses, got others; a dtype of larger range may help: --dtype float32")


def is_out_of_memory(fault: RuntimeError) -> bool:
    """Whether an error says that memory has run out, on a GPU or here.

    Args:
        fault: caught.

    Returns:
        True or False.

    Example:
        >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."))
        True
    """
    return isinstance(fault, torch.OutOfMemoryError) or "can't allocate memory" in str(fault) or "not enough memory" in str(fault)


def reason_of(fault: BaseException) -> str:
    """Give an error's first line.

    Args:
        fault: caught.

    Returns:
        A line.

    Example:
        >>> reason_of(MemoryError())
        'out of memory'
    """
    if isinstance(fault, MemoryError) or (isinstance(fault, RuntimeError) and is_out_of_memory(fault)):
        return "out of memory"
    said = (str(fault).strip().splitlines() or [""])[0][:300]
    return said if isinstance(fault, ValueError) and said else f"{type(fault).__name__}: {said}"
