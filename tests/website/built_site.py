"""The site as tests see it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from links import Page


@dataclass(frozen=True)
class Site:
    """Where the built site lies, its pages by their path, and what was said while it was built."""

    folder: Path
    pages: dict[str, Page]
    warnings: list[str]


class Kept(logging.Handler):
    """Keeps warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
