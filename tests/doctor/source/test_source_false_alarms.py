"""Real source: nothing crashes, and every flag above a note has its reason here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import ordinate
from ordinate.doctor.finding import CANNOT
from ordinate.doctor.source import diagnose_source

COMPLEX = "turns complex numbers in forward: ONNX has none"
STORED = "keeps inv_freq in its state dict, and published files carry it"
ALONE = "called with a cache and without position_ids, a new token is at position 0"
DEFENDED = {
    ("bamba", "ORD401"): ALONE,
    ("blt", "ORD401"): ALONE,
    ("bros", "ORD701"): STORED,
    ("clvp", "ORD701"): STORED,
    ("deepseek_v2", "ORD204"): COMPLEX,
    ("esm", "ORD701"): STORED,
    ("evolla", "ORD701"): STORED,
    ("llama4", "ORD204"): COMPLEX,
    ("pegasus_x", "ORD201"): "makes exponents in the dtype of the embeddings: sinusoids of a bfloat16 model are another table",
    ("phimoe", "ORD704"): "branches on torch.max(position_ids)",
    ("phimoe", "ORD108"): "chooses long or short by the largest position of the call",
    ("seamless_m4t", "ORD701"): STORED,
    ("udop", "ORD704"): "takes the prefix lengths out as NumPy numbers in forward",
    ("vjepa2", "ORD201"): "makes frequencies in the dtype of the queries",
    ("vjepa2", "ORD301"): "repeats angles as halves and turns neighbours: the two of a pair turn by different angles",
    ("wav2vec2_conformer", "ORD701"): STORED,
}
OTHERS = {
    "torchtune/modules/position_embeddings.py": set(),
    "rotary_embedding_torch/rotary_embedding_torch.py": set(),
    "x_transformers/x_transformers.py": {"ORD701"},
}


def loud(path: Path) -> set[str]:
    found = diagnose_source(path)
    assert not any(each.code == CANNOT for each in found), found
    return {each.code for each in found if each.severity != "note"}


def folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed; make bench installs it")
    return Path(spec.origin).parent


def modelling_files() -> list[Path]:
    files = sorted((folder_of("transformers") / "models").glob("*/modeling_*.py"))
    assert len(files) > 100
    return files


def undefended(files: list[Path]) -> set[tuple[str, str]]:
    return {(path.parent.name, code) for path in files for code in loud(path)} - set(DEFENDED)


def test_every_sixth_model_of_transformers() -> None:
    assert undefended(modelling_files()[::6]) == set()


@pytest.mark.slow
def test_models_of_transformers() -> None:
    assert undefended(modelling_files()) == set()


def test_the_flags_of_this_release() -> None:
    transformers = pytest.importorskip("transformers")
    if transformers.__version__ != "5.24.0":
        pytest.skip(f"the reasons are those of 5.24.0, got {transformers.__version__}")
    models = folder_of("transformers") / "models"
    for name in sorted({name for name, _ in DEFENDED}):
        found = {code for path in sorted((models / name).glob("modeling_*.py")) for code in loud(path)}
        assert found == {code for model, code in DEFENDED if model == name}, name


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_libraries(name: str) -> None:
    package, _, rest = name.partition("/")
    assert loud(folder_of(package) / rest) == OTHERS[name]


def test_this_package_itself() -> None:
    root = Path(ordinate.__file__).parent
    found = {path.relative_to(root).as_posix(): diagnose_source(path) for path in sorted(root.rglob("*.py"))}
    # A course note's function, made anew with its fault, so that a claim can be settled.
    assert {path: [each.code for each in told] for path, told in found.items() if told} == {"claims/words_formula.py": ["ORD601"]}


BOTH_LAYOUTS = """
import torch

def rotate_half(x, interleaved=False):
    if not interleaved:
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((-x2, x1), dim=-1)
    else:
        x1, x2 = x[..., ::2], x[..., 1::2]
        return torch.stack((-x2, x1), dim=-1).flatten(-2)

def apply(x, freqs, interleaved=False):
    angles = torch.cat((freqs, freqs), dim=-1) if not interleaved else freqs.repeat_interleave(2, dim=-1)
    return x * angles.cos() + rotate_half(x, interleaved) * angles.sin()
"""
ANY_NAME = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, past=None):
        o = 0 if past is None else past[0][0].shape[2]
        position_ids = torch.arange(x.shape[1]) + o
        return self.wpe(position_ids)
"""


@pytest.mark.parametrize("text", [BOTH_LAYOUTS, ANY_NAME])
def test_branches_and_names_of_any_kind(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.py"
    path.write_text(text)
    assert loud(path) == set()
