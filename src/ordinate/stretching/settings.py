"""What is measured: models, rules, lengths, text; and the cells that follow, each of which is a job of its own."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ordinate.stretching.subject import Dtype

PPL, SHIFT, NEEDLE, DRIFT = "ppl", "shift", "needle", "drift"
TESTS = (PPL, SHIFT, NEEDLE)  # of models that predict the next token
DEFAULT_TEXT = "pydoc_data.topics"
LARGEST_TEXT = 2**28
Protocol = Literal["non-overlapping", "sliding"]
PHASES = ("float32", "exact")


@dataclass(frozen=True)
class Text:
    """What is read.

    Attributes:
        source: where it comes from.
        sha256: of its bytes.
        text: itself.
    """

    source: str
    sha256: str
    text: str = dataclasses.field(repr=False)


@dataclass(frozen=True, order=True)
class Cell:
    """One job.

    Attributes:
        test: "ppl", "shift", "needle" or "drift".
        rule: as the command takes it; for "shift", how angles are made: "float32" or "exact".
        length: in tokens.
    """

    test: str
    rule: str
    length: int

    @property
    def file(self) -> str:
        """Name of its journal."""
        plain = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in self.rule)[:60]
        mark = "" if plain == self.rule else "-" + hashlib.sha256(self.rule.encode()).hexdigest()[:8]
        return f"{self.test}-{plain}{mark}-{self.length}.jsonl"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the figures depend on, beside the model.

    Attributes:
        lengths: in tokens, rising.
        rules: names, "native" first.
        tests: of ``TESTS``.
        start: first token of the text that is read.
        chunk: tokens that go through the model at once.
        windows: stretches of text a length, at most.
        protocol: "non-overlapping": windows follow one another, every token is scored with all that stands before it in its window;
            "sliding": windows move on by ``stride``, and after the first one only the last ``stride`` tokens of each are scored.
        stride: tokens, for "sliding".
        dtype: of the weights.
        device_map: for accelerate, or None.
        depths: of the needle, as parts of the length.
        continued: whether the model has an encoder, which reads as many tokens before those that are scored.
    """

    lengths: tuple[int, ...]
    rules: tuple[str, ...]
    tests: tuple[str, ...] = TESTS
    start: int = 2000
    chunk: int = 1024
    windows: int = 1
    protocol: Protocol = "non-overlapping"
    stride: int = 512
    dtype: Dtype = "float32"
    device_map: str | None = None
    depths: tuple[float, ...] = (0.1, 0.5, 0.9)
    continued: bool = False

    def as_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in dataclasses.asdict(self).items()}


def read_text(files: list[Path]) -> Text:
    """Read the text: the given files one after the other, or Python's own help topics.

    Args:
        files: in UTF-8; empty for ``pydoc_data.topics``.

    Returns:
        The text.

    Raises:
        ValueError: if a file cannot be read, is no text, or holds none.

    Example:
        >>> read_text([]).source
        'pydoc_data.topics'
    """
    if not files:
        from pydoc_data.topics import topics

        whole = "\n".join(topics.values())
    else:
        whole = "\n".join(_read(file) for file in files)
    source = ", ".join(str(file) for file in files) if files else DEFAULT_TEXT
    if not whole.strip():
        raise ValueError(f"--text: needed text, got {source} without any")
    return Text(source, hashlib.sha256(whole.encode()).hexdigest(), whole)


def windows_of(settings: Settings, length: int) -> list[tuple[int, int]]:
    """Give each window's first token, counted from ``start``, and the first place in it that is scored.

    Args:
        settings: protocol, stride and number of windows.
        length: of a window.

    Returns:
        Pairs of numbers.

    Example:
        >>> windows_of(Settings(lengths=(8,), rules=(), windows=3, protocol="sliding", stride=2), 8)
        [(0, 0), (2, 6), (4, 6)]
    """
    if settings.protocol == "sliding":
        return [(number * settings.stride, length - settings.stride if number else 0) for number in range(settings.windows)]
    return [(number * length, 0) for number in range(settings.windows)]


def tokens_needed(settings: Settings, length: int) -> int:
    """Say how many tokens of text a length takes, with the last one's target.

    Args:
        settings: start, protocol and windows.
        length: of a window.

    Returns:
        Tokens.

    Example:
        >>> tokens_needed(Settings(lengths=(8,), rules=(), start=100), 8)
        109
    """
    read_before = length - 1 if settings.continued else 0
    return settings.start + read_before + windows_of(settings, length)[-1][0] + length + 1


def _read(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_TEXT + 1)
        if len(data) > LARGEST_TEXT:
            raise ValueError(f"--text: needed at most {LARGEST_TEXT} bytes, got more from {file}; give a part of it")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"--text: needed a readable file, got {file} ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise ValueError(f"--text: needed text in UTF-8, got {file}, which is none") from None
    if "\0" in text:
        raise ValueError(f"--text: needed text in UTF-8, got {file}, which holds NUL characters")
    return text
