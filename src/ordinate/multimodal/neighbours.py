"""What stands before and behind a token, found without reading."""

from __future__ import annotations

import torch


def moved(flags: torch.Tensor, by: int) -> torch.Tensor:
    """Flags of the token that stands ``by`` before each (behind it, for a negative number); false beyond the row.

    Args:
        flags: one a token.
        by: how far.

    Returns:
        A bool tensor.

    Shape:
        [B, T]

    Example:
        >>> moved(torch.tensor([[True, False, False]]), 1)
        tensor([[False,  True, False]])
    """
    out = torch.zeros_like(flags)
    if by > 0:
        out[:, by:] = flags[:, :-by]
    else:
        out[:, :by] = flags[:, -by:]
    return out


def latest(flags: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Index of the latest token so far that has its flag up; 0 before the first.

    Args:
        flags: one a token.
        index: 0, 1, ... in every row.

    Returns:
        An int64 tensor.

    Shape:
        [B, T]

    Example:
        >>> latest(torch.tensor([[False, True, False, True]]), torch.arange(4)[None])
        tensor([[0, 1, 1, 3]])
    """
    return torch.where(flags, index, 0).cummax(1).values


def nearest_ahead(flags: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Index of the nearest token from here on that has its flag up; the row's last index behind all of them.

    Args:
        flags: one a token.
        index: 0, 1, ... in every row.

    Returns:
        An int64 tensor.

    Shape:
        [B, T]

    Example:
        >>> nearest_ahead(torch.tensor([[False, True, False, False]]), torch.arange(4)[None])
        tensor([[1, 1, 3, 3]])
    """
    return torch.where(flags, index, flags.shape[1] - 1).flip(1).cummin(1).values.flip(1)
