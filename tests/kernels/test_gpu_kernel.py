"""The GPU's kernel: run in Triton's interpreter, compiled for GPUs that are not here, and run on one where there is one."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gpu_cases
import gpu_compiled
import pytest
import torch

from ordinate.formula import Pairs
from ordinate.kernels import gpu

needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
CUDA, CPU = torch.device("cuda"), torch.device("cpu")
WHY_NOT = gpu.why_not(CUDA)
# 1 and -1 in bfloat16, alone and in twos, as PTX writes them.
ONES = ("0x3F80", "0xBF80", str(0x3F803F80), str(0xBF80BF80 - 2**32))
Answers = dict[str, Any]


def _answers(script: Path, **variables: str) -> Answers:
    """What a process said of each case. One that it did not come to has the process's end as its answer."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env={**environment, **variables}, check=False)
    end = f"the process ended before or in this case, with {done.returncode}:\n{done.stderr[-2000:]}"
    return {"": end, **dict(json.loads(line) for line in done.stdout.splitlines())}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, Answers]:
    """Both processes, side by side."""
    with ThreadPoolExecutor() as pool:
        interpreted = pool.submit(_answers, Path(gpu_cases.__file__), TRITON_INTERPRET="1")
        compiled = pool.submit(_answers, Path(gpu_compiled.__file__), TRITON_CACHE_DIR=str(tmp_path_factory.mktemp("triton")))
    return interpreted.result(), compiled.result()


@needs_triton
@pytest.mark.parametrize("name", [gpu_cases.LIGHT, *gpu_cases.CASES, *gpu_cases.FAR])
def test_interpreted(name: str, answers: tuple[Answers, Answers]) -> None:
    interpreted, _ = answers
    fault = interpreted.get(name, interpreted[""])
    assert fault is None


@needs_triton
@pytest.mark.parametrize("name", gpu_compiled.NAMES)
def test_compiled_rounds_where_the_formula_does(name: str, answers: tuple[Answers, Answers]) -> None:
    """Products and sums are rounded each for itself, to the nearest, and small numbers are kept; 16 bytes are read at a time."""
    _, compiled = answers
    ptx = compiled.get(name, compiled[""])
    work = "f64" if "float64" in name else "f32"
    assert f"mul.rn.{work}" in ptx
    assert "ld.global.v2.b64" in ptx or "ld.global.v4.b32" in ptx
    assert not re.search(r"\bftz\b|\.approx|\b(mul|add|sub)\.f|cvt\.r[zmp]", ptx)
    fused = re.findall(r"\bfma\.rn\.(?:bf16|bf16x2)\s+%\w+, %\w+, (%\w+), %\w+;", ptx)
    assert len(fused) == len(re.findall(r"\bfma\b|\bmad\.\S*f", ptx))
    for factor in fused:
        # How a GPU without sums of bfloat16 adds two numbers that were rounded before: one of them times 1 or -1.
        assert re.search(rf"mov\.b(16|32)\s+{factor}, ({'|'.join(ONES)});", ptx)


@needs_triton
def test_compiled_with_fusion_would_fuse(answers: tuple[Answers, Answers]) -> None:
    """The option is what keeps products and sums apart."""
    _, compiled = answers
    ptx = compiled.get(gpu_compiled.FUSED, compiled[""])
    assert "fma.rn.f32" in ptx


@pytest.mark.skipif(WHY_NOT is not None, reason=f"no kernel for a GPU here: {WHY_NOT}")
def test_on_a_gpu() -> None:
    faults = {name: gpu_cases.fault_of(case, "cuda") for name, case in gpu_cases.CASES.items()}
    faults |= {name: gpu_cases.far_fault_of(**what, device="cuda") for name, what in gpu_cases.FAR.items()}
    assert {name: fault for name, fault in faults.items() if fault is not None} == {}


def test_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert gpu.why_not(CPU) == "device cpu"
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)  # noqa: ARG005
        assert gpu.why_not(CUDA) == "no triton"
        patch.setenv("TRITON_INTERPRET", "1")
        assert gpu.why_not(CPU) == "no triton"
        assert gpu.why_not(torch.device("meta")) == "device meta"


@pytest.mark.parametrize(
    ("capability", "hip", "reason"),
    [
        ((7, 5), None, "compute capability 7.5, below 8.0"),
        ((8, 0), None, None),
        ((12, 0), None, None),
        ((9, 0), "6.4", "no NVIDIA GPU"),
    ],
)
def test_why_not_on_gpus(capability: tuple[int, int], hip: str | None, reason: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)  # noqa: ARG005
    monkeypatch.setattr(torch.version, "hip", hip)
    assert gpu.why_not(CUDA) == reason
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.why_not(CUDA) == "no NVIDIA GPU"


class Launches(list[tuple[int, ...]]):
    """Stands for the kernel and keeps the grids that it was started with."""

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        self.append(grid)
        return lambda *_, **options: None  # noqa: ARG005


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Launches:
    found = Launches()
    monkeypatch.setattr(gpu, "why_not", lambda device: None)  # noqa: ARG005
    monkeypatch.setattr(gpu, "_kernel", lambda: found)
    return found


X, ANGLES = torch.zeros(2, 3, 5, 8), torch.zeros(5, 4)
HALF = Pairs("half", 0, 1, -2, False)


def test_queries_and_keys_share_a_launch(launches: Launches) -> None:
    assert gpu.turn([(X, X), (X[:, :1], X[:, :1])], ANGLES, ANGLES, HALF)
    assert len(launches) == 1


def test_the_vectors_device_is_the_current_one(launches: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton starts kernels on the current device, whatever the tensors' own is."""
    made_current: list[int] = []
    device = torch.cuda.device
    monkeypatch.setattr(torch.cuda, "device", lambda index: made_current.append(index) or device(index))
    assert gpu.turn([(X, X)], ANGLES, ANGLES, HALF)
    assert (made_current, len(launches)) == ([X.get_device()], 1)


@pytest.mark.parametrize("empty", [X[:0], X[:, :0], X[:, :, :0]], ids=["no row", "no head", "no token"])
def test_nothing_is_launched_for_nothing(empty: torch.Tensor, launches: Launches) -> None:
    assert gpu.turn([(empty, empty)], ANGLES[: empty.shape[2]], ANGLES[: empty.shape[2]], HALF)
    assert launches == []


REFUSED: dict[str, tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]] = {
    "apart in memory": ([torch.zeros(2, 3, 5, 16)[..., ::2]], ANGLES, ANGLES),
    "two dims": ([X[0, 0]], ANGLES, ANGLES),
    "five dims": ([X[None]], ANGLES, ANGLES),
    "two dtypes": ([X, X.bfloat16()], ANGLES, ANGLES),
    "8 bits": ([X.to(torch.float8_e5m2)], ANGLES, ANGLES),
    "cos in float64": ([X], ANGLES.double(), ANGLES),
    "sin in float32 for float64": ([X.double()], ANGLES.double(), ANGLES),
    "cos apart in memory": ([X], torch.zeros(5, 8)[:, ::2], ANGLES),
    "sin elsewhere": ([X], ANGLES, ANGLES.to("meta")),
    "no pair": ([X], ANGLES[:, :0], ANGLES[:, :0]),
    "angles of other tokens": ([X], ANGLES[:4], ANGLES[:4]),
    "angles of other rows": ([X], ANGLES.expand(3, 5, 4), ANGLES.expand(3, 5, 4)),
    "angles of rows for heads": ([X[0]], ANGLES.expand(3, 5, 4), ANGLES.expand(3, 5, 4)),
    "keys of other tokens": ([X, X[:, :, :1]], ANGLES[:1], ANGLES[:1]),
    "keys of other rows": ([X, X[:1]], ANGLES, ANGLES),
    "wider keys": ([X, torch.zeros(2, 3, 5, 10)], ANGLES, ANGLES),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_forms_are_refused(name: str, launches: Launches) -> None:
    xs, cos, sin = REFUSED[name]
    assert not gpu.turn([(x, x) for x in xs], cos, sin, HALF)
    assert launches == []
