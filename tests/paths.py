"""The ways that a rotation and an attention can go, one by one: ``pytest --path NAME`` holds any test to one of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ordinate import rotation
from ordinate.attention import blocked, choosing, learned, toeplitz
from ordinate.kernels import cpu
from ordinate.schemes import rotary

Patch = pytest.MonkeyPatch


def formula(patch: Patch) -> None:
    """As without a compiler: PyTorch's operators, in place and in blocks."""
    patch.setattr(cpu, "CALL", None)


def whole_formula(patch: Patch) -> None:
    """As compilers and function transforms see it."""
    patch.setattr(rotation, "transformed", lambda: True)
    operator(patch)


def operator(patch: Patch) -> None:
    """As watchers of operators see it, also without a gradient."""
    patch.setattr(rotation, "watched", lambda: True)
    patch.setattr(rotary, "by_kernel", lambda *_: None)
    patch.setattr(rotary, "one_by_kernel", lambda *_: None)


def level(name: str) -> Callable[[Patch], None]:
    def choose(patch: Patch) -> None:
        if cpu.MODULE is None or name not in cpu.MODULE.levels():
            pytest.skip(f"this machine has no {name} kernel")
        chosen = cpu.MODULE

        class Chosen:
            """Chooses at every call, so that nothing has to be put back."""

            def __call__(self, *arguments: object) -> bool:
                before = chosen.chosen()[0]
                chosen.choose(name)
                try:
                    return bool(chosen.rotate(*arguments))
                finally:
                    chosen.choose(before)

        patch.setattr(cpu, "CALL", Chosen())

    return choose


def diagonals_in_chunks(patch: Patch) -> None:
    """A row a chunk."""
    patch.setattr(toeplitz, "LEAST_ROWS", 1)
    patch.setattr(learned, "ROWS", 1)


def without_operators(patch: Patch) -> None:
    """As where PyTorch hides its fused kernels: a learned bias goes whole."""
    patch.setattr(choosing, "operators", lambda: None)


def blocks(patch: Patch) -> None:
    """Two rows a block."""
    patch.setattr(choosing, "_band", lambda *_: None)
    patch.setattr(blocked, "SCORES", 1)
    patch.setattr(blocked, "LEAST_ROWS", 2)


def whole(patch: Patch) -> None:
    """As under a compiler: every bias and mask whole."""
    patch.setattr(choosing, "watched", lambda: True)


def channels(patch: Patch) -> None:
    """ALiBi in extra channels, wherever the CPU's dtype allows."""
    real = choosing.channels_serve

    class OnGpu:
        """Says of a CPU tensor that it lies on a GPU."""

        def __init__(self, x: torch.Tensor) -> None:
            self.device, self.dtype, self.shape = torch.device("cuda"), x.dtype, x.shape

    patch.setattr(choosing, "channels_serve", lambda q, v, *rest: real(OnGpu(q), v, *rest))


PATHS: dict[str, Callable[[Patch], None]] = {
    "formula": formula,
    "whole formula": whole_formula,
    "operator": operator,
    "baseline": level("baseline"),
    "avx2": level("avx2"),
    "avx512": level("avx512"),
    "diagonals in chunks": diagonals_in_chunks,
    "without operators": without_operators,
    "blocks": blocks,
    "whole": whole,
    "channels": channels,
}
ROTATIONS = ("formula", "whole formula", "operator", "baseline", "avx2", "avx512")
