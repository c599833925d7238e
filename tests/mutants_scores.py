"""Wrong changes to T5's buckets and table, the ways people get them wrong."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch

from mutant_tools import Mutant, Patch
from ordinate.schemes import t5


def _t5_formula(
    patch: Patch,
    sign: int = 1,
    future: Callable[[torch.Tensor], torch.Tensor] = lambda ahead: ahead > 0,
    two_sided: Callable[[bool], bool] = lambda bidirectional: bidirectional,
    halved: bool = True,
    exact_change: int = 0,
    whole: Callable[[torch.Tensor], torch.Tensor] = torch.floor,
    dtype: torch.dtype = torch.float64,
) -> None:
    """The paper's formula in place of the borders: right as it stands, wrong with any argument."""

    def buckets(self: Any, distance: torch.Tensor) -> torch.Tensor:
        ahead = distance.long() * sign
        n = self.n_buckets // 2 if self.bidirectional and halved else self.n_buckets
        reach = ahead.abs() if two_sided(self.bidirectional) else (-ahead).clamp(min=0)
        exact = (n + exact_change) // 2
        share = (reach.clamp(min=1).to(dtype) / exact).log() / math.log(self.max_distance / exact) * (n - exact)
        far = exact + whole(share + (1e-9 if dtype == torch.float64 else 0.0)).long()
        rows = torch.where(reach < exact, reach, far.clamp(max=n - 1))
        return (rows + self.n_buckets // 2 * future(ahead) if self.bidirectional else rows) % self.n_buckets

    patch.setattr(t5.T5Bias, "buckets", buckets)


def _t5_formula_unchanged(patch: Patch) -> None:
    _t5_formula(patch)


def t5_sign_flipped(patch: Patch) -> None:
    _t5_formula(patch, sign=-1)


def t5_future_rows_for_the_past(patch: Patch) -> None:
    _t5_formula(patch, future=lambda ahead: ahead < 0)


def t5_distance_zero_is_future(patch: Patch) -> None:
    _t5_formula(patch, future=lambda ahead: ahead >= 0)


def t5_causal_counts_the_future(patch: Patch) -> None:
    """Causal rows read by |distance|: a future key is not in bucket 0."""
    _t5_formula(patch, two_sided=lambda _: True)


def t5_buckets_not_halved(patch: Patch) -> None:
    _t5_formula(patch, halved=False)


def t5_exact_off_by_one(patch: Patch) -> None:
    _t5_formula(patch, exact_change=2)


def t5_rounds_to_nearest(patch: Patch) -> None:
    _t5_formula(patch, whole=torch.round)


def t5_logarithm_in_bfloat16(patch: Patch) -> None:
    _t5_formula(patch, dtype=torch.bfloat16)


def t5_logarithm_in_the_weights_dtype(patch: Patch) -> None:
    """Right in float32; a cast of the model reaches the buckets."""
    right = t5.T5Bias.buckets

    def buckets(self: Any, distance: torch.Tensor) -> torch.Tensor:
        with Patch.context() as inner:
            _t5_formula(inner, dtype=torch.bfloat16)
            return (t5.T5Bias.buckets if self.weight.dtype in (torch.bfloat16, torch.float16) else right)(self, distance)

    patch.setattr(t5.T5Bias, "buckets", buckets)


def t5_table_transposed(patch: Patch) -> None:
    """The table read as [heads, buckets]."""
    original = t5.T5Bias.by_distance

    def transposed(self: Any, distance: torch.Tensor) -> torch.Tensor:
        heads = torch.arange(self.n_heads).view(-1, *[1] * distance.ndim)
        flat = self.buckets(distance)[None] + heads * self.n_buckets
        return self.weight.flatten()[flat].to(original(self, distance).dtype)

    patch.setattr(t5.T5Bias, "by_distance", transposed)


def t5_rank_takes_first_heads(patch: Patch) -> None:
    original = t5.T5Bias.heads
    patch.setattr(t5.T5Bias, "heads", lambda self, start, stop: original(self, 0, stop - start))


def t5_rank_copies_the_table(patch: Patch) -> None:
    original = t5.T5Bias.heads

    def copied(self: Any, start: int, stop: int) -> Any:
        return original(copy.deepcopy(self), start, stop)

    patch.setattr(t5.T5Bias, "heads", copied)


MUTANTS = (
    *(Mutant(t5_sign_flipped, check, "t5") for check in ("scheme_oracle", "layer_oracle", "cross_lengths")),
    Mutant(t5_sign_flipped, "t5_buckets", None),
    *(Mutant(t5_future_rows_for_the_past, check, "t5") for check in ("scheme_oracle", "module_oracle")),
    Mutant(t5_distance_zero_is_future, "scheme_oracle", "t5 few buckets"),
    Mutant(t5_distance_zero_is_future, "t5_buckets", None),
    Mutant(t5_causal_counts_the_future, "layer_oracle", "t5 causal"),
    Mutant(t5_causal_counts_the_future, "t5_buckets", None),
    Mutant(t5_buckets_not_halved, "scheme_oracle", "t5 few buckets"),
    Mutant(t5_buckets_not_halved, "t5_buckets", None),
    Mutant(t5_exact_off_by_one, "scheme_oracle", "t5 odd"),
    Mutant(t5_exact_off_by_one, "t5_buckets", None),
    Mutant(t5_rounds_to_nearest, "scheme_oracle", "t5"),
    Mutant(t5_rounds_to_nearest, "t5_buckets", None),
    Mutant(t5_logarithm_in_bfloat16, "t5_buckets", None),
    Mutant(t5_logarithm_in_the_weights_dtype, "t5_buckets", None),
    Mutant(t5_table_transposed, "scheme_oracle", "t5"),
    Mutant(t5_rank_takes_first_heads, "head_slices", "t5 few buckets"),
    Mutant(t5_rank_takes_first_heads, "slices_of_heads_share_tables", None),
    Mutant(t5_rank_copies_the_table, "head_slices", "t5"),
    Mutant(t5_rank_copies_the_table, "slices_of_heads_share_tables", None),
)
