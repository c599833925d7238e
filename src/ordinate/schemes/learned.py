"""Learned position vectors: a table of parameters. Gehring et al. 2017, https://arxiv.org/abs/1705.03122 (and BERT, GPT-2)

    P[p] = weight[p + padding_offset]

Where known implementations differ: BERT and GPT-2 read row p for position p. RoBERTa, OPT and fairseq keep rows below an offset of
2 for padding: position p reads row p + 2, and a table for 512 positions has 514 rows. Models that share one file format can so be
off by two rows with no error. What happens past the end differs too: an error, a wrap-around (arange(T) % max_length), or a clamp.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import nn

from ordinate.arguments import call_arguments
from ordinate.checks import one_of, probability, whole_number
from ordinate.fitting import as_rows, check_tokens
from ordinate.positions import Positions, as_tensor, check, count, ends
from ordinate.sites import Facts, InputScheme

Overflow = Literal["error", "wrap", "clamp"]

INITIAL_STANDARD_DEVIATION = 0.02


class Learned(InputScheme):
    """A learned vector for each position, added to the token vectors; nothing exists past the table's end.

    P[p] = weight[p + padding_offset] for positions p = 0 .. max_length - 1; max_length + padding_offset rows.

    Args:
        max_length: usable positions.
        d_model: width of the token vectors.
        padding_offset: rows before the row of position 0 (2 in RoBERTa, OPT and fairseq's tables).
        overflow: a position >= max_length is an "error", starts again at 0 ("wrap": p mod max_length), or takes the last row
            ("clamp"). A negative position is always an error.
        dropout: probability, applied to the sum in training.

    Raises:
        ValueError: if a size, overflow or dropout is none of these.

    Shape:
        x [B, T, d_model], positions [T] or [B, T], whole numbers -> [B, T, d_model]

    Example:
        >>> scheme = Learned(max_length=4, d_model=8)
        >>> scheme.at(range(3)).shape
        torch.Size([3, 8])
        >>> scheme.at(range(5))
        Traceback (most recent call last):
        ValueError: Learned(max_length=4): needed positions 0..3, got 4, so length 5 > 4; truncate the input, ...

    Reference:
        Gehring et al. 2017, https://arxiv.org/abs/1705.03122; Vaswani et al. 2017, table 3, row E

    Differs from:
        ``nn.Embedding(max_length, d_model)``: the offset and what happens past the end are named; a negative position never reads a
        row, compiled or not.
    """

    facts = Facts(
        parameters="max_length * d_model",
        max_length="max_length",
        encodes="absolute position",
        source="Gehring et al. 2017, https://arxiv.org/abs/1705.03122",
    )

    def __init__(
        self,
        *,
        max_length: int,
        d_model: int,
        padding_offset: int = 0,
        overflow: Overflow = "error",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.max_length = whole_number("max_length", max_length, least=1)
        self.d_model = whole_number("d_model", d_model, least=1)
        self.padding_offset = whole_number("padding_offset", padding_offset)
        one_of("overflow", overflow, get_args(Overflow))
        self.overflow, self.dropout = overflow, probability("dropout", dropout)
        self.weight = nn.Parameter(torch.empty(self.max_length + self.padding_offset, self.d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table from N(0, 0.02^2), as BERT and GPT-2 do."""
        nn.init.normal_(self.weight, std=INITIAL_STANDARD_DEVIATION)

    def at(
        self, positions: Positions, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """Give the rows [T, d_model] or [B, T, d_model], in the table's dtype unless another is asked; device: the table's."""
        check(positions, fractional=False)
        check_places(positions, self.max_length, self.overflow)
        place = as_tensor(positions, self.weight.device if device is None else device)
        if self.overflow == "wrap":
            place = place.remainder(self.max_length)
        elif self.overflow == "clamp":
            place = place.clamp(max=self.max_length - 1)
        rows = F.embedding(place + self.padding_offset, self.weight)
        return rows if dtype is None else rows.to(dtype)

    def forward(self, x: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give dropout(x + P) in x's dtype."""
        check_tokens(x, positions, d_model=self.d_model, fractional=False)
        total = (x + as_rows(self.at(positions, device=x.device), x)).to(x.dtype)
        return F.dropout(total, self.dropout, self.training)

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(
            max_length=self.max_length,
            d_model=self.d_model,
            padding_offset=self.padding_offset,
            overflow=self.overflow,
            dropout=self.dropout,
        )


def check_places(positions: Positions, max_length: int, overflow: Overflow) -> None:
    """Refuse positions that a table does not hold, before any lookup.

    A range is checked without reading a value. A tensor is read (one device sync, and the price of an error in place of an
    asynchronous assert); in a compiled graph it becomes an assertion inside the graph.

    Args:
        positions: whole positions.
        max_length: usable positions.
        overflow: with "wrap" and "clamp" only negative positions are refused.

    Raises:
        ValueError: if a position is negative, or too large with overflow="error".

    Example:
        >>> check_places(range(-1, 2), 4, "wrap")
        Traceback (most recent call last):
        ValueError: Learned(max_length=4): needed positions 0..3, got -1; a negative position has no row
    """
    if count(positions) == 0 or (isinstance(positions, torch.Tensor) and (positions.numel() == 0 or positions.is_meta)):
        return
    if isinstance(positions, range):
        lowest, highest = ends(positions)
    elif torch.compiler.is_compiling():
        inside = positions >= 0 if overflow != "error" else (positions >= 0) & (positions < max_length)
        torch._assert_async(inside.all(), f"Learned(max_length={max_length}): a position has no row")
        return
    else:
        low, high = torch.aminmax(positions)
        lowest, highest = int(low), int(high)
    needed = f"Learned(max_length={max_length}): needed positions 0..{max_length - 1}, got"
    if lowest < 0:
        raise ValueError(f"{needed} {lowest}; a negative position has no row")
    if overflow == "error" and highest >= max_length:
        raise ValueError(
            f"{needed} {highest}, so length {highest + 1} > {max_length}; truncate the input, resize the table, "
            'or set overflow="wrap" or "clamp"'
        )
