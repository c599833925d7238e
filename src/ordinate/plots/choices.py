"""Which positions, dimensions, heads and distances a figure shows; and the numbers it draws, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ordinate.checks import described, whole_number
from ordinate.positions import Positions, as_tensor, check, count

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Choice = int | Sequence[int]


def places_of(positions: int | Positions, *, least: int = 1, most: int | None = None) -> Positions:
    """Take the positions to draw.

    Args:
        positions: n for the first n (or all, where there are fewer), a range, or a tensor [T].
        least: how many the figure needs.
        most: how many there are, if that is known.

    Returns:
        A range or a tensor [T].

    Raises:
        TypeError: if it is none of these.
        ValueError: if there are too few, or a tensor is not [T].

    Example:
        >>> places_of(50, most=32), places_of(range(4, 6))
        (range(0, 32), range(4, 6))
    """
    if not isinstance(positions, (range, torch.Tensor)):
        number = whole_number("positions", positions, least=least)
        return range(number if most is None else min(number, most))
    check(positions)
    if isinstance(positions, torch.Tensor) and positions.ndim != 1:
        raise ValueError(f"positions: needed a tensor [T] for one picture, got {described(positions)}; choose one row")
    if count(positions) < least:
        raise ValueError(f"positions: needed at least {least} to draw, got {count(positions)}")
    return positions


def chosen(name: str, choice: Choice, there: int, *, most: int | None = None) -> list[int]:
    """Take the dimensions or heads to draw.

    Args:
        name: what the caller calls them.
        choice: n for the first n (or all, where there are fewer), or their numbers, from 0.
        there: how many there are.
        most: how many lines a figure can hold.

    Returns:
        Their numbers.

    Raises:
        ValueError: if one is not there, or there are none or too many.

    Example:
        >>> chosen("heads", 3, 8), chosen("heads", range(4, 6), 8)
        ([0, 1, 2], [4, 5])
        >>> chosen("heads", [8], 8)
        Traceback (most recent call last):
        ValueError: heads: needed numbers 0..7, got 8
    """
    if isinstance(choice, str) or not isinstance(choice, Sequence):
        numbers = list(range(min(whole_number(name, choice, least=1), there)))
    else:
        numbers = [whole_number(name, number) for number in choice]
    if not numbers or (most is not None and len(numbers) > most):
        raise ValueError(
            f"{name}: needed {'at least 1' if most is None else f'1 to {most}'} to draw, got {len(numbers)}; choose others"
        )
    outside = [number for number in numbers if number >= there]
    if outside:
        raise ValueError(f"{name}: needed numbers 0..{there - 1}, got {', '.join(map(str, outside))}")
    return numbers


def spread(there: int, most: int) -> list[int]:
    """Choose some of many, evenly from the first on.

    Args:
        there: how many there are.
        most: how many to choose.

    Returns:
        Their numbers, rising.

    Example:
        >>> spread(16, 4), spread(3, 4)
        ([0, 4, 8, 12], [0, 1, 2])
    """
    return [index * there // most for index in range(most)] if there > most else list(range(there))


def device_of(scheme: nn.Module) -> torch.device:
    """Say where a scheme's weights are.

    Args:
        scheme: with or without weights.

    Returns:
        Their device, or the CPU.

    Example:
        >>> device_of(nn.Identity())
        device(type='cpu')
    """
    first = next(scheme.parameters(), None)
    return torch.device("cpu") if first is None else first.device


def numbers_of(positions: Positions) -> list[float]:
    """Positions as Python numbers, for the axes.

    Args:
        positions: a range or a tensor [T].

    Returns:
        One number a position.

    Example:
        >>> numbers_of(range(2, 4)), numbers_of(torch.tensor([0.5]))
        ([2, 3], [0.5])
    """
    numbers: list[float] = as_tensor(positions).tolist()
    return numbers


def array_of(values: torch.Tensor) -> npt.NDArray[np.float64]:
    """A tensor as a float64 array that may be drawn.

    Args:
        values: any floating tensor.

    Returns:
        The numbers.

    Raises:
        ValueError: if one is not finite.

    Shape:
        any -> the same

    Example:
        >>> array_of(torch.tensor([0.5], dtype=torch.bfloat16)).tolist()
        [0.5]
    """
    numbers: Any = values.detach().double().cpu().numpy()
    if not bool(torch.isfinite(values).all()):
        raise ValueError(
            f"values: needed finite numbers to draw, got nan or infinity in {described(values)}; look for what made them"
        )
    return numbers  # type: ignore[no-any-return]
