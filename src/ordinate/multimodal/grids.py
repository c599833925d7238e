"""Sizes of images and videos: frames, rows, columns, in patches; and after the model has merged neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from ordinate.checks import described, whole_number
from ordinate.multimodal.token_rows import require
from ordinate.positions import INTEGER_DTYPES

Grids = Sequence[Sequence[int]] | torch.Tensor | None
AXES = ("frames", "rows", "columns")


def merged(name: str, grids: Grids, *, by: tuple[int, int], device: torch.device) -> torch.Tensor:
    """Take grids of patches and give their sizes in tokens.

    Args:
        name: what the caller calls them.
        grids: (frames, rows, columns) of each, as Python ints or as an integer tensor [N, 3]; None for none.
        by: how many frames, and how many rows and columns, become one.
        device: where the table is needed. Python ints are sent there without waiting for the device.

    Returns:
        An int64 tensor.

    Shape:
        [N, 3]

    Raises:
        ValueError: for sizes that are not whole, below 1, or not divisible by the merge (a tensor's values: on the CPU only), a
            wrong shape or dtype, or a tensor on another device.

    Example:
        >>> merged("image_grids", [(1, 4, 6)], by=(1, 2), device=torch.device("cpu"))
        tensor([[1, 2, 3]])
    """
    frames, sides = by
    factors = (frames, sides, sides)
    if isinstance(grids, torch.Tensor):
        table = _checked(name, grids, device)
        divisor = torch.tensor(factors, device="cpu").to(device, non_blocking=True)
        require(
            ((table >= 1) & (table % divisor == 0)).all(),
            lambda: f"{name}: needed sizes >= 1, divisible by {factors} (frames, rows, columns), got {table.tolist()}",
        )
        return table // divisor
    rows = [_sizes(name, grid, factors) for grid in _listed(name, grids)]
    return torch.tensor(rows, dtype=torch.int64, device="cpu").view(-1, 3).to(device, non_blocking=True)


def _checked(name: str, grids: torch.Tensor, device: torch.device) -> torch.Tensor:
    if grids.ndim != 2 or grids.shape[1] != 3 or grids.dtype not in INTEGER_DTYPES:
        raise ValueError(f"{name}: needed an integer tensor [N, 3] (frames, rows, columns), got {described(grids)}")
    if grids.device != device:
        raise ValueError(f"{name}: needed a tensor on {device}, where token_types is, got one on {grids.device}; or Python ints")
    return grids.long()


def _listed(name: str, grids: Iterable[Sequence[int]] | None) -> list[Sequence[int]]:
    if grids is None:
        return []
    if isinstance(grids, str) or not isinstance(grids, Iterable):
        raise ValueError(f"{name}: needed a list of (frames, rows, columns), got {described(grids)}")
    return list(grids)


def _sizes(name: str, grid: Sequence[int], factors: Sequence[int]) -> list[int]:
    if not isinstance(grid, Sequence) or isinstance(grid, str) or len(grid) != 3:
        raise ValueError(f"{name}: needed (frames, rows, columns) for each, got {described(grid)}")
    sizes = [whole_number(f"{name}: {axis}", size, least=1) for axis, size in zip(AXES, grid, strict=True)]
    for axis, size, factor in zip(AXES, sizes, factors, strict=True):
        if size % factor:
            raise ValueError(f"{name}: needed {axis} divisible by {factor}, the merge, got {tuple(sizes)}")
    return [size // factor for size, factor in zip(sizes, factors, strict=True)]
