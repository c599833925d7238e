"""A model to probe, loaded."""

from __future__ import annotations

import os
from typing import Any

from ordinate.checkpoints.located import located


def load(target: str) -> tuple[Any, Any]:
    """Load a model in float32, and its tokenizer.

    Args:
        target: a folder with config.json or one GGUF file, a GGUF file, or a name on a hub; code that comes with it is never run.

    Returns:
        Both, of transformers; None for a tokenizer that is not there.

    Raises:
        ValueError: if transformers is missing, or the model cannot be loaded.
    """
    place = located(target, called="--probe")
    os.environ.setdefault("TQDM_DISABLE", "1")  # bars of other packages, which read it when they are imported
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError:
        raise ValueError("--probe: needed transformers, which is not installed; run: pip install ordinate[hf,gguf]") from None
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    given: dict[str, Any] = {"pretrained_model_name_or_path": place.folder, "trust_remote_code": False, **place.further}
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(**given, dtype=torch.float32)
    except (OSError, ValueError, ImportError, KeyError) as fault:
        raise ValueError(f"--probe: could not load {target}: {_first_line(fault)}") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(**given)
    except (OSError, ValueError, ImportError, KeyError):
        tokenizer = None
    return model.eval(), tokenizer


def _first_line(fault: BaseException) -> str:
    return (str(fault).strip().splitlines() or [type(fault).__name__])[0][:300]
