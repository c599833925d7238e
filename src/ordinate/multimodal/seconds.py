"""Seconds between the frames of videos, as numbers of one tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from ordinate.checks import described, finite_number
from ordinate.multimodal.token_rows import require
from ordinate.positions import FRACTIONAL_DTYPES, INTEGER_DTYPES

Seconds = Sequence[float] | torch.Tensor | None


def seconds_of(seconds: Seconds, *, count: int, rate: float, device: torch.device) -> torch.Tensor:
    """Take the seconds per frame of each video and give them times the rate.

    Args:
        seconds: Python numbers or a tensor [N], one a video; None: 1 for each.
        count: how many videos there are.
        rate: steps a second. Python floats are multiplied by it in float64 and rounded once; a tensor keeps its precision.
        device: where the numbers are needed.

    Returns:
        A float32 tensor, float64 for a float64 one.

    Shape:
        [N]

    Raises:
        ValueError: for a wrong dtype, shape or count, a tensor on another device, or (on the CPU) numbers below 0 or not finite.

    Example:
        >>> seconds_of([0.5, 1.0], count=2, rate=25, device=torch.device("cpu"))
        tensor([12.5000, 25.0000])
    """
    if isinstance(seconds, torch.Tensor):
        given = _checked(seconds, count, device)
        require(
            ((given >= 0) & given.isfinite()).all(),
            lambda: f"seconds_per_grid: needed finite numbers >= 0, got {given.tolist()}",
        )
        return given * rate
    if seconds is not None and (isinstance(seconds, str) or not isinstance(seconds, Iterable)):
        raise ValueError(f"seconds_per_grid: needed one number a video, got {described(seconds)}")
    numbers = [1.0] * count if seconds is None else [finite_number("seconds_per_grid", second) for second in seconds]
    if len(numbers) != count:
        raise ValueError(f"seconds_per_grid: needed {count} numbers, one a video, got {len(numbers)}")
    if any(number < 0 for number in numbers):
        raise ValueError(f"seconds_per_grid: needed numbers >= 0, got {numbers}")
    steps = torch.tensor([rate * number for number in numbers], dtype=torch.float64, device="cpu")
    return steps.to(torch.float32).to(device, non_blocking=True)


def time_of(frame: torch.Tensor, item: torch.Tensor, seconds: Seconds, *, images: int, videos: int, rate: float) -> torch.Tensor:
    """Steps from the first frame of each token's image or video to its own: frame x seconds, then x rate, each rounded to float32.

    Args:
        frame: number of the token's frame.
        item: row of the table of grids that the token belongs to: images first, then videos.
        seconds: seconds per frame of each video; a frame of an image lasts 1.
        images: how many images there are.
        videos: how many videos there are.
        rate: steps a second.

    Returns:
        A float32 tensor.

    Shape:
        frame [B, T], item [B, T] -> [B, T]

    Example:
        >>> time_of(torch.tensor([[0, 3]]), torch.tensor([[0, 0]]), [0.5], images=0, videos=1, rate=25)
        tensor([[ 0.0000, 37.5000]])
    """
    own = seconds_of(seconds, count=videos, rate=1.0, device=frame.device).to(torch.float32)
    every = torch.cat((own.new_ones(images), own, own.new_ones(1)))
    return frame * every[item] * rate


def _checked(seconds: torch.Tensor, count: int, device: torch.device) -> torch.Tensor:
    if seconds.shape != (count,) or seconds.dtype not in FRACTIONAL_DTYPES + INTEGER_DTYPES:
        raise ValueError(f"seconds_per_grid: needed a float32 or float64 tensor [{count}], one a video, got {described(seconds)}")
    if seconds.device != device:
        raise ValueError(f"seconds_per_grid: needed a tensor on {device}, where token_types is, got one on {seconds.device}")
    return seconds if seconds.is_floating_point() else seconds.to(torch.float32)
