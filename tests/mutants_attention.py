"""Wrong changes to attention: masks, windows, documents, heads, scales, caches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

import ordinate
from mutant_tools import Patch, Proxy, wrap
from ordinate import cache, modules, positions, sites, weighing
from ordinate.attention import attending, choosing, toeplitz
from ordinate.schemes import rope


def _change_sight(patch: Patch, **changes: Callable[[Any], Any]) -> None:
    """Change parts of what decides which keys are seen."""

    def changed(original: Any, sight: Any, device: Any) -> Any:
        return original(sight._replace(**{part: change(getattr(sight, part)) for part, change in changes.items()}), device)

    wrap(patch, weighing, "visible_keys", changed)


# Attention


def causal_mask_off_by_one(patch: Patch) -> None:
    _change_sight(patch, order=lambda order: (positions.as_tensor(order[0]) + 1, positions.as_tensor(order[1])))


def causal_by_row_number(patch: Patch) -> None:
    _change_sight(patch, order=lambda order: tuple(range(positions.count(places)) for places in order))


def causal_mask_from_the_top_left(patch: Patch) -> None:
    """SDPA's is_causal although queries start later than keys."""
    wrap(patch, weighing, "hides", lambda original, sight: "the future" if sight.causal else original(sight))


def window_off_by_one(patch: Patch) -> None:
    _change_sight(patch, window=lambda window: None if window is None else window + 1)


def window_looks_back_only(patch: Patch) -> None:
    _change_sight(patch, causal=lambda _: True)


def documents_ignored(patch: Patch) -> None:
    _change_sight(patch, documents=lambda _: None)


def documents_only_by_border(patch: Patch) -> None:
    """A later document that has the same id as an earlier one is taken for another."""

    def runs(pair: Any) -> Any:
        return pair and tuple((ids.diff(dim=-1, prepend=ids[..., :1]) != 0).long().cumsum(-1) for ids in pair)

    _change_sight(patch, documents=runs)


def bool_mask_inverted(patch: Patch) -> None:
    _change_sight(patch, mask=lambda mask: mask if mask is None else ~mask)


def float_mask_ignored(patch: Patch) -> None:
    wrap(patch, attending, "sight_of", lambda original, *args, **kwargs: original(*args, **{**kwargs, "mask": None}))


def packed_lengths_reversed(patch: Patch) -> None:
    wrap(patch, attending, "_by_document", lambda original, q, k, v, s, lengths, *rest: original(q, k, v, s, lengths[::-1], *rest))


def empty_rows_left_alone(patch: Patch) -> None:
    patch.setattr(weighing, "torch", Proxy(torch, where=lambda _, out, __: out))


def empty_rows_divide_by_zero(patch: Patch) -> None:
    """Hidden scores are -inf, then NaN is replaced: right values, gradients that are NaN."""

    def weigh(q: Any, k: Any, v: Any, _: Any, sight: Any, scale: float, __: float) -> torch.Tensor:
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
        hidden = torch.zeros(()).masked_fill(~weighing.visible_keys(sight, q.device), -torch.inf)
        return ((q @ k.mT * scale + hidden).softmax(-1) @ v).nan_to_num()

    patch.setattr(choosing, "weigh", weigh)


def heads_grouped_wrongly(patch: Patch) -> None:
    """repeat where repeat_interleave belongs: query head h reads key head h mod H_kv."""

    def repeated(original: Any, q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        return original(q, *(x.repeat(1, q.shape[1] // x.shape[1], 1, 1) for x in (k, v)), *args, **kwargs)

    for module in (weighing, toeplitz):
        wrap(patch, module, "fused", repeated)


def plain_heads_grouped_wrongly(patch: Patch) -> None:
    def repeated(original: Any, q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        return original(q, *(x.repeat(1, q.shape[1] // x.shape[1], 1, 1) for x in (k, v)), *args, **kwargs)

    wrap(patch, weighing, "_plain", repeated)


def plain_result_left_in_float32(patch: Patch) -> None:
    wrap(patch, weighing, "_plain", lambda original, *args: original(*args).float())


def softmax_scale_missing(patch: Patch) -> None:
    for owner in (rope.Rope, sites.DistanceScheme):
        patch.setattr(owner, "softmax_scale", lambda *_: 1.0)


def bias_scaled_again(patch: Patch) -> None:
    original = sites.DistanceScheme.bias
    patch.setattr(sites.DistanceScheme, "bias", lambda self, q, k, at: original(self, q, k, at) * self.softmax_scale(q.shape[-1]))


def keys_at_query_positions(patch: Patch) -> None:
    wrap(patch, attending, "attention_at", lambda original, s, q_places, _, **kwargs: original(s, q_places, q_places, **kwargs))


def attention_detached_from_scheme(patch: Patch) -> None:
    wrap(patch, attending, "sight_of", lambda original, *args, **kwargs: original(*args, **{**kwargs, "causal": True}))


# What attention passes to a scheme


def extras_dropped(patch: Patch) -> None:
    patch.setattr(choosing, "_scaled_bias", lambda scheme, q, k, at, *_: scheme.bias(q, k, at))


def extras_dropped_by_the_module(patch: Patch) -> None:
    wrap(patch, modules, "attend", lambda original, *args, **kwargs: original(*args, **{**kwargs, "extras": None}))


def extras_dropped_in_packs(patch: Patch) -> None:
    wrap(patch, attending, "_by_document", lambda original, *args: original(*args[:-1], None))


def given_scale_spares_the_terms(patch: Patch) -> None:
    """The caller's scale multiplies q . k only."""

    def own(_: Any, scheme: Any, q: Any, k: Any, at: Any, __: float, extras: Any) -> torch.Tensor:
        return scheme.bias(q, k, at, **(extras or {}))

    wrap(patch, choosing, "_scaled_bias", own)


def given_scale_reaches_all_biases(patch: Patch) -> None:
    """The caller's scale multiplies learned numbers too, as if they were products."""

    def scaled(_: Any, scheme: Any, q: Any, k: Any, at: Any, scale: float, extras: Any) -> torch.Tensor:
        return scheme.bias(q, k, at, **(extras or {})) * (scale / scheme.softmax_scale(q.shape[-1]))

    wrap(patch, choosing, "_scaled_bias", scaled)


def given_scale_lost(patch: Patch) -> None:
    def standard(original: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
        return original(q, *args[:3], q.shape[-1] ** -0.5, *args[4:], **kwargs)

    for module in (weighing, toeplitz):
        wrap(patch, module, "fused", standard)


def added_values_only_under_a_causal_mask(patch: Patch) -> None:
    """Attention forgets the scheme's values in two-way attention."""

    def forgets(original: Any, *args: Any) -> torch.Tensor:
        return original(*args[:7]) if not args[4].causal else original(*args)

    wrap(patch, choosing, "weigh", forgets)


# Modules


def context_counted_from_zero(patch: Patch) -> None:
    def counted(original: Any, *args: Any, k_positions: Any, **kwargs: Any) -> Any:
        return original(*args, k_positions=range(positions.count(k_positions)), **kwargs)

    wrap(patch, modules, "attend", counted)


def embedding_unscaled(patch: Patch) -> None:
    patch.setattr(modules, "math", Proxy(math, sqrt=lambda _: 1.0))


def embedding_drops_before_the_sum(patch: Patch) -> None:
    def forward(self: Any, tokens: torch.Tensor, places: Any) -> torch.Tensor:
        x = F.dropout(self.tokens(tokens) * math.sqrt(self.d_model), self.dropout, self.training)
        return self.scheme(x, places)

    patch.setattr(modules.TokenAndPositionEmbedding, "forward", forward)


def keys_turned_twice(patch: Patch) -> None:
    """The cache turns all keys again at every step."""
    turn = ordinate.Rope(head_dim=8, layout="half")

    def again(original: Any, self: Any, k: Any, v: Any, places: Any) -> Any:
        keys, values, where = original(self, k, v, places)
        return turn.keys(keys, where), values, where

    original = cache.KeyValueCache.joined
    patch.setattr(cache.KeyValueCache, "joined", lambda self, *args: again(original, self, *args))


def cache_forgets_rows(patch: Patch) -> None:
    """Positions of the first batch row for all."""

    def first(original: Any, *args: Any) -> Any:
        places = original(*args)
        return places[:1].expand(places.shape)

    wrap(patch, cache, "_joined", first)


def cache_counts_from_zero(patch: Patch) -> None:
    wrap(patch, cache, "_joined", lambda original, *args: torch.arange(positions.count(original(*args))))
