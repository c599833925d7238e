"""Coordinates of the patches of images and videos."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ordinate.checks import finite_number, finite_numbers, one_of, whole_number
from ordinate.positions.datum import FRACTIONAL_DTYPES

LARGEST = 2**31


def grid(
    height: int,
    width: int,
    *,
    frames: int | None = None,
    frame_times: Sequence[float] | None = None,
    merge: int = 1,
    prefix: int = 0,
    suffix: int = 0,
    first: float | Sequence[float] = 0,
    centred: bool = False,
    times: float | Sequence[float] = 1,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """Coordinates (row, column), or (frame, row, column), of the patches of one image or video.

        token number n = (t height + y) width + x  has the coordinates (t, y, x), each plus ``first``, times ``times``

    Row after row, frame after frame; with ``merge`` = m the patches come in blocks of m x m, as encoders that join each block into
    one token take them. Tokens before and after the patches (class and register tokens) get coordinate 0, where nothing turns.

    Args:
        height: rows.
        width: columns.
        frames: images one after another; None for one image and two coordinates.
        frame_times: the frames' time stamps (seconds, say) in place of 0, 1, ...
        merge: side of the blocks that are joined; divides height and width.
        prefix: tokens before the patches.
        suffix: tokens after them.
        first: the first row's and column's number, or one for each coordinate (1 for EfficientLoFTR and Llama 4's encoder); one
            number leaves time stamps as they are.
        centred: the middles of the patches on a scale from -1 to 1, 2 (y + 0.5) / height - 1, in place of y (DINOv3).
        times: factor of the coordinates, or one for each (2 pi turns a centred grid into radians; a fraction stretches a grid to
            another resolution).
        dtype: int64 for whole numbers, float64 otherwise; float32 takes every step in float32, as models do.
        device: where the tensor lives.

    Returns:
        The coordinates, for ``AxialRope`` and ``MultimodalRope``.

    Shape:
        [1, prefix + frames height width + suffix, 2 or 3]

    Raises:
        ValueError: if a size is no whole number >= 1, merge does not divide, or numbers do not fit the coordinates.

    Example:
        >>> grid(2, 3)[0].tolist()
        [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
        >>> grid(2, 4, merge=2)[0, :5].tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2]]
        >>> grid(1, 2, prefix=1, centred=True)[0].tolist()
        [[0.0, 0.0], [0.0, -0.5], [0.0, 0.5]]
        >>> grid(1, 2, frames=2, frame_times=[0.0, 0.5])[0].tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.0], [0.5, 0.0, 1.0]]
    """
    sizes = [whole_number("height", height, least=1), whole_number("width", width, least=1)]
    stamps = None if frame_times is None else finite_numbers("frame_times", frame_times)
    if frames is not None or stamps is not None:
        sizes.insert(0, whole_number("frames", len(stamps or ()) if frames is None else frames, least=1))
    if stamps is not None and len(stamps) != sizes[0]:
        raise ValueError(f"frame_times: needed one for each of {sizes[0]} frames, got {len(stamps)}")
    merge = whole_number("merge", merge, least=1)
    if height % merge or width % merge:
        raise ValueError(f"merge: needed a number that divides height and width, got {merge} for {height} x {width}")
    starts, factors = _one_each("first", first, len(sizes)), _one_each("times", times, len(sizes))
    if stamps is not None and not isinstance(first, Sequence):
        starts[0] = 0.0  # one number is that of rows and columns; a time has one of its own
    if centred and any(starts):
        raise ValueError(f"first: needed 0 for a centred grid, whose coordinates are no numbers of patches, got {first}")
    whole = not centred and stamps is None and all(float(number).is_integer() for number in (*starts, *factors))
    dtype = (torch.int64 if whole else torch.float64) if dtype is None else dtype
    one_of("dtype", dtype, FRACTIONAL_DTYPES if not whole else (torch.int32, torch.int64, *FRACTIONAL_DTYPES))
    rows = [_axis(size, start, centred=centred, dtype=dtype, device=device) for size, start in zip(sizes, starts, strict=True)]
    if stamps is not None:
        rows[0] = torch.tensor(stamps, dtype=dtype, device=device) + starts[0]
    rows = [row * (int(factor) if whole else factor) for row, factor in zip(rows, factors, strict=True)]
    coordinates = torch.stack(torch.meshgrid(*rows, indexing="ij"), dim=-1)
    patches = _in_blocks(coordinates, merge).reshape(1, -1, len(sizes))
    outside = [whole_number(name, number) for name, number in (("prefix", prefix), ("suffix", suffix))]
    before, after = (patches.new_zeros(1, number, len(sizes)) for number in outside)
    return torch.cat((before, patches, after), dim=1)


def _one_each(name: str, given: float | Sequence[float], axes: int) -> list[float]:
    numbers = finite_numbers(name, given) if isinstance(given, Sequence) else (finite_number(name, given),) * axes
    if len(numbers) != axes:
        raise ValueError(f"{name}: needed one number, or one for each of {axes} coordinates, got {len(numbers)}")
    if any(abs(number) > LARGEST for number in numbers):
        raise ValueError(f"{name}: needed numbers up to {LARGEST}, got {given}")
    return list(numbers)


def _axis(size: int, start: float, *, centred: bool, dtype: torch.dtype, device: torch.device | str | None) -> torch.Tensor:
    if centred:
        return (torch.arange(size, dtype=dtype, device=device) + 0.5) / size * 2.0 - 1.0
    return torch.arange(size, dtype=dtype, device=device) + (int(start) if start.is_integer() else start)


def _in_blocks(coordinates: torch.Tensor, merge: int) -> torch.Tensor:
    """[.., height, width, A] -> [.., height / m, width / m, m, m, A]."""
    if merge == 1:
        return coordinates
    *before, height, width, axes = coordinates.shape
    blocks = coordinates.reshape(*before, height // merge, merge, width // merge, merge, axes)
    return blocks.transpose(-4, -3)
