"""Disentangled attention. He et al., DeBERTa, https://arxiv.org/abs/2006.03654 (v1), https://arxiv.org/abs/2111.09543 (v3)

    score[i, j] = scale (q_i . k_j + q_i . keys[r] + k_j . queries[r]),   r = clip(bucket(p_i - p_j) + span, 0, 2 span - 1)

Content meets position (keys), position meets content (queries); both tables are projections of one relative table that the model
keeps. scale = (head_dim (1 + terms))^-0.5, so (3 head_dim)^-0.5 with both. Where known implementations differ: the paper reads the
third term at the distance from j to i, the authors' code and every released checkpoint at the distance from i to j, as here. v1
clips distances at max_distance; v2 and v3 put them into buckets, exact up to half of them and logarithmic beyond. v1 projects the
table with weights of its own, v2 and v3 with the layer's query and key weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ordinate.arguments import call_arguments, fixed
from ordinate.autocast import without_autocast
from ordinate.checks import described, whole_number
from ordinate.fitting import FARTHEST, LARGEST_SPAN, ScoreAt, check_heads, check_scores, distances, score_at, whole_distances
from ordinate.positions import Positions
from ordinate.sites import Facts, ScoreScheme


def bucket_ends(buckets: int, max_distance: int) -> tuple[int, ...]:
    """Largest distance of every bucket from the middle one on.

    With m = buckets // 2: distances up to m are their own buckets; bucket m + t holds distances up to
    m ((max_distance - 1) / m)^(t / (m - 1)), decided in whole numbers: r^(m - 1) m^t <= m^(m - 1) (max_distance - 1)^t.

    Args:
        buckets: buckets of one direction.
        max_distance: the distance whose predecessor ends the last regular bucket.

    Returns:
        Rising distances, as many as there are buckets beyond the middle; a distance's bucket is m + how many of them it exceeds.

    Example:
        >>> bucket_ends(8, 32)
        (4, 7, 15, 31)
    """
    middle = buckets // 2
    ends = (_root_end(middle, max_distance - 1, t, middle - 1) for t in range(buckets - middle))
    return tuple(min(end, FARTHEST) for end in ends)


def _root_end(start: int, end: int, t: int, n: int) -> int:
    """The largest whole r <= start (end / start)^(t / n)."""
    estimate = start * math.exp(t / n * math.log(end / start))
    # The estimate is within 2e-14 of its value.
    low, high = math.floor(estimate * (1 - 1e-12)), math.floor(estimate * (1 + 1e-12)) + 1
    if high - low == 1:  # no whole number is near: the estimate decides
        return low
    # t may exceed n, where the exponents of start change sides
    left, right = start ** max(t - n, 0), start ** max(n - t, 0) * end**t
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**n * left <= right else (low, middle)
    return low


class Deberta(ScoreScheme):
    """Disentangled attention: contents meet relative positions, positions meet contents. Holds no weights.

    bias[i, j] = softmax_scale (q_i . keys[r] + k_j . queries[r]), r = clip(b(d) + span, 0, 2 span - 1), d = query position - key
    position, b(d) = d, or with ``buckets`` d itself up to m = buckets // 2 and sign(d) (m + ceil((m - 1) log(|d| / m) /
    log((max_distance - 1) / m))) beyond. The tables come from the layer: projections of ``DebertaTable.table()``.

    Args:
        n_heads: how many heads.
        head_dim: width of a head.
        content_to_position: whether the term q_i . keys[r] is there ("c2p").
        position_to_content: whether the term k_j . queries[r] is there ("p2c").
        buckets: v2 and v3's position_buckets (256); None clips distances as v1 does.
        max_distance: max_relative_positions, or max_position_embeddings where a configuration says -1. Without buckets the distance
            where clipping begins; with them max_distance - 1 ends the last regular bucket.

    Attributes:
        span: rows of one direction: buckets, or max_distance without them.
        extras: names of the tables that ``bias`` and ``attend(extras=)`` need.

    Raises:
        ValueError: if a size does not fit, or both terms are absent.

    Shape:
        q [B, H, Q, D], k [B, H_kv, K, D], keys and queries [2 span, H, D] -> bias [B, H, Q, K]

    Example:
        >>> deberta = Deberta(n_heads=2, head_dim=8, content_to_position=True, position_to_content=True, max_distance=4)
        >>> q, table = torch.randn(1, 2, 6, 8), torch.randn(2 * deberta.span, 2, 8)
        >>> deberta.bias(q, q, deberta.at(range(6), range(6)), keys=table, queries=table).shape
        torch.Size([1, 2, 6, 6])
        >>> round(deberta.softmax_scale(8) ** -2)
        24

    Reference:
        He et al. 2021, https://arxiv.org/abs/2006.03654, equations 2 to 4; the authors' code for the index of the third term

    Differs from:
        Implementations that index by row numbers: packed, padded and cached tokens get their true distances here. transformers' v2
        takes the logarithm in float32.
    """

    facts = Facts(
        parameters="2 * span * d_model",
        max_length="none; far distances share a vector",
        encodes="relative shift, by content",
        source="He et al. 2021, https://arxiv.org/abs/2006.03654",
    )

    n_heads: int = fixed("n_heads")
    head_dim: int = fixed("head_dim")
    content_to_position: bool = fixed("content_to_position")
    position_to_content: bool = fixed("position_to_content")
    buckets: int | None = fixed("buckets")
    max_distance: int = fixed("max_distance")
    span: int = fixed("span")
    extras: tuple[str, ...] = fixed("extras")
    content = True

    def __init__(
        self,
        *,
        n_heads: int,
        head_dim: int,
        content_to_position: bool,
        position_to_content: bool,
        buckets: int | None = None,
        max_distance: int,
    ) -> None:
        super().__init__()
        n_heads = whole_number("n_heads", n_heads, least=1)
        head_dim = whole_number("head_dim", head_dim, least=1)
        for name, term in (("content_to_position", content_to_position), ("position_to_content", position_to_content)):
            if not isinstance(term, bool):
                raise ValueError(f"{name}: needed True or False, got {term!r}")
        if not content_to_position and not position_to_content:
            raise ValueError("content_to_position, position_to_content: needed at least one of the two, got neither")
        buckets = None if buckets is None else whole_number("buckets", buckets, least=4)
        least = 1 if buckets is None else buckets // 2 + 2
        max_distance = whole_number("max_distance", max_distance, least=least, most=LARGEST_SPAN)
        self.n_heads, self.head_dim, self.buckets, self.max_distance = n_heads, head_dim, buckets, max_distance
        self.content_to_position, self.position_to_content = content_to_position, position_to_content
        self.span = max_distance if buckets is None else buckets
        self.extras = ("keys",) * content_to_position + ("queries",) * position_to_content
        self._ends = None if buckets is None else bucket_ends(buckets, max_distance)

    def at(self, q_positions: Positions, k_positions: Positions) -> ScoreAt:
        """Check and keep the two position vectors; whole numbers only."""
        return score_at(q_positions, k_positions, fractional=False)

    def bias(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        at: ScoreAt,
        *,
        keys: torch.Tensor | None = None,
        queries: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Give softmax_scale (q_i . keys[r] + k_j . queries[r]), [B, H, Q, K].

        Args:
            q: queries.
            k: keys.
            at: from ``at``.
            keys: the table as keys, with content_to_position.
            queries: the table as queries, with position_to_content.

        Returns:
            The scaled bias, float32 (float64 for float64 q).

        Shape:
            q [B, H, Q, D], k [B, H_kv, K, D], keys and queries [2 span, H, D] -> [B, H, Q, K]

        Raises:
            ValueError: if a table is missing, not asked for, or of another shape.
        """
        check_scores(q, k, at, scheme="Deberta", n_heads=self.n_heads, head_dim=self.head_dim)
        self._check_tables(keys, queries, q.device)
        rows = self.rows(distances(at, q.device))
        rows = (rows[:, None] if rows.ndim == 3 else rows).expand(*q.shape[:3], k.shape[2])
        work = torch.promote_types(q.dtype, torch.float32)
        scale = self.softmax_scale(self.head_dim)
        terms = []
        with without_autocast(q):
            if keys is not None:
                terms.append((q.to(work) @ (scale * keys.to(work)).permute(1, 2, 0)).gather(-1, rows))
            if queries is not None:
                every = k.to(work).repeat_interleave(q.shape[1] // k.shape[1], dim=1)
                terms.append((every @ (scale * queries.to(work)).permute(1, 2, 0)).gather(-1, rows.mT).mT)
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]

    def rows(self, distance: torch.Tensor) -> torch.Tensor:
        """Give the tables' row of every distance, exact at any distance.

        Args:
            distance: key position - query position, whole numbers; the tables are ordered by its negative.

        Returns:
            Whole numbers 0 .. 2 span - 1.

        Shape:
            any -> the same

        Example:
            >>> terms = {"content_to_position": True, "position_to_content": False}
            >>> Deberta(n_heads=1, head_dim=2, **terms, max_distance=2).rows(torch.tensor([-9, -2, -1, 0, 1, 2, 9]))
            tensor([3, 3, 3, 2, 1, 0, 0])
        """
        back = -whole_distances(distance)
        if self._ends is not None:
            ends, middle = torch.tensor(self._ends, dtype=torch.int64, device=distance.device), self._ends[0]
            far = middle + torch.bucketize(back.abs(), ends)
            back = torch.where(back.abs() <= middle, back, far * back.sign())
        return (back + self.span).clamp(0, 2 * self.span - 1)

    def added_values(self, at: ScoreAt) -> Callable[[torch.Tensor], torch.Tensor] | None:  # noqa: ARG002
        """Give None: nothing is added to the output."""
        return None

    def softmax_scale(self, head_dim: int) -> float:
        """Give (head_dim (1 + terms))^-0.5: (3 head_dim)^-0.5 with both."""
        return float((head_dim * (1 + len(self.extras))) ** -0.5)

    def heads(self, start: int, stop: int) -> Deberta:
        """Give the scheme of heads start .. stop - 1; the tables [2 span, H, D] are cut alike by the caller.

        Args:
            start: first head.
            stop: one past the last head.

        Returns:
            A scheme of stop - start heads.

        Raises:
            ValueError: if the heads are not there.
        """
        check_heads(start, stop, self.n_heads)
        return Deberta(**{**self._arguments(), "n_heads": stop - start})

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(**self._arguments())

    def _arguments(self) -> dict[str, Any]:
        names = ("n_heads", "head_dim", "content_to_position", "position_to_content", "buckets", "max_distance")
        return {name: getattr(self, name) for name in names}

    def _check_tables(self, keys: torch.Tensor | None, queries: torch.Tensor | None, device: torch.device) -> None:
        shape = (2 * self.span, self.n_heads, self.head_dim)
        for name, table, term in (("keys", keys, "content_to_position"), ("queries", queries, "position_to_content")):
            if name not in self.extras:
                if table is not None:
                    raise ValueError(f"{name}: needed None with {term}=False, got {described(table)}")
            elif not isinstance(table, torch.Tensor) or not table.is_floating_point() or table.shape != shape:
                raise ValueError(f"{name}: needed the projected table [2 span, H, D] = {list(shape)}, got {described(table)}")
            elif table.device != device:
                raise ValueError(f"{name}: needed the table on q's device {device}, got {table.device}")
