"""Projections trained for one pair layout, made fit for the other: rows within each head change places, and nothing else.

    half from interleaved, n = rotary_dim:  row i of a head takes row 2i, row n/2 + i takes row 2i + 1;  n = 6: [0, 2, 4, 1, 3, 5]
    interleaved from half:                  row 2i takes row i, row 2i + 1 takes row n/2 + i;            n = 6: [0, 3, 1, 4, 2, 5]

Queries and keys of a converted model are permuted alike, so every score stays what it was; values and the output projection have no
layout. Where known converters differ: those that take the number of query heads for keys too are wrong for grouped-query attention,
and those that move whole heads are wrong where only a part of the head turns.
"""

from __future__ import annotations

from typing import Any, get_args

import torch

from ordinate.checks import described
from ordinate.rotation import Layout
from ordinate.scaling.rule import require, whole
from ordinate.schemes.rope_settings import width_faults


def convert_layout(
    weight: torch.Tensor,
    *,
    to: Layout,
    n_heads: int,
    head_dim: int,
    n_kv_heads: int | None = None,
    rotary_dim: int | None = None,
    rotary_start: int = 0,
) -> torch.Tensor:
    """Convert a query or key projection between the two pair layouts.

    Whatever has one row for each output of the projection is converted alike: the weight, its bias, scales of quantised rows (and
    rows packed along their inputs, as GGUF packs them), a LoRA B factor. A LoRA A factor, a scale for the whole tensor, values and
    the output projection need no conversion. The weight of a norm over the head's entries is a projection with ``n_heads=1``.

    Args:
        weight: of queries or keys, one row an output as ``nn.Linear`` has it, in any dtype that torch can index; n_heads or
            n_kv_heads heads, which of the two its number of rows says.
        to: the layout wanted; the weight has the other one.
        n_heads: query heads.
        head_dim: width of a head.
        n_kv_heads: key heads; n_heads if None.
        rotary_dim: entries of a head that turn; all from rotary_start on if None. Rows of the others stay where they are.
        rotary_start: first entry that turns.

    Returns:
        A new contiguous tensor of the same dtype on the same device, without gradient history. Back and forth gives the same bits.

    Raises:
        ValueError: if a number or the layout does not fit, or if the rows are those of neither queries nor keys; all faults in one
            message.

    Shape:
        [n_heads * head_dim, ...] or [n_kv_heads * head_dim, ...] -> the same

    Example:
        >>> bias = torch.arange(6)
        >>> convert_layout(bias, to="half", n_heads=1, head_dim=6)
        tensor([0, 2, 4, 1, 3, 5])
        >>> convert_layout(bias, to="interleaved", n_heads=1, head_dim=6)
        tensor([0, 3, 1, 4, 2, 5])

    Reference:
        Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.4.2 (interleaved); GPT-NeoX-20B, https://arxiv.org/abs/2204.06745
        (half)
    """
    n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
    faults = [f"to: needed one of {', '.join(get_args(Layout))}, got {to!r}"] if to not in get_args(Layout) else []
    faults += head_faults(n_heads, n_kv_heads, head_dim, rotary_dim, rotary_start)
    require("convert_layout", faults or _row_faults(weight, n_heads, n_kv_heads, head_dim))
    width = head_dim - rotary_start if rotary_dim is None else rotary_dim
    heads = weight.detach().reshape(len(weight) // head_dim, head_dim, *weight.shape[1:])
    return heads[:, _order(to, head_dim, width, rotary_start)].reshape(weight.shape).contiguous()


def head_faults(n_heads: Any, n_kv_heads: Any, head_dim: Any, rotary_dim: Any, rotary_start: Any) -> list[str]:
    """Find what is wrong with the heads of a projection and with the entries that turn.

    Args:
        n_heads: query heads.
        n_kv_heads: key heads.
        head_dim: width of a head.
        rotary_dim: entries that turn, or None for all from rotary_start on.
        rotary_start: first entry that turns.

    Returns:
        Faults.

    Example:
        >>> head_faults(9, 2, 64, None, 0)
        ['n_kv_heads: needed a divisor of n_heads=9, got 2']
    """
    faults = whole("n_heads", n_heads, least=1) + whole("n_kv_heads", n_kv_heads, least=1)
    if not faults and n_heads % n_kv_heads:
        faults = [f"n_kv_heads: needed a divisor of n_heads={n_heads}, got {n_kv_heads}"]
    widths = whole("head_dim", head_dim, least=1) + whole("rotary_start", rotary_start, least=0)
    widths += [] if rotary_dim is None else whole("rotary_dim", rotary_dim, least=2)
    if not widths:
        widths = width_faults(head_dim, head_dim - rotary_start if rotary_dim is None else rotary_dim, rotary_start, None)
    return faults + widths


def _row_faults(weight: Any, n_heads: int, n_kv_heads: int, head_dim: int) -> list[str]:
    if not isinstance(weight, torch.Tensor) or weight.ndim == 0:
        return [f"weight: needed a tensor with one row an output, got {described(weight)}; torch.from_numpy takes arrays"]
    rows, queries, keys = len(weight), n_heads * head_dim, n_kv_heads * head_dim
    if rows in (queries, keys):
        return []
    needed = f"{queries} rows (n_heads={n_heads} x head_dim={head_dim})"
    if keys != queries:
        needed += f" or {keys} (n_kv_heads={n_kv_heads} x head_dim={head_dim})"
    if keys == queries and rows < queries and rows % head_dim == 0 and n_heads % (rows // head_dim or 1) == 0:
        hint = f"fewer key heads than query heads? pass n_kv_heads={rows // head_dim}"
    elif rows == queries + 2 * keys:
        hint = (
            f"queries, keys and values in one are converted apart: weight.split(({queries}, {keys}, {keys})) where they follow one "
        )
        hint += "another, weight.view(n_heads, 3, head_dim, -1).unbind(1) where each head has its three"
    else:
        hint = "a LoRA A factor (its rows are the rank) and a scale for the whole tensor need no conversion, a fused projection is "
        hint += "split first, weights [inputs, outputs] are transposed first"
    return [f"weight: needed {needed}, got {described(weight)}; {hint}"]


def _order(to: Layout, head_dim: int, width: int, start: int) -> torch.Tensor:
    """Which row of the old head each row of the new one takes."""
    order = torch.arange(head_dim, device="cpu")
    turning = order[start : start + width].clone()
    shape = (-1, 2) if to == "half" else (2, -1)
    order[start : start + width] = turning.view(shape).t().flatten()
    return order
