"""Wrong changes to coordinates: how they are made, and which pairs they turn."""

from __future__ import annotations

from typing import Any

import torch

from mutant_tools import Patch, wrap
from ordinate.phases import recipe
from ordinate.positions import datum, grids
from ordinate.schemes import angles, axial_rope, multimodal_rope


def columns_before_rows(patch: Patch) -> None:
    """Columns run slower than rows, as a meshgrid with the other indexing makes them."""
    wrap(patch, grids, "_in_blocks", lambda original, made, merge: original(made.transpose(-3, -2), merge))


def rows_and_columns_exchanged(patch: Patch) -> None:
    def exchanged(original: Any, made: torch.Tensor, merge: int) -> Any:
        return original(torch.cat((made[..., :-2], made[..., -2:].flip(-1)), dim=-1), merge)

    wrap(patch, grids, "_in_blocks", exchanged)


def blocks_forgotten(patch: Patch) -> None:
    patch.setattr(grids, "_in_blocks", lambda made, _merge: made)


def corners_for_centres(patch: Patch) -> None:
    wrap(patch, grids, "_axis", lambda original, size, start, **named: original(size, start, **named) - 1 / size)


def first_coordinate_for_all(patch: Patch) -> None:
    def first(original: Any, place: torch.Tensor, axes: Any) -> Any:
        return original(place, axes and (0,) * len(axes))

    wrap(patch, recipe, "_for_each_pair", first)


def axes_in_the_other_order(patch: Patch) -> None:
    wrap(patch, axial_rope, "_dealt", lambda original, turns, *how: original(tuple(reversed(turns)), *how))


def axes_never_take_turns(patch: Patch) -> None:
    wrap(patch, axial_rope, "_dealt", lambda original, turns, share, _: original(turns, share, "blocks"))


def frequencies_of_the_whole_head(patch: Patch) -> None:
    """Each axis with the frequencies of all pairs in place of those of its own width."""

    def shared(original: Any, pairs: Any, turns: Any, bases: Any, width: int, _: Any, which: Any) -> Any:
        return original(pairs, turns, bases, width, "shared", which)

    wrap(patch, axial_rope, "_frequencies_of", shared)


def sections_interleaved(patch: Patch) -> None:
    wrap(patch, multimodal_rope, "axes_of_pairs", lambda original, sections, _: original(sections, "interleaved"))


def sections_contiguous(patch: Patch) -> None:
    wrap(patch, multimodal_rope, "axes_of_pairs", lambda original, sections, _: original(sections, "contiguous"))


def axes_first_accepted(patch: Patch) -> None:
    """[A, B, T] is turned around in silence."""

    def turned(original: Any, self: Any, positions: Any, **named: Any) -> Any:
        if isinstance(positions, torch.Tensor) and positions.ndim == 3 and positions.shape[0] == self.axes:
            positions = positions.movedim(0, -1)
        return original(self, positions, **named)

    wrap(patch, angles.AngleScheme, "at", turned)


def order_of_the_first_coordinate(patch: Patch) -> None:
    """A causal mask over coordinates goes by the first of them."""
    from ordinate.attention import attending

    wrap(patch, attending, "_order", lambda _, q, k, needed: (q[..., 0], k[..., 0]) if q.ndim == 3 and needed else (q, k))


def count_of_coordinates(patch: Patch) -> None:
    """The last dim is taken for the tokens."""

    def last(original: Any, positions: Any) -> Any:
        return positions.shape[-1] if isinstance(positions, torch.Tensor) else original(positions)

    for module in (datum, angles):
        wrap(patch, module, "count", last)
