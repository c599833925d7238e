"""Wrong changes to ALiBi, to the input schemes, and to how positions are made."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from mutant_tools import Patch, Proxy, wrap
from ordinate import positions, sites
from ordinate.schemes import alibi, learned, sinusoidal

# ALiBi


def alibi_ignores_positions(patch: Patch) -> None:
    def by_length(original: Any, self: Any, q: Any, k: Any, _: Any) -> Any:
        return original(self, q, k, sites.ScoreAt(range(k.shape[2] - q.shape[2], k.shape[2]), range(k.shape[2])))

    original = sites.DistanceScheme.bias
    patch.setattr(sites.DistanceScheme, "bias", lambda self, q, k, at: by_length(original, self, q, k, at))


def alibi_sign_flipped(patch: Patch) -> None:
    original = alibi.ALiBi.by_distance
    patch.setattr(alibi.ALiBi, "by_distance", lambda self, distance: -original(self, distance))


def alibi_one_sided(patch: Patch) -> None:
    original = alibi.ALiBi.by_distance
    patch.setattr(alibi.ALiBi, "by_distance", lambda self, distance: original(self, distance.clamp(max=0)))


def alibi_bias_in_bfloat16(patch: Patch) -> None:
    original = alibi.ALiBi.by_distance
    patch.setattr(
        alibi.ALiBi, "by_distance", lambda self, distance: original(self, distance).bfloat16().to(original(self, distance).dtype)
    )


def slope_exponent_off_by_one(patch: Patch) -> None:
    wrap(patch, alibi, "slopes_of", lambda _, n, __: tuple(2.0 ** (-8.0 * (head - 1) / n) for head in range(1, n + 1)))


def authors_slopes_sorted(patch: Patch) -> None:
    wrap(patch, alibi, "slopes_of", lambda original, n, rule: tuple(sorted(original(n, rule), reverse=True)))


def slope_rules_confused(patch: Patch) -> None:
    other = {"paper": "authors", "authors": "paper"}
    original = alibi.slopes_of
    patch.setattr(alibi, "slopes_of", lambda n, rule: original(n, "paper") if rule == "authors" else original(n, other[rule]))


def rank_takes_first_heads(patch: Patch) -> None:
    original = alibi.ALiBi.heads
    patch.setattr(alibi.ALiBi, "heads", lambda self, start, stop: original(self, 0, stop - start))


def ranges_read_backwards(patch: Patch) -> None:
    """The Toeplitz form laid out the other way round."""
    original = sites.DistanceScheme.diagonals
    patch.setattr(sites.DistanceScheme, "diagonals", lambda self, *args: original(self, *args).flip(-1).roll(1, -1))


# Input schemes


def open_and_closed_confused(patch: Patch) -> None:
    other = {"open": "closed", "closed": "open"}
    wrap(patch, sinusoidal, "exponents", lambda original, width, layout, spacing: original(width, layout, other[spacing]))


def odd_width_rounded_up(patch: Patch) -> None:
    wrap(patch, sinusoidal, "exponents", lambda original, width, *args: original(width + width % 2, *args))


def cosines_first(patch: Patch) -> None:
    wrap(patch, sinusoidal, "arrange", lambda original, cos, sin, *args: original(sin, cos, *args))


def dropout_before_the_sum(patch: Patch) -> None:
    def forward(self: Any, x: torch.Tensor, places: Any) -> torch.Tensor:
        return x + F.dropout(self.at(places), self.dropout, self.training)

    patch.setattr(sinusoidal.Sinusoidal, "forward", forward)


def dropout_in_evaluation(patch: Patch) -> None:
    patch.setattr(sinusoidal, "F", Proxy(F, dropout=lambda x, p, _: F.dropout(x, p, True)))


def dropout_not_rescaled(patch: Patch) -> None:
    patch.setattr(learned, "F", Proxy(F, dropout=lambda x, p, training: F.dropout(x, p, training) * (1 - p)))


def negatives_wrap(patch: Patch) -> None:
    patch.setattr(learned, "check_places", lambda *_: None)
    patch.setattr(learned, "F", Proxy(F, embedding=lambda place, weight: weight[place]))


def table_end_unchecked(patch: Patch) -> None:
    patch.setattr(learned, "check_places", lambda *_: None)
    patch.setattr(learned, "F", Proxy(F, embedding=lambda place, weight: weight[place.clamp(0, len(weight) - 1)]))


def padding_offset_ignored(patch: Patch) -> None:
    patch.setattr(learned, "F", Proxy(F, embedding=lambda place, weight: F.embedding((place - 2).clamp(min=0), weight)))


def wrap_counts_padding_rows(patch: Patch) -> None:
    patch.setattr(learned, "F", Proxy(F, embedding=lambda place, weight: F.embedding((place + 1) % len(weight), weight)))


# Positions


def padding_mask_ignored(patch: Patch) -> None:
    patch.setattr(positions, "from_padding_mask", lambda mask: torch.arange(mask.shape[-1]).expand(mask.shape))


def continued_off_by_one(patch: Patch) -> None:
    wrap(patch, positions, "continued", lambda original, past, n: original(past + 1, n))


def continued_from_one_row(patch: Patch) -> None:
    wrap(patch, positions, "continued", lambda original, past, n: original(int(past.max()) if torch.is_tensor(past) else past, n))


def packed_never_resets(patch: Patch) -> None:
    def running(original: Any, *args: Any, **kwargs: Any) -> Any:
        _, ids = given = original(*args, **kwargs)
        return positions.Packed(torch.arange(len(ids)), ids, given.lengths)

    wrap(patch, positions, "packed", running)
