"""Where a configuration comes from: a mapping, a file, a folder, or a configuration object. Nothing of it is executed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.checkpoints.kinds import SHOWN, printable, short

LARGEST_FILE = 2 * 2**20
CONFIG = "config.json"
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
DEEPEST = 32
LONGEST_LIST = 2**16
MOST_VALUES = 300_000


class Other:
    """Stands for a value that no configuration holds, as a tensor; equal to nothing, written as its type."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return self.what


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
        return Source("mapping", _plain_mapping(source))
    if isinstance(source, type):
        raise ValueError(f"source: needed a configuration, got the class {source.__name__}; make an object of it first")
    if callable(getattr(source, "to_dict", None)) and isinstance(getattr(source, "model_type", None), str):
        return Source(type(source).__name__, _plain_mapping(source.to_dict(), type(source).__name__))
    if hasattr(source, "config") and callable(getattr(source.config, "to_dict", None)):
        raise ValueError(f"source: needed a configuration, got a {type(source).__name__}; pass its .config")
    if not isinstance(source, (str, Path)):
        raise ValueError(f"source: needed a mapping, a path or a configuration object, got {type(source).__name__}")
    if not _can_be_a_name(str(source)):
        raise ValueError(f"source: needed a path, got {short(str(source))}")
    if str(source).lstrip().startswith("{"):
        raise ValueError(f"source: needed a path, got text; pass json.loads(text), got {short(str(source))}")
    return _in_folder(Path(source)) if Path(source).is_dir() else _at_path(Path(source))


def _can_be_a_name(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _at_path(path: Path) -> Source:
    return Source(printable(path.name), None, path) if path.suffix.lower() == ".gguf" else _of_file(path)


def _of_file(path: Path) -> Source:
    name = printable(path.name)
    if path.suffix.lower() in WEIGHTS:
        raise ValueError(f"{name}: needed a configuration, got weights; pass {CONFIG} or the model's folder")
    return Source(name, _plain_mapping(_json(path, name), name))


def _in_folder(folder: Path) -> Source:
    if (folder / CONFIG).exists() and not (folder / CONFIG).is_dir():
        return _of_file(folder / CONFIG)
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".gguf")
    if len(found) == 1:
        return Source(printable(found[0].name), None, found[0])
    got = f"{len(found)} GGUF files; name one" if found else "neither"
    raise ValueError(f"{printable(str(folder))}: needed {CONFIG} or one GGUF file in the folder, got {got}")


def _plain_mapping(values: Any, name: str = "mapping") -> dict[str, Any]:
    """The values as JSON would hold them: what it could not hold becomes a word, NumPy's numbers Python's."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{name}: needed a mapping from to_dict, got {type(values).__name__}")
    left = MOST_VALUES

    def plain(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if depth > DEEPEST:
            raise ValueError(f"{name}: needed a configuration, got one nested deeper than {DEEPEST}")
        if left < 0:
            raise ValueError(f"{name}: needed a configuration, got one of more than {MOST_VALUES} values")
        if isinstance(value, Mapping):
            return {_plain_key(key): plain(part, depth + 1) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            too_long = len(value) > LONGEST_LIST
            return Other(f"a list of {len(value)} values") if too_long else [plain(part, depth + 1) for part in value]
        return _plain_value(value)

    converted: dict[str, Any] = plain(values, 0)
    return converted


def _plain_key(key: Any) -> str:
    return key if isinstance(key, str) else short(_plain_value(key))


def _plain_value(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str, float, Other)):
        return float(value) if isinstance(value, float) else value
    if isinstance(value, int):
        return int(value) if -(10**SHOWN) < value < 10**SHOWN else Other("a very large number")
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 and callable(getattr(value, "item", None)):
        held = value.item()
        return _plain_value(held) if isinstance(held, (bool, int, float, str)) else Other(type(value).__name__)
    return Other(f"a value of type {type(value).__name__:.{SHOWN}}")


def _json(path: Path, name: str) -> Mapping[str, Any]:
    size = path.stat().st_size
    if not path.is_file():
        raise ValueError(f"{name}: needed a regular file, got something else")
    if size > LARGEST_FILE:
        raise ValueError(f"{name}: needed at most {LARGEST_FILE} bytes, got {size}")
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values and len(twice) < 10 and values[key] != value:
                twice.append(f"{short(key)} is there twice, as {short(values[key])} and as {short(value)}")
            values[key] = value
        return values

    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1).decode("utf-8-sig")
        values = json.loads(text, object_pairs_hook=once, parse_int=_whole)
    except RecursionError:
        raise ValueError(f"{name}: needed a configuration, got JSON nested too deeply") from None
    except ValueError as fault:
        raise ValueError(f"{name}: needed JSON, got something else ({fault!s:.80})") from None
    if twice:
        raise ValueError(f"{name}: {'; '.join(twice)}")
    if not isinstance(values, dict):
        raise ValueError(f"{name}: needed a JSON object, got {short(values)}")
    return values


def _whole(digits: str) -> Any:
    return int(digits) if len(digits) <= SHOWN else Other("a very large number")
