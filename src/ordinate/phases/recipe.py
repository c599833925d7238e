"""The exact recipe in PyTorch's operators, as the package's text has it, and the inexact one that checkpoints were trained by."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from ordinate.phases.blocks import BLOCK, FEW, LONG, by_blocks, few, long_range
from ordinate.phases.frequencies import PIECE, Frequencies
from ordinate.positions import Positions, as_tensor
from ordinate.watching import is_plain, watched

_function_modes, _default_device = torch._C._len_torch_function_stack, torch._C._get_default_device
_SMALL = 2 ** (PIECE - 1)
_NO_FLOAT64 = ("mps", "xla")


def exact(
    positions: Positions,
    frequencies: Frequencies,
    *,
    axes: Sequence[int] | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute cos and sin of position x frequency, correct to 0.51 ulp of float32 for |position| < 2^48.

    Fractional positions keep that too, but for values of cos and sin below 1e-12: those are within 2e-20 (frequencies up to 100).

    Args:
        positions: a range, or a tensor [T], [B, T] or [B, T, A].
        frequencies: the n frequencies.
        axes: for positions [B, T, A], which coordinate each frequency multiplies.
        device: where a range's result is made; a tensor's stays with the tensor.
        dtype: float32 (rounded once) or float64 (a few ulp of float64).

    Returns:
        cos and sin.

    Shape:
        positions [..., T] -> two of [..., T, n]

    Example:
        >>> from ordinate.phases import from_base
        >>> cos, sin = exact(range(2**31 - 1, 2**31), from_base(10000.0, [(0, 2)]))
        >>> round(cos.item(), 6), round(sin.item(), 6)
        (-0.688837, -0.724917)
    """
    pairs, plain = len(frequencies.turns), not watched()
    brief = plain and dtype == torch.float32
    if brief and isinstance(positions, range) and 0 < len(positions) * pairs <= FEW and _is_on_cpu(device):
        places = np.arange(positions.start, positions.stop, positions.step)
        return few(places, frequencies, small=_is_small(positions))
    place = as_tensor(positions, device)
    home = place.device
    if plain and home.type == "cpu" and pairs and place.ndim < 3 and is_plain(place):
        if brief and place.numel() * pairs <= FEW and place.dtype == torch.int64:
            return few(place.numpy(), frequencies, small=False)
        if isinstance(positions, range) and place.numel() >= LONG:
            return long_range(positions, frequencies, dtype, _by_operators)
        if place.numel() * pairs > BLOCK:
            return by_blocks(place, frequencies, dtype, _by_operators)
    if home.type in _NO_FLOAT64:
        place = place.cpu()
    pieces = torch.tensor(frequencies.pieces, dtype=torch.float64, device=place.device)
    cos, sin = _by_operators(_for_each_pair(place, axes), pieces, small=_is_small(positions))
    return cos.to(dtype).to(home), sin.to(dtype).to(home)


def whole_turns(place: torch.Tensor, pieces: torch.Tensor, *, small: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Give the exact part of position x frequency, folded to about a turn, and what is left of it.

    Args:
        place: positions with a last dim that broadcasts against the pairs; int64 or float64.
        pieces: seven rows of ``Frequencies.pieces``.
        small: whether all |positions| <= 2^25, so that there is no high part.

    Returns:
        Turns (a multiple of 2^-52 for whole positions) and the rest, both float64.

    Example:
        >>> from ordinate.phases import from_values
        >>> pieces = torch.tensor(from_values([math.pi / 2]).pieces, dtype=torch.float64)
        >>> [part.item() for part in whole_turns(torch.tensor([5]), pieces, small=True)][0]
        0.25
    """
    a1, a2, a3, b1, b2, b3, turn = pieces
    low = place.double()
    high = None
    if not small:
        high = (low * 2.0**-PIECE).round()
        low = low - high * 2.0**PIECE
    fraction = None
    if place.is_floating_point():
        whole = low.round()
        low, fraction = whole, low - whole
    turns = _fold(low * a1) + low * a2
    rest = low * a3
    if high is not None:
        turns = turns + (_fold(high * b1) + high * b2)
        rest = rest + high * b3
    if fraction is not None:
        # 20 bits of the fraction go through exact products, the rest is tiny; `turn` keeps the whole turns of large frequencies.
        coarse = (fraction * 2.0**20).round() * 2.0**-20
        head = a1 + (turn - a1).round()
        turns = _fold(turns) + _fold(coarse * head)
        rest = rest + (coarse * a2 + coarse * a3 + (fraction - coarse) * turn)
    return turns, rest


def float32(
    positions: Positions,
    radians: Sequence[float],
    *,
    axes: Sequence[int] | None = None,
    device: torch.device | str | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute cos and sin with every step rounded to float32, bit for bit as transformers computes them.

    The product p w is off by up to half an ulp of the angle, so the error grows with the position: 4e-3 at 131071, 0.4 at 1e7.

    Args:
        positions: a range, or a tensor [T], [B, T] or [B, T, A].
        radians: inverse frequencies; rounded to float32.
        axes: for positions [B, T, A], which coordinate each frequency multiplies.
        device: where a range's result is made.

    Returns:
        cos and sin, float32.

    Shape:
        positions [..., T] -> two of [..., T, n]

    Example:
        >>> cos, sin = float32(range(3), [1.0, 0.01])
        >>> cos.shape
        torch.Size([3, 2])
    """
    place = as_tensor(positions, device)
    angles = _for_each_pair(place.float(), axes) * torch.tensor(radians, dtype=torch.float32, device=place.device)
    return angles.cos(), angles.sin()


def _by_operators(place: torch.Tensor, pieces: torch.Tensor, *, small: bool) -> tuple[torch.Tensor, torch.Tensor]:
    return _cos_sin_of_turns(*whole_turns(place, pieces, small=small))


def _is_on_cpu(device: torch.device | str | None) -> bool:
    """Where the result of a range is made."""
    if device is not None:
        return torch.device(device).type == "cpu"
    return _function_modes() == 0 and _default_device() == "cpu"  # torch.set_default_device works by a function mode


def _for_each_pair(place: torch.Tensor, axes: Sequence[int] | None) -> torch.Tensor:
    """[..., T] -> [..., T, 1]; [B, T, A] -> [B, T, n]."""
    if axes is None or place.ndim < 3:
        return place[..., None]
    return place.index_select(-1, torch.tensor(axes, device=place.device))


def _is_small(positions: Positions) -> bool:
    """Known without reading values to need no high part."""
    return (
        isinstance(positions, range)
        and min(positions.start, positions.stop) >= -_SMALL
        and max(positions.start, positions.stop) <= _SMALL
    )


def _fold(turns: torch.Tensor) -> torch.Tensor:
    return turns - turns.round()


def _cos_sin_of_turns(turns: torch.Tensor, rest: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    quadrant = (turns * 4).round()
    angle = ((turns - quadrant * 0.25) + rest) * (2 * math.pi)
    cos, sin = angle.cos(), angle.sin()
    quadrant = quadrant.remainder(4)
    odd = (quadrant == 1) | (quadrant == 3)
    turned_cos, turned_sin = torch.where(odd, sin, cos), torch.where(odd, cos, sin)
    negative_cos = (quadrant == 1) | (quadrant == 2)
    return torch.where(negative_cos, -turned_cos, turned_cos), torch.where(quadrant >= 2, -turned_sin, turned_sin)
