"""Where a model lies that transformers is to load: a folder, a GGUF file, or a name on a hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Checkpoint:
    """Where a model lies: a folder or a name on a hub, and the GGUF file in it, if it is one.

    Attributes:
        name: what the user calls it.
        folder: what transformers loads from.
        gguf_file: name of the file in the folder.

    Example:
        >>> Checkpoint("mine", "models/mine").further
        {}
    """

    name: str
    folder: str
    gguf_file: str | None = None

    @property
    def further(self) -> dict[str, str]:
        """What ``from_pretrained`` takes beside the folder."""
        return {} if self.gguf_file is None else {"gguf_file": self.gguf_file}


def located(target: str, *, called: str) -> Checkpoint:
    """Find a checkpoint; nothing is loaded.

    Args:
        target: a folder, a GGUF file, or a name on a hub.
        called: what the target is called in errors.

    Returns:
        Where it lies.

    Raises:
        ValueError: if a path has nothing to load.

    Example:
        >>> located("somebody/some-model", called="MODEL")
        Checkpoint(name='somebody/some-model', folder='somebody/some-model', gguf_file=None)
    """
    path = Path(target)
    if path.is_dir():
        if (path / "config.json").is_file():
            return Checkpoint(target, str(path))
        files = sorted(path.glob("*.gguf"))
        if len(files) == 1:
            return Checkpoint(target, str(path), files[0].name)
        raise ValueError(
            f"{called}: needed a folder with config.json or with one GGUF file, got {target} with {len(files)} of these"
        )
    if path.suffix == ".gguf":
        if path.is_file():
            return Checkpoint(target, str(path.parent), path.name)
        raise ValueError(f"{called}: needed a GGUF file, got {target}, which is not there")
    if path.exists() or target.count("/") > 1 or target.startswith((".", "/", "~")):
        raise ValueError(f"{called}: needed a folder, a .gguf file or a name on a hub, got {target}")
    return Checkpoint(target, target)
