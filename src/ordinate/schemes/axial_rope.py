"""Axial RoPE: every coordinate of a patch turns its own share of the pairs. Heo et al., https://arxiv.org/abs/2403.13298

    pair i of axis a at coordinates p turns by p_a w_i,  w_i = base^(-2i / d),  d = rotary_dim / axes

Where known implementations differ: which coordinate comes first (rows, or columns as in SAM 2 and Step-3), whether an axis has one
stretch of pairs or the axes take turns (Kimi, EfficientLoFTR), whether pairs are halves of the head, of each axis' part (Gemma 4)
or neighbours, and whether the axes share out one row of frequencies (Pixtral: even ones for rows, odd ones for columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ordinate.arguments import fixed
from ordinate.checks import whole_number, whole_numbers
from ordinate.phases import Frequencies, Phases, float32_from_base, from_base, from_values, gathered
from ordinate.rotation import Arithmetic, Layout
from ordinate.schemes.rope_settings import base_faults
from ordinate.schemes.rotary import RotaryScheme, choice_faults
from ordinate.sites import Facts

AxialLayout = Literal["half", "half_by_axis", "interleaved"]
AxialOrder = Literal["blocks", "alternating"]
Spectrum = Literal["each", "shared"]


class AxialRope(RotaryScheme):
    """Turns pairs of every query and key by the coordinates of a patch, each axis its own share of the pairs; no parameters.

    pair i of axis a turns by p_a w_i, w_i = base^(-2i / d), i = 0 .. d / 2 - 1, d = rotary_dim / axes.

    Args:
        head_dim: width of a head, D.
        axes: coordinates of a patch, A: 2 for images, 3 for videos.
        layout: "half" pairs entry i with i + rotary_dim / 2, "interleaved" pairs 2i with 2i + 1, "half_by_axis" pairs the halves of
            each axis' part (Gemma 4). No default: weights decide.
        order: "blocks" (all pairs of one axis, then all of the next) or "alternating" (the axes take turns).
        base: also called theta; one number, or one for each axis.
        axis_order: which coordinate has the first share, which the next: (0, 1) is rows first, (1, 0) columns first.
        spectrum: "each" (every axis has the frequencies of its own width) or "shared" (the axes deal out one row of
            rotary_dim / 2 frequencies among them, as Pixtral does).
        rotary_dim: entries that turn; the most that all axes can share equally if None.
        phases: "exact" (cos and sin to 0.51 ulp of float32) or "float32" (bit for bit what transformers computes).
        arithmetic: as for ``Rope``.

    Raises:
        ValueError: if widths, bases or a named choice do not fit; all faults in one message.

    Shape:
        q [B, H, T, D], k [B, H_kv, T, D], positions [B, T, A] or [1, T, A] -> the same shapes (sequence_dim=-3: [B, T, H, D])

    Example:
        >>> import torch
        >>> from ordinate import positions
        >>> rope = AxialRope(head_dim=8, layout="half")
        >>> at = rope.at(positions.grid(2, 3))
        >>> at.cos.shape
        torch.Size([1, 6, 4])
        >>> q = torch.randn(1, 4, 6, 8)
        >>> torch.equal(rope.queries(q, at)[:, :, 0], q[:, :, 0])
        True

    Reference:
        Heo et al. 2024, https://arxiv.org/abs/2403.13298; Lu et al. 2023, https://arxiv.org/abs/2312.17172

    Differs from:
        transformers: exact angles by default; with phases="float32" equal to its vision encoders bit for bit.
    """

    facts = Facts(
        parameters="0",
        max_length="the training grid, extendable",
        encodes="relative shift along each axis, in the dot product",
        source="Heo et al. 2024, https://arxiv.org/abs/2403.13298",
    )

    axes: int = fixed("axes")
    base: float | tuple[float, ...] = fixed("base")
    order: AxialOrder = fixed("order")
    axis_order: tuple[int, ...] = fixed("axis_order")
    spectrum: Spectrum = fixed("spectrum")

    def __init__(
        self,
        *,
        head_dim: int,
        layout: AxialLayout,
        axes: int = 2,
        order: AxialOrder = "blocks",
        base: float | Sequence[float] = 10000.0,
        axis_order: Sequence[int] | None = None,
        spectrum: Spectrum = "each",
        rotary_dim: int | None = None,
        phases: Phases = "exact",
        arithmetic: Arithmetic = "float32",
    ) -> None:
        super().__init__()
        head_dim, axes = whole_number("head_dim", head_dim, least=1), whole_number("axes", axes, least=2)
        if axes > head_dim // 2:
            raise ValueError(f"axes: needed at most {head_dim // 2}, a pair each of head_dim={head_dim}, got {axes}")
        width = head_dim // (2 * axes) * (2 * axes) if rotary_dim is None else whole_number("rotary_dim", rotary_dim)
        turns = tuple(range(axes)) if axis_order is None else whole_numbers("axis_order", axis_order)
        bases = tuple(base) if isinstance(base, Sequence) else (base,) * axes
        faults = choice_faults(layout=(layout, AxialLayout), order=(order, AxialOrder), spectrum=(spectrum, Spectrum))
        faults += choice_faults(phases=(phases, Phases), arithmetic=(arithmetic, Arithmetic))
        faults += [fault for number in bases for fault in base_faults("base", number)]
        if not 0 < width <= head_dim or width % (2 * axes):
            faults.append(f"rotary_dim: needed a multiple of {2 * axes} (2 x axes) from {2 * axes} to {head_dim}, got {width}")
        if len(bases) != axes:
            faults.append(f"base: needed one number, or one for each of {axes} axes, got {len(bases)}")
        if spectrum == "shared" and len(set(bases)) > 1:
            faults.append(f"base: needed one number with spectrum='shared', got {bases}")
        if sorted(turns) != list(range(axes)):
            faults.append(f"axis_order: needed the numbers 0 to {axes - 1}, each once, got {turns}")
        if layout == "half_by_axis" and order == "alternating":
            faults.append("order: needed 'blocks' with layout='half_by_axis', got 'alternating'")
        if faults:
            raise ValueError("; ".join(faults))
        self.head_dim, self.axes, self.rotary_dim, self.order = head_dim, axes, width, order
        self.base, self.axis_order, self.spectrum = bases if len(set(bases)) > 1 else bases[0], turns, spectrum
        self.phases, self.arithmetic, self.rotary_start = phases, arithmetic, 0
        self.scaling, self.length, self._given_layout = None, None, layout
        self.layout: Layout = "interleaved" if layout == "interleaved" else "half"
        self._parts = axes if layout == "half_by_axis" else 1
        pairs = _dealt(turns, width // 2 // axes, order)
        self._axis_of_pair = tuple(axis for axis, _ in pairs)
        self._settle(_frequencies_of(pairs, turns, bases, width, spectrum, phases))

    def _arguments(self) -> dict[str, Any]:
        return {
            "head_dim": self.head_dim,
            "layout": self._given_layout,
            "axes": self.axes,
            "order": self.order,
            "base": self.base,
            "axis_order": self.axis_order,
            "spectrum": self.spectrum,
            "rotary_dim": self.rotary_dim,
            "phases": self.phases,
            "arithmetic": self.arithmetic,
        }


def _dealt(turns: tuple[int, ...], share: int, order: AxialOrder) -> list[tuple[int, int]]:
    """The axis of each pair, and the pair's number within the axis."""
    if order == "blocks":
        return [(axis, number) for axis in turns for number in range(share)]
    return [(axis, number) for number in range(share) for axis in turns]


def _frequencies_of(
    pairs: list[tuple[int, int]], turns: tuple[int, ...], bases: tuple[float, ...], width: int, shares: Spectrum, phases: Phases
) -> Frequencies:
    axes, place = len(turns), {axis: place for place, axis in enumerate(turns)}
    if shares == "shared":
        exponents, wide = [(number * axes + place[axis], bases[axis]) for axis, number in pairs], width
    else:
        exponents, wide = [(number, bases[axis]) for axis, number in pairs], width // axes
    if phases == "float32":
        rows = {base: float32_from_base(base, wide) for base in set(bases)}
        return from_values([rows[base][number] for number, base in exponents])
    exact = {base: from_base(base, [(2 * number, wide) for number in range(wide // 2)]) for base in set(bases)}
    return gathered([(exact[base], number) for number, base in exponents])
