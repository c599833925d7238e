"""Documents laid end to end in one sequence: their positions, and which document a token belongs to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import torch

from ordinate.checks import described, whole_number
from ordinate.positions.datum import INTEGER_DTYPES, Packed


def packed(
    lengths: Sequence[int] | torch.Tensor | None = None,
    total: int | None = None,
    *,
    cu_seqlens: Sequence[int] | torch.Tensor | None = None,
    device: torch.device | str | None = None,
) -> Packed:
    """Positions and document ids of documents that are laid end to end in one sequence.

    Positions start again at 0 in every document. That alone does not keep documents apart: give ``document_ids`` to ``attend``.

    Args:
        lengths: tokens of each document.
        total: length of the whole sequence; a padding tail becomes one segment of its own.
        cu_seqlens: borders [0, l1, l1 + l2, ...] instead of lengths, as fused attention kernels take them.
        device: where the tensors live.

    Returns:
        What unpacks into positions and document_ids and carries the lengths (with the tail's, if there is one).

    Shape:
        positions [N], document_ids [N] with N = total or the sum of the lengths

    Raises:
        ValueError: if not exactly one of lengths and cu_seqlens is given, a length is negative, borders fall or do not start
            at 0, or total is smaller than the sum.

    Example:
        >>> positions, document_ids = packed([3, 2], total=7)
        >>> positions
        tensor([0, 1, 2, 0, 1, 0, 1])
        >>> document_ids
        tensor([0, 0, 0, 1, 1, 2, 2])
        >>> packed(cu_seqlens=[0, 3, 5]).lengths
        (3, 2)
    """
    if (lengths is None) == (cu_seqlens is None):
        raise ValueError("packed: needed exactly one of lengths and cu_seqlens, got " + ("neither" if lengths is None else "both"))
    counts = _lengths_of(cu_seqlens) if cu_seqlens is not None else _whole_numbers("lengths", lengths)
    tail = 0 if total is None else whole_number("total", total) - sum(counts)
    if tail < 0:
        raise ValueError(f"total: needed at least {sum(counts)}, the sum of the lengths, got {total}")
    if tail:
        counts = [*counts, tail]
    parts = [torch.arange(length, device=device) for length in counts]
    positions = torch.cat(parts) if parts else torch.arange(0, device=device)
    repeats = torch.tensor(counts, dtype=torch.int64, device=device)
    document_ids = torch.repeat_interleave(torch.arange(len(counts), device=device), repeats, output_size=sum(counts))
    return Packed(positions, document_ids, tuple(counts))


def _lengths_of(borders: Sequence[int] | torch.Tensor) -> list[int]:
    cuts = _whole_numbers("cu_seqlens", borders)
    if not cuts or cuts[0] != 0:
        raise ValueError(f"cu_seqlens: needed borders that start at 0, got {cuts}")
    if any(stop < start for start, stop in itertools.pairwise(cuts)):
        raise ValueError(f"cu_seqlens: needed borders that do not fall, got {cuts}")
    return [stop - start for start, stop in itertools.pairwise(cuts)]


def _whole_numbers(name: str, values: Sequence[int] | torch.Tensor | None) -> list[int]:
    """Read a list, tuple, array or tensor of whole numbers."""
    if isinstance(values, torch.Tensor):
        if values.ndim != 1 or values.dtype not in INTEGER_DTYPES:
            raise ValueError(f"{name}: needed whole numbers in one dimension, got {described(values)}")
        values = values.tolist()
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name}: needed a list of whole numbers, got {described(values)}")
    return [whole_number(name, value) for value in values]
