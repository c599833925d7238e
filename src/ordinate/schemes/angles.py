"""What every scheme does that multiplies queries and keys by cos and sin of coordinate times frequency."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any, Self

import torch

from ordinate.arguments import call_arguments, fixed
from ordinate.checks import described, whole_number
from ordinate.phases import Frequencies
from ordinate.positions import Positions, check, count, ends
from ordinate.rotation import Arithmetic, Layout, Rotation
from ordinate.scaling.rule import Rule
from ordinate.sites import QueryKeyScheme


class AngleScheme(QueryKeyScheme):
    """Gives every position cos and sin of its angles; schemes below say which entries they multiply.

    Frequencies are plain numbers fixed in ``__init__``: no cast, device move or checkpoint reaches them.

    Example:
        >>> from ordinate import EntrywiseRope, Rope
        >>> shares = (4, 4)
        >>> [isinstance(EntrywiseRope(head_dim=8, layout="half", shares=shares, spectrum="shared"), AngleScheme),
        ...  isinstance(Rope(head_dim=8, layout="half"), AngleScheme)]
        [True, True]
    """

    head_dim: int = fixed("head_dim")
    rotary_dim: int = fixed("rotary_dim")
    scaling: Rule | None = fixed("scaling")
    length: int | None = fixed("length")
    layout: Layout
    arithmetic: Arithmetic
    _one_for_all: bool = False
    _angles_as_input: bool = False  # whether angles are made in the vectors' dtype
    _frequencies: Frequencies
    _magnitude: float = 1.0
    _softmax_factor: float = 1.0
    _made_by: str

    @abc.abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """Give the constructor's arguments."""

    @abc.abstractmethod
    def _cos_sin(
        self, positions: Positions, device: torch.device | str | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute cos and sin of every position."""

    @abc.abstractmethod
    def _applied(
        self, vectors: tuple[torch.Tensor, ...], cos: torch.Tensor, sin: torch.Tensor, sequence_dim: int
    ) -> Sequence[torch.Tensor]:
        """Multiply vectors of one dtype and number of dims by them."""

    @abc.abstractmethod
    def _quickly(self, x: torch.Tensor, at: Rotation | Positions, sequence_dim: int) -> torch.Tensor | None:
        """Do it in the fewest steps if there is nothing to find fault with; None: go the long way, which says what is wrong."""

    @property
    def inverse_frequencies(self) -> tuple[float, ...]:
        """Radians a position, one number a pair (float32 values for phases="float32")."""
        return self._frequencies.radians

    @property
    def magnitude(self) -> float:
        """Factor of the turned entries of queries and keys; 1 but for YaRN and LongRoPE. ``at`` gives cos and sin without it."""
        return self._magnitude

    def at_length(self, length: int) -> Self:
        """Give the scheme for a sequence of this length, where the scaling rule depends on it.

        Keys that were cached under another length carry other rotations, unless the frequencies are the same: ``returned`` turns
        them again.

        Args:
            length: of the whole sequence, prompt and continuation.

        Returns:
            A scheme; this one if its rule needs no length.

        Raises:
            ValueError: if length is no whole number >= 1.

        Example:
            >>> from ordinate import Rope
            >>> from ordinate.scaling import DynamicNTK
            >>> rope = Rope(head_dim=8, layout="half", scaling=DynamicNTK(factor=2.0, original_length=4))
            >>> [round(rope.at_length(n).inverse_frequencies[-1], 7) for n in (4, 8)]
            [0.001, 0.0003333]
        """
        length = whole_number("length", length, least=1)
        if self.scaling is None or not self.scaling.needs_length:
            return self
        return type(self)(**{**self._arguments(), "length": length})

    def at(self, positions: Positions, *, device: torch.device | str | None = None) -> Rotation:
        """Compute cos and sin of every position and pair, once for all layers with equal settings.

        Args:
            positions: a range, or a tensor [T] or [B, T], whole or fractional; [B, T, A] where a token has A coordinates.
            device: where a range's result is made; a tensor's stays with the tensor.

        Returns:
            cos and sin, float32.

        Shape:
            [T, n] or [B, T, n], n = rotary_dim / 2 pairs, or rotary_dim entries of an ``EntrywiseRope``

        Example:
            >>> from ordinate import Rope
            >>> Rope(head_dim=8, layout="half").at(range(3)).cos.shape
            torch.Size([3, 4])
        """
        check(positions, axes=self.axes, one_for_all=self._one_for_all)
        self._check_reach(positions)
        return Rotation(*self._cos_sin(positions, device, torch.float32), positions, self._made_by)

    def queries(self, q: torch.Tensor, at: Rotation | Positions, *, sequence_dim: int = -2) -> torch.Tensor:
        """Turn queries by their positions, given as positions or as ``at``."""
        quick = self._quickly(q, at, sequence_dim)
        return self._rotate("q", q, at, sequence_dim, factor=self.magnitude) if quick is None else quick

    def keys(self, k: torch.Tensor, at: Rotation | Positions, *, sequence_dim: int = -2) -> torch.Tensor:
        """Turn keys by their positions, given as positions or as ``at``."""
        quick = self._quickly(k, at, sequence_dim)
        return self._rotate("k", k, at, sequence_dim, factor=self.magnitude) if quick is None else quick

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, at: Rotation | Positions, *, sequence_dim: int = -2
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Turn queries and keys that have the same positions, in one call."""
        self._check_call("q", q, at, sequence_dim)
        self._check_call("k", k, at, sequence_dim)
        tables = self._tables(q, at, sequence_dim, self.magnitude)
        if k.dtype == q.dtype and k.ndim == q.ndim and k.device == q.device:
            turned_q, turned_k = self._applied((q, k), *tables, sequence_dim)
            return turned_q, turned_k
        of_keys = self._tables(k, at, sequence_dim, self.magnitude)
        return self._applied((q,), *tables, sequence_dim)[0], self._applied((k,), *of_keys, sequence_dim)[0]

    def softmax_scale(self, head_dim: int) -> float:
        """Give head_dim^-0.5, times the scaling rule's softmax factor."""
        return float(head_dim**-0.5) * self._softmax_factor

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(**self._arguments())

    def _rotate(self, name: str, x: torch.Tensor, at: Rotation | Positions, sequence_dim: int, *, factor: float) -> torch.Tensor:
        """Turn, and multiply the entries that turn by a factor."""
        self._check_call(name, x, at, sequence_dim)
        return self._applied((x,), *self._tables(x, at, sequence_dim, factor), sequence_dim)[0]

    def _tables(
        self, x: torch.Tensor, at: Rotation | Positions, sequence_dim: int, factor: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Give cos and sin as x is multiplied by."""
        precision = x.dtype if x.dtype == torch.float64 or self._angles_as_input else torch.float32
        if isinstance(at, Rotation) and precision == torch.float32:
            cos, sin = at.cos, at.sin
        else:
            cos, sin = self._cos_sin(at.positions if isinstance(at, Rotation) else at, x.device, precision)
        if factor != 1.0:
            cos, sin = cos * factor, sin * factor
        if cos.ndim == 3 and x.ndim == -sequence_dim:  # positions [1, T] for vectors without a batch
            cos, sin = cos[0], sin[0]
        return cos, sin

    def _check_call(self, name: str, x: torch.Tensor, at: Rotation | Positions, sequence_dim: int) -> None:
        """Refuse vectors that do not fit the scheme, or positions that do not fit the vectors."""
        positions = at.positions if isinstance(at, Rotation) else at
        if isinstance(at, Rotation) and at.made_by != self._made_by:
            raise ValueError(f"{name}: needed at made with this scheme's frequencies, got others; call this scheme's at(positions)")
        self._check_vectors(name, x, sequence_dim)
        batch = x.shape[0] if x.ndim > -sequence_dim else 1
        hint = _order_hint(name, x, positions, sequence_dim)
        check(positions, length=x.shape[sequence_dim], batch=batch, axes=self.axes, one_for_all=self._one_for_all, hint=hint)
        home = at.cos.device if isinstance(at, Rotation) else positions.device if isinstance(positions, torch.Tensor) else x.device
        if home != x.device:
            raise ValueError(f"{name}: needed at made for device {x.device}, got {home}; use at(positions, device=...)")
        if not isinstance(at, Rotation):
            self._check_reach(positions)

    def _check_reach(self, positions: Positions) -> None:
        """Refuse positions beyond the original length of a rule that would change there, where they are known without waiting."""
        original = getattr(self.scaling, "original_length", None) if self.length is None else None
        if original is None or self.scaling is None or not self.scaling.needs_length or count(positions) == 0:
            return
        if isinstance(positions, range):
            farthest = ends(positions)[1]
        elif positions.device.type == "cpu" and positions.numel() and not torch.compiler.is_compiling():
            farthest = math.ceil(positions.max().item())
        else:
            return
        if farthest >= original:
            name = type(self.scaling).__name__
            raise ValueError(
                f"positions: needed 0..{original - 1}, since {name} changes the frequencies of longer sequences, got {farthest}; "
                "use at_length(n) with the length of the whole sequence"
            )

    def _check_vectors(self, name: str, x: torch.Tensor, sequence_dim: int) -> None:
        if sequence_dim not in (-2, -3):
            raise ValueError(f"sequence_dim: needed -2 ([B, H, T, D]) or -3 ([B, T, H, D] or [N, H, D]), got {sequence_dim}")
        if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.ndim < -sequence_dim or x.shape[-1] != self.head_dim:
            shape = "[B, H, T, D]" if sequence_dim == -2 else "[B, T, H, D] or [N, H, D]"
            raise ValueError(f"{name}: needed a floating tensor {shape} with D = head_dim = {self.head_dim}, got {described(x)}")


def _order_hint(name: str, x: torch.Tensor, positions: Positions, sequence_dim: int) -> str:
    """What to say of a wrong length when the other dim has the right one."""
    if x.ndim != 4 or not isinstance(positions, (range, torch.Tensor)) or count(positions) == x.shape[sequence_dim]:
        return ""
    read, other = ("[B, H, T, D]", -3) if sequence_dim == -2 else ("[B, T, H, D]", -2)
    if count(positions) != x.shape[other]:
        return ""
    return f"; {name} is read as {read}, sequence_dim={other} reads the other order"
