"""The shortest way to the CPU kernel, for decoding one token at a time, where every step counts."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.autograd import forward_ad

from ordinate.formula import Pairs
from ordinate.kernels import cpu

Tensor = torch.Tensor
_compiling, _grad, _empty_like = torch.compiler.is_compiling, torch.is_grad_enabled, torch.empty_like
_modes, _trace = torch._C._len_torch_dispatch_stack, torch._C._get_tracing_state
_transform = torch._C._functorch.peek_interpreter_stack
_CODES = {dtype: code for dtype, code in cpu.DTYPES.items() if dtype != torch.float64}  # whose cos and sin are float32


class Quick(NamedTuple):
    """What the kernel is told of a scheme, put together once: flags, sequence_dim, parts, start, width of a head.

    Example:
        >>> quick(Pairs("interleaved", 0, 1, -2, False), 8)
        Quick(flags=1, sequence_dim=-2, parts=1, start=0, width=8)
    """

    flags: int
    sequence_dim: int
    parts: int
    start: int
    width: int


def quick(pairs: Pairs, width: int) -> Quick:
    """Put together what the kernel is told of a scheme.

    Args:
        pairs: which entries turn; their products are not rounded.
        width: that vectors must have.

    Returns:
        Plain numbers.

    Example:
        >>> quick(Pairs("half", 2, 1, -3, False), 8).start
        2
    """
    return Quick(int(pairs.layout == "interleaved"), pairs.sequence_dim, pairs.parts, pairs.start, width)


def by_kernel(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, how: Quick) -> tuple[Tensor, Tensor] | None:
    """Turn queries and keys by the CPU kernel in the fewest steps, for decoding one token at a time, where every step counts.

    Args:
        q: queries.
        k: keys.
        cos: cosines, float32.
        sin: sines.
        how: from ``quick``.

    Returns:
        New tensors; None wherever anything is not as plain as can be (the caller then goes the long way, which also finds faults).

    Example:
        >>> x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> found = by_kernel(x, x, *quarter, quick(Pairs("half", 0, 1, -2, False), 2))
        >>> found is None or found[1].tolist() == [[[-2.0, 1.0]]]
        True
    """
    if _compiling() or _modes() or _trace() is not None or _transform() is not None or forward_ad._current_level >= 0:
        return None  # ``watched`` without its call
    if cpu.CALL is None or type(q) is not Tensor or type(k) is not Tensor:
        return None
    dtype = q.dtype
    code = _CODES.get(dtype)
    if code is None or k.dtype is not dtype or not (q.is_cpu and k.is_cpu and cos.is_cpu) or q.is_neg() or k.is_neg():
        return None
    if _grad() and (q.requires_grad or k.requires_grad or cos.requires_grad or sin.requires_grad):
        return None
    flags, sequence_dim, parts, start, width = how
    pairs, in_order, k_in_order = cos.shape, q.is_contiguous(), k.is_contiguous()
    if not (in_order and k_in_order) and 2 * pairs[-1] != width:  # the result lies otherwise
        return None
    turned_q, turned_k = _empty_like(q), _empty_like(k)
    done = cpu.CALL(
        code,
        flags,
        sequence_dim,
        parts,
        start,
        width,
        cos.data_ptr(),
        sin.data_ptr(),
        pairs,
        None if cos.is_contiguous() else cos.stride(),
        sin.shape,
        None if sin.is_contiguous() else sin.stride(),
        q.data_ptr(),
        turned_q.data_ptr(),
        q.shape,
        None if in_order else q.stride(),
        None,
        k.data_ptr(),
        turned_k.data_ptr(),
        k.shape,
        None if k_in_order else k.stride(),
        None,
    )
    return (turned_q, turned_k) if done else None


def one_by_kernel(x: Tensor, cos: Tensor, sin: Tensor, how: Quick) -> Tensor | None:
    """Do as ``by_kernel`` does to queries or keys alone.

    Args:
        x: queries or keys.
        cos: cosines, float32.
        sin: sines.
        how: from ``quick``.

    Returns:
        A new tensor, or None.

    Example:
        >>> x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> found = one_by_kernel(x, *quarter, quick(Pairs("half", 0, 1, -2, False), 2))
        >>> found is None or found.tolist() == [[[-2.0, 1.0]]]
        True
    """
    if _compiling() or _modes() or _trace() is not None or _transform() is not None or forward_ad._current_level >= 0:
        return None  # ``watched`` without its call
    if cpu.CALL is None or type(x) is not Tensor:
        return None
    code = _CODES.get(x.dtype)
    if code is None or not (x.is_cpu and cos.is_cpu) or x.is_neg():
        return None
    if _grad() and (x.requires_grad or cos.requires_grad or sin.requires_grad):
        return None
    flags, sequence_dim, parts, start, width = how
    pairs, in_order = cos.shape, x.is_contiguous()
    if not in_order and 2 * pairs[-1] != width:  # the result lies otherwise
        return None
    turned_x = _empty_like(x)
    done = cpu.CALL(
        code,
        flags,
        sequence_dim,
        parts,
        start,
        width,
        cos.data_ptr(),
        sin.data_ptr(),
        pairs,
        None if cos.is_contiguous() else cos.stride(),
        sin.shape,
        None if sin.is_contiguous() else sin.stride(),
        x.data_ptr(),
        turned_x.data_ptr(),
        x.shape,
        None if in_order else x.stride(),
        None,
    )
    return turned_x if done else None
