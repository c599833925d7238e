"""What the small models learn: real text byte by byte, a task of exact offsets, and one of content and recency.

All are asked about the same targets at every length: only the context before them grows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch

SHIFT_SYMBOLS = 16
SHIFT_OFFSET = 5
REGISTERS = 8
VALUES = 8
READ_SHARE = 0.3
UNASKED = -100  # what cross_entropy leaves out
HELD_OUT = 0.1
LARGEST_TEXT = 2**30
DEFAULT_TEXT = "pydoc_data.topics"


@dataclass(frozen=True)
class Batch:
    """Tokens [B, T], what each place should predict [B, T] (UNASKED: nothing), and how many of the last places are scored."""

    tokens: torch.Tensor
    targets: torch.Tensor
    scored: int


@dataclass(frozen=True)
class Corpus:
    """Bytes to learn from and bytes held out, with where they came from."""

    source: str
    sha256: str
    train: torch.Tensor
    held_out: torch.Tensor

    @property
    def size(self) -> int:
        """Bytes in all."""
        return len(self.train) + len(self.held_out)


def read_corpus(files: list[Path], *, longest: int) -> Corpus:
    """Read the text: the given files one after the other, or Python's own help topics.

    Args:
        files: text files; empty for ``pydoc_data.topics``, English prose that every CPython carries.
        longest: longest context in bytes that will be asked for.

    Returns:
        The corpus; the last tenth is held out.

    Raises:
        ValueError: if a file cannot be read, or the text is too short for the lengths.

    Example:
        >>> corpus = read_corpus([], longest=512)
        >>> corpus.source, corpus.size > 100_000
        ('pydoc_data.topics', True)
    """
    data = b"".join(_bytes_of(file) for file in files) if files else _help_topics()
    source = ", ".join(str(file) for file in files) if files else DEFAULT_TEXT
    needed = round(2 * longest / HELD_OUT)
    if len(data) < needed:
        raise ValueError(
            f"text: needed at least {needed} bytes for contexts of {longest}, got {len(data)} from {source}; "
            "give more text with --text, or smaller lengths with --length and --multiples"
        )
    tokens = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    cut = len(tokens) - round(len(tokens) * HELD_OUT)
    return Corpus(source, hashlib.sha256(data).hexdigest(), tokens[:cut], tokens[cut:])


class TextTask:
    """Predict the next byte. Scored on the last quarter of the training length, the same bytes under every context length.

    Tokens are numbers of the text's own alphabet: English has some hundred bytes, and the model is spared the rest.
    """

    def __init__(self, corpus: Corpus, *, length: int, longest: int, windows: int) -> None:
        self.length = length
        self.scored = max(length // 4, 1)
        alphabet = torch.unique(torch.cat((corpus.train, corpus.held_out))).long()
        number = torch.zeros(256, dtype=torch.int64)
        number[alphabet] = torch.arange(len(alphabet))
        self.vocabulary_size = len(alphabet)
        self.train, self.held_out = number[corpus.train.long()], number[corpus.held_out.long()]
        room = len(self.held_out) - 1 - longest
        self.ends = [longest + room * i // max(windows - 1, 1) for i in range(windows)]

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw windows of the training part."""
        starts = torch.randint(len(self.train) - self.length, (size, 1), generator=generator)
        places = starts + torch.arange(self.length)
        return Batch(self.train[places], self.train[places + 1], self.length)

    def evaluation(self, length: int) -> Batch:
        """Give held-out windows with ``length`` bytes of context that end at the same places for every length."""
        places = torch.tensor(self.ends)[:, None] + torch.arange(-length, 0)
        return Batch(self.held_out[places], self.held_out[places + 1], self.scored)


class ShiftTask:
    """Repeat the token five places back: solved only by a model that can address an exact offset."""

    vocabulary_size = SHIFT_SYMBOLS

    def __init__(self, *, length: int, longest: int, windows: int, seed: int) -> None:
        self.length = length
        self.scored = max(length // 4, 1)
        self._held_out = _shifted(windows, longest, torch.Generator().manual_seed(seed))

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw fresh random sequences; the first places, which have nothing to repeat, are not scored."""
        tokens, targets = _shifted(size, self.length, generator)
        return Batch(tokens, targets, self.length - SHIFT_OFFSET)

    def evaluation(self, length: int) -> Batch:
        """Give the last ``length`` tokens of fixed sequences: the targets are the same for every length."""
        tokens, targets = self._held_out
        return Batch(tokens[:, -length:], targets[:, -length:], self.scored)


class LastTask:
    """Read a register: predict the value that was written to it last. Content finds the register, recency the write.

    A token writes one of 8 values to one of 8 registers, or (30 %) reads a register. Only reads are scored, and of those only the
    ones whose last write lies inside the training length before the end, so that every context length can answer them.
    """

    vocabulary_size = REGISTERS * VALUES + REGISTERS

    def __init__(self, *, length: int, longest: int, windows: int, seed: int) -> None:
        self.length = length
        self.scored = max(length // 4, 1)
        tokens, targets = _registers(windows, longest, torch.Generator().manual_seed(seed))
        answerable = _last_written(tokens[:, -length:])
        targets[:, -length:] = answerable
        self._held_out = tokens, targets

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw fresh random sequences; reads of registers not written to yet are not scored."""
        tokens, targets = _registers(size, self.length, generator)
        return Batch(tokens, targets, self.length)

    def evaluation(self, length: int) -> Batch:
        """Give the last ``length`` tokens of fixed sequences: the targets are the same for every length."""
        tokens, targets = self._held_out
        return Batch(tokens[:, -length:], targets[:, -length:], self.scored)


Task = TextTask | ShiftTask | LastTask


def _registers(rows: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens: register * VALUES + value writes, REGISTERS * VALUES + register reads."""
    registers = torch.randint(REGISTERS, (rows, length), generator=generator)
    values = torch.randint(VALUES, (rows, length), generator=generator)
    reads = torch.rand(rows, length, generator=generator) < READ_SHARE
    tokens = torch.where(reads, REGISTERS * VALUES + registers, registers * VALUES + values)
    return tokens, _last_written(tokens)


def _last_written(tokens: torch.Tensor) -> torch.Tensor:
    """The last value written to the register that each token reads, UNASKED for writes and for registers not written to."""
    held = torch.full((len(tokens), REGISTERS), UNASKED)
    targets = torch.full_like(tokens, UNASKED)
    rows = torch.arange(len(tokens))
    for place, column in enumerate(tokens.unbind(1)):
        is_read = column >= REGISTERS * VALUES
        register = torch.where(is_read, column - REGISTERS * VALUES, column // VALUES)
        now = held[rows, register]
        targets[:, place] = torch.where(is_read, now, UNASKED)
        held[rows, register] = torch.where(is_read, now, column % VALUES)
    return targets


def _shifted(rows: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(SHIFT_SYMBOLS, (rows, length), generator=generator)
    return tokens, tokens.roll(SHIFT_OFFSET, dims=1)


def _bytes_of(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise ValueError(f"text: needed a readable file, got {file} ({error.strerror or error})") from None
    if len(data) > LARGEST_TEXT:
        raise ValueError(f"text: needed at most {LARGEST_TEXT} bytes, got more from {file}; give a part of it")
    if not data:
        raise ValueError(f"text: needed a file with text, got {file}, which is empty")
    return data


def _help_topics() -> bytes:
    from pydoc_data.topics import topics

    return "\n".join(topics.values()).encode()
