"""Learned position vectors: a table of parameters. Gehring et al. 2017, https://arxiv.org/abs/1705.03122 (and BERT, GPT-2)

    P[p] = weight[p + padding_offset]

Where known implementations differ: BERT and GPT-2 read row p for position p. RoBERTa, OPT and fairseq keep rows below an offset of
2 for padding: position p reads row p + 2, and a table for 512 positions has 514 rows. Models that share one file format can so be
off by two rows with no error. What happens past the end differs too: an error, a wrap-around (arange(T) % max_length), or a clamp.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import nn

from ordinate.arguments import call_arguments
from ordinate.checks import one_of, probability, whole_number
from ordinate.fitting import as_rows, check_tokens
from ordinate.positions import Positions, as_tensor, check, count, ends
from ordinate.resampling import LengthMethod, resample_rows
from ordinate.sites import Facts, InputScheme

Overflow = Literal["error", "wrap", "clamp"]
Resizing = LengthMethod | Literal["extend"]

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

    def resize(self, new_max_length: int, *, method: Resizing) -> Learned:
        """Give a new scheme for another number of positions; this one stays as it is.

        Rows for padding are kept. Only "extend" and "truncate" leave the vectors of old positions what they were; "linear" and
        "nearest" move all of them, so that a model has to be trained a little to read them again.

        Args:
            new_max_length: usable positions wanted.
            method: "extend" (old rows as they are, new ones drawn as ``reset_parameters`` draws them), "truncate" (the first rows),
                "linear" (between neighbouring rows, row p at (p + 1/2) old / new - 1/2), or "nearest". No default: what the new
                rows mean is the caller's choice.

        Returns:
            A scheme with the same other arguments, dtype, device, ``requires_grad`` and mode.

        Raises:
            ValueError: if the length or the method is none of these, or the method cannot reach the length.

        Example:
            >>> scheme = Learned(max_length=512, d_model=8, padding_offset=2)
            >>> longer = scheme.resize(1024, method="extend")
            >>> longer.weight.shape, torch.equal(longer.weight[:514], scheme.weight)
            (torch.Size([1026, 8]), True)
        """
        new_max_length = whole_number("new_max_length", new_max_length, least=1)
        one_of("method", method, ("extend", *get_args(LengthMethod)))
        weight = self.weight.detach()
        front, rows = weight[: self.padding_offset], weight[self.padding_offset :]
        resized = _extend(rows, new_max_length) if method == "extend" else resample_rows(rows, new_max_length, method=method)
        with torch.device("meta"):  # draws no numbers
            scheme = Learned(**{**self._arguments(), "max_length": new_max_length})
        scheme.weight = nn.Parameter(torch.cat((front, resized)), requires_grad=self.weight.requires_grad)
        return scheme.train(self.training)

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(**self._arguments())

    def _arguments(self) -> dict[str, Any]:
        return {
            "max_length": self.max_length,
            "d_model": self.d_model,
            "padding_offset": self.padding_offset,
            "overflow": self.overflow,
            "dropout": self.dropout,
        }


def _extend(rows: torch.Tensor, length: int) -> torch.Tensor:
    if length < len(rows):
        raise ValueError(f'method: needed at least {len(rows)} positions for "extend", got {length}; use "truncate" to shorten')
    drawn = nn.init.normal_(rows.new_empty(length - len(rows), rows.shape[1]), std=INITIAL_STANDARD_DEVIATION)
    return torch.cat((rows, drawn))


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
