"""What positions are, and the one place that checks them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ordinate.checks import described

Positions = range | torch.Tensor

INTEGER_DTYPES = (torch.int32, torch.int64)
FRACTIONAL_DTYPES = (torch.float32, torch.float64)
_MAKERS = "ordinate.positions.grid and ordinate.multimodal make them"


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


def check(
    positions: object,
    *,
    name: str = "positions",
    length: int | None = None,
    batch: int | None = None,
    fractional: bool = True,
    axes: int | None = 1,
    one_for_all: bool = False,
    hint: str = "",
) -> None:
    """Refuse what is not positions: the library's one validator. It reads no values, so it costs no device sync.

    Args:
        positions: what came.
        name: what the caller calls it.
        length: tokens that the positions must describe, if known.
        batch: rows that positions [B, T] or [B, T, A] must have (or 1), if known.
        fractional: whether float32 and float64 are allowed.
        axes: coordinates of a token, A; None if any number will do.
        one_for_all: whether one position may stand for all coordinates of a token.
        hint: ends the message of a wrong length.

    Raises:
        TypeError: if it is neither a range nor a tensor.
        ValueError: if dtype, shape, length or batch is wrong, or it requires a gradient.

    Example:
        >>> check(range(3), length=4)
        Traceback (most recent call last):
        ValueError: positions: needed 4 positions, one a token, got 3
    """
    several = axes is not None and axes > 1 and not one_for_all
    if isinstance(positions, range):
        if several:
            raise ValueError(f"{name}: needed a tensor [B, T, {axes}], {axes} coordinates a token, got {positions}; {_MAKERS}")
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
    _require_axes(name, positions, axes, several)
    _require_length(name, count(positions), length, hint)
    if batch is not None and positions.ndim > 1 and positions.shape[0] not in (1, batch):
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
        return positions.shape[1] if positions.ndim == 3 else positions.shape[-1]
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
        [T], [B, T] or [B, T, A]

    Example:
        >>> as_tensor(range(4, 0, -2))
        tensor([4, 2])
    """
    if isinstance(positions, range):
        # torch.arange refuses a range that is empty because it runs backwards.
        stop = positions.start + count(positions) * positions.step
        return torch.arange(positions.start, stop, positions.step, device=device)
    return positions.double() if positions.is_floating_point() else positions.long()


def _require_length(name: str, got: int, length: int | None, hint: str) -> None:
    if length is not None and got != length:
        raise ValueError(f"{name}: needed {length} positions, one a token, got {got}{hint}")


def _require_axes(name: str, positions: torch.Tensor, axes: int | None, several: bool) -> None:
    got = described(positions)
    if axes is None:
        if positions.ndim not in (1, 2, 3):
            raise ValueError(f"{name}: needed shape [T], [B, T] or [B, T, A], got {got}")
    elif axes == 1:
        if positions.ndim not in (1, 2):
            raise ValueError(f"{name}: needed shape [T] or [B, T], got {got}")
    elif positions.ndim == 3:
        if positions.shape[-1] != axes:
            first = positions.shape[0] == axes
            hint = "; coordinates come last here: positions.movedim(0, -1)" if first else ""
            raise ValueError(f"{name}: needed shape [B, T, {axes}], {axes} coordinates a token, got {got}{hint}")
    elif several or positions.ndim not in (1, 2):
        hint = "; one row for all is positions[None]" if positions.ndim == 2 and positions.shape[-1] == axes else f"; {_MAKERS}"
        raise ValueError(f"{name}: needed shape [B, T, {axes}], {axes} coordinates a token, got {got}{hint}")
