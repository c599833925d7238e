"""The compiled rotation for the CPU: whether it serves here, and its call on raw pointers.

The kernel is built when the package is installed, if there is a C compiler, and is the same file for every PyTorch: it is given
addresses, sizes and strides, and checks that they fit. ``ORDINATE_KERNEL=off`` in the environment turns it off; the name of an
instruction set (``baseline``, ``avx2``, ``avx512``, ``avx512_bf16``) takes that one in place of the best.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import ModuleType

import torch

from ordinate.formula import Pairs

SWITCH = "ORDINATE_KERNEL"
LEVELS = ("baseline", "avx2", "avx512", "avx512_bf16")  # instruction sets, as rotate.c has them
DTYPES = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2, torch.float64: 3}


def _loaded() -> tuple[ModuleType | None, str]:
    """The compiled module and the instruction set it uses, or None and why not."""
    asked = os.environ.get(SWITCH, "")
    if asked not in ("", "off", *LEVELS):
        raise ValueError(f"{SWITCH}: needed one of off, {', '.join(LEVELS)}, got {asked!r}")
    if asked == "off":
        return None, f"{SWITCH}=off"
    try:
        from ordinate.kernels import _rotate
    except ImportError as fault:
        return None, f"it was not built, or does not load here ({fault}); with a C compiler, reinstall ordinate"
    if asked:
        try:
            _rotate.choose(asked)
        except ValueError:
            known = ", ".join(("off", *_rotate.levels()))
            raise ValueError(f"{SWITCH}: needed one of {known} on this machine, got {asked!r}") from None
    name, threads = _rotate.chosen()
    return _rotate, f"{name}, {'threads of PyTorch' if threads else 'one thread: no OpenMP library was found'}"


MODULE, REASON = _loaded()
CALL: Callable[..., bool] | None = None if MODULE is None else MODULE.rotate


def turn(vectors: Sequence[tuple[torch.Tensor, torch.Tensor]], cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs) -> bool:
    """Turn one or two tensors by the kernel.

    Args:
        vectors: (x, out) each; out may be x itself.
        cos: cosines, float32 (float64 for float64 vectors).
        sin: sines.
        pairs: which entries turn.

    Returns:
        Whether it was done; False where there is no kernel, or none for this form (nothing is written then).

    Shape:
        x [B, H, T, D] or [B, T, H, D], or three dims without B; cos and sin [T, n] or [B, T, n]

    Example:
        >>> x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> done = turn([(x, x)], *quarter, Pairs("half", 0, 1, -2, False))
        >>> x.tolist() == ([[[-2.0, 1.0]]] if done else [[[1.0, 2.0]]])
        True
    """
    dtype = DTYPES.get(vectors[0][0].dtype)
    if CALL is None or dtype is None:
        return False
    work = torch.float64 if dtype == DTYPES[torch.float64] else torch.float32
    tensors = [x for both in vectors for x in both]
    if cos.dtype != work or sin.dtype != work or any(x.dtype != tensors[0].dtype for x in tensors):
        return False
    if not all(x.is_cpu and not x.is_neg() for x in (cos, sin, *tensors)):
        return False
    arguments: list[object] = []
    for x, out in vectors:
        arguments += (x.data_ptr(), out.data_ptr(), x.shape, x.stride(), out.stride())
    return CALL(
        dtype,
        (pairs.layout == "interleaved") + 2 * pairs.rounds,
        pairs.sequence_dim,
        pairs.parts,
        pairs.start,
        0,
        cos.data_ptr(),
        sin.data_ptr(),
        cos.shape,
        cos.stride(),
        sin.shape,
        sin.stride(),
        *arguments,
    )
