"""Exported graphs keep the length open: torch.export both ways, and ONNX read by onnxruntime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import ordinate
from ordinate import positions

INDUCTOR_WARNS = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
LENGTHS = (2, 4, 33)


class Attention(torch.nn.Module):
    def __init__(self, scheme: Any) -> None:
        super().__init__()
        self.scheme = scheme

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        places = positions.sequential(q.shape[2])
        return ordinate.attend(q, k, v, scheme=self.scheme, q_positions=places, k_positions=places, causal=True)


class Input(torch.nn.Module):
    def __init__(self, scheme: Any) -> None:
        super().__init__()
        self.scheme = scheme

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scheme(x, positions.sequential(x.shape[1]))


MODELS = {
    "rope": lambda: Attention(ordinate.Rope(head_dim=16, layout="half")),
    "interleaved": lambda: Attention(ordinate.Rope(head_dim=16, layout="interleaved", rotary_dim=8)),
    "alibi": lambda: Attention(ordinate.ALiBi(n_heads=4, slopes="paper")),
    "t5": lambda: Attention(ordinate.T5Bias(n_heads=4, bidirectional=False)),
    "sinusoidal": lambda: Input(ordinate.Sinusoidal(d_model=16)),
}


def inputs(name: str, length: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(length)
    shapes = [(1, length, 16)] if name == "sinusoidal" else [(1, 4, length, 16), (1, 2, length, 16), (1, 2, length, 16)]
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


def open_lengths(name: str) -> tuple[dict[int, Any], ...]:
    length = torch.export.Dim("length", min=2, max=4096)
    return ({1: length},) if name == "sinusoidal" else ({2: length},) * 3


@INDUCTOR_WARNS
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("strict", [False, True])
def test_a_graph_of_any_length(name: str, strict: bool) -> None:
    model = MODELS[name]().eval()
    program = torch.export.export(model, inputs(name, 8), dynamic_shapes=open_lengths(name), strict=strict).module()
    for length in LENGTHS:
        given = inputs(name, length)
        assert (program(*given) - model(*given)).abs().max() < 1e-6


ONNX = """
import sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
import numpy as np, onnxruntime, torch
from test_export import LENGTHS, MODELS, inputs, open_lengths
for name in ("rope", "interleaved", "alibi", "sinusoidal"):
    model = MODELS[name]().eval()
    file = f"{sys.argv[2]}/{name}.onnx"
    torch.onnx.export(model, inputs(name, 8), dynamo=True, dynamic_shapes=open_lengths(name), verbose=False).save(file)
    session = onnxruntime.InferenceSession(file)
    for length in LENGTHS:
        given = inputs(name, length)
        fed = {entry.name: x.numpy() for entry, x in zip(session.get_inputs(), given, strict=True)}
        gap = np.abs(session.run(None, fed)[0] - model(*given).detach().numpy()).max()
        print("RESULT", name, length, gap)
"""


def test_onnx(tmp_path: Path) -> None:
    """In a process of its own: exporters warn, and leave much behind."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    done = subprocess.run(
        [sys.executable, "-c", ONNX, str(Path(__file__).parent), str(tmp_path)], capture_output=True, text=True, check=False
    )
    found = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert len(found) == 4 * len(LENGTHS), done.stderr[-2000:]
    for name, length, gap in found:
        assert float(gap) < 2e-6, (name, length, gap)
