"""Where the tokens are: how positions are made, and the one place that checks them.

A position is a Python ``range`` (sequential; fast paths know it without reading values) or a tensor ``[T]`` or ``[B, T]``.
Which document a token belongs to is a second tensor, never read out of the positions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from ordinate.checks import described, whole_number

Positions = range | torch.Tensor

INTEGER_DTYPES = (torch.int32, torch.int64)
FRACTIONAL_DTYPES = (torch.float32, torch.float64)


def sequential(n: int, *, device: torch.device | str | None = None) -> torch.Tensor:
    """Positions 0, 1, ..., n - 1 as a tensor (a ``range`` is better everywhere but in an exported graph).

    Args:
        n: how many tokens.
        device: where the tensor lives.

    Returns:
        An int64 tensor.

    Shape:
        [n]

    Raises:
        ValueError: if n is negative.

    Example:
        >>> sequential(4)
        tensor([0, 1, 2, 3])
    """
    return torch.arange(whole_number("n", n), device=device)


def continued(past: int | torch.Tensor, n: int) -> Positions:
    """Positions of the next n tokens when ``past`` tokens came before: past, past + 1, ..., past + n - 1.

    Args:
        past: tokens already seen: one int for all rows, or an integer tensor [B] with one count a row.
        n: how many tokens follow.

    Returns:
        A range for an int, an int64 tensor for a tensor.

    Shape:
        [n] for an int, [B, n] for a tensor

    Raises:
        ValueError: if n or an int past is no whole number >= 0, or a tensor is not an integer tensor [B] (its values are not read).

    Example:
        >>> continued(6, 2)
        range(6, 8)
        >>> continued(torch.tensor([3, 0]), 2)
        tensor([[3, 4],
                [0, 1]])
    """
    n = whole_number("n", n)
    if isinstance(past, torch.Tensor):
        if past.dtype not in INTEGER_DTYPES or past.ndim != 1:
            raise ValueError(f"past: needed an int or an integer tensor [B], got {described(past)}")
        return past[:, None].long() + torch.arange(n, device=past.device)
    past = whole_number("past", past)
    return range(past, past + n)


def from_padding_mask(mask: torch.Tensor) -> torch.Tensor:
    """Positions that count real tokens only, for padding on the left, on the right or in between.

    position[b, t] = max(0, (number of real tokens in mask[b, :t + 1]) - 1). Real tokens count from 0; a pad slot repeats the
    position of the real token before it (0 if there is none), so that it is always a valid index. Positions alone do not hide the
    padding: give ``mask=mask.bool()[:, None, None, :]`` to ``attend`` as well.

    Args:
        mask: true (or 1) for a real token, false (or 0) for padding.

    Returns:
        An int64 tensor.

    Shape:
        mask [B, T] or [T] -> the same

    Raises:
        ValueError: if mask is not boolean or integer, or not [T] or [B, T].

    Example:
        >>> from_padding_mask(torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]]))
        tensor([[0, 0, 0, 1, 2],
                [0, 1, 2, 2, 2]])
    """
    if not isinstance(mask, torch.Tensor) or mask.dtype not in (torch.bool, *INTEGER_DTYPES) or mask.ndim not in (1, 2):
        raise ValueError(f"mask: needed a bool or integer tensor [B, T] (true = a real token), got {described(mask)}")
    return ((mask != 0).long().cumsum(-1) - 1).clamp(min=0)


@dataclass(frozen=True, eq=False)
class Packed:
    """Documents laid end to end in one sequence. Unpacks into ``positions, document_ids``.

    Attributes:
        positions: int64 [N]; each document counts from 0.
        document_ids: int64 [N]; which document a token belongs to.
        lengths: tokens of each document as Python ints, so that attention can go document by document without reading a tensor.
    """

    positions: torch.Tensor
    document_ids: torch.Tensor
    lengths: tuple[int, ...]

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Yield positions, then document_ids."""
        yield self.positions
        yield self.document_ids


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


def check(
    positions: object,
    *,
    name: str = "positions",
    length: int | None = None,
    batch: int | None = None,
    fractional: bool = True,
    hint: str = "",
) -> None:
    """Refuse what is not positions: the library's one validator. It reads no values, so it costs no device sync.

    Args:
        positions: what came.
        name: what the caller calls it.
        length: tokens that the positions must describe, if known.
        batch: rows that positions [B, T] must have (or 1), if known.
        fractional: whether float32 and float64 are allowed.
        hint: ends the message of a wrong length.

    Raises:
        TypeError: if it is neither a range nor a tensor.
        ValueError: if dtype, shape, length or batch is wrong, or it requires a gradient.

    Example:
        >>> check(range(3), length=4)
        Traceback (most recent call last):
        ValueError: positions: needed 4 positions, one a token, got 3
    """
    if isinstance(positions, range):
        if max(abs(positions.start), abs(positions.stop)) >= 2**62:
            raise ValueError(f"{name}: needed positions that int64 holds, got {positions}")
        _require_length(name, count(positions), length, hint)
        return
    if isinstance(positions, Packed):
        raise TypeError(f"{name}: needed a range or a tensor, got what packed() gave; use its .positions")
    if not isinstance(positions, torch.Tensor):
        raise TypeError(
            f"{name}: needed a range or an integer tensor [T] or [B, T], got {described(positions)}; "
            "use range(n), torch.tensor(...) or ordinate.positions"
        )
    if positions.dtype in FRACTIONAL_DTYPES and not fractional:
        raise ValueError(f"{name}: needed whole positions (int32 or int64), got {described(positions)}; tables take no fractions")
    if positions.dtype not in INTEGER_DTYPES + FRACTIONAL_DTYPES:
        raise ValueError(
            f"{name}: needed int32 or int64 (float32 or float64 for fractional positions), got {described(positions)}; "
            + (
                "a mask becomes positions with from_padding_mask"
                if positions.dtype == torch.bool
                else "lower precision merges positions"
            )
        )
    if positions.requires_grad:
        raise ValueError(f"{name}: needed positions without gradient, got requires_grad=True; pass positions.detach()")
    if positions.ndim not in (1, 2):
        raise ValueError(f"{name}: needed shape [T] or [B, T], got {described(positions)}")
    _require_length(name, positions.shape[-1], length, hint)
    if batch is not None and positions.ndim == 2 and positions.shape[0] not in (1, batch):
        raise ValueError(f"{name}: needed {batch} rows, one a batch row (or 1), got {positions.shape[0]}")


def count(positions: Positions) -> int:
    """How many tokens the positions describe.

    ``len(range)`` and comparing ranges make ``torch.compile`` compile again for every length; this arithmetic does not.

    Args:
        positions: a range or a tensor.

    Returns:
        T.

    Example:
        >>> count(range(0, 5, 2)), count(torch.zeros(2, 7, dtype=torch.int64))
        (3, 7)
    """
    if isinstance(positions, torch.Tensor):
        return positions.shape[-1]
    start, stop, step = positions.start, positions.stop, positions.step
    steps = (stop - start + step - 1) // step if step > 0 else (stop - start + step + 1) // step
    return max(steps, 0)


def ends(places: range) -> tuple[int, int]:
    """Lowest and highest position of a range that is not empty.

    Args:
        places: the range.

    Returns:
        The two ends.

    Example:
        >>> ends(range(9, 0, -4))
        (1, 9)
    """
    last = places.start + (count(places) - 1) * places.step
    return (places.start, last) if places.step > 0 else (last, places.start)


def same(first: Positions, second: Positions) -> bool:
    """Whether two positions are known to be equal without reading a tensor.

    Args:
        first: a range or a tensor.
        second: a range or a tensor.

    Returns:
        True for one object, or ranges with equal start, stop and step.

    Example:
        >>> same(range(3), range(3)), same(torch.arange(3), torch.arange(3))
        (True, False)
    """
    if not (isinstance(first, range) and isinstance(second, range)):
        return first is second
    return first.start == second.start and first.stop == second.stop and first.step == second.step


def described_places(positions: Positions) -> str:
    """Say which positions came, for errors.

    Args:
        positions: a range or a tensor.

    Returns:
        A short text.

    Example:
        >>> described_places(range(3)), described_places(torch.arange(3))
        ('range(0, 3)', 'int64 [3]')
    """
    return described(positions) if isinstance(positions, torch.Tensor) else repr(positions)


def as_tensor(positions: Positions, device: torch.device | str | None = None) -> torch.Tensor:
    """Positions as a tensor; whole ones as int64, so that differences cannot overflow, fractional ones as float64.

    Args:
        positions: a range or a tensor.
        device: where a range's tensor is made; a tensor stays where it is.

    Returns:
        An int64 or float64 tensor of the same shape.

    Shape:
        [T] or [B, T]

    Example:
        >>> as_tensor(range(4, 0, -2))
        tensor([4, 2])
    """
    if isinstance(positions, range):
        # torch.arange refuses a range that is empty because it runs backwards.
        stop = positions.start + count(positions) * positions.step
        return torch.arange(positions.start, stop, positions.step, device=device)
    return positions.double() if positions.is_floating_point() else positions.long()


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


def _require_length(name: str, got: int, length: int | None, hint: str) -> None:
    if length is not None and got != length:
        raise ValueError(f"{name}: needed {length} positions, one a token, got {got}{hint}")
