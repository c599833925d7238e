"""Where a configuration comes from: a mapping, a file, a folder, or a configuration object. Nothing of it is executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.checkpoints.fields import short

LARGEST_FILE = 16 * 2**20
CONFIG = "config.json"


@dataclass(frozen=True)
class Source:
    """What was found: a configuration, or a GGUF file's path; and what to call it."""

    name: str
    values: Mapping[str, Any] | None
    gguf: Path | None = None


def find_source(source: Any) -> Source:
    """Find the configuration that ``read`` was given.

    Args:
        source: a mapping, a path to config.json, to a GGUF file or to a folder with one of them, or an object with ``to_dict``.

    Returns:
        Its values, or the path of a GGUF file.

    Raises:
        ValueError: if it is none of these, or no JSON object.
        OSError: if a file cannot be read.

    Example:
        >>> find_source({"model_type": "llama"}).name
        'mapping'
    """
    if isinstance(source, Mapping):
        return Source("mapping", source)
    if callable(getattr(source, "to_dict", None)) and isinstance(getattr(source, "model_type", None), str):
        return Source(type(source).__name__, source.to_dict())
    if hasattr(source, "config") and callable(getattr(source.config, "to_dict", None)):
        raise ValueError(f"source: needed a configuration, got a {type(source).__name__}; pass its .config")
    if not isinstance(source, (str, Path)):
        raise ValueError(f"source: needed a mapping, a path or a configuration object, got {type(source).__name__}")
    return _at_path(Path(source))


def _at_path(path: Path) -> Source:
    if path.is_dir():
        return _in_folder(path)
    if path.suffix.lower() == ".gguf":
        return Source(path.name, None, path)
    return Source(path.name, _json(path))


def _in_folder(folder: Path) -> Source:
    if (folder / CONFIG).is_file():
        return Source(CONFIG, _json(folder / CONFIG))
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".gguf")
    if len(found) == 1:
        return Source(found[0].name, None, found[0])
    got = f"{len(found)} GGUF files; name one" if found else "neither"
    raise ValueError(f"{folder}: needed {CONFIG} or one GGUF file in the folder, got {got}")


def _json(path: Path) -> Mapping[str, Any]:
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ValueError(f"{path.name}: needed at most {LARGEST_FILE} bytes, got {size}")
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values and repr(values[key]) != repr(value):
                twice.append(f"{short(key)} is there twice, as {short(values[key])} and as {short(value)}")
            values[key] = value
        return values

    try:
        values = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=once)
    except RecursionError:
        raise ValueError(f"{path.name}: needed a configuration, got JSON nested too deeply") from None
    except ValueError as fault:
        raise ValueError(f"{path.name}: needed JSON, got something else ({fault!s:.80})") from None
    if twice:
        raise ValueError(f"{path.name}: {'; '.join(twice[:10])}")
    if not isinstance(values, dict):
        raise ValueError(f"{path.name}: needed a JSON object, got {short(values)}")
    return values
