"""Rotary position embedding (RoPE). Su et al., RoFormer, https://arxiv.org/abs/2104.09864

    pair i of a query or key at position p is turned by the angle p w_i,  w_i = base^(-2i / rotary_dim)
    q_m . k_n then depends on the contents and on m - n

Where known implementations differ: which entries make a pair (the paper and GPT-J: interleaved; Llama and GPT-NeoX: half), how many
entries turn (GPT-NeoX: a quarter of the head), and how the angles are rounded: transformers multiplies position and frequency in
float32 (phases="float32"), then most of its models turn in the activations' dtype (arithmetic="input").
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, get_args

import torch

from ordinate import phases as phase_recipes
from ordinate.arguments import call_arguments, fixed
from ordinate.checks import described, finite_numbers, whole_number
from ordinate.phases import Phases
from ordinate.positions import Positions, check, count, ends
from ordinate.rotation import Arithmetic, Layout, Rotation, rotate
from ordinate.scaling.rule import Rule
from ordinate.schemes.rope_settings import frequencies_of, scaled_frequencies, scaling_faults, width_faults
from ordinate.sites import Facts, QueryKeyScheme

DEFAULT_BASE = 10000.0


class Rope(QueryKeyScheme):
    """Turns pairs of every query and key by position times frequency; no parameters, no table, no maximum length.

    pair i at position p turns by p w_i, w_i = base^(-2i / rotary_dim), i = 0 .. rotary_dim / 2 - 1. Frequencies are plain numbers
    fixed here: no cast, device move or checkpoint reaches them.

    Args:
        head_dim: width of a head, D.
        layout: "half" pairs entry i with i + rotary_dim / 2; "interleaved" pairs 2i with 2i + 1. No default: weights decide.
        base: the 10000 of the paper, also called theta.
        rotary_dim: entries that turn, even; all that are left after rotary_start if None.
        rotary_start: first entry that turns.
        inverse_frequencies: w_i in radians a position instead of base, rotary_dim / 2 numbers; float64 values count as exact.
        scaling: a rule of ``ordinate.scaling`` that changes the frequencies; its float64 values count as exact. Its magnitude
            multiplies the turned entries of queries and keys, its softmax factor the softmax scale.
        length: of the sequence, for a rule that needs it; None is any length up to the rule's original one, and farther positions
            are refused. ``at_length`` sets it.
        phases: "exact" (cos and sin to 0.51 ulp of float32) or "float32" (bit for bit what transformers computes).
        arithmetic: "float32" (turn in float32, round once), "input" (every step in the input's dtype, as most of transformers) or
            "mixed" (cos and sin rounded to the input's dtype, then as float32).

    Raises:
        ValueError: if widths, base, frequencies or a named choice do not fit; all faults in one message.

    Shape:
        q [B, H, T, D], k [B, H_kv, T, D], positions [T] or [B, T] -> the same shapes (sequence_dim=-3: [B, T, H, D] or [N, H, D])

    Example:
        >>> rope = Rope(head_dim=4, layout="half")
        >>> x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
        >>> rope.queries(x, rope.at(range(1, 2)))
        tensor([[[[-1.9841,  1.9599,  2.4624,  4.0198]]]])
        >>> q, k = torch.randn(1, 8, 5, 4), torch.randn(1, 2, 5, 4)
        >>> turned_q, turned_k = rope(q, k, range(5))

    Reference:
        Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.2

    Differs from:
        transformers: exact angles by default; with phases="float32" and arithmetic="input" equal to it bit for bit.
    """

    facts = Facts(
        parameters="0",
        max_length="the training length, extendable",
        encodes="relative shift, in the dot product",
        source="Su et al. 2021, https://arxiv.org/abs/2104.09864",
    )

    head_dim: int = fixed("head_dim")
    base: float = fixed("base")
    rotary_dim: int = fixed("rotary_dim")
    scaling: Rule | None = fixed("scaling")
    length: int | None = fixed("length")
    phases: Phases = fixed("phases")

    def __init__(
        self,
        *,
        head_dim: int,
        layout: Layout,
        base: float = DEFAULT_BASE,
        rotary_dim: int | None = None,
        rotary_start: int = 0,
        inverse_frequencies: Sequence[float] | None = None,
        scaling: Rule | None = None,
        length: int | None = None,
        phases: Phases = "exact",
        arithmetic: Arithmetic = "float32",
    ) -> None:
        super().__init__()
        head_dim = whole_number("head_dim", head_dim, least=1)
        rotary_start = whole_number("rotary_start", rotary_start)
        width = head_dim - rotary_start if rotary_dim is None else whole_number("rotary_dim", rotary_dim)
        given = None if inverse_frequencies is None else finite_numbers("inverse_frequencies", inverse_frequencies)
        faults = width_faults(head_dim, width, rotary_start, given)
        for name, value, known in (("layout", layout, Layout), ("phases", phases, Phases), ("arithmetic", arithmetic, Arithmetic)):
            if value not in get_args(known):
                faults.append(f"{name}: needed one of {', '.join(get_args(known))}, got {value!r}")
        if not isinstance(base, (int, float)) or not 0 < base < math.inf:
            faults.append(f"base: needed a positive finite number, got {base!r}")
        faults += scaling_faults(scaling, length, given)
        if faults:
            raise ValueError("; ".join(faults))
        if given is not None and base != DEFAULT_BASE:
            warnings.warn(f"Rope: base={base} has no effect beside inverse_frequencies", stacklevel=2)
        self.head_dim, self.layout, self.base = head_dim, layout, base
        self.rotary_dim, self.rotary_start, self.phases, self.arithmetic = width, rotary_start, phases, arithmetic
        self.scaling, self.length = scaling, None if length is None else int(length)
        self._given = given
        if scaling is None:
            self._frequencies, self._magnitude, self._softmax_factor = frequencies_of(base, width, given, phases), 1.0, 1.0
        else:
            self._frequencies, self._magnitude, self._softmax_factor = scaled_frequencies(scaling, base, width, length, phases)
        self._made_by = f"{phases} {self._frequencies.fingerprint}"

    @property
    def inverse_frequencies(self) -> tuple[float, ...]:
        """Radians a position, one number a pair (float32 values for phases="float32")."""
        return self._frequencies.radians

    @property
    def magnitude(self) -> float:
        """Factor of the turned entries of queries and keys; 1 but for YaRN and LongRoPE. ``at`` gives cos and sin without it."""
        return self._magnitude

    def at_length(self, length: int) -> Rope:
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
            >>> from ordinate.scaling import DynamicNTK
            >>> rope = Rope(head_dim=8, layout="half", scaling=DynamicNTK(factor=2.0, original_length=4))
            >>> [round(rope.at_length(n).inverse_frequencies[-1], 7) for n in (4, 8)]
            [0.001, 0.0003333]
        """
        length = whole_number("length", length, least=1)
        if self.scaling is None or not self.scaling.needs_length:
            return self
        return Rope(**{**self._arguments(), "length": length})

    def at(self, positions: Positions, *, device: torch.device | str | None = None) -> Rotation:
        """Compute cos and sin of every position and pair, once for all layers with equal settings.

        Args:
            positions: a range, or a tensor [T] or [B, T], whole or fractional.
            device: where a range's result is made; a tensor's stays with the tensor.

        Returns:
            cos and sin, float32.

        Shape:
            [T, rotary_dim / 2] or [B, T, rotary_dim / 2]

        Example:
            >>> Rope(head_dim=8, layout="half").at(range(3)).cos.shape
            torch.Size([3, 4])
        """
        check(positions)
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
            by: one distance for all (a number, may be negative), or one a token: a range, [T] or [B, T].
            sequence_dim: -2 for [B, H, T, D], -3 for [B, T, H, D] and [N, H, D].

        Returns:
            The keys at their new positions.

        Shape:
            as keys

        Example:
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
            by = torch.full((keys.shape[sequence_dim],), by, dtype=dtype, device=keys.device)
        return self._rotate("keys", keys, by, sequence_dim, factor=1.0)

    def returned(self, keys: torch.Tensor, positions: Positions, *, turned_by: Rope, sequence_dim: int = -2) -> torch.Tensor:
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
            >>> from ordinate.scaling import DynamicNTK
            >>> k, rule = torch.randn(1, 1, 4, 8), DynamicNTK(factor=2.0, original_length=4)
            >>> short = Rope(head_dim=8, layout="half", scaling=rule)
            >>> long = short.at_length(9)
            >>> again = long.returned(short.keys(k, range(4)), range(4), turned_by=short)
            >>> torch.allclose(again, long.keys(k, range(4)), atol=1e-6)
            True
        """
        entries = ("head_dim", "layout", "rotary_dim", "rotary_start")
        if not isinstance(turned_by, Rope) or any(getattr(self, name) != getattr(turned_by, name) for name in entries):
            raise ValueError(f"turned_by: needed a Rope that turns the same entries as {self!r}, got {turned_by!r}")
        back = range(-positions.start, -positions.stop, -positions.step) if isinstance(positions, range) else -positions
        raw = turned_by._rotate("keys", keys, back, sequence_dim, factor=1.0 / turned_by.magnitude)
        return self._rotate("keys", raw, positions, sequence_dim, factor=self.magnitude)

    def softmax_scale(self, head_dim: int) -> float:
        """Give head_dim^-0.5, times the scaling rule's softmax factor."""
        return float(head_dim**-0.5) * self._softmax_factor

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(**self._arguments())

    def _arguments(self) -> dict[str, Any]:
        optional = {"inverse_frequencies": self._given, "scaling": self.scaling, "length": self.length}
        return {
            "head_dim": self.head_dim,
            "layout": self.layout,
            "base": self.base,
            "rotary_dim": self.rotary_dim,
            "rotary_start": self.rotary_start,
            **{name: value for name, value in optional.items() if value is not None},
            "phases": self.phases,
            "arithmetic": self.arithmetic,
        }

    def _cos_sin(
        self, positions: Positions, device: torch.device | str | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self.phases == "float32":
            return phase_recipes.float32(positions, self._frequencies.radians, device=device)
        return phase_recipes.exact(positions, self._frequencies, device=device, dtype=dtype)

    def _rotate(self, name: str, x: torch.Tensor, at: Rotation | Positions, sequence_dim: int, *, factor: float) -> torch.Tensor:
        """Turn, and multiply the entries that turn by a factor."""
        positions = at.positions if isinstance(at, Rotation) else at
        if isinstance(at, Rotation) and at.made_by != self._made_by:
            raise ValueError(f"{name}: needed at made with this scheme's frequencies, got others; call this scheme's at(positions)")
        self._check_vectors(name, x, sequence_dim)
        batch = x.shape[0] if x.ndim > -sequence_dim else 1
        check(positions, length=x.shape[sequence_dim], batch=batch, hint=_order_hint(name, x, positions, sequence_dim))
        if not isinstance(at, Rotation):
            self._check_reach(positions)
        if x.dtype == torch.float64 or not isinstance(at, Rotation):
            precision = torch.float64 if x.dtype == torch.float64 else torch.float32
            cos, sin = self._cos_sin(positions, x.device, precision)
        else:
            cos, sin = at.cos, at.sin
        if cos.device != x.device:
            raise ValueError(f"{name}: needed at made for device {x.device}, got {cos.device}; use rope.at(positions, device=...)")
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


def _order_hint(name: str, x: torch.Tensor, positions: Positions, sequence_dim: int) -> str:
    """What to say of a wrong length when the other dim has the right one."""
    if x.ndim != 4 or not isinstance(positions, (range, torch.Tensor)):
        return ""
    read, other = ("[B, H, T, D]", -3) if sequence_dim == -2 else ("[B, T, H, D]", -2)
    if count(positions) != x.shape[other]:
        return ""
    return f"; {name} is read as {read}, sequence_dim={other} reads the other order"
