"""Sinusoidal position vectors. Vaswani et al., Attention Is All You Need, section 3.5, https://arxiv.org/abs/1706.03762

    P[p, 2i] = sin(p w_i),  P[p, 2i + 1] = cos(p w_i),  w_i = base^(-2i / d_model)

Where known implementations differ: the paper interleaves sines and cosines and spaces the frequencies "open", 2i/d, so that the
slowest stays above 1/base. tensor2tensor, fairseq and some models ported from them (M2M100, Whisper) put all sines before all
cosines and space them "closed", i/(d/2 - 1), so that the slowest is exactly 1/base; Marian does the first and not the second.
Diffusion time steps often put the cosines first.
The forms are no permutations of one another: weights trained with one are wrong with another.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F

from ordinate import phases
from ordinate.arguments import call_arguments, fixed
from ordinate.checks import one_of, probability, whole_number
from ordinate.fitting import as_rows, check_tokens
from ordinate.positions import Positions, check
from ordinate.sites import Facts, InputScheme

SinusoidLayout = Literal["interleaved", "sin_cos", "cos_sin"]
Spacing = Literal["open", "closed"]


def exponents(d_model: int, layout: SinusoidLayout, spacing: Spacing) -> list[tuple[int, int]]:
    """Exponents (a, b) of the frequencies base^(-a / b), one a pair.

    An odd width d: interleaved vectors end with a sine alone, so there are (d + 1) / 2 pairs and the paper's exponent 2i / d; block
    layouts are those of width d - 1 with a zero appended.

    Args:
        d_model: width of the vectors.
        layout: order of sines and cosines.
        spacing: "open": 2i / d; "closed": i / (pairs - 1).

    Returns:
        Numerators and denominators.

    Example:
        >>> exponents(4, "interleaved", "open"), exponents(4, "sin_cos", "closed")
        ([(0, 4), (2, 4)], [(0, 1), (1, 1)])
    """
    interleaved = layout == "interleaved"
    pairs = (d_model + 1) // 2 if interleaved else d_model // 2
    if spacing == "closed":
        return [(i, max(pairs - 1, 1)) for i in range(pairs)]
    return [(2 * i, d_model if interleaved else 2 * pairs) for i in range(pairs)]


def arrange(cos: torch.Tensor, sin: torch.Tensor, d_model: int, layout: SinusoidLayout) -> torch.Tensor:
    """Lay sines and cosines out as position vectors.

    Args:
        cos: cosines of the pairs.
        sin: sines of the pairs.
        d_model: width of the vectors.
        layout: order of sines and cosines.

    Returns:
        The vectors.

    Shape:
        cos, sin [..., n] -> [..., d_model]

    Example:
        >>> arrange(torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0]), 3, "interleaved")
        tensor([-1.,  1., -2.])
    """
    if layout == "interleaved":
        return torch.stack((sin, cos), dim=-1).flatten(-2)[..., :d_model]
    blocks = torch.cat((sin, cos) if layout == "sin_cos" else (cos, sin), dim=-1)
    return F.pad(blocks, (0, d_model - blocks.shape[-1]))


class Sinusoidal(InputScheme):
    """Fixed sines and cosines added to the token vectors; no parameters, no maximum length.

    P[p, 2i] = sin(p w_i), P[p, 2i + 1] = cos(p w_i), w_i = base^(-2i / d_model), for position p and pair i (the paper's form, the
    default). The angles are exact at any whole or fractional position below 2^48.

    Args:
        d_model: width of the token vectors; any, also odd.
        base: the 10000 of the paper; wavelengths run from 2 pi to nearly 2 pi base.
        layout: "interleaved" (sine, cosine, sine, ...), "sin_cos" (all sines, then all cosines) or "cos_sin".
        spacing: "open": w_i = base^(-2i / d_model); "closed": base^(-i / (d_model / 2 - 1)), which reaches 1 / base.
        dropout: probability, applied to the sum in training.

    Raises:
        ValueError: if a width, base, layout, spacing or dropout is none of these.

    Shape:
        x [B, T, d_model], positions [T] or [B, T] -> [B, T, d_model]

    Example:
        >>> scheme = Sinusoidal(d_model=4)
        >>> scheme.at(range(2))
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
        >>> scheme(torch.zeros(1, 2, 4), range(7, 9)).shape
        torch.Size([1, 2, 4])

    Reference:
        Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5

    Differs from:
        fairseq and tensor2tensor: layout="sin_cos", spacing="closed"; fairseq counts positions from padding_idx + 1.
    """

    facts = Facts(
        parameters="0",
        max_length="none in principle",
        encodes="absolute position, with shift structure",
        source="Vaswani et al. 2017, https://arxiv.org/abs/1706.03762",
    )

    d_model: int = fixed("d_model")
    base: float = fixed("base")
    layout: SinusoidLayout = fixed("layout")
    spacing: Spacing = fixed("spacing")

    def __init__(
        self,
        *,
        d_model: int,
        base: float = 10000.0,
        layout: SinusoidLayout = "interleaved",
        spacing: Spacing = "open",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_model = whole_number("d_model", d_model, least=1)
        one_of("layout", layout, get_args(SinusoidLayout))
        one_of("spacing", spacing, get_args(Spacing))
        self.d_model, self.base, self.layout, self.spacing = d_model, base, layout, spacing
        self.dropout = probability("dropout", dropout)
        self._frequencies = phases.from_base(base, exponents(d_model, layout, spacing))

    @property
    def inverse_frequencies(self) -> tuple[float, ...]:
        """Radians a position, one number a pair."""
        return self._frequencies.radians

    def at(
        self, positions: Positions, *, device: torch.device | str | None = None, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Give the position vectors [T, d_model] or [B, T, d_model] in float32, or float64 if asked."""
        check(positions)
        cos, sin = phases.exact(positions, self._frequencies, device=device, dtype=dtype)
        return arrange(cos, sin, self.d_model, self.layout)

    def forward(self, x: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give dropout(x + P), added in float32 (float64 for float64 x) and rounded once to x's dtype."""
        check_tokens(x, positions, d_model=self.d_model)
        work = torch.promote_types(x.dtype, torch.float32)
        vectors = as_rows(self.at(positions, device=x.device, dtype=work), x)
        total = (x.to(work) + vectors).to(x.dtype)
        return F.dropout(total, self.dropout, self.training)

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(d_model=self.d_model, base=self.base, layout=self.layout, spacing=self.spacing, dropout=self.dropout)
