"""Positions as people give them: tensors, arrays, lists, or the first part of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.comparing import Array, as_array


def asked(call: Callable[[], Any], shape: Callable[[Array], Array] | None = None) -> Array | Failed:
    """Call a builder and take its positions as numbers.

    Args:
        call: takes no arguments; what gives several things gives the positions first.
        shape: brings them into one form; it may raise.

    Returns:
        The positions, or how the call fails.

    Example:
        >>> asked(lambda: ([0, 1], "more")).tolist()
        [0.0, 1.0]
        >>> print(asked(lambda: [0, 1], lambda positions: positions.reshape(3)))
        ValueError: cannot reshape array of size 2 into shape (3,)
    """

    def taken() -> Array:
        positions = as_array(parts(call())[0])
        return positions if shape is None else shape(positions)

    return attempt(taken)


def parts(given: Any) -> tuple[Any, ...]:
    """Take apart what a builder gives.

    Args:
        given: positions, or several things that can be unpacked.

    Returns:
        The things; positions alone as the only one.

    Example:
        >>> parts([0, 1]), parts(([0, 1], 3))
        (([0, 1],), ([0, 1], 3))
    """
    return (given,) if isinstance(given, (torch.Tensor, np.ndarray, list, range)) else tuple(given)


def row(positions: Array) -> Array:
    """Take [1, N] for [N].

    Args:
        positions: a row, or a batch of one.

    Returns:
        The row.

    Example:
        >>> row(as_array([[0, 1]])).tolist()
        [0.0, 1.0]
    """
    return positions[0] if positions.ndim == 2 and len(positions) == 1 else positions
