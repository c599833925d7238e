"""The folder that a report is written to: made, tried, and never taken from somebody else."""

from __future__ import annotations

import os
from pathlib import Path


def names_in(folder: Path) -> list[str]:
    """Make a folder if it is not there, try to write into it, and list it.

    Args:
        folder: for a report.

    Returns:
        Names of what it holds.

    Raises:
        ValueError: if it is a file, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(entry.name for entry in folder.iterdir())
        probe = folder / f".probe.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"--output: needed a folder that can be written, got {folder} ({error.strerror or error})") from None
    return names


def listed(names: list[str]) -> str:
    """Name the first few.

    Args:
        names: of files.

    Returns:
        Text.

    Example:
        >>> listed(["a", "b", "c", "d"])
        'a, b, c, ...'
    """
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def is_made_by(results: Path, command: str) -> bool:
    """Whether a command wrote a results.json.

    Args:
        results: the file, which need not be there.
        command: as it names itself.

    Returns:
        True or False.
    """
    try:
        with results.open("rb") as file:
            return f'"made_by": "{command}"'.encode() in file.read(200)
    except OSError:
        return False
