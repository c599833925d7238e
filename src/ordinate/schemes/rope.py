"""Rotary position embedding (RoPE). Su et al., RoFormer, https://arxiv.org/abs/2104.09864

    pair i of a query or key at position p is turned by the angle p w_i,  w_i = base^(-2i / rotary_dim)
    q_m . k_n then depends on the contents and on m - n

Where known implementations differ: which entries make a pair (the paper and GPT-J: interleaved; Llama and GPT-NeoX: half), how many
entries turn (GPT-NeoX: a quarter of the head), and how the angles are rounded: transformers multiplies position and frequency in
float32 (phases="float32"), then most of its models turn in the activations' dtype (arithmetic="input").
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

from ordinate.arguments import fixed
from ordinate.checks import finite_numbers, whole_number
from ordinate.phases import Phases, negated
from ordinate.rotation import Arithmetic, Layout
from ordinate.scaling.rule import Rule
from ordinate.schemes.rope_settings import base_faults, frequencies_of, scaled_frequencies, scaling_faults, width_faults
from ordinate.schemes.rotary import RotaryScheme, choice_faults
from ordinate.sites import Facts

Sign = Literal[1, -1]

DEFAULT_BASE = 10000.0


class Rope(RotaryScheme):
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
        sign: -1 turns the other way, as nanochat does; scores are then those of the opposite distance.
        phases: "exact" (cos and sin to 0.51 ulp of float32) or "float32" (bit for bit what transformers computes).
        arithmetic: "float32" (turn in float32, round once), "input" (every step in the input's dtype, as most of transformers) or
            "mixed" (cos and sin rounded to the input's dtype, then as float32).

    Raises:
        ValueError: if widths, base, frequencies or a named choice do not fit; all faults in one message.

    Shape:
        q [B, H, T, D], k [B, H_kv, T, D], positions [T] or [B, T] -> the same shapes (sequence_dim=-3: [B, T, H, D] or [N, H, D])

    Example:
        >>> import torch
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

    base: float = fixed("base")
    sign: Sign = fixed("sign")

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
        sign: Sign = 1,
        phases: Phases = "exact",
        arithmetic: Arithmetic = "float32",
    ) -> None:
        super().__init__()
        head_dim = whole_number("head_dim", head_dim, least=1)
        rotary_start = whole_number("rotary_start", rotary_start)
        width = head_dim - rotary_start if rotary_dim is None else whole_number("rotary_dim", rotary_dim)
        given = None if inverse_frequencies is None else finite_numbers("inverse_frequencies", inverse_frequencies)
        faults = width_faults(head_dim, width, rotary_start, given)
        faults += choice_faults(
            layout=(layout, Layout), sign=(sign, Sign), phases=(phases, Phases), arithmetic=(arithmetic, Arithmetic)
        )
        faults += base_faults("base", base)
        faults += scaling_faults(scaling, length, given)
        if faults:
            raise ValueError("; ".join(faults))
        if given is not None and base != DEFAULT_BASE:
            warnings.warn(f"Rope: base={base} has no effect beside inverse_frequencies", stacklevel=2)
        self.head_dim, self.layout, self.base = head_dim, layout, base
        self.rotary_dim, self.rotary_start, self.phases, self.arithmetic = width, rotary_start, phases, arithmetic
        self.scaling, self.length = scaling, None if length is None else int(length)
        self._given, self.sign = given, sign
        if scaling is None:
            frequencies, magnitude, softmax_factor = frequencies_of(base, width, given, phases), 1.0, 1.0
        else:
            frequencies, magnitude, softmax_factor = scaled_frequencies(scaling, base, width, length, phases)
        self._settle(frequencies if sign == 1 else negated(frequencies), magnitude, softmax_factor)

    def _arguments(self) -> dict[str, Any]:
        optional = {"inverse_frequencies": self._given, "scaling": self.scaling, "length": self.length}
        return {
            "head_dim": self.head_dim,
            "layout": self.layout,
            "base": self.base,
            "rotary_dim": self.rotary_dim,
            "rotary_start": self.rotary_start,
            **{name: value for name, value in optional.items() if value is not None},
            **({} if self.sign == 1 else {"sign": self.sign}),
            "phases": self.phases,
            "arithmetic": self.arithmetic,
        }
