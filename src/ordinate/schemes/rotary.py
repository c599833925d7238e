"""What every rotary scheme does: turn pairs of entries of queries and keys by the angles of their positions."""

from __future__ import annotations

import abc
import math
from typing import Any, Self, get_args

import torch

from ordinate import phases as phase_recipes
from ordinate.arguments import call_arguments, fixed
from ordinate.checks import described, whole_number
from ordinate.phases import Frequencies, Phases
from ordinate.positions import Positions, check, count, ends
from ordinate.rotation import Arithmetic, Layout, Rotation, rotate
from ordinate.scaling.rule import Rule
from ordinate.sites import QueryKeyScheme


class RotaryScheme(QueryKeyScheme):
    """Turns pairs of every query and key by coordinate times frequency; final schemes say which pairs, coordinates, frequencies.

    Frequencies are plain numbers fixed in ``__init__``: no cast, device move or checkpoint reaches them.

    Example:
        >>> from ordinate import AxialRope, Rope
        >>> isinstance(Rope(head_dim=8, layout="half"), RotaryScheme), AxialRope(head_dim=8, layout="half").axes
        (True, 2)
    """

    head_dim: int = fixed("head_dim")
    rotary_dim: int = fixed("rotary_dim")
    scaling: Rule | None = fixed("scaling")
    length: int | None = fixed("length")
    phases: Phases = fixed("phases")
    layout: Layout
    rotary_start: int
    arithmetic: Arithmetic
    # How the pairs lie: parts of the head with pairs of their own, and the coordinate of each pair (None: there is one).
    _parts: int = 1
    _axis_of_pair: tuple[int, ...] | None = None
    _one_for_all: bool = False
    _frequencies: Frequencies
    _magnitude: float = 1.0
    _softmax_factor: float = 1.0
    _made_by: str

    @abc.abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """Give the constructor's arguments."""

    def _settle(self, frequencies: Frequencies, magnitude: float = 1.0, softmax_factor: float = 1.0) -> None:
        """Keep the frequencies, and what tells an ``at`` of this scheme from others'."""
        self._frequencies, self._magnitude, self._softmax_factor = frequencies, magnitude, softmax_factor
        axes = "" if self._axis_of_pair is None else f" {self._axis_of_pair}"
        self._made_by = f"{self.phases} {frequencies.fingerprint}{axes}"

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
            [T, rotary_dim / 2] or [B, T, rotary_dim / 2]

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
        return self._rotate("q", q, at, sequence_dim, factor=self.magnitude)

    def keys(self, k: torch.Tensor, at: Rotation | Positions, *, sequence_dim: int = -2) -> torch.Tensor:
        """Turn keys by their positions, given as positions or as ``at``."""
        return self._rotate("k", k, at, sequence_dim, factor=self.magnitude)

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, at: Rotation | Positions, *, sequence_dim: int = -2
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Turn queries and keys that have the same positions."""
        self._check_vectors("q", q, sequence_dim)
        if not isinstance(at, Rotation):
            at = self.at(at, device=q.device)
        factor = self.magnitude
        return self._rotate("q", q, at, sequence_dim, factor=factor), self._rotate("k", k, at, sequence_dim, factor=factor)

    def shift(self, keys: torch.Tensor, by: float | Positions, *, sequence_dim: int = -2) -> torch.Tensor:
        """Re-turn keys that already carry a rotation, as if their positions were larger by ``by``.

        Args:
            keys: turned keys.
            by: one distance for all tokens and coordinates (a number, may be negative), or one a token, as positions are given.
            sequence_dim: -2 for [B, H, T, D], -3 for [B, T, H, D] and [N, H, D].

        Returns:
            The keys at their new positions.

        Shape:
            as keys

        Example:
            >>> from ordinate import Rope
            >>> rope, k = Rope(head_dim=4, layout="half"), torch.randn(1, 1, 3, 4)
            >>> moved = rope.shift(rope.keys(k, range(3)), 5)
            >>> torch.allclose(moved, rope.keys(k, range(5, 8)), atol=1e-6)
            True
        """
        self._check_vectors("keys", keys, sequence_dim)
        if isinstance(by, (int, float)):
            if not -(2**62) < by < 2**62:
                raise ValueError(f"by: needed a finite distance, got {by}")
            dtype = torch.int64 if isinstance(by, int) else torch.float64
            shape = (keys.shape[sequence_dim],) if self.axes == 1 else (1, keys.shape[sequence_dim], self.axes)
            by = torch.full(shape, by, dtype=dtype, device=keys.device)
        return self._rotate("keys", keys, by, sequence_dim, factor=1.0)

    def returned(
        self, keys: torch.Tensor, positions: Positions, *, turned_by: RotaryScheme, sequence_dim: int = -2
    ) -> torch.Tensor:
        """Turn cached keys again, as this scheme turns them, when they carry another one's rotation and magnitude.

        Args:
            keys: turned by ``turned_by``.
            positions: where they are.
            turned_by: a scheme with the same width and layout, say of another length.
            sequence_dim: -2 for [B, H, T, D], -3 for [B, T, H, D] and [N, H, D].

        Returns:
            The keys, up to two roundings as ``keys(raw, positions)`` gives them.

        Shape:
            as keys

        Raises:
            ValueError: if the schemes turn other entries.

        Example:
            >>> from ordinate import Rope
            >>> from ordinate.scaling import DynamicNTK
            >>> k, rule = torch.randn(1, 1, 4, 8), DynamicNTK(factor=2.0, original_length=4)
            >>> short = Rope(head_dim=8, layout="half", scaling=rule)
            >>> long = short.at_length(9)
            >>> again = long.returned(short.keys(k, range(4)), range(4), turned_by=short)
            >>> torch.allclose(again, long.keys(k, range(4)), atol=1e-6)
            True
        """
        entries = ("head_dim", "layout", "rotary_dim", "rotary_start", "_parts", "axes")
        if type(turned_by) is not type(self) or any(getattr(self, name) != getattr(turned_by, name) for name in entries):
            raise ValueError(
                f"turned_by: needed a {type(self).__name__} that turns the same entries as {self!r}, got {turned_by!r}"
            )
        back = range(-positions.start, -positions.stop, -positions.step) if isinstance(positions, range) else -positions
        raw = turned_by._rotate("keys", keys, back, sequence_dim, factor=1.0 / turned_by.magnitude)
        return self._rotate("keys", raw, positions, sequence_dim, factor=self.magnitude)

    def softmax_scale(self, head_dim: int) -> float:
        """Give head_dim^-0.5, times the scaling rule's softmax factor."""
        return float(head_dim**-0.5) * self._softmax_factor

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(**self._arguments())

    def _cos_sin(
        self, positions: Positions, device: torch.device | str | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self.phases == "float32":
            return phase_recipes.float32(positions, self._frequencies.radians, axes=self._axis_of_pair, device=device)
        return phase_recipes.exact(positions, self._frequencies, axes=self._axis_of_pair, device=device, dtype=dtype)

    def _rotate(self, name: str, x: torch.Tensor, at: Rotation | Positions, sequence_dim: int, *, factor: float) -> torch.Tensor:
        """Turn, and multiply the entries that turn by a factor."""
        positions = at.positions if isinstance(at, Rotation) else at
        if isinstance(at, Rotation) and at.made_by != self._made_by:
            raise ValueError(f"{name}: needed at made with this scheme's frequencies, got others; call this scheme's at(positions)")
        self._check_vectors(name, x, sequence_dim)
        batch = x.shape[0] if x.ndim > -sequence_dim else 1
        hint = _order_hint(name, x, positions, sequence_dim)
        check(positions, length=x.shape[sequence_dim], batch=batch, axes=self.axes, one_for_all=self._one_for_all, hint=hint)
        if not isinstance(at, Rotation):
            self._check_reach(positions)
        if x.dtype == torch.float64 or not isinstance(at, Rotation):
            precision = torch.float64 if x.dtype == torch.float64 else torch.float32
            cos, sin = self._cos_sin(positions, x.device, precision)
        else:
            cos, sin = at.cos, at.sin
        if cos.device != x.device:
            raise ValueError(f"{name}: needed at made for device {x.device}, got {cos.device}; use at(positions, device=...)")
        if factor != 1.0:
            cos, sin = cos * factor, sin * factor
        if cos.ndim == 3 and x.ndim == -sequence_dim:  # positions [1, T] for vectors without a batch
            cos, sin = cos[0], sin[0]
        return rotate(
            x,
            cos,
            sin,
            layout=self.layout,
            start=self.rotary_start,
            parts=self._parts,
            sequence_dim=sequence_dim,
            arithmetic=self.arithmetic,
        )

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


def choice_faults(**chosen: tuple[object, Any]) -> list[str]:
    """Find named choices that are not there.

    Args:
        chosen: a value and the Literal of what is known, by name.

    Returns:
        Faults.

    Example:
        >>> choice_faults(layout=("Half", Layout))
        ["layout: needed one of half, interleaved, got 'Half'"]
    """
    wrong = {name: (value, get_args(known)) for name, (value, known) in chosen.items() if value not in get_args(known)}
    return [f"{name}: needed one of {', '.join(known)}, got {value!r}" for name, (value, known) in wrong.items()]


def _order_hint(name: str, x: torch.Tensor, positions: Positions, sequence_dim: int) -> str:
    """What to say of a wrong length when the other dim has the right one."""
    if x.ndim != 4 or not isinstance(positions, (range, torch.Tensor)):
        return ""
    read, other = ("[B, H, T, D]", -3) if sequence_dim == -2 else ("[B, T, H, D]", -2)
    if count(positions) != x.shape[other]:
        return ""
    return f"; {name} is read as {read}, sequence_dim={other} reads the other order"
