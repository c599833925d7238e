"""What every rotary scheme does: turn pairs of entries of queries and keys by the angles of their positions."""

from __future__ import annotations

from typing import Any, get_args

import torch

from ordinate import phases as phase_recipes
from ordinate.arguments import fixed
from ordinate.phases import Frequencies, Phases
from ordinate.positions import Positions
from ordinate.rotation import rotate
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
    # How the pairs lie: parts of the head with pairs of their own, and the coordinate of each pair (None: there is one).
    _parts: int = 1
    _axis_of_pair: tuple[int, ...] | None = None

    def _settle(self, frequencies: Frequencies, magnitude: float = 1.0, softmax_factor: float = 1.0) -> None:
        """Keep the frequencies, and what tells an ``at`` of this scheme from others'."""
        self._frequencies, self._magnitude, self._softmax_factor = frequencies, magnitude, softmax_factor
        axes = "" if self._axis_of_pair is None else f" {self._axis_of_pair}"
        self._made_by = f"{self.phases} {frequencies.fingerprint}{axes}"

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

    def _applied(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, sequence_dim: int) -> torch.Tensor:
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
