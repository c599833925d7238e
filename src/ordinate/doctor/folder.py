"""What stands beside a configuration: safetensors files, pickles that are not opened, a tokenizer's and an adapter's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.checkpoints.sources import find_source

MOST_ENTRIES = 20_000
MOST_SHARDS = 2048
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True, kw_only=True)
class Folder:
    """The files of a checkpoint's folder, by what they are.

    Attributes:
        path: of the folder.
        shards: safetensors files.
        ggufs: GGUF files.
        pickles: names of files that are not opened.
        names: of all files.
    """

    path: Path
    shards: tuple[Path, ...]
    ggufs: tuple[Path, ...]
    pickles: tuple[str, ...]
    names: frozenset[str]


def list_folder(path: Path) -> Folder:
    """List a folder, within bounds.

    Args:
        path: of it.

    Returns:
        Its files.

    Raises:
        ValueError: if it has too many.
        OSError: if it cannot be listed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "pytorch_model.bin").write_bytes(b"")
        ...     list_folder(Path(folder)).pickles
        ('pytorch_model.bin',)
    """
    names: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) > MOST_ENTRIES:
                raise ValueError(f"needed a model's folder of at most {MOST_ENTRIES} files, got more")
    names.sort()
    shards = [path / name for name in names if name.lower().endswith(".safetensors")]
    if len(shards) > MOST_SHARDS:
        raise ValueError(f"needed at most {MOST_SHARDS} safetensors files, got {len(shards)}")
    return Folder(
        path=path,
        shards=tuple(shards),
        ggufs=tuple(path / name for name in names if name.lower().endswith(".gguf")),
        pickles=tuple(name for name in names if name.lower().endswith(PICKLES) and not name.startswith("training_args")),
        names=frozenset(names),
    )


def beside(folder: Folder, name: str) -> Mapping[str, Any] | None:
    """Read a JSON file of the folder, if it is there and is one.

    Args:
        folder: from ``list_folder``.
        name: of the file.

    Returns:
        Its values, or None.
    """
    if name not in folder.names:
        return None
    try:
        return find_source(folder.path / name).values
    except (ValueError, OSError):
        return None
