"""Compile the GPU's kernel where there is no GPU: a process that prints, one line of JSON a form, what PTX came of it."""

from __future__ import annotations

import json
from typing import Any

import torch

from ordinate.formula import Pairs
from ordinate.kernels import gpu

NARROW = ("bfloat16", "float16")
# Hopper in all forms; Ampere has no bfloat16 sums, Blackwell has products of two at once.
NAMES = [
    *(f"sm_90 {dtype} {layout}" for dtype in ("float32", "float64", *NARROW) for layout in ("half", "interleaved")),
    *(f"sm_90 {dtype} half rounded" for dtype in NARROW),
    *(f"sm_{target} bfloat16 half{rounded}" for target in (80, 100) for rounded in ("", " rounded")),
]
FUSED = "fused"


class Elsewhere:
    """Stands for the driver of a GPU that is not here."""

    target: int

    def get_current_device(self) -> int:
        return self.target

    def get_current_stream(self, device: int) -> int:
        return device

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.target, 32)


def compiled(driver: Elsewhere, name: str) -> str:
    """The PTX of one of NAMES, for queries and keys as a model has them."""
    target, dtype_name, layout, *rounded = name.split()
    driver.target, dtype = int(target.removeprefix("sm_")), getattr(torch, dtype_name)
    q, k = torch.empty(1, 32, 64, 128, dtype=dtype), torch.empty(1, 8, 64, 128, dtype=dtype)
    angles = torch.empty(64, 64, dtype=torch.promote_types(dtype, torch.float32))
    vectors = [(q, torch.empty_like(q)), (k, torch.empty_like(k))]
    assert gpu.turn(vectors, angles, angles.clone(), Pairs(layout, 0, 1, -2, bool(rounded)))
    return MADE.pop().asm["ptx"]


MADE: list[Any] = []


def _instead_of_running(run: Any, **options: Any) -> Any:
    def compile_only(self: Any, *args: Any, **kwargs: Any) -> Any:
        MADE.append(run(self, *args, **{**kwargs, **options, "warmup": True}))
        return MADE[-1]

    return compile_only


if __name__ == "__main__":
    from triton.runtime import driver, jit

    gpu.why_not = lambda device: None  # noqa: ARG005
    driver.set_active(Elsewhere())
    run = jit.JITFunction.run
    jit.JITFunction.run = _instead_of_running(run)
    for name in NAMES:
        print(json.dumps([name, compiled(driver.active, name)]), flush=True)
    jit.JITFunction.run = _instead_of_running(run, enable_fp_fusion=True)
    print(json.dumps([FUSED, compiled(driver.active, NAMES[0])]), flush=True)
