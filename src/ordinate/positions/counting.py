"""Positions of tokens in a row: from 0, after a past, or counting real tokens only."""

from __future__ import annotations

import torch

from ordinate.checks import described, whole_number
from ordinate.positions.datum import INTEGER_DTYPES, Positions


def sequential(n: int, *, device: torch.device | str | None = None) -> torch.Tensor:
    """Positions 0, 1, ..., n - 1 as a tensor (a ``range`` is better everywhere but in an exported graph).

    Args:
        n: how many tokens.
        device: where the tensor lives.

    Returns:
        An int64 tensor.

    Shape:
        [n]

    Raises:
        ValueError: if n is negative.

    Example:
        >>> sequential(4)
        tensor([0, 1, 2, 3])
    """
    return torch.arange(whole_number("n", n), device=device)


def continued(past: int | torch.Tensor, n: int) -> Positions:
    """Positions of the next n tokens when ``past`` tokens came before: past, past + 1, ..., past + n - 1.

    Args:
        past: tokens already seen: one int for all rows, or an integer tensor [B] with one count a row.
        n: how many tokens follow.

    Returns:
        A range for an int, an int64 tensor for a tensor.

    Shape:
        [n] for an int, [B, n] for a tensor

    Raises:
        ValueError: if n or an int past is no whole number >= 0, or a tensor is not an integer tensor [B] (its values are not read).

    Example:
        >>> continued(6, 2)
        range(6, 8)
        >>> continued(torch.tensor([3, 0]), 2)
        tensor([[3, 4],
                [0, 1]])
    """
    n = whole_number("n", n)
    if isinstance(past, torch.Tensor):
        if past.dtype not in INTEGER_DTYPES or past.ndim != 1:
            raise ValueError(f"past: needed an int or an integer tensor [B], got {described(past)}")
        return past[:, None].long() + torch.arange(n, device=past.device)
    past = whole_number("past", past)
    return range(past, past + n)


def from_padding_mask(mask: torch.Tensor) -> torch.Tensor:
    """Positions that count real tokens only, for padding on the left, on the right or in between.

    position[b, t] = max(0, (number of real tokens in mask[b, :t + 1]) - 1). Real tokens count from 0; a pad slot repeats the
    position of the real token before it (0 if there is none), so that it is always a valid index. Positions alone do not hide the
    padding: give ``mask=mask.bool()[:, None, None, :]`` to ``attend`` as well.

    Args:
        mask: true (or 1) for a real token, false (or 0) for padding.

    Returns:
        An int64 tensor.

    Shape:
        mask [B, T] or [T] -> the same

    Raises:
        ValueError: if mask is not boolean or integer, or not [T] or [B, T].

    Example:
        >>> from_padding_mask(torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]]))
        tensor([[0, 0, 0, 1, 2],
                [0, 1, 2, 2, 2]])
    """
    if not isinstance(mask, torch.Tensor) or mask.dtype not in (torch.bool, *INTEGER_DTYPES) or mask.ndim not in (1, 2):
        raise ValueError(f"mask: needed a bool or integer tensor [B, T] (true = a real token), got {described(mask)}")
    return ((mask != 0).long().cumsum(-1) - 1).clamp(min=0)
