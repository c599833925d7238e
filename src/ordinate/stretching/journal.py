"""What a cell has found so far, on disk: a line a finished step, so that an end at any moment loses no finished step.

A file begins with a line that says which run it belongs to. A line that was torn by an end in its middle is cut off when the file
is opened again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

ENDED = "ended"
FIRST = b'{"run": '


class Journal:
    """The lines of one cell.

    Args:
        path: of the file.
        run: what the cell's figures depend on; a file of another run is refused.

    Raises:
        ValueError: if the file belongs to another run, or is no journal.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "cell.jsonl"
        >>> Journal(path, {"length": 8}).add({"chunk": 0})
        >>> Journal(path, {"length": 8}).lines
        [{'chunk': 0}]
    """

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        self.path, self.lines = path, []
        if not path.exists() or not (whole := _whole_lines(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_synced(path, "wb", _line({"run": run}))
            return
        if whole[0] != {"run": run}:
            raise ValueError(f"--output: {path} belongs to another run; choose another folder, or remove it")
        self.lines = whole[1:]

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to do."""
        return bool(self.lines) and ENDED in self.lines[-1]

    def add(self, line: dict[str, Any]) -> None:
        """Keep a finished step; on disk when this returns.

        Args:
            line: of plain numbers and text.
        """
        _write_synced(self.path, "ab", _line(line))
        self.lines.append(line)


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """Read the lines, and cut off what follows the last whole one."""
    data = path.read_bytes()
    found: list[dict[str, Any]] = []
    kept = 0
    for line in data.splitlines(keepends=True):
        try:
            value = json.loads(line, parse_constant=_refuse) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict) or not _is_record(value):
            break
        found.append(value)
        kept += len(line)
    is_ours = "run" in found[0] if found else FIRST.startswith(data[: len(FIRST)])
    if not is_ours:
        raise ValueError(f"--output: needed files of an earlier run, got {path}, which is something else; choose another folder")
    if kept < len(data):
        with path.open("r+b") as file:
            file.truncate(kept)
    return found


def _is_record(value: dict[str, Any]) -> bool:
    """Whether a line has the form of what cells find."""
    losses = value.get("losses", [])
    if not isinstance(losses, list) or not all(isinstance(loss, float) for loss in losses):
        return False
    if "losses" in value and not all(isinstance(value.get(name), int) for name in ("window", "chunk", "first")):
        return False
    numbers = ("loss", "rms", "largest", "cosine", "depth", "offset", "passage", "seconds")
    return all(isinstance(value.get(name, 0), (int, float)) for name in numbers)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _line(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, allow_nan=False) + "\n").encode()


def _write_synced(path: Path, mode: str, data: bytes) -> None:
    with path.open(mode) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
