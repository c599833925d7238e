"""ALiBi under a causal mask in a few more channels of q and k, for fused kernels that take no mask.

    scale (q_i . k_j) + slope_h (p_j - ref) = scale (q'_i . k'_j),   q' = [q, slope_h / scale],   k' = [k, p_j - ref]

Where no key is later than its query, -slope_h |p_j - p_i| is slope_h (p_j - ref) less slope_h (p_i - ref), one number a row, which
the softmax cancels. Half-precision numbers are too short for both, so they come in parts: slope_h / scale in two, p_j - ref as
digits, whole numbers that the dtype holds exactly, and there is a channel for every pair of parts. The kernel adds up in float32.
float16 ends at 65504: there the digits are divided by a power of two, and the slopes multiplied by it.

What is left of the error: the slope's parts hold 17 bits of it (23 in float16), which bends it by 2^-17 at most; and float32's sum
of scores that reach slope_h n / 2, where n positions lie around ref, their middle.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F

from ordinate.autocast import attention_dtype
from ordinate.checks import finite_number
from ordinate.fitting import ScoreAt, check_scores
from ordinate.positions import as_tensor, count, described_places, same
from ordinate.schemes.alibi import ALiBi
from ordinate.weighing import fused

MULTIPLE = 8  # widths that fused kernels take


class Parts(NamedTuple):
    """How a dtype of ``bits`` significant bits carries positions: digits of that many bits, all divided by 2^shift.

    Example:
        >>> PARTS[torch.bfloat16].reach  # half of 256^3
        8388608
    """

    bits: int
    digits: int
    shift: int

    @property
    def reach(self) -> int:
        """The largest distance from the middle."""
        return int(2 ** (self.bits * self.digits - 1))


PARTS = {torch.bfloat16: Parts(8, 3, 0), torch.float16: Parts(11, 2, 6)}


def factored(q: torch.Tensor, k: torch.Tensor, scheme: ALiBi, at: ScoreAt, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Widen q and k by channels whose products are ALiBi's bias, up to a constant for every row.

    scale (q'_i . k'_j) = scale (q_i . k_j) + slope_h (p_j - ref). That is ALiBi for keys that are not later than the query: the
    others must be hidden. The kernel must add products in float32: all fused ones do, PyTorch's plain one does unless
    ``torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp`` was called.

    Args:
        q: queries, bfloat16 or float16.
        k: keys of the same dtype.
        scheme: ALiBi.
        at: one rising range, for queries and keys.
        scale: factor of q . k.

    Returns:
        q' and k', D' the next multiple of 8 that holds 6 more channels (4 in float16).

    Shape:
        q [B, H, T, D], k [B, H_kv, T, D] -> [B, H, T, D'], [B, H_kv, T, D']

    Raises:
        TypeError: if the scheme is not ALiBi.
        ValueError: if q and k do not fit, are not in half precision, the positions are no rising range, the same for both, or too
            many, or a slope is too large beside scale.

    Example:
        >>> alibi, x = ALiBi(n_heads=1, slopes=(0.5,)), torch.zeros(1, 1, 5, 8, dtype=torch.bfloat16)
        >>> wide_q, wide_k = factored(x, x, alibi, alibi.at(range(5), range(5)), 0.25)
        >>> wide_q.shape
        torch.Size([1, 1, 5, 16])
        >>> 0.25 * wide_q[0, 0, 4].float() @ wide_k[0, 0].float().mT
        tensor([-1.0000, -0.5000,  0.0000,  0.5000,  1.0000])
    """
    scale = finite_number("scale", scale)
    parts = _checked_parts(q, k, scheme, at)
    slopes = _slope_parts(scheme, scale, parts, q)
    places = _digits(at, parts, q)
    # every part of the slope meets every digit of the position
    more_q, more_k = slopes.repeat(1, parts.digits)[:, None], places.repeat_interleave(2, dim=-1)
    return _widened(q, more_q), _widened(k, more_k)


def attend_factored(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scheme: ALiBi, at: ScoreAt, scale: float, dropout: float
) -> torch.Tensor:
    """Causal attention with ALiBi through PyTorch's fused attention without a mask; under autocast in its dtype.

    Kernels want v as wide as q and k: it is padded with zeros, and the result is cut back.

    Args:
        q: queries, bfloat16 or float16 (or any dtype under autocast to one of them).
        k: keys.
        v: values.
        scheme: ALiBi.
        at: one rising range, for queries and keys.
        scale: factor of q . k.
        dropout: probability of dropping a weight.

    Returns:
        The output, with v's width.

    Shape:
        q [B, H, T, D], k [B, H_kv, T, D], v [B, H_kv, T, E] -> [B, H, T, E]

    Raises:
        TypeError: if the scheme is not ALiBi.
        ValueError: as ``factored``.

    Example:
        >>> alibi, x = ALiBi(n_heads=2, slopes="paper"), torch.randn(1, 2, 5, 8).bfloat16()
        >>> attend_factored(x, x, x, alibi, alibi.at(range(5), range(5)), 0.25, 0.0).shape
        torch.Size([1, 2, 5, 8])
    """
    q, k, v = (x.to(attention_dtype(x)) for x in (q, k, v))
    wide_q, wide_k = factored(q, k, scheme, at, scale)
    width = max(wide_q.shape[-1], _rounded_up(v.shape[-1]))
    wide_q, wide_k, wide_v = (F.pad(x, (0, width - x.shape[-1])) for x in (wide_q, wide_k, v))
    return fused(wide_q, wide_k, wide_v, None, scale, dropout, causal=True)[..., : v.shape[-1]]


def _widened(x: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
    """Put channels behind those of x, and zeros up to a multiple of 8."""
    width = x.shape[-1] + more.shape[-1]
    return torch.cat([x, F.pad(more, (0, _rounded_up(width) - width)).expand(*x.shape[:3], -1)], dim=-1)


def _rounded_up(width: int) -> int:
    return -(-width // MULTIPLE) * MULTIPLE


def _slope_parts(scheme: ALiBi, scale: float, parts: Parts, q: torch.Tensor) -> torch.Tensor:
    """Each head's slope / scale, times 2^shift, as a number of the dtype and what that lacks, [H, 2]."""
    largest = max(map(abs, scheme.slope_values)) * 2.0**parts.shift
    if scale == 0 or largest > abs(scale) * torch.finfo(q.dtype).max:
        raise ValueError(
            f"scale: needed slope / scale of sizes up to {torch.finfo(q.dtype).max / 2**parts.shift:g} in {q.dtype}, "
            f"got slopes {scheme.slope_values} and scale {scale}; attend takes any"
        )
    factors = [slope / scale * 2.0**parts.shift for slope in scheme.slope_values]
    # rounded as Python's numbers: compilers drop the casts that would do it
    heads = [_rounded(factor, parts.bits) for factor in factors]
    pairs = [(head, factor - head) for head, factor in zip(heads, factors, strict=True)]
    return torch.tensor(pairs, dtype=q.dtype, device=q.device)


def _rounded(number: float, bits: int) -> float:
    """The nearest number of that many significant bits."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)


def _digits(at: ScoreAt, parts: Parts, q: torch.Tensor) -> torch.Tensor:
    """p_j - ref in digits of both signs, the lowest first, each with its place value over 2^shift, [T, digits]."""
    places, base = at.k_positions, 2**parts.bits
    assert isinstance(places, range)
    rest = as_tensor(range(-(count(places) // 2), count(places) - count(places) // 2), q.device) * places.step
    digits = []
    for place in range(parts.digits):
        digit = (rest + base // 2) % base - base // 2
        rest = (rest - digit) // base
        digits.append(digit.to(q.dtype) * 2.0 ** (parts.bits * place - parts.shift))
    return torch.stack(digits, dim=-1)


def _checked_parts(q: torch.Tensor, k: torch.Tensor, scheme: object, at: ScoreAt) -> Parts:
    if not isinstance(scheme, ALiBi):
        raise TypeError(f"scheme: needed ALiBi, whose causal bias is a product of slope and position, got {type(scheme).__name__}")
    check_scores(q, k, at, scheme="ALiBi", n_heads=scheme.n_heads)
    if q.dtype not in PARTS or k.dtype != q.dtype:
        raise ValueError(
            f"q, k: needed both in bfloat16 or both in float16, got {q.dtype} and {k.dtype}; "
            "in wider dtypes adding the bias is more exact: attend does"
        )
    rows, columns = at
    if not isinstance(columns, range) or not same(rows, columns) or columns.step < 0:
        raise ValueError(
            "at: needed one rising range for queries and keys, as the causal mask goes by index, "
            f"got {described_places(rows)} and {described_places(columns)}; attend takes any positions"
        )
    parts = PARTS[q.dtype]
    if (count(columns) // 2) * columns.step > parts.reach:
        raise ValueError(f"at: needed positions up to {parts.reach} from their middle in {q.dtype}, got {columns}")
    return parts
