"""The three sites where a scheme acts: the input, queries and keys, or the attention scores. Abstract classes only.

Every scheme is final, derives from exactly one of these, and is an ``nn.Module`` also when it has no weights. No scheme at all
(NoPE) is ``None``.
"""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import torch
from torch import nn

from ordinate.checks import described
from ordinate.positions import Positions, as_tensor, check, count


class ScoreAt(NamedTuple):
    """The two position vectors that a score scheme works from: O(Q + K) numbers, never a matrix."""

    q_positions: Positions
    k_positions: Positions


class InputScheme(nn.Module, abc.ABC):
    """Adds position vectors to the token vectors once, before the first block."""

    d_model: int

    @abc.abstractmethod
    def at(
        self, positions: Positions, *, device: torch.device | str | None = None, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Give the position vectors [T, d_model] or [B, T, d_model]."""

    @abc.abstractmethod
    def forward(self, x: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give x [B, T, d_model] plus the position vectors, after dropout on the sum."""


class QueryKeyScheme(nn.Module, abc.ABC):
    """Turns queries and keys in every attention. Separate calls: a cached key is turned once, a query every step."""

    head_dim: Any

    @abc.abstractmethod
    def at(self, positions: Positions, *, device: torch.device | str | None = None) -> Any:
        """Compute all that depends on positions alone, once per forward, for every layer with an equal scheme.

        What it gives has an attribute ``positions``: those it was made from.
        """

    @abc.abstractmethod
    def queries(self, q: torch.Tensor, at: Any, *, sequence_dim: int = -2) -> torch.Tensor:
        """Give the turned queries, shaped as q."""

    @abc.abstractmethod
    def keys(self, k: torch.Tensor, at: Any, *, sequence_dim: int = -2) -> torch.Tensor:
        """Give the turned keys, shaped as k."""

    @abc.abstractmethod
    def softmax_scale(self, head_dim: int) -> float:
        """Give the factor of q . k before the softmax."""


class ScoreScheme(nn.Module, abc.ABC):
    """Adds a bias to the attention scores in every attention."""

    @abc.abstractmethod
    def at(self, q_positions: Positions, k_positions: Positions) -> ScoreAt:
        """Check and keep the two position vectors."""

    @abc.abstractmethod
    def bias(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Give what is added to scale * (q . k): [B or 1, H, Q, K], float32 (float64 for float64 q)."""

    @abc.abstractmethod
    def heads(self, start: int, stop: int) -> ScoreScheme:
        """Give the scheme of heads start..stop - 1, as a tensor-parallel rank needs it."""

    @abc.abstractmethod
    def softmax_scale(self, head_dim: int) -> float:
        """Give the factor of q . k before the softmax."""


class DistanceScheme(ScoreScheme):
    """A score scheme that looks at the distance only; it defines one function of the distance and the rest follows."""

    n_heads: int
    fractional: bool

    @abc.abstractmethod
    def by_distance(self, distance: torch.Tensor) -> torch.Tensor:
        """Give the bias [H, ...] for distances [...] = key position - query position (the past is negative).

        float64 distances give float64; whole ones give float32, rounded once.
        """

    def at(self, q_positions: Positions, k_positions: Positions) -> ScoreAt:
        """Check and keep the two position vectors."""
        check(q_positions, name="q_positions", fractional=self.fractional)
        check(k_positions, name="k_positions", fractional=self.fractional)
        return ScoreAt(q_positions, k_positions)

    def bias(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Give the bias [B or 1, H, Q, K] for any positions; q and k tell only batch, heads, lengths, device and dtype."""
        if not isinstance(at, ScoreAt):
            raise ValueError(f"at: needed {type(self).__name__}.at(q_positions, k_positions), got {described(at)}")
        if q.ndim != 4 or k.ndim != 4:
            raise ValueError(f"q, k: needed tensors [B, H, T, D], got {described(q)} and {described(k)}")
        if q.shape[1] != self.n_heads:
            raise ValueError(
                f"{type(self).__name__}(n_heads={self.n_heads}): needed q with {self.n_heads} heads, got {q.shape[1]}; "
                "build the scheme with the model's head count, or take heads(start, stop) of it"
            )
        check(at.q_positions, name="q_positions", length=q.shape[-2], batch=q.shape[0])
        check(at.k_positions, name="k_positions", length=k.shape[-2], batch=k.shape[0])
        exact = q.dtype == torch.float64
        # A compiler fuses the general form, and would compile the Toeplitz view again for every length.
        if _same_step(at) and not torch.compiler.is_compiling():
            return self._of_ranges(at.q_positions, at.k_positions, q.device, exact)[None]
        rows, columns = as_tensor(at.q_positions, q.device), as_tensor(at.k_positions, q.device)
        distance = columns[..., None, :] - rows[..., :, None]
        bias = self.by_distance(distance.double() if exact else distance)
        if not exact:
            bias = bias.float()
        return bias.transpose(0, 1) if bias.ndim == 4 else bias[None]

    def softmax_scale(self, head_dim: int) -> float:
        """Give head_dim^-0.5: the bias leaves the scores' scale alone."""
        return float(head_dim**-0.5)

    def _of_ranges(self, rows: Any, columns: Any, device: torch.device, exact: bool) -> torch.Tensor:
        """Two ranges with one step make a Toeplitz matrix: Q + K - 1 distances are evaluated, not Q K."""
        height, width = count(rows), count(columns)
        first = columns.start - rows.start - (height - 1) * rows.step
        distance = first + rows.step * torch.arange(height + width - 1, device=device)
        diagonals = self.by_distance(distance.double() if exact else distance)
        return diagonals.unfold(-1, width, 1).flip(-2)


def check_tokens(x: torch.Tensor, positions: Positions, *, d_model: int, fractional: bool = True) -> None:
    """Refuse token vectors that do not fit a scheme of the input site.

    Args:
        x: token vectors.
        positions: their positions.
        d_model: the scheme's width.
        fractional: whether fractional positions are allowed.

    Raises:
        ValueError: if dtype, width, length, batch or device does not fit.

    Example:
        >>> check_tokens(torch.zeros(1, 3, 4), range(3), d_model=8)
        Traceback (most recent call last):
        ValueError: x: needed a floating tensor [B, T, 8] (d_model=8), got float32 [1, 3, 4]
    """
    if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.ndim not in (2, 3) or x.shape[-1] != d_model:
        raise ValueError(f"x: needed a floating tensor [B, T, {d_model}] (d_model={d_model}), got {described(x)}")
    check(positions, length=x.shape[-2], batch=x.shape[0] if x.ndim > 2 else 1, fractional=fractional)
    check_device("positions", positions, x)


def as_rows(vectors: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Fit position vectors to token vectors: those of positions [1, T] lose their batch where x has none.

    Args:
        vectors: position vectors [T, d] or [B, T, d].
        x: token vectors [T, d] or [B, T, d].

    Returns:
        What can be added to x without changing its shape.

    Shape:
        [1, T, d] -> [T, d] for x [T, d]; else unchanged

    Example:
        >>> as_rows(torch.zeros(1, 3, 4), torch.zeros(3, 4)).shape
        torch.Size([3, 4])
    """
    return vectors[0] if vectors.ndim > x.ndim else vectors


def check_device(name: str, positions: Positions, x: torch.Tensor) -> None:
    """Refuse positions that live on another device than the vectors; moving them in every layer would be slow and silent.

    Args:
        name: what the caller calls the positions.
        positions: a range fits every device.
        x: the vectors.

    Raises:
        ValueError: if the devices differ.

    Example:
        >>> check_device("positions", range(3), torch.zeros(3))
    """
    if isinstance(positions, torch.Tensor) and positions.device != x.device:
        raise ValueError(
            f"{name}: needed device {x.device}, where the vectors are, got {positions.device}; move them once with .to(device)"
        )


def fixed(name: str) -> Any:
    """Make an attribute that is set once, in ``__init__``: numbers derive from it, and a later change would reach only the repr.

    Args:
        name: the attribute's name.

    Returns:
        A property.

    Example:
        >>> from ordinate import Rope
        >>> rope = Rope(head_dim=8, layout="half")
        >>> rope.base = 500000.0
        Traceback (most recent call last):
        AttributeError: base is fixed when the scheme is built; build another Rope
    """
    slot = f"_{name}"

    def read(scheme: nn.Module) -> Any:
        return getattr(scheme, slot)

    def write(scheme: nn.Module, value: Any) -> None:
        if slot in scheme.__dict__:
            raise AttributeError(f"{name} is fixed when the scheme is built; build another {type(scheme).__name__}")
        setattr(scheme, slot, value)

    return property(read, write)


def call_arguments(**arguments: object) -> str:
    """Write keyword arguments as the call has them; a scheme's repr is the call that makes it.

    Args:
        **arguments: names and values.

    Returns:
        The text between the call's parentheses.

    Example:
        >>> call_arguments(n_heads=4, slopes="paper")
        "n_heads=4, slopes='paper'"
    """
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _same_step(at: ScoreAt) -> bool:
    rows, columns = at
    return (
        isinstance(rows, range)
        and isinstance(columns, range)
        and rows.step == columns.step
        and count(rows) > 0
        and count(columns) > 0
    )
