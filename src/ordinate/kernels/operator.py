"""The rotation as one operator of PyTorch, ``ordinate::rotate``, for eager mode with gradients and for whoever watches operators.

Backward is the inverse rotation, so nothing of the vectors is kept. Where cos and sin are learned, the result is kept (attention
keeps it anyway) and the vectors are found again from it: x = R^T y / (cos^2 + sin^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ordinate.formula import Layout, Pairs, spread, turn_into
from ordinate.kernels import cpu, gpu

_LIBRARY: Any = torch.library.Library("ordinate", "DEF")  # type: ignore[no-untyped-call]
_LIBRARY.define(
    "rotate(Tensor[] vectors, Tensor cos, Tensor sin, str layout, int start, int parts, int sequence_dim, bool rounds) -> Tensor[]"
)


def turn(vectors: Sequence[tuple[torch.Tensor, torch.Tensor]], cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs) -> None:
    """Turn tensors by the fastest way there is for their device and form.

    Args:
        vectors: (x, out) each; out may be x itself.
        cos: cosines, in the dtype that is worked in.
        sin: sines.
        pairs: which entries turn.

    Example:
        >>> x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> turn([(x, x)], *quarter, Pairs("half", 0, 1, -2, False))
        >>> x
        tensor([[[-2.,  1.]]])
    """
    for some in (vectors[i : i + 2] for i in range(0, len(vectors), 2)):
        kernel = cpu if some[0][0].is_cpu else gpu
        if not kernel.turn(some, cos, sin, pairs):
            for x, out in some:
                turn_into(out, x, cos, sin, pairs)


def rotate(vectors: Sequence[torch.Tensor], cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs) -> list[torch.Tensor]:
    """Call the operator.

    Args:
        vectors: what turns.
        cos: cosines, in the dtype that is worked in.
        sin: sines.
        pairs: which entries turn.

    Returns:
        New tensors.

    Shape:
        x [B, H, T, D], cos and sin [T, n] or [B, T, n] -> as x

    Example:
        >>> x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> rotate([x], *quarter, Pairs("half", 0, 1, -2, False))
        [tensor([[[-2.,  1.]]])]
    """
    turned: list[torch.Tensor] = torch.ops.ordinate.rotate.default(list(vectors), cos, sin, *pairs)
    return turned


def room_for(x: torch.Tensor, cos: torch.Tensor) -> torch.Tensor:
    """Give memory for a result: laid out as x, or in order where some entries pass through, as transformers' models have it.

    What reads the result may round differently by its layout: PyTorch's attention in bfloat16 does.

    Args:
        x: what turns.
        cos: cosines of the pairs.

    Returns:
        An empty tensor like x.

    Example:
        >>> x = torch.zeros(1, 3, 2, 4).transpose(1, 2)
        >>> room_for(x, torch.zeros(3, 2)).stride(), room_for(x, torch.zeros(3, 1)).stride()
        ((24, 4, 8, 1), (24, 12, 4, 1))
    """
    if 2 * cos.shape[-1] == x.shape[-1]:
        return torch.empty_like(x)
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _forward(vectors: Sequence[torch.Tensor], cos: torch.Tensor, sin: torch.Tensor, *pairs: Any) -> list[torch.Tensor]:
    outs = [room_for(x, cos) for x in vectors]
    turn(list(zip(vectors, outs, strict=True)), cos, sin, Pairs(*pairs))
    return outs


def _shapes(vectors: Sequence[torch.Tensor], cos: torch.Tensor, *_: Any) -> list[torch.Tensor]:
    return [room_for(x, cos) for x in vectors]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    vectors, cos, sin, *pairs = inputs
    ctx.pairs, ctx.learned = Pairs(*pairs), cos.requires_grad or sin.requires_grad
    ctx.turns = [x.requires_grad for x in vectors]
    ctx.save_for_backward(cos, sin, *(output if ctx.learned else ()))


def _backward(ctx: Any, gradients: Sequence[torch.Tensor | None]) -> tuple[Any, ...]:
    cos, sin, *turned = ctx.saved_tensors
    wanted = [i for i, gradient in enumerate(gradients) if gradient is not None and ctx.turns[i]]
    back = rotate([_unit_stride(gradients[i]) for i in wanted], cos, -sin, ctx.pairs) if wanted else []
    of_vectors: list[torch.Tensor | None] = [None] * len(gradients)
    for i, gradient in zip(wanted, back, strict=True):
        of_vectors[i] = gradient
    of_cos = of_sin = None
    if ctx.learned:
        found = [_of_angles(y, g, cos, sin, ctx.pairs) for y, g in zip(turned, gradients, strict=True) if g is not None]
        of_cos, of_sin = (sum(parts) for parts in zip(*found, strict=True)) if found else (None, None)
    return of_vectors, of_cos, of_sin, None, None, None, None, None


def _unit_stride(gradient: Any) -> Any:
    """The kernel needs neighbours in memory; a gradient that was expanded from a sum has none."""
    return gradient if gradient.shape[-1] == 1 or gradient.stride(-1) == 1 else gradient.contiguous()


def _of_angles(
    y: torch.Tensor, gradient: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients to cos and sin, from the turned vectors y: the vectors before are R^T y / (cos^2 + sin^2)."""
    stop = pairs.start + 2 * cos.shape[-1]
    first, second = _each(y[..., pairs.start : stop].to(cos.dtype), pairs.layout, pairs.parts)
    to_first, to_second = _each(gradient[..., pairs.start : stop].to(cos.dtype), pairs.layout, pairs.parts)
    c, s = (spread(table, y.ndim, pairs.sequence_dim) for table in (cos, sin))
    size = c * c + s * s
    x1, x2 = (first * c + second * s) / size, (second * c - first * s) / size
    of_cos, of_sin = to_first * x1 + to_second * x2, to_second * x1 - to_first * x2
    return of_cos.sum_to_size(c.shape).reshape(cos.shape), of_sin.sum_to_size(c.shape).reshape(sin.shape)


def _each(x: torch.Tensor, layout: Layout, parts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """First and second entries of all pairs, in the order of cos and sin."""
    cut = x.reshape(*x.shape[:-1], parts, -1)
    first, second = cut.chunk(2, dim=-1) if layout == "half" else (cut[..., 0::2], cut[..., 1::2])
    return first.flatten(-2), second.flatten(-2)


_LIBRARY.impl("rotate", _forward, "CompositeExplicitAutograd")
torch.library.register_fake("ordinate::rotate", _shapes, lib=_LIBRARY)
torch.library.register_autograd("ordinate::rotate", _backward, setup_context=_remember, lib=_LIBRARY)
