"""What is checked, in one shape for all checks: a function of queries, keys and positions, and what it should do."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ordinate.testing.attempts import RAISED, told
from ordinate.testing.rotary.forms import Array, Form

Turn = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
Make = Callable[..., Turn]
Both = tuple[torch.Tensor, torch.Tensor]
SEEN = 13  # positions 0 to 12 are looked at entry by entry


class CannotAskError(Exception):
    """The function has no argument for what a check would ask; its text says what is missing."""


class RaisedError(Exception):
    """The function raised an error where a value is needed.

    Args:
        fault: what it raised.
    """

    def __init__(self, fault: BaseException) -> None:
        super().__init__(told(fault))


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A rotation under test.

    Attributes:
        name: for the report.
        turn: the function, which nobody has called: (q [B, H, T, D], k [B, G, T, D], positions [T] or [B, T]) -> (q, k).
        form: what it should do.
        layout_declared: whether the layout was said, so that another one is a fault.
        width_declared: whether the number of entries that turn was said.
        make: makes another one with ``head_dim`` and ``base``, or None.
    """

    name: str
    turn: Turn
    form: Form
    layout_declared: bool
    width_declared: bool = True
    make: Make | None = None

    @functools.cached_property
    def used(self) -> Turn:
        """A copy that the checks call, one after the other."""
        return copy.deepcopy(self.turn)

    def __call__(self, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Turn queries and keys.

        Args:
            q: queries.
            k: keys.
            positions: of both.

        Returns:
            Both, turned.

        Raises:
            CannotAskError: if the function takes no such positions.
            RaisedError: if it fails, or gives something else than two tensors of the same shapes.
        """
        return called(self.used, q, k, positions)


def called(turn: Turn, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Call a function under test; what it raises becomes ``RaisedError``.

    Args:
        turn: the function.
        q: queries.
        k: keys.
        positions: of both.

    Returns:
        Both, turned.

    Raises:
        CannotAskError: if the function takes no such positions.
        RaisedError: if it fails, or gives something else than two tensors of the same shapes.
    """
    given = (q, k, positions)
    kept = [each.detach().clone() for each in given]
    try:
        turned: Any = turn(*given)
    except CannotAskError:
        raise
    except RAISED as fault:
        raise RaisedError(fault) from fault
    if not isinstance(turned, (tuple, list)) or len(turned) != 2 or not all(isinstance(each, torch.Tensor) for each in turned):
        raise RaisedError(TypeError(f"gave {type(turned).__name__} in place of (queries, keys)"))
    for asked, came in zip((q, k), turned, strict=True):
        if came.shape != asked.shape:
            raise RaisedError(ValueError(f"gave shape {list(came.shape)} for {list(asked.shape)}"))
        if not came.is_floating_point() or came.device != asked.device or came.layout != torch.strided:
            raise RaisedError(TypeError(f"gave {came.dtype} on {came.device} ({came.layout}) for {asked.dtype} on {asked.device}"))
    return _restored(given, kept, (turned[0], turned[1]))


def _restored(given: tuple[torch.Tensor, ...], kept: list[torch.Tensor], turned: Both) -> Both:
    """Put back inputs that were written over, which one check looks at and all others must not suffer from."""
    if all(torch.equal(now.detach(), before) or not before.isfinite().all() for now, before in zip(given, kept, strict=True)):
        return turned
    turned = (turned[0].clone(), turned[1].clone())
    with torch.no_grad():
        for now, before in zip(given, kept, strict=True):
            now.copy_(before)
    return turned


@dataclass(frozen=True)
class Maps:
    """What a function does to queries and to keys at positions 0, 1, ..., as matrices.

    Attributes:
        queries: [P, D, D].
        keys: [P, D, D].
    """

    queries: Array
    keys: Array

    def expected(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Turn queries as the maps say.

        Args:
            x: [B, H, T, D].
            positions: [T] or [B, T], below ``SEEN``.

        Returns:
            [B, H, T, D], float64.
        """
        maps = torch.tensor(self.queries)[positions.expand(x.shape[0], x.shape[2])]
        return torch.einsum("btij,bhtj->bhti", maps, x.double())


def measured(subject: Subject) -> Maps:
    """Measure the maps: one basis vector after the other goes through the function, in one sequence from position 0.

    Args:
        subject: under test.

    Returns:
        Its maps.
    """
    width, positions = subject.form.head_dim, torch.arange(SEEN)
    queries, keys = np.empty((SEEN, width, width)), np.empty((SEEN, width, width))
    for entry in range(width):
        x = torch.zeros(1, 1, SEEN, width)
        x[..., entry] = 1.0
        q, k = subject(x, x.clone(), positions)
        queries[:, :, entry] = q[0, 0].detach().double().numpy()
        keys[:, :, entry] = k[0, 0].detach().double().numpy()
    return Maps(queries, keys)


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Draw normal numbers, the same in every run.

    Args:
        *shape: of the tensor.
        seed: of the numbers.
        dtype: they are rounded to.

    Returns:
        Numbers.
    """
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
