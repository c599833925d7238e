"""Wrong changes to Shaw and DeBERTa, whose scores are products of contents with tables of positions."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import torch

from mutant_tools import Mutant, Patch, wrap
from ordinate import fitting
from ordinate.attention import choosing
from ordinate.schemes import deberta, shaw

# Shaw


def _shaw_rows(patch: Patch, rows: Callable[[torch.Tensor, int], torch.Tensor]) -> None:
    patch.setattr(shaw, "relative_rows", lambda distance, most, _: rows(distance, most))


def shaw_sign_flipped(patch: Patch) -> None:
    _shaw_rows(patch, lambda distance, most: (-distance).clamp(-most, most) + most)


def shaw_clips_the_past_only(patch: Patch) -> None:
    """The future runs past the table."""
    _shaw_rows(patch, lambda distance, most: distance.clamp(min=-most) + most)


def shaw_clips_the_future_only(patch: Patch) -> None:
    """The past wraps to the table's end, as a negative index does."""
    _shaw_rows(patch, lambda distance, most: (distance.clamp(max=most) + most) % (2 * most + 1))


def shaw_clips_one_short(patch: Patch) -> None:
    _shaw_rows(patch, lambda distance, most: distance.clamp(-most, most - 1) + most)


def shaw_clips_the_past_like_the_future(patch: Patch) -> None:
    patch.setattr(shaw, "relative_rows", lambda distance, most, future: distance.clamp(-future, future) + most)


def shaw_sides_taken_for_one_another(patch: Patch) -> None:
    right = shaw.relative_rows
    patch.setattr(shaw, "relative_rows", lambda distance, most, future: right(distance, future, most))


def shaw_values_left_out(patch: Patch) -> None:
    patch.setattr(shaw.Shaw, "added_values", lambda *_: None)


def shaw_values_from_the_keys_table(patch: Patch) -> None:
    original = shaw.Shaw._weigh_values

    def swapped(self: Any, at: Any, weights: torch.Tensor) -> torch.Tensor:
        with Patch.context() as inner:
            inner.setitem(self._parameters, "value_weight", self.key_weight)
            return original(self, at, weights)

    patch.setattr(shaw.Shaw, "_weigh_values", swapped)


def shaw_values_of_uniform_weights(patch: Patch) -> None:
    """The term is not masked: hidden keys add their rows."""
    original = shaw.Shaw._weigh_values
    patch.setattr(
        shaw.Shaw, "_weigh_values", lambda self, at, weights: original(self, at, torch.full_like(weights, 1 / weights.shape[-1]))
    )


def shaw_values_after_empty_rows(patch: Patch) -> None:
    """The term is added to the finished output, so a query that sees nothing gets it."""

    def late(original: Any, *args: Any) -> torch.Tensor:
        *first, added_values = args if len(args) == 8 else (*args, None)
        out = original(*first, added_values)
        if added_values is None:
            return out
        q, k, _, bias, sight, scale, dropout = first
        identity = torch.eye(k.shape[2], dtype=q.dtype).expand(*k.shape[:2], -1, -1)
        seen = original(q, k, identity, bias, sight, scale, dropout)
        uniform = torch.full_like(seen, 1 / seen.shape[-1])
        return out + torch.where((seen != 0).any(-1, keepdim=True), 0.0, added_values(uniform))

    wrap(patch, choosing, "weigh", late)


def shaw_bias_unscaled(patch: Patch) -> None:
    original = shaw.Shaw.bias
    patch.setattr(shaw.Shaw, "bias", lambda self, q, k, at: original(self, q, k, at) * math.sqrt(self.head_dim))


def shaw_keys_from_the_values_table(patch: Patch) -> None:
    original = shaw.Shaw.bias

    def swapped(self: Any, *args: Any) -> torch.Tensor:
        with Patch.context() as inner:
            inner.setitem(self._parameters, "key_weight", self.value_weight)
            return original(self, *args)

    patch.setattr(shaw.Shaw, "bias", swapped)


def autocast_reaches_the_products(patch: Patch) -> None:
    for module in (shaw, deberta):
        patch.setattr(module, "without_autocast", lambda _: contextlib.nullcontext())


# DeBERTa


def _deberta_bias(patch: Patch, change: Callable[..., torch.Tensor]) -> None:
    original = deberta.Deberta.bias
    patch.setattr(deberta.Deberta, "bias", lambda self, *args, **tables: change(original, self, *args, **tables))


def deberta_index_of_the_paper(patch: Patch) -> None:
    """The third term read at the distance from j to i: what the first of the two terms is with keys for queries, transposed."""

    def paper(original: Any, self: Any, q: Any, k: Any, at: Any, *, keys: Any, queries: Any) -> torch.Tensor:
        nothing, every = torch.zeros_like(keys), k.repeat_interleave(q.shape[1] // k.shape[1], 1)
        back = fitting.ScoreAt(at.k_positions, at.q_positions)
        third = original(self, every, q, back, keys=queries, queries=nothing).mT
        return original(self, q, k, at, keys=keys, queries=nothing) + third

    _deberta_bias(patch, paper)


def deberta_tables_swapped(patch: Patch) -> None:
    _deberta_bias(patch, lambda original, *args, keys, queries: original(*args, keys=queries, queries=keys))


def _deberta_rows(patch: Patch, change: Callable[[Any, Any, torch.Tensor], torch.Tensor]) -> None:
    original = deberta.Deberta.rows
    patch.setattr(deberta.Deberta, "rows", lambda self, distance: change(original, self, distance))


def deberta_span_off_by_one(patch: Patch) -> None:
    _deberta_rows(patch, lambda original, self, distance: (original(self, distance) - 1).clamp(min=0))


def deberta_sign_flipped(patch: Patch) -> None:
    _deberta_rows(patch, lambda original, self, distance: original(self, -distance))


def deberta_buckets_without_sign(patch: Patch) -> None:
    _deberta_rows(patch, lambda original, self, distance: original(self, -distance.abs()))


def _deberta_formula(patch: Patch, whole: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """v2's formula in place of the bucket ends: right with ``ceil``."""

    def formula(original: Any, self: Any, distance: torch.Tensor) -> torch.Tensor:
        if self.buckets is None:
            return original(self, distance)
        middle, back = self.buckets // 2, -distance.double()
        share = (back.abs().clamp(min=1) / middle).log() / math.log((self.max_distance - 1) / middle) * (middle - 1)
        far = (middle + whole(share - 1e-9)) * back.sign()
        place = torch.where(back.abs() <= middle, back, far).long()
        return (place + self.span).clamp(0, 2 * self.span - 1)

    _deberta_rows(patch, formula)


def _deberta_formula_unchanged(patch: Patch) -> None:
    _deberta_formula(patch, torch.ceil)


def deberta_bucket_floored(patch: Patch) -> None:
    _deberta_formula(patch, torch.floor)


def deberta_scale_without_the_terms(patch: Patch) -> None:
    patch.setattr(deberta.Deberta, "softmax_scale", lambda _, head_dim: head_dim**-0.5)


def content_by_row_number(patch: Patch) -> None:
    """Row numbers in place of positions, as most implementations of Shaw and DeBERTa have it."""

    def rows(_: Any, at: Any, device: Any) -> torch.Tensor:
        height, width = (fitting.as_tensor(places).shape[-1] for places in at)
        return torch.arange(width, device=device) - torch.arange(height, device=device)[:, None] + (height - width)

    for module in (shaw, deberta):
        wrap(patch, module, "distances", rows)


def deberta_rank_keeps_all_heads(patch: Patch) -> None:
    patch.setattr(deberta.Deberta, "heads", lambda self, *_: self)


MUTANTS = (
    *(Mutant(autocast_reaches_the_products, "autocast", case) for case in ("shaw", "deberta", "deberta p2c")),
    *(Mutant(shaw_sign_flipped, check, "shaw") for check in ("scheme_oracle", "layer_oracle")),
    Mutant(shaw_sign_flipped, "shaw_rows", None),
    Mutant(shaw_clips_the_past_only, "scheme_oracle", "shaw", RuntimeError),
    Mutant(shaw_clips_the_past_only, "shaw_rows", None, RuntimeError),
    Mutant(shaw_clips_the_future_only, "scheme_oracle", "shaw neighbours"),
    Mutant(shaw_clips_the_future_only, "shaw_rows", None),
    Mutant(shaw_clips_the_past_like_the_future, "scheme_oracle", "shaw past and future"),
    Mutant(shaw_sides_taken_for_one_another, "scheme_oracle", "shaw past and future"),
    Mutant(shaw_clips_one_short, "scheme_oracle", "shaw keys only"),
    Mutant(shaw_values_left_out, "layer_oracle", "shaw"),
    Mutant(shaw_values_left_out, "module_oracle", "shaw neighbours"),
    Mutant(shaw_values_from_the_keys_table, "layer_oracle", "shaw"),
    Mutant(shaw_values_from_the_keys_table, "shaw_rows", None),
    Mutant(shaw_values_of_uniform_weights, "layer_oracle", "shaw"),
    Mutant(shaw_values_of_uniform_weights, "left_padding", "shaw neighbours"),
    Mutant(shaw_values_after_empty_rows, "empty_rows", "shaw"),
    Mutant(shaw_bias_unscaled, "scheme_oracle", "shaw"),
    Mutant(shaw_bias_unscaled, "layer_oracle", "shaw keys only"),
    Mutant(shaw_keys_from_the_values_table, "scheme_oracle", "shaw"),
    Mutant(deberta_index_of_the_paper, "scheme_oracle", "deberta"),
    Mutant(deberta_index_of_the_paper, "layer_oracle", "deberta buckets"),
    Mutant(deberta_index_of_the_paper, "deberta_third_term", None),
    Mutant(deberta_tables_swapped, "layer_oracle", "deberta"),
    Mutant(deberta_span_off_by_one, "scheme_oracle", "deberta c2p"),
    Mutant(deberta_span_off_by_one, "deberta_third_term", None),
    Mutant(deberta_span_off_by_one, "deberta_buckets", None),
    Mutant(deberta_sign_flipped, "scheme_oracle", "deberta p2c"),
    Mutant(deberta_sign_flipped, "deberta_third_term", None),
    Mutant(deberta_bucket_floored, "scheme_oracle", "deberta buckets"),
    Mutant(deberta_bucket_floored, "deberta_buckets", None),
    Mutant(deberta_buckets_without_sign, "scheme_oracle", "deberta buckets"),
    Mutant(deberta_buckets_without_sign, "deberta_buckets", None),
    *(
        Mutant(deberta_scale_without_the_terms, check, case)
        for check, case in (("scheme_oracle", "deberta c2p"), ("layer_oracle", "deberta"), ("deberta_buckets", None))
    ),
    *(
        Mutant(content_by_row_number, check, case)
        for check in ("permutation", "context_parallel", "cross_lengths", "scheme_oracle")
        for case in ("shaw", "deberta")
    ),
    Mutant(deberta_rank_keeps_all_heads, "head_slices", "deberta", ValueError),
)
