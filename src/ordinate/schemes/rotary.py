"""What every rotary scheme does: turn pairs of entries of queries and keys by the angles of their positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import torch
from torch.nn.modules import module as _hooks

from ordinate import phases as phase_recipes
from ordinate.arguments import fixed
from ordinate.checks import described
from ordinate.formula import Pairs
from ordinate.kernels.quick import by_kernel, one_by_kernel, quick
from ordinate.phases import Frequencies, Phases
from ordinate.positions import Positions
from ordinate.rotation import Rotation, rotated, rotated_in_place
from ordinate.schemes.angles import AngleScheme


class RotaryScheme(AngleScheme):
    """Turns pairs of every query and key by coordinate times frequency; final schemes say which pairs, coordinates, frequencies.

    Example:
        >>> from ordinate import AxialRope, Rope
        >>> isinstance(Rope(head_dim=8, layout="half"), RotaryScheme), AxialRope(head_dim=8, layout="half").axes
        (True, 2)
    """

    phases: Phases = fixed("phases")
    rotary_start: int
    _head_dim: int
    # How the pairs lie: parts of the head with pairs of their own, and the coordinate of each pair (None: there is one).
    _parts: int = 1
    _axis_of_pair: tuple[int, ...] | None = None

    def _settle(self, frequencies: Frequencies, magnitude: float = 1.0, softmax_factor: float = 1.0) -> None:
        """Keep the frequencies, and what tells an ``at`` of this scheme from others'."""
        self._frequencies, self._magnitude, self._softmax_factor = frequencies, magnitude, softmax_factor
        axes = "" if self._axis_of_pair is None else f" {self._axis_of_pair}"
        self._made_by = f"{self.phases} {frequencies.fingerprint}{axes}"
        # By sequence_dim; none where cos and sin are changed first.
        plain = self.arithmetic == "float32" and magnitude == 1.0
        pairs = [Pairs(self.layout, self.rotary_start, self._parts, dim, False) for dim in (-2, -3)] if plain else []
        self._quick = {of.sequence_dim: quick(of, self._head_dim) for of in pairs}

    def __call__(
        self, q: torch.Tensor, k: torch.Tensor, at: Rotation | Positions, *, sequence_dim: int = -2
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Turn queries and keys that have the same positions, in one call; a module's call, but for a short way to the kernel."""
        how = self._quick.get(sequence_dim)
        if (
            how is not None
            and type(at) is Rotation
            and at.made_by == self._made_by
            and not (
                self._forward_hooks or self._forward_pre_hooks or _hooks._global_forward_hooks or _hooks._global_forward_pre_hooks
            )
        ):
            turned = by_kernel(q, k, at.cos, at.sin, how)
            if turned is not None:
                return turned
        both: tuple[torch.Tensor, torch.Tensor] = super().__call__(q, k, at, sequence_dim=sequence_dim)
        return both

    def rotate_(
        self, q: torch.Tensor, k: torch.Tensor, at: Rotation | Positions, *, sequence_dim: int = -2
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Turn queries and keys in place, for inference: no new memory is taken.

        Args:
            q: queries.
            k: keys, of q's dtype.
            at: their positions, or what ``at`` made of them.
            sequence_dim: -2 for [B, H, T, D], -3 for [B, T, H, D] and [N, H, D].

        Returns:
            q and k themselves.

        Shape:
            as q and k

        Raises:
            ValueError: as the call does; if a gradient is needed, entries share memory, or q and k differ in dtype.

        Example:
            >>> from ordinate import Rope
            >>> rope, q, k = Rope(head_dim=4, layout="half"), torch.ones(1, 2, 3, 4), torch.ones(1, 1, 3, 4)
            >>> turned = rope(q, k, range(3))
            >>> rope.rotate_(q, k, range(3))[0] is q, torch.equal(q, turned[0])
            (True, True)
        """
        self._check_call("q", q, at, sequence_dim)
        self._check_call("k", k, at, sequence_dim)
        if q.dtype != k.dtype or q.ndim != k.ndim:
            raise ValueError(f"k: needed q's dtype and dims, {described(q)}, got {described(k)}")
        tables = self._tables(q, at, sequence_dim, self.magnitude)
        rotated_in_place((q, k), *tables, self.layout, self.rotary_start, self._parts, sequence_dim, self.arithmetic)
        return q, k

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

    def _cos_sin(
        self, positions: Positions, device: torch.device | str | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self.phases == "float32":
            return phase_recipes.float32(positions, self._frequencies.radians, axes=self._axis_of_pair, device=device)
        return phase_recipes.exact(positions, self._frequencies, axes=self._axis_of_pair, device=device, dtype=dtype)

    def _quickly(self, x: torch.Tensor, at: Rotation | Positions, sequence_dim: int) -> torch.Tensor | None:
        how = self._quick.get(sequence_dim)
        if how is None or type(at) is not Rotation or at.made_by != self._made_by:
            return None
        return one_by_kernel(x, at.cos, at.sin, how)

    def _applied(
        self, vectors: tuple[torch.Tensor, ...], cos: torch.Tensor, sin: torch.Tensor, sequence_dim: int
    ) -> Sequence[torch.Tensor]:
        return rotated(vectors, cos, sin, self.layout, self.rotary_start, self._parts, sequence_dim, self.arithmetic)


def choice_faults(**chosen: tuple[object, Any]) -> list[str]:
    """Find named choices that are not there.

    Args:
        chosen: a value and the Literal of what is known, by name.

    Returns:
        Faults.

    Example:
        >>> from ordinate.rotation import Layout
        >>> choice_faults(layout=("Half", Layout))
        ["layout: needed one of half, interleaved, got 'Half'"]
    """
    wrong = {name: (value, get_args(known)) for name, (value, known) in chosen.items() if value not in get_args(known)}
    return [f"{name}: needed one of {', '.join(known)}, got {value!r}" for name, (value, known) in wrong.items()]
