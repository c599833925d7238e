"""A model to probe: where it lies, and how it is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def place_of(target: str) -> dict[str, str]:
    """Find a model; nothing is loaded.

    Args:
        target: a folder with config.json or one GGUF file, a GGUF file, or a name on a hub.

    Returns:
        Arguments for transformers' ``from_pretrained``.

    Raises:
        ValueError: if there is nothing to load.

    Example:
        >>> place_of("somebody/some-model")
        {'pretrained_model_name_or_path': 'somebody/some-model'}
    """
    path, name = Path(target), "pretrained_model_name_or_path"
    if path.is_dir():
        if (path / "config.json").is_file():
            return {name: target}
        files = sorted(path.glob("*.gguf"))
        if len(files) == 1:
            return {name: target, "gguf_file": files[0].name}
        raise ValueError(
            f"--probe: needed a folder with config.json or with one GGUF file, got {target} with {len(files)} of these"
        )
    if path.suffix == ".gguf" and path.is_file():
        return {name: str(path.parent), "gguf_file": path.name}
    if path.exists() or path.suffix == ".gguf" or target.count("/") > 1 or target.startswith((".", "/", "~")):
        raise ValueError(f"--probe: needed a folder, a .gguf file or a name on a hub, got {target}")
    return {name: target}


def load(target: str) -> tuple[Any, Any]:
    """Load a model in float32, and its tokenizer.

    Args:
        target: as ``place_of`` takes it. Code that comes with a model is never run.

    Returns:
        Both, of transformers; None for a tokenizer that is not there.

    Raises:
        ValueError: if transformers is missing, or the model cannot be loaded.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise ValueError("--probe: needed transformers, which is not installed; run: pip install ordinate[hf,gguf]") from None
    place: dict[str, Any] = place_of(target)
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32, trust_remote_code=False)
    except (OSError, ValueError, ImportError, KeyError) as fault:
        raise ValueError(f"--probe: could not load {target}: {_first_line(fault)}") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(**place, trust_remote_code=False)
    except (OSError, ValueError, ImportError, KeyError):
        tokenizer = None
    return model.eval(), tokenizer


def _first_line(fault: BaseException) -> str:
    return (str(fault).strip().splitlines() or [type(fault).__name__])[0][:300]
