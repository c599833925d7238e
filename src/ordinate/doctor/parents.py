"""Adapters and merged models: the configurations they come from, where these are on this disk."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ordinate.checkpoints.kinds import short
from ordinate.checkpoints.sources import CONFIG
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.folder import Folder

ADAPTER, MERGED = "adapter_config.json", "mergekit_config.yml"
LARGEST = 2**16
# A line that names a model, in the plain form that needs no YAML: "model: path", "- model: path", "base_model: path".
NAMED = re.compile(r"^[ \t]*(?:-[ \t]+)?(?:base_)?model:[ \t]*[\"']?([^\s\"'#{}\[\]]+)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
MOST_PARENTS = 32


def base_of(said: Mapping[str, Any], folder: Path) -> tuple[Path | None, Diagnosis | None]:
    """Find an adapter's base model.

    Args:
        said: ``adapter_config.json``.
        folder: where it lies.

    Returns:
        The folder of the base if it is on this disk, else a note.
    """
    named = said.get("base_model_name_or_path")
    if not isinstance(named, str) or not named or len(named) > 4096 or "\0" in named:
        return None, diagnosis(
            "ORD902", f"base_model_name_or_path: needed the base model's path, got {short(named)}", where=ADAPTER
        )
    found = _with_config(folder, named)
    if found is None:
        message = f"the base model {short(named)} is not on this disk, so nothing was compared with it"
        return None, diagnosis("ORD902", message, where="base_model_name_or_path")
    return found, None


def merged_from(folder: Folder) -> Iterator[Path]:
    """Find the models that mergekit made this one of, where its file says them plainly and they are on this disk.

    Args:
        folder: of the merged model.

    Yields:
        Their folders, each once.
    """
    path = folder.path / MERGED
    if MERGED not in folder.names or not path.is_file() or path.stat().st_size > LARGEST:
        return
    text = path.read_bytes().decode("utf-8", "replace")
    met = {os.path.realpath(folder.path)}
    for named in list(dict.fromkeys(NAMED.findall(text)))[:MOST_PARENTS]:
        found = _with_config(folder.path, named)
        if found is not None and os.path.realpath(found) not in met:
            met.add(os.path.realpath(found))
            yield found


def _with_config(folder: Path, named: str) -> Path | None:
    """A folder with a configuration, by a path from here or from the folder; a name that no file has is none."""
    for path in (folder / named, Path(named)):
        try:
            if (path / CONFIG).is_file():
                return path
        except OSError:
            continue
    return None
