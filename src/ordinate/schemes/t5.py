"""T5's relative position bias. Raffel et al., Exploring the Limits of Transfer Learning, https://arxiv.org/abs/1910.10683

    bias[h, i, j] = weight[bucket(p_j - p_i), h]

Buckets hold one distance each when it is short, and ranges that widen in geometric progression up to max_distance when it is long;
what is farther shares the last one. Where known implementations differ: two-way attention halves the buckets between past and
future, causal attention gives all of them to the past. T5 and MPNet keep one table for all layers, UMT5 one a layer. Most take the
logarithm in float32, or in the model's dtype: bfloat16 puts distances 16, 32 and 90 into wrong buckets. The borders here are whole
numbers found once by exact arithmetic. Checkpoints of T5 multiply q . k by 1, not by head_dim^-0.5: that is the model's,
attend(scale=1.0).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from ordinate.arguments import call_arguments, fixed
from ordinate.checks import whole_number
from ordinate.fitting import FARTHEST, check_heads, whole_distances
from ordinate.schemes.learned import INITIAL_STANDARD_DEVIATION
from ordinate.sites import DistanceScheme, Facts


def bucket_borders(n_buckets: int, max_distance: int, bidirectional: bool) -> tuple[int, ...]:
    """Smallest distance of every bucket of one direction after the first.

    With n buckets for the direction and e = n // 2: distances below e have a bucket each; bucket e + k begins at the least whole
    r >= e (max_distance / e)^(k / (n - e)), decided in whole numbers: r^(n - e) e^k >= e^(n - e) max_distance^k.

    Args:
        n_buckets: buckets in all.
        max_distance: where the last bucket would end.
        bidirectional: whether half of the buckets are the future's.

    Returns:
        n - 1 rising distances; the bucket of a distance is how many of them it reaches.

    Example:
        >>> bucket_borders(32, 128, True)
        (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91)
    """
    buckets = n_buckets // 2 if bidirectional else n_buckets
    exact = buckets // 2
    wide = buckets - exact
    return (*range(1, exact + 1), *(_root_border(exact, max_distance, k, wide) for k in range(1, wide)))


def _root_border(start: int, end: int, k: int, n: int) -> int:
    """The least whole r >= start (end / start)^(k / n)."""
    estimate = start * math.exp(k / n * math.log(end / start))
    # The estimate is within 2e-14 of its value.
    low, high = math.ceil(estimate * (1 - 1e-12)) - 1, math.ceil(estimate * (1 + 1e-12))
    if high - low == 1:  # no whole number is near: the estimate decides
        return high
    target = start ** (n - k) * end**k
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**n >= target else (middle, high)
    return high


class T5Bias(DistanceScheme):
    """A learned number a head for every range of distances, added to the scores.

    bias[h, i, j] = weight[bucket(d), h], d = key position - query position. One direction has n = n_buckets / 2 buckets
    (bidirectional) or n_buckets, e = n // 2 of them for one distance each: for r = max(-d, 0), or |d| with n added if d > 0,
    bucket(d) = r if r < e, else min(n - 1, e + floor((n - e) log(r / e) / log(max_distance / e))).

    One object may serve all layers (T5) or each layer have its own (UMT5): the model decides. The weights start at N(0, 0.02^2).
    Those of transformers load as they are, ``t5.load_state_dict(attention.relative_attention_bias.state_dict())``, and need
    scale=1.0 in ``attend`` or ``MultiheadAttention``.

    Args:
        n_heads: how many heads.
        n_buckets: rows of the table.
        max_distance: distances from here on, and somewhat below, share the last bucket.
        bidirectional: True gives past and future half of the buckets each (encoders); False gives all to the past, and the future
            shares bucket 0 with distance 0 (decoders). No default: a wrong one is silent.

    Raises:
        ValueError: if a size does not fit, or bidirectional is neither True nor False.

    Shape:
        q [B, H, Q, D], k [B, H_kv, K, D] -> bias [1, H, Q, K] ([B, H, Q, K] for positions [B, T]); weight [n_buckets, n_heads]

    Example:
        >>> t5 = T5Bias(n_heads=2, bidirectional=True)
        >>> t5.buckets(torch.tensor([-20, -8, 0, 1, 5, 128]))
        tensor([10,  8,  0, 17, 21, 31])
        >>> t5.by_distance(torch.arange(-3, 1)).shape
        torch.Size([2, 4])

    Reference:
        Raffel et al. 2020, https://arxiv.org/abs/1910.10683, section 2.1 and the authors' code

    Differs from:
        Implementations with a float32 logarithm, where that misses a border; none does for T5's 32 buckets and distance 128.
    """

    facts = Facts(
        parameters="n_buckets * n_heads",
        max_length="none; far distances share a bucket",
        encodes="relative shift",
        source="Raffel et al. 2020, https://arxiv.org/abs/1910.10683",
    )

    n_heads: int = fixed("n_heads")
    n_buckets: int = fixed("n_buckets")
    max_distance: int = fixed("max_distance")
    bidirectional: bool = fixed("bidirectional")
    fractional = False

    def __init__(self, *, n_heads: int, n_buckets: int = 32, max_distance: int = 128, bidirectional: bool) -> None:
        super().__init__()
        n_heads = whole_number("n_heads", n_heads, least=1)
        if not isinstance(bidirectional, bool):
            raise ValueError(f"bidirectional: needed True or False, got {bidirectional!r}")
        n_buckets = whole_number("n_buckets", n_buckets, least=4 if bidirectional else 2)
        if bidirectional and n_buckets % 2:
            raise ValueError(f"n_buckets: needed an even number for two directions, got {n_buckets}")
        exact = n_buckets // 4 if bidirectional else n_buckets // 2
        max_distance = whole_number("max_distance", max_distance, least=exact + 1, most=FARTHEST)
        self.n_heads, self.n_buckets, self.max_distance, self.bidirectional = n_heads, n_buckets, max_distance, bidirectional
        self._borders = bucket_borders(n_buckets, max_distance, bidirectional)
        self.weight = nn.Parameter(torch.empty(n_buckets, n_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table from N(0, 0.02^2)."""
        nn.init.normal_(self.weight, std=INITIAL_STANDARD_DEVIATION)

    def buckets(self, distance: torch.Tensor) -> torch.Tensor:
        """Give the row of every distance, exact at any distance.

        Args:
            distance: key position - query position, whole numbers.

        Returns:
            Rows of ``weight``, int64.

        Shape:
            any -> the same

        Raises:
            ValueError: if a distance is no whole number.
        """
        distance = whole_distances(distance)
        borders = torch.tensor(self._borders, dtype=torch.int64, device=distance.device)
        reach = distance.abs() if self.bidirectional else (-distance).clamp(min=0)
        rows = torch.bucketize(reach, borders, right=True)
        return torch.where(distance > 0, rows + self.n_buckets // 2, rows) if self.bidirectional else rows

    def by_distance(self, distance: torch.Tensor) -> torch.Tensor:
        """Give the bias [H, ...]: float64 for float64 distances or weights, else float32."""
        bias = F.embedding(self.buckets(distance), self.weight).movedim(-1, 0)
        work = torch.float64 if distance.dtype == torch.float64 else torch.promote_types(self.weight.dtype, torch.float32)
        return bias.to(work)

    def heads(self, start: int, stop: int) -> T5BiasHeads:
        """Give the scheme of heads start .. stop - 1, which reads its columns of this one's table: nothing is copied.

        Args:
            start: first head.
            stop: one past the last head.

        Returns:
            A scheme of stop - start heads; its gradient arrives here, and what is loaded or moved here holds there.

        Raises:
            ValueError: if the heads are not there.

        Example:
            >>> t5 = T5Bias(n_heads=8, bidirectional=False)
            >>> half = t5.heads(4, 8)
            >>> half, half.weight is t5.weight
            (T5Bias(n_heads=8, n_buckets=32, max_distance=128, bidirectional=False).heads(4, 8), True)
        """
        return T5BiasHeads(self, start, stop)

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(
            n_heads=self.n_heads, n_buckets=self.n_buckets, max_distance=self.max_distance, bidirectional=self.bidirectional
        )


class T5BiasHeads(DistanceScheme):
    """Some heads of a ``T5Bias``, as a tensor-parallel rank needs them; made by ``T5Bias.heads``.

    It holds the whole scheme and no weights of its own, so it cannot go stale when the whole is loaded, moved or trained.

    Example:
        >>> T5Bias(n_heads=8, bidirectional=True).heads(2, 4).by_distance(torch.arange(3)).shape
        torch.Size([2, 3])
    """

    facts = T5Bias.facts
    n_heads: int = fixed("n_heads")
    fractional = False

    def __init__(self, whole: T5Bias, start: int, stop: int) -> None:
        super().__init__()
        check_heads(start, stop, whole.n_heads)
        self.whole, self.start, self.n_heads = whole, start, stop - start

    @property
    def weight(self) -> nn.Parameter:
        """The whole's table, [n_buckets, heads of the whole]."""
        return self.whole.weight

    def by_distance(self, distance: torch.Tensor) -> torch.Tensor:
        """Give these heads' bias [H, ...]."""
        return self.whole.by_distance(distance)[self.start : self.start + self.n_heads]

    def heads(self, start: int, stop: int) -> T5BiasHeads:
        """Give the scheme of heads start .. stop - 1 of these."""
        check_heads(start, stop, self.n_heads)
        return T5BiasHeads(self.whole, self.start + start, self.start + stop)

    def __repr__(self) -> str:
        """Give the call that makes it."""
        return f"{self.whole!r}.heads({self.start}, {self.start + self.n_heads})"
