"""Wrong changes to Transformer-XL's scores, as people get them wrong."""

from __future__ import annotations

from typing import Any

import torch

from mutant_tools import Patch
from ordinate import phases
from ordinate.fitting import ScoreAt
from ordinate.schemes.transformer_xl import TransformerXL


def xl_distance_from_key_to_query(patch: Patch) -> None:
    right = TransformerXL._by_distance
    patch.setattr(TransformerXL, "_by_distance", lambda self, asked, at: right(self, asked, _negated(at)))


def _negated(at: ScoreAt) -> ScoreAt:
    return ScoreAt(*(-torch.as_tensor(list(side) if isinstance(side, range) else side) for side in at))


def xl_content_bias_left_out(patch: Patch) -> None:
    _changed_weights(patch, lambda content, position, projection: (0 * content, position, projection))


def xl_position_bias_left_out(patch: Patch) -> None:
    _changed_weights(patch, lambda content, position, projection: (content, 0 * position, projection))


def xl_biases_swapped(patch: Patch) -> None:
    _changed_weights(patch, lambda content, position, projection: (position, content, projection))


def xl_heads_of_the_projection_mixed(patch: Patch) -> None:
    _changed_weights(patch, lambda content, position, projection: (content, position, projection.roll(1, dims=0)))


def xl_cosines_first(patch: Patch) -> None:
    """Sines where the columns want cosines, in either layout."""
    right = TransformerXL._angles
    patch.setattr(TransformerXL, "_angles", lambda self, *given: tuple(reversed(right(self, *given))))


def xl_unscaled(patch: Patch) -> None:
    patch.setattr(TransformerXL, "softmax_scale", lambda *_: 1.0)


def xl_frequencies_spaced_closed(patch: Patch) -> None:
    """The slowest reaches 1 / base, as in tensor2tensor."""
    right = TransformerXL.__init__

    def made(self: TransformerXL, **settings: Any) -> None:
        right(self, **settings)
        pairs = self.d_model // 2
        self._frequencies = phases.from_base(self.base, [(pair, max(pairs - 1, 1)) for pair in range(pairs)])

    patch.setattr(TransformerXL, "__init__", made)


def _changed_weights(patch: Patch, change: Any) -> None:
    right = TransformerXL._weights
    patch.setattr(TransformerXL, "_weights", lambda self, *given: change(*right(self, *given)))


MUTANTS = (
    xl_distance_from_key_to_query,
    xl_content_bias_left_out,
    xl_position_bias_left_out,
    xl_biases_swapped,
    xl_heads_of_the_projection_mixed,
    xl_cosines_first,
    xl_unscaled,
    xl_frequencies_spaced_closed,
)
