"""Entrywise RoPE: every entry has a coordinate and a frequency of its own. No rotation, and yet checkpoints are trained with it.

    out_e = x_e cos(p_a(e) w_e) + swapped(x)_e sin(p_a(e) w_e),   swapped: (x1, x2) -> (-x2, x1) for every pair

RoPE gives the two entries of a pair one angle. Two published models do not: HunYuan-VL lays the sections of its coordinates over
the whole head, whose halves are the pairs; V-JEPA 2 lays out frequencies for halves, and pairs neighbours. Norms change with the
position, and scores depend on more than differences of positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch

from ordinate import phases as phase_recipes
from ordinate.arguments import fixed
from ordinate.checks import whole_number
from ordinate.phases import Frequencies, gathered
from ordinate.positions import Positions, as_tensor
from ordinate.rotation import Arithmetic, Layout, with_swapped
from ordinate.scaling.rule import Rule
from ordinate.schemes.angles import AngleScheme
from ordinate.schemes.axial_rope import Spectrum
from ordinate.schemes.rope_settings import base_faults, frequencies_of, scaled_frequencies, scaling_faults
from ordinate.schemes.rotary import choice_faults
from ordinate.sites import Facts

EntrywisePhases = Literal["exact", "float32", "input"]


class EntrywiseRope(AngleScheme):
    """Multiplies every entry of queries and keys by cos, and its partner by sin, of an angle of the entry's own; no parameters.

    This is no rotation where partners' angles differ: norms change, the negative position does not undo it, turned keys cannot be
    moved (there is no ``shift``), and scores are not those of the distance. It is here for checkpoints that were trained with it.

    Args:
        head_dim: width of a head, D.
        layout: "half" swaps entry i with i + n / 2, n = sum(shares); "interleaved" swaps 2i with 2i + 1. Weights decide.
        shares: entries of each coordinate, one after another, even numbers; entries after them stay as they are.
        spectrum: "shared" (entry e has w_i, i = e mod n / 2, w_i = base^(-2i / n), whatever its coordinate: HunYuan-VL) or "each"
            (entry j of a share of d entries has w_i, i = j mod d / 2, w_i = base^(-2i / d): V-JEPA 2). No default: weights decide.
        base: also called theta.
        scaling: as for ``Rope``, with spectrum="shared".
        length: as for ``Rope``.
        phases: "exact", "float32" (bit for bit what transformers computes) or "input" (frequencies and angles are rounded to the
            vectors' dtype, as V-JEPA 2 does; far positions merge in bfloat16).
        arithmetic: as for ``Rope``.

    Raises:
        ValueError: if widths, base or a named choice do not fit; all faults in one message.

    Shape:
        q [B, H, T, D], k [B, H_kv, T, D], positions [B, T, A] (with spectrum="shared" also [T], [B, T], where all coordinates are
        one) -> the same shapes

    Example:
        >>> import torch
        >>> rope = EntrywiseRope(head_dim=8, layout="half", shares=(4, 4), spectrum="shared")
        >>> rope.axis_of_entry
        (0, 0, 0, 0, 1, 1, 1, 1)
        >>> ones, place = torch.ones(1, 1, 1, 8), torch.tensor([[[1, 0]]])
        >>> rope.queries(ones, place)[0, 0, 0, [0, 4]]
        tensor([-0.3012,  1.0000])

    Reference:
        Assran et al. 2025, V-JEPA 2, https://arxiv.org/abs/2506.09985; its rotary code repeats frequencies half by half

    Differs from:
        transformers: exact angles by default; coordinates come last, [B, T, A].
    """

    facts = Facts(
        parameters="0",
        max_length="the training length, extendable",
        encodes="each coordinate, in the dot product; not the distance alone",
        source="Assran et al. 2025, https://arxiv.org/abs/2506.09985",
    )

    axes: int = fixed("axes")
    base: float = fixed("base")
    shares: tuple[int, ...] = fixed("shares")
    spectrum: Spectrum = fixed("spectrum")
    phases: EntrywisePhases = fixed("phases")

    def __init__(
        self,
        *,
        head_dim: int,
        layout: Layout,
        shares: Sequence[int],
        spectrum: Spectrum,
        base: float = 10000.0,
        scaling: Rule | None = None,
        length: int | None = None,
        phases: EntrywisePhases = "exact",
        arithmetic: Arithmetic = "float32",
    ) -> None:
        super().__init__()
        head_dim = whole_number("head_dim", head_dim, least=1)
        widths = tuple(whole_number("shares", share) for share in shares)
        faults = choice_faults(layout=(layout, Layout), spectrum=(spectrum, Spectrum), phases=(phases, EntrywisePhases))
        faults += choice_faults(arithmetic=(arithmetic, Arithmetic))
        faults += base_faults("base", base) + scaling_faults(scaling, length, None) + _share_faults(widths, head_dim, spectrum)
        if scaling is not None and (spectrum, phases) not in (("shared", "exact"), ("shared", "float32")):
            faults.append("scaling: needed spectrum='shared' and phases 'exact' or 'float32' beside it")
        if faults:
            raise ValueError("; ".join(faults))
        self.head_dim, self.layout, self.base, self.shares, self.axes = head_dim, layout, base, widths, len(widths)
        self.spectrum, self.phases, self.arithmetic, self.rotary_dim = spectrum, phases, arithmetic, sum(widths)
        self.scaling, self.length = scaling, None if length is None else int(length)
        self._one_for_all, self._angles_as_input = spectrum == "shared", phases == "input"
        self._axis_of_entry = tuple(axis for axis, share in enumerate(widths) for _ in range(share))
        rows = (self.rotary_dim,) if spectrum == "shared" else widths
        if scaling is None:
            made = [frequencies_of(base, row, None, "exact" if phases == "exact" else "float32") for row in rows]
        else:
            found, self._magnitude, self._softmax_factor = scaled_frequencies(
                scaling, base, rows[0], length, "exact" if phases == "exact" else "float32"
            )
            made = [found]
        self._frequencies = _repeated(made)
        self._made_by = f"{phases} {self._frequencies.fingerprint} entry by entry {self._axis_of_entry}"

    @property
    def axis_of_entry(self) -> tuple[int, ...]:
        """The coordinate of each entry."""
        return self._axis_of_entry

    def _arguments(self) -> dict[str, Any]:
        optional = {"scaling": self.scaling, "length": self.length}
        return {
            "head_dim": self.head_dim,
            "layout": self.layout,
            "shares": self.shares,
            "spectrum": self.spectrum,
            "base": self.base,
            **{name: value for name, value in optional.items() if value is not None},
            "phases": self.phases,
            "arithmetic": self.arithmetic,
        }

    def _cos_sin(
        self, positions: Positions, device: torch.device | str | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self.phases == "exact":
            return phase_recipes.exact(positions, self._frequencies, axes=self._axis_of_entry, device=device, dtype=dtype)
        if self.phases == "float32" or dtype == torch.float32:
            return phase_recipes.float32(positions, self._frequencies.radians, axes=self._axis_of_entry, device=device)
        place = as_tensor(positions, device)
        places = place[..., None] if place.ndim < 3 else place[..., list(self._axis_of_entry)]
        angles = places.to(dtype) * self._rounded(dtype, place.device)
        return angles.cos(), angles.sin()

    def _rounded(self, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """The frequencies, every step of them rounded."""
        rows = (self.rotary_dim,) if self.spectrum == "shared" else self.shares
        made = [1.0 / self.base ** (torch.arange(row // 2, dtype=dtype, device=device) / (row / 2)) for row in rows]
        return torch.cat([row.repeat(2) for row in made])

    def _quickly(self, *_: object) -> None:
        return None

    def _applied(
        self, vectors: tuple[torch.Tensor, ...], cos: torch.Tensor, sin: torch.Tensor, sequence_dim: int
    ) -> Sequence[torch.Tensor]:
        settings: Any = {"layout": self.layout, "sequence_dim": sequence_dim, "arithmetic": self.arithmetic}
        return [with_swapped(x, cos, sin, **settings) for x in vectors]


def _repeated(rows: Sequence[Frequencies]) -> Frequencies:
    """Each row twice, one after the other."""
    return gathered([(row, number) for row in rows for _ in range(2) for number in range(len(row.radians))])


def _share_faults(shares: tuple[int, ...], head_dim: int, spectrum: Spectrum) -> list[str]:
    least = 2 if spectrum == "each" else 0
    fits = len(shares) > 1 and all(share % 2 == 0 and share >= least for share in shares) and 2 <= sum(shares) <= head_dim
    needed = f"two even numbers or more, each at least {least}, together at most {head_dim}"
    return [] if fits else [f"shares: needed {needed}, got {shares}"]
