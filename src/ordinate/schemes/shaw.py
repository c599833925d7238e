"""Relative position representations. Shaw, Uszkoreit, Vaswani, https://arxiv.org/abs/1803.02155

    score[i, j] = scale q_i . (k_j + a_j-i),   out_i = sum_j weight[i, j] (v_j + b_j-i),   a, b: rows clip(p_j - p_i, -m, m) + m

One table for the keys (a) and one for the values (b), shared by the heads of a layer, each layer with its own. Where known
implementations differ: the paper clips to 2 m + 1 distances; SpeechT5 orders its rows by query - key and keeps 2 m of them;
Wav2Vec2-BERT clips past and future at different distances. Many leave the values' table out (the paper found it to add little), and
some run past the table when the sequence is longer than m.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import nn

from ordinate.arguments import call_arguments, fixed
from ordinate.autocast import without_autocast
from ordinate.checks import whole_number
from ordinate.fitting import LARGEST_SPAN, ScoreAt, check_heads, check_scores, distances, score_at, whole_distances
from ordinate.positions import Positions
from ordinate.schemes.learned import INITIAL_STANDARD_DEVIATION
from ordinate.sites import Facts, ScoreScheme


def relative_rows(distance: torch.Tensor, max_distance: int, max_future: int) -> torch.Tensor:
    """Rows of the tables: clip(distance, -m, f) + m.

    Args:
        distance: key position - query position.
        max_distance: m, where the past is clipped.
        max_future: f, where the future is clipped.

    Returns:
        Whole numbers 0 .. m + f.

    Shape:
        any -> the same

    Example:
        >>> relative_rows(torch.tensor([[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]), 1, 1)
        tensor([[1, 2, 2],
                [0, 1, 2],
                [0, 0, 1]])
    """
    return whole_distances(distance).clamp(-max_distance, max_future) + max_distance


class Shaw(ScoreScheme):
    """A learned vector for every clipped distance, added to the keys and, if asked, to the values.

    score[i, j] = scale (q_i . k_j + q_i . key_weight[r]), out_i = sum_j weight[i, j] (v_j + value_weight[r]), with the row
    r = clip(key position - query position, -max_distance, max_future) + max_distance. ``bias`` is the second term of the score,
    ``added_values`` the second term of the output; a query that sees nothing gets neither.

    Args:
        head_dim: width of a head's queries, keys (and values, with values=True).
        max_distance: farther tokens share the last row of their side.
        max_future: the same for later tokens, where their side has another number of rows; max_distance, the paper's form, if None.
        values: whether there is a table for the values too. No default: checkpoints differ.

    Raises:
        ValueError: if a size does not fit, or values is neither True nor False.

    Shape:
        q [B, H, Q, D], k [B, H_kv, K, D] -> bias [B, H, Q, K]; key_weight, value_weight [max_distance + max_future + 1, head_dim]

    Example:
        >>> shaw = Shaw(head_dim=8, max_distance=4, values=True)
        >>> q = torch.randn(1, 2, 6, 8)
        >>> shaw.bias(q, q, shaw.at(range(6), range(6))).shape
        torch.Size([1, 2, 6, 6])

    Reference:
        Shaw, Uszkoreit and Vaswani 2018, https://arxiv.org/abs/1803.02155, equations 3, 4 and section 3.2

    Differs from:
        Implementations that build [Q, K, D] vectors: here queries meet the table first, so nothing larger than the scores is made.
    """

    facts = Facts(
        parameters="(max_distance + max_future + 1) * head_dim * (1 + values)",
        max_length="none; far distances share a vector",
        encodes="relative shift, by content",
        source="Shaw, Uszkoreit and Vaswani 2018, https://arxiv.org/abs/1803.02155",
    )

    head_dim: int = fixed("head_dim")
    max_distance: int = fixed("max_distance")
    max_future: int = fixed("max_future")
    values: bool = fixed("values")
    content = True

    def __init__(self, *, head_dim: int, max_distance: int, values: bool, max_future: int | None = None) -> None:
        super().__init__()
        head_dim = whole_number("head_dim", head_dim, least=1)
        max_distance = whole_number("max_distance", max_distance, least=1, most=LARGEST_SPAN)
        max_future = max_distance if max_future is None else whole_number("max_future", max_future, most=LARGEST_SPAN)
        if not isinstance(values, bool):
            raise ValueError(f"values: needed True or False, got {values!r}")
        self.head_dim, self.max_distance, self.max_future, self.values = head_dim, max_distance, max_future, values
        self.key_weight = nn.Parameter(torch.empty(max_distance + max_future + 1, head_dim))
        self.value_weight = nn.Parameter(torch.empty_like(self.key_weight)) if values else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the tables from N(0, 0.02^2)."""
        for table in self.parameters():
            nn.init.normal_(table, std=INITIAL_STANDARD_DEVIATION)

    def at(self, q_positions: Positions, k_positions: Positions) -> ScoreAt:
        """Check and keep the two position vectors; whole numbers only."""
        return score_at(q_positions, k_positions, fractional=False)

    def bias(self, q: torch.Tensor, k: torch.Tensor, at: ScoreAt) -> torch.Tensor:
        """Give softmax_scale (q_i . key_weight[r]), [B, H, Q, K]; k tells only the number of keys."""
        check_scores(q, k, at, scheme="Shaw", head_dim=self.head_dim)
        work = torch.promote_types(q.dtype, torch.float32)
        with without_autocast(q):
            by_row = q.to(work) @ (self.key_weight.to(work).mT * self.softmax_scale(self.head_dim))
        return by_row.gather(-1, self._rows(at, (*q.shape[:3], k.shape[2]), q.device))

    def added_values(self, at: ScoreAt) -> Callable[[torch.Tensor], torch.Tensor] | None:
        """Give what turns weights [B, H, Q, K] into sum_j weight[i, j] value_weight[r], [B, H, Q, D]; None without values."""
        return functools.partial(self._weigh_values, at) if self.values else None

    def softmax_scale(self, head_dim: int) -> float:
        """Give head_dim^-0.5."""
        return float(head_dim**-0.5)

    def heads(self, start: int, stop: int) -> Shaw:
        """Give itself: all heads read the same tables.

        Args:
            start: first head.
            stop: one past the last head.

        Returns:
            This scheme.

        Raises:
            ValueError: unless 0 <= start < stop.
        """
        check_heads(start, stop)
        return self

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        future = {} if self.max_future == self.max_distance else {"max_future": self.max_future}
        return call_arguments(head_dim=self.head_dim, max_distance=self.max_distance, values=self.values, **future)

    def _weigh_values(self, at: ScoreAt, weights: torch.Tensor) -> torch.Tensor:
        table = self.value_weight
        if table is None:
            raise AssertionError("called without values")
        rows = self._rows(at, tuple(weights.shape), weights.device)
        by_row = weights.new_zeros(*weights.shape[:3], len(table)).scatter_add(-1, rows, weights)
        with without_autocast(weights):
            return by_row @ table.to(weights.dtype)

    def _rows(self, at: ScoreAt, shape: tuple[int, ...], device: torch.device) -> torch.Tensor:
        """Rows of the tables, [B, H, Q, K] without copies."""
        rows = relative_rows(distances(at, device), self.max_distance, self.max_future)
        return (rows[:, None] if rows.ndim == 3 else rows).expand(shape)
