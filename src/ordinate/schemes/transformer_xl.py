"""Relative positions of Transformer-XL. Dai et al. 2019, https://arxiv.org/abs/1901.02860, section 3.3 and appendix B

    score[i, j] = scale ((q_i + u) . k_j + (q_i + v) . W R(p_i - p_j)),   R(d): sinusoids of the distance

u and v, one pair a head, stand for the query's position; W makes keys of sinusoids. Each layer has its own W; u and v are shared by
the layers in the paper, and not in most models since. Where known implementations differ: the paper's code lays R out as all sines,
then all cosines; Conformers (Wav2Vec2-Conformer, Wav2Vec2-BERT) interleave them, which W's columns must follow. XLNet adds a term
for segments, which is not here.

The paper computes W R(d) for every distance and shifts rows into place (appendix B). Here sin and cos of the difference of two
positions are made of those of the positions, sin(a - b) = sin a cos b - cos a sin b: any positions will do, and nothing larger than
the scores is made.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import nn

from ordinate import phases
from ordinate.arguments import call_arguments, fixed
from ordinate.autocast import without_autocast
from ordinate.checks import one_of, whole_number
from ordinate.fitting import ScoreAt, check_heads, check_scores, score_at
from ordinate.positions import Positions
from ordinate.schemes.learned import INITIAL_STANDARD_DEVIATION
from ordinate.sites import Facts, ScoreScheme

DistanceLayout = Literal["interleaved", "sin_cos"]


class TransformerXL(ScoreScheme):
    """Contents and projected sinusoids of the distance, each with a bias in place of the query's position.

    bias[i, j] = softmax_scale (u . k_j + (q_i + v) . W R(d)), d = query position - key position, R(d) = sin(d w_i), cos(d w_i) with
    w_i = base^(-2i / d_model); u is ``content_bias``, v ``position_bias``, W ``projection``. The angles are exact at any whole or
    fractional position below 2^48.

    Args:
        n_heads: how many heads.
        head_dim: width of a head.
        d_model: width of the sinusoids, even.
        layout: "interleaved" (sine, cosine, sine, ...) or "sin_cos" (all sines, then all cosines). No default: checkpoints differ.
        base: the 10000 of the paper.

    Raises:
        ValueError: if a size, base or layout does not fit.

    Shape:
        q [B, H, Q, D], k [B, H_kv, K, D] -> bias [B, H, Q, K]; content_bias, position_bias [H, D], projection [H D, d_model]

    Example:
        >>> scheme = TransformerXL(n_heads=2, head_dim=8, d_model=16, layout="sin_cos")
        >>> q = torch.randn(1, 2, 6, 8)
        >>> scheme.bias(q, q, scheme.at(range(6), range(6))).shape
        torch.Size([1, 2, 6, 6])

    Reference:
        Dai et al. 2019, https://arxiv.org/abs/1901.02860, section 3.3

    Differs from:
        Implementations that shift rows: packed, padded and cached tokens get their true distances here. transformers makes the
        angles in float32.
    """

    facts = Facts(
        parameters="n_heads * head_dim * (d_model + 2)",
        max_length="none in principle",
        encodes="relative shift, by content",
        source="Dai et al. 2019, https://arxiv.org/abs/1901.02860",
    )

    n_heads: int = fixed("n_heads")
    head_dim: int = fixed("head_dim")
    d_model: int = fixed("d_model")
    layout: DistanceLayout = fixed("layout")
    base: float = fixed("base")
    content = True

    def __init__(self, *, n_heads: int, head_dim: int, d_model: int, layout: DistanceLayout, base: float = 10000.0) -> None:
        super().__init__()
        n_heads, head_dim = whole_number("n_heads", n_heads, least=1), whole_number("head_dim", head_dim, least=1)
        if whole_number("d_model", d_model, least=2) % 2:
            raise ValueError(f"d_model: needed an even number, a sine and a cosine for each frequency, got {d_model}")
        one_of("layout", layout, get_args(DistanceLayout))
        self.n_heads, self.head_dim, self.d_model, self.layout, self.base = n_heads, head_dim, d_model, layout, base
        self._frequencies = phases.from_base(base, [(2 * pair, d_model) for pair in range(d_model // 2)])
        self.content_bias = nn.Parameter(torch.empty(n_heads, head_dim))
        self.position_bias = nn.Parameter(torch.empty(n_heads, head_dim))
        self.projection = nn.Parameter(torch.empty(n_heads * head_dim, d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights from N(0, 0.02^2), as the authors do."""
        for weight in self.parameters():
            nn.init.normal_(weight, std=INITIAL_STANDARD_DEVIATION)

    def at(self, q_positions: Positions, k_positions: Positions) -> ScoreAt:
        """Check and keep the two position vectors."""
        return score_at(q_positions, k_positions, fractional=True)

    def bias(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Give softmax_scale (u . k_j + (q_i + v) . W R(d)), [B, H, Q, K]."""
        return self.bias_of_heads(q, k, at, 0, self.n_heads)

    def bias_of_heads(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt, start: int, stop: int) -> torch.Tensor:
        """Give the bias of heads start .. stop - 1, for their queries and keys."""
        check_scores(q, k, at, scheme="TransformerXL", n_heads=stop - start, head_dim=self.head_dim)
        work = torch.promote_types(q.dtype, torch.float32)
        content, position, projection = self._weights(work, start, stop)
        keys = k.to(work).repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        with without_autocast(q):
            scores = (content[:, None] @ keys.mT) + self._by_distance((q.to(work) + position[:, None]) @ projection, at)
        return scores * self.softmax_scale(self.head_dim)

    def added_values(self, at: ScoreAt) -> None:
        """Give None: nothing is added to the output."""

    def softmax_scale(self, head_dim: int) -> float:
        """Give head_dim^-0.5."""
        return float(head_dim**-0.5)

    def heads(self, start: int, stop: int) -> TransformerXLHeads:
        """Give the scheme of heads start .. stop - 1, which reads this one's weights: nothing is copied.

        Args:
            start: first head.
            stop: one past the last head.

        Returns:
            A scheme of stop - start heads.

        Raises:
            ValueError: if the heads are not there.
        """
        return TransformerXLHeads(self, start, stop)

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(
            n_heads=self.n_heads, head_dim=self.head_dim, d_model=self.d_model, layout=self.layout, base=self.base
        )

    def _weights(self, work: torch.dtype, start: int, stop: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Give u and v [H, D] and W [H, D, d_model] of some heads."""
        projection = self.projection.view(self.n_heads, self.head_dim, self.d_model)
        content, position, rows = (weight[start:stop].to(work) for weight in (self.content_bias, self.position_bias, projection))
        return content, position, rows

    def _by_distance(self, asked: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Products of vectors [B, H, Q, d_model] with R(p_i - p_j), [B, H, Q, K]."""
        for_sin, for_cos = (asked[..., 0::2], asked[..., 1::2]) if self.layout == "interleaved" else asked.chunk(2, dim=-1)
        cos, sin = self._angles(at.q_positions, asked)
        k_cos, k_sin = self._angles(at.k_positions, asked)
        with_cos, with_sin = for_sin * sin + for_cos * cos, for_cos * sin - for_sin * cos
        return with_cos @ k_cos.mT + with_sin @ k_sin.mT

    def _angles(self, positions: Positions, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Give cos and sin [T, n], or [B, 1, T, n]."""
        cos, sin = phases.exact(positions, self._frequencies, device=like.device, dtype=like.dtype)
        return (cos[:, None], sin[:, None]) if cos.ndim == 3 else (cos, sin)


class TransformerXLHeads(ScoreScheme):
    """Some heads of a ``TransformerXL``, as a tensor-parallel rank needs them; made by ``TransformerXL.heads``.

    It holds the whole scheme and no weights of its own, so it cannot go stale when the whole is loaded, moved or trained.

    Example:
        >>> TransformerXL(n_heads=4, head_dim=8, d_model=16, layout="sin_cos").heads(1, 3).n_heads
        2
    """

    facts = TransformerXL.facts
    n_heads: int = fixed("n_heads")
    content = True

    def __init__(self, whole: TransformerXL, start: int, stop: int) -> None:
        super().__init__()
        check_heads(start, stop, whole.n_heads)
        self.whole, self.start, self.n_heads, self.head_dim = whole, start, stop - start, whole.head_dim

    def at(self, q_positions: Positions, k_positions: Positions) -> ScoreAt:
        """Check and keep the two position vectors."""
        return self.whole.at(q_positions, k_positions)

    def bias(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Give these heads' bias [B, H, Q, K]."""
        return self.whole.bias_of_heads(q, k, at, self.start, self.start + self.n_heads)

    def added_values(self, at: ScoreAt) -> None:
        """Give None: nothing is added to the output."""

    def softmax_scale(self, head_dim: int) -> float:
        """Give head_dim^-0.5."""
        return self.whole.softmax_scale(head_dim)

    def heads(self, start: int, stop: int) -> TransformerXLHeads:
        """Give the scheme of heads start .. stop - 1 of these."""
        check_heads(start, stop, self.n_heads)
        return TransformerXLHeads(self.whole, self.start + start, self.start + stop)

    def __repr__(self) -> str:
        """Give the call that makes it."""
        return f"{self.whole!r}.heads({self.start}, {self.start + self.n_heads})"
