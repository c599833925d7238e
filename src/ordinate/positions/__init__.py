"""Where the tokens are: how positions are made, and the one place that checks them.

A position is a Python ``range`` (sequential; fast paths know it without reading values) or a tensor ``[T]`` or ``[B, T]``, or
``[B, T, A]`` where a token has A coordinates. Which document a token belongs to is a second tensor, never read out of the
positions.
"""

from ordinate.positions.counting import continued, from_padding_mask, sequential
from ordinate.positions.datum import (
    FRACTIONAL_DTYPES,
    INTEGER_DTYPES,
    Packed,
    Positions,
    as_tensor,
    check,
    count,
    described_places,
    ends,
    same,
)
from ordinate.positions.grids import grid
from ordinate.positions.packing import packed

__all__ = [
    "FRACTIONAL_DTYPES",
    "INTEGER_DTYPES",
    "Packed",
    "Positions",
    "as_tensor",
    "check",
    "continued",
    "count",
    "described_places",
    "ends",
    "from_padding_mask",
    "grid",
    "packed",
    "same",
    "sequential",
]
