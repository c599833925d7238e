"""Multimodal RoPE (M-RoPE): the pairs of one RoPE, shared out among time, row and column. Wang et al., https://arxiv.org/abs/2409.12191

    pair i at coordinates p turns by p_a(i) w_i,  w_i = base^(-2i / rotary_dim),  a(i) the coordinate whose section holds pair i

A token of text has one number for all coordinates, so on text this is RoPE. Where known implementations differ: whether sections
lie one after another (Qwen2-VL), the axes take turns (Qwen3-VL) or rows and columns take turns before time (ERNIE 4.5-VL).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ordinate.arguments import fixed
from ordinate.checks import whole_number, whole_numbers
from ordinate.phases import Phases
from ordinate.rotation import Arithmetic, Layout
from ordinate.scaling.rule import Rule
from ordinate.schemes.rope_settings import base_faults, frequencies_of, scaled_frequencies, scaling_faults, width_faults
from ordinate.schemes.rotary import RotaryScheme, choice_faults
from ordinate.sections import SectionOrder, axes_of_pairs, section_faults
from ordinate.sites import Facts


class MultimodalRope(RotaryScheme):
    """Turns pairs of every query and key as RoPE does, each pair by one of several coordinates of a token; no parameters.

    pair i turns by p_a(i) w_i, w_i = base^(-2i / rotary_dim), i = 0 .. rotary_dim / 2 - 1.

    Args:
        head_dim: width of a head, D.
        layout: "half" or "interleaved", as for ``Rope``. No default: weights decide.
        sections: pairs of each coordinate, (time, row, column) where there are three; together rotary_dim / 2.
        order: how they lie. "contiguous": one section after another (Qwen2-VL). "interleaved": the axes take turns, the
            first also has the turns of those whose sections are used up (Qwen3-VL). "space_first": all axes but the first take
            turns, then come the first axis' pairs (ERNIE 4.5-VL). No default: weights decide.
        base: also called theta.
        rotary_dim: entries that turn; all that are left after rotary_start if None.
        rotary_start: first entry that turns.
        scaling: as for ``Rope``.
        length: as for ``Rope``.
        phases: "exact" (cos and sin to 0.51 ulp of float32) or "float32" (bit for bit what transformers computes).
        arithmetic: as for ``Rope``.

    Raises:
        ValueError: if widths, sections, base or a named choice do not fit; all faults in one message.

    Shape:
        q [B, H, T, D], k [B, H_kv, T, D], positions [B, T, A] (or [T], [B, T] where all coordinates are one) -> the same shapes

    Example:
        >>> import torch
        >>> rope = MultimodalRope(head_dim=16, layout="half", sections=(2, 3, 3), order="contiguous")
        >>> rope.axis_of_pair
        (0, 0, 1, 1, 1, 2, 2, 2)
        >>> image = torch.tensor([[[4, 4, 4], [4, 4, 5], [4, 5, 4], [4, 5, 5]]])
        >>> rope.at(image).cos.shape
        torch.Size([1, 4, 8])
        >>> text = rope.at(range(4))
        >>> torch.equal(text.cos, rope.at(torch.arange(4)[None, :, None].expand(1, 4, 3)).cos[0])
        True

    Reference:
        Wang et al. 2024, Qwen2-VL, https://arxiv.org/abs/2409.12191, section 2.1

    Differs from:
        transformers: coordinates come last, [B, T, A], not first; exact angles by default; sections that its interleaved formula
        would not honour (the middle ones longer than the first) are refused.
    """

    facts = Facts(
        parameters="0",
        max_length="the training length, extendable",
        encodes="relative shift in time, rows and columns, in the dot product",
        source="Wang et al. 2024, https://arxiv.org/abs/2409.12191",
    )

    axes: int = fixed("axes")
    base: float = fixed("base")
    sections: tuple[int, ...] = fixed("sections")
    order: SectionOrder = fixed("order")
    _one_for_all = True

    def __init__(
        self,
        *,
        head_dim: int,
        layout: Layout,
        sections: Sequence[int],
        order: SectionOrder,
        base: float = 10000.0,
        rotary_dim: int | None = None,
        rotary_start: int = 0,
        scaling: Rule | None = None,
        length: int | None = None,
        phases: Phases = "exact",
        arithmetic: Arithmetic = "float32",
    ) -> None:
        super().__init__()
        head_dim = whole_number("head_dim", head_dim, least=1)
        rotary_start = whole_number("rotary_start", rotary_start)
        width = head_dim - rotary_start if rotary_dim is None else whole_number("rotary_dim", rotary_dim)
        shares = whole_numbers("sections", sections)
        faults = (
            width_faults(head_dim, width, rotary_start, None) + base_faults("base", base) + scaling_faults(scaling, length, None)
        )
        faults += choice_faults(layout=(layout, Layout), order=(order, SectionOrder))
        faults += choice_faults(phases=(phases, Phases), arithmetic=(arithmetic, Arithmetic))
        faults += section_faults(shares, order, width // 2)
        if faults:
            raise ValueError("; ".join(faults))
        self.head_dim, self.layout, self.base, self.rotary_dim, self.rotary_start = head_dim, layout, base, width, rotary_start
        self.sections, self.axes, self.order = shares, len(shares), order
        self.phases, self.arithmetic = phases, arithmetic
        self.scaling, self.length = scaling, None if length is None else int(length)
        self._axis_of_pair = axes_of_pairs(shares, order)
        if scaling is None:
            self._settle(frequencies_of(base, width, None, phases))
        else:
            self._settle(*scaled_frequencies(scaling, base, width, length, phases))

    @property
    def axis_of_pair(self) -> tuple[int, ...]:
        """The coordinate that turns each pair."""
        return self._axis_of_pair or ()

    def _arguments(self) -> dict[str, Any]:
        optional = {"scaling": self.scaling, "length": self.length}
        return {
            "head_dim": self.head_dim,
            "layout": self.layout,
            "sections": self.sections,
            "order": self.order,
            "base": self.base,
            "rotary_dim": self.rotary_dim,
            "rotary_start": self.rotary_start,
            **{name: value for name, value in optional.items() if value is not None},
            "phases": self.phases,
            "arithmetic": self.arithmetic,
        }
