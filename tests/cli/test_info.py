"""``ordinate info``: which ways are in use, and why not the others."""

from __future__ import annotations

import os
import subprocess
import sys

import torch

from ordinate.kernels import cpu


def said(**environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "ordinate.cli.main", "info"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout


def test_it_says_what_runs() -> None:
    status, text = said()
    rows = dict(line.split("  ", 1) for line in text.splitlines())
    assert status == 0
    assert f"torch {torch.__version__}" in rows["versions"]
    way = "compiled kernel (" if cpu.CALL else "PyTorch's operators: it was not built"
    assert rows["rotation, CPU"].strip().startswith(way)
    assert ("Triton kernel" in rows["rotation, GPU"]) == torch.cuda.is_available()
    assert "fused kernel" in rows["learned biases, CPU"]


def test_it_says_why_not() -> None:
    status, text = said(ORDINATE_KERNEL="off")
    assert status == 0
    assert "PyTorch's operators: ORDINATE_KERNEL=off" in text
    status, text = said(ORDINATE_KERNEL="warp")
    assert status == 2
    assert text.startswith("ordinate: ORDINATE_KERNEL: needed one of off, baseline")
