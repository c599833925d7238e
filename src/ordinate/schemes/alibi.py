"""ALiBi, attention with linear biases. Press, Smith, Lewis, Train Short, Test Long, https://arxiv.org/abs/2108.12409

    bias[h, i, j] = -slope_h |p_j - p_i|

Under a causal mask that is the published form -slope_h (i - j). Where known implementations differ: for head counts that are not
powers of two the paper's text continues the geometric series 2^(-8h/H), the authors' code (and BLOOM, MPT) interleaves two series,
and the slopes are then out of order. BLOOM keeps one row slope_h j for all queries: under a causal mask the softmax cancels that.
Two-way attention here is symmetric in the distance.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch

from ordinate.arguments import call_arguments, fixed
from ordinate.checks import finite_numbers, whole_number
from ordinate.fitting import check_heads
from ordinate.sites import DistanceScheme, Facts

SlopeRule = Literal["paper", "authors"]


def slopes_of(n_heads: int, rule: SlopeRule) -> tuple[float, ...]:
    """Slopes of n_heads heads; both rules agree for powers of two.

    "paper": 2^(-8h / n_heads) for h = 1 .. n_heads. "authors": the same for the largest power of two m <= n_heads, then every other
    slope of 2m heads, from the first on.

    Args:
        n_heads: how many heads.
        rule: "paper" or "authors".

    Returns:
        One positive slope a head.

    Example:
        >>> slopes_of(3, "authors")
        (0.0625, 0.00390625, 0.25)
    """
    if rule == "paper":
        return tuple(2.0 ** (-8.0 * head / n_heads) for head in range(1, n_heads + 1))
    power = 2 ** math.floor(math.log2(n_heads))
    extra = slopes_of(2 * power, "paper")[0::2][: n_heads - power]
    return slopes_of(power, "paper") + extra


class ALiBi(DistanceScheme):
    """Penalises attention in proportion to distance, with a fixed slope a head; no parameters, no maximum length.

    bias[h, i, j] = -slope_h |key position - query position|, rounded once to float32.

    Args:
        n_heads: how many heads.
        slopes: "paper" (2^(-8h / n_heads)), "authors" (their code's rule for head counts that are not powers of two), or one number
            a head. No default: the two rules differ and weights decide.

    Attributes:
        slope_values: the slopes as numbers, one a head.

    Raises:
        ValueError: if n_heads is not positive, the rule is unknown, or the numbers are not finite and one a head.

    Shape:
        q [B, H, Q, D], k [B, H_kv, K, D] -> bias [1, H, Q, K] ([B, H, Q, K] for positions [B, T])

    Example:
        >>> alibi = ALiBi(n_heads=1, slopes=(0.5,))
        >>> q, k = torch.zeros(1, 1, 1, 8), torch.zeros(1, 1, 5, 8)
        >>> alibi.bias(q, k, alibi.at(range(4, 5), range(5)))
        tensor([[[[-2.0000, -1.5000, -1.0000, -0.5000,  0.0000]]]])

    Reference:
        Press, Smith and Lewis 2022, https://arxiv.org/abs/2108.12409, section 3

    Differs from:
        Implementations that take a length in place of positions: packed, padded and shuffled tokens get their true distances here.
    """

    facts = Facts(
        parameters="0",
        max_length="none; reaches beyond training",
        encodes="relative shift, as a penalty",
        source="Press, Smith and Lewis 2022, https://arxiv.org/abs/2108.12409",
    )

    n_heads: int = fixed("n_heads")
    slopes: SlopeRule | tuple[float, ...] = fixed("slopes")
    fractional = True
    falls = True

    def __init__(self, *, n_heads: int, slopes: SlopeRule | tuple[float, ...]) -> None:
        super().__init__()
        n_heads = whole_number("n_heads", n_heads, least=1)
        if isinstance(slopes, str):
            if slopes not in get_args(SlopeRule):
                raise ValueError(f"slopes: needed 'paper', 'authors' or a tuple of {n_heads} numbers, got {slopes!r}")
            values = slopes_of(n_heads, slopes)
        else:
            slopes = values = finite_numbers("slopes", slopes)
            if len(values) != n_heads:
                raise ValueError(f"slopes: needed {n_heads} finite numbers, one a head, got {values}")
        self.n_heads, self.slopes, self.slope_values = n_heads, slopes, values

    def by_distance(self, distance: torch.Tensor) -> torch.Tensor:
        """Give -slope |distance|, [H, ...]: float64 for float64 distances, else float32, rounded once."""
        exact = torch.float32 if distance.device.type in ("mps", "xla") else torch.float64
        slopes = torch.tensor(self.slope_values, dtype=exact, device=distance.device)
        bias = slopes.view(-1, *[1] * distance.ndim) * (-distance.abs()).to(exact)
        return bias if distance.dtype == torch.float64 else bias.float()

    def heads(self, start: int, stop: int) -> ALiBi:
        """Give the scheme of heads start .. stop - 1; the slices of all ranks put together equal the whole.

        Args:
            start: first head.
            stop: one past the last head.

        Returns:
            A scheme of stop - start heads.

        Raises:
            ValueError: if the heads are not there.

        Example:
            >>> ALiBi(n_heads=8, slopes="paper").heads(2, 4)
            ALiBi(n_heads=2, slopes=(0.125, 0.0625))
        """
        check_heads(start, stop, self.n_heads)
        return ALiBi(n_heads=stop - start, slopes=self.slope_values[start:stop])

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(n_heads=self.n_heads, slopes=self.slopes)
