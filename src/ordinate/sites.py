"""The three sites where a scheme acts: the input, queries and keys, or the attention scores. Abstract classes only.

Every scheme is final, derives from exactly one of these, and is an ``nn.Module`` also when it has no weights. No scheme at all
(NoPE) is ``None``.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, NoReturn

import torch
from torch import nn

from ordinate.fitting import ScoreAt, check_scores, distances, score_at
from ordinate.positions import Positions, count, described_places


class Facts(NamedTuple):
    """What a table that compares schemes says of one; symbols are the constructor's arguments."""

    parameters: str
    max_length: str
    encodes: str
    source: str


class InputScheme(nn.Module, abc.ABC):
    """Adds position vectors to the token vectors once, before the first block."""

    facts: ClassVar[Facts]
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

    facts: ClassVar[Facts]
    head_dim: Any
    axes: int = 1  # coordinates of a token

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

    facts: ClassVar[Facts]
    # None where any number of heads, or any width, will do.
    n_heads: Any = None
    head_dim: Any = None
    # Names of the tensors that ``bias`` takes beside q, k and at; ``attend(extras=)`` passes them.
    extras: tuple[str, ...] = ()
    # Whether the bias is made of dot products with q or k: then it carries the softmax scale as q . k does.
    content: bool = False

    def forward(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to be called on vectors: a score scheme adds to scores, in attention."""
        raise TypeError(f"{type(self).__name__} acts on attention scores: give it to attend(scheme=...) or MultiheadAttention")

    @abc.abstractmethod
    def at(self, q_positions: Positions, k_positions: Positions) -> ScoreAt:
        """Check and keep the two position vectors."""

    @abc.abstractmethod
    def bias(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Give what is added to scale * (q . k): [B or 1, H, Q, K], float32 (float64 for float64 q)."""

    @abc.abstractmethod
    def added_values(self, at: ScoreAt) -> Callable[[torch.Tensor], torch.Tensor] | None:
        """Give what turns attention weights [B, H, Q, K] into an addition to the output [B, H, Q, E]; None if nothing is added."""

    @abc.abstractmethod
    def heads(self, start: int, stop: int) -> ScoreScheme:
        """Give the scheme of heads start..stop - 1, as a tensor-parallel rank needs it."""

    @abc.abstractmethod
    def softmax_scale(self, head_dim: int) -> float:
        """Give the factor of q . k before the softmax."""


class DistanceScheme(ScoreScheme):
    """A score scheme that looks at the distance only: it has ``n_heads`` and defines ``by_distance`` and ``heads``, no more."""

    n_heads: int
    fractional: bool = True  # whether fractional distances mean something
    falls: bool = False  # whether the bias never rises with the distance in either direction

    @abc.abstractmethod
    def by_distance(self, distance: torch.Tensor) -> torch.Tensor:
        """Give the bias [H, ...] for distances [...] = key position - query position (the past is negative).

        float64 distances give float64; whole ones give float32, rounded once.
        """

    def at(self, q_positions: Positions, k_positions: Positions) -> ScoreAt:
        """Check and keep the two position vectors."""
        return score_at(q_positions, k_positions, fractional=self.fractional)

    def added_values(self, at: ScoreAt) -> None:
        """Give None: nothing is added to the output."""

    def bias(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Give the bias [B or 1, H, Q, K] for any positions; q and k tell only batch, heads, lengths, device and dtype."""
        check_scores(q, k, at, scheme=type(self).__name__, n_heads=self.n_heads)
        exact = q.dtype == torch.float64
        # A compiler fuses the general form, and would compile the Toeplitz view again for every length.
        if _same_step(at) and not torch.compiler.is_compiling():
            return self.diagonals(q, k, at).unfold(-1, k.shape[2], 1).flip(-2)[None]
        bias = self._bias_of(distances(at, q.device), exact)
        return bias.transpose(0, 1) if bias.ndim == 4 else bias[None]

    def softmax_scale(self, head_dim: int) -> float:
        """Give head_dim^-0.5: the bias leaves the scores' scale alone."""
        return float(head_dim**-0.5)

    def _bias_of(self, distance: torch.Tensor, exact: bool) -> torch.Tensor:
        """by_distance in float64 or float32; one without its heads would be broadcast over all of them in silence."""
        asked = distance.double() if exact and self.fractional else distance
        bias, needed = self.by_distance(asked), (self.n_heads, *distance.shape)
        if bias.shape != needed:
            name = type(self).__name__
            raise ValueError(f"{name}.by_distance: needed [n_heads, ...] = {list(needed)}, got {list(bias.shape)}")
        return bias.double() if exact else bias.float()

    def diagonals(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Give the bias of each diagonal j - i = 1 - Q .. K - 1, for ranges of one step; not Q K distances.

        Args:
            q: queries [B, H, Q, D], for heads, device and dtype.
            k: keys [B, H_kv, K, D].
            at: two ranges of one step, from ``at``.

        Returns:
            float32 (float64 for float64 q).

        Shape:
            [H, Q + K - 1]

        Raises:
            ValueError: if positions do not fit, or are no ranges of one step.

        Example:
            >>> from ordinate import ALiBi
            >>> alibi, x = ALiBi(n_heads=1, slopes=(0.5,)), torch.zeros(1, 1, 3, 4)
            >>> alibi.diagonals(x, x, alibi.at(range(3), range(3)))
            tensor([[-1.0000, -0.5000,  0.0000, -0.5000, -1.0000]])
        """
        check_scores(q, k, at, scheme=type(self).__name__, n_heads=self.n_heads)
        rows, columns = at
        if not _same_step(at) or not isinstance(rows, range) or not isinstance(columns, range):
            raise ValueError(f"at: needed two ranges of one step, got {described_places(rows)} and {described_places(columns)}")
        height, width = count(rows), count(columns)
        first = columns.start - rows.start - (height - 1) * rows.step
        distance = first + rows.step * torch.arange(height + width - 1, device=q.device)
        return self._bias_of(distance, q.dtype == torch.float64)


def _same_step(at: ScoreAt) -> bool:
    rows, columns = at
    return (
        isinstance(rows, range)
        and isinstance(columns, range)
        and rows.step == columns.step
        and count(rows) > 0
        and count(columns) > 0
    )
