"""What the small models learn: real text byte by byte, and a synthetic task that needs exact offsets.

Both are asked about the same targets at every length: only the context before them grows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch

SHIFT_SYMBOLS = 16
SHIFT_OFFSET = 5
HELD_OUT = 0.1
LARGEST_TEXT = 2**30
DEFAULT_TEXT = "pydoc_data.topics"


@dataclass(frozen=True)
class Batch:
    """Tokens [B, T], what should be predicted at each place [B, T], and how many of the last places are scored."""

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
    """Predict the next byte. Scored on the last quarter of the training length, the same bytes under every context length."""

    vocabulary_size = 256

    def __init__(self, corpus: Corpus, *, length: int, longest: int, windows: int) -> None:
        self.corpus, self.length = corpus, length
        self.scored = max(length // 4, 1)
        room = len(corpus.held_out) - 1 - longest
        self.ends = [longest + room * i // max(windows - 1, 1) for i in range(windows)]

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw windows of the training part."""
        starts = torch.randint(len(self.corpus.train) - self.length, (size, 1), generator=generator)
        places = starts + torch.arange(self.length)
        return Batch(self.corpus.train[places].long(), self.corpus.train[places + 1].long(), self.length)

    def evaluation(self, length: int) -> Batch:
        """Give held-out windows with ``length`` bytes of context that end at the same places for every length."""
        places = torch.tensor(self.ends)[:, None] + torch.arange(-length, 0)
        return Batch(self.corpus.held_out[places].long(), self.corpus.held_out[places + 1].long(), self.scored)


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


Task = TextTask | ShiftTask


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
