"""Rows of a table at another number of positions.

    linear:  new row p reads the old table at (p + 1/2) old / new - 1/2, cut to its ends, between two neighbouring rows
    nearest: new row p is old row floor(p old / new)

Where known implementations differ: "linear" is that of SAM, ViTDet and ``torch.nn.functional.interpolate`` by default, where all
distances shrink by one factor, old / new. With align_corners=True the ends would stay on the ends and the factor be
(old - 1) / (new - 1). Sizes are whole numbers: from a scale factor, 37 rows do not always become 39.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F

LengthMethod = Literal["linear", "nearest", "truncate"]


def resample_rows(rows: torch.Tensor, length: int, *, method: LengthMethod) -> torch.Tensor:
    """Give a table's rows for another number of positions.

    Args:
        rows: the table, floating.
        length: rows wanted, at least 1.
        method: "linear" (between neighbouring rows), "nearest", or "truncate" (the first ones, none new).

    Returns:
        A new tensor in the table's dtype. "linear" is computed in float32 (float64 for float64), as models do it, and rounded once;
        in float32 a place is off by up to 1e-7 of the length.

    Raises:
        ValueError: if "truncate" should lengthen.

    Shape:
        [n, d] -> [length, d]

    Example:
        >>> table = torch.tensor([[0.0], [1.0], [2.0]])
        >>> resample_rows(table, 6, method="linear").flatten().tolist()
        [0.0, 0.25, 0.75, 1.25, 1.75, 2.0]
        >>> resample_rows(table, 6, method="nearest").flatten().tolist()
        [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    """
    if method == "truncate":
        if length > len(rows):
            raise ValueError(f'method: needed at most {len(rows)} rows from "truncate", got {length}; use "linear" to lengthen')
        return rows[:length].clone()
    if (
        method == "nearest"
    ):  # whole numbers: interpolate's float32 ratio takes the row before where p old / new is whole, as in 2 -> 82
        return rows[torch.arange(length, device=rows.device) * len(rows) // length]
    work = rows.to(torch.promote_types(rows.dtype, torch.float32))
    return F.interpolate(work[None].permute(0, 2, 1), size=length, mode="linear")[0].t().to(rows.dtype).contiguous()
