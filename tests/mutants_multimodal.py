"""Wrong changes to positions with several axes, the ways people get them wrong."""

from __future__ import annotations

from typing import Any

import torch

from mutant_tools import Mutant, Patch, wrap
from ordinate import multimodal
from ordinate.multimodal import qwen2_5_vl, qwen2_vl, qwen3_vl
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.token_rows import TokenRows


def height_and_width_swapped(patch: Patch) -> None:
    def swapped(original: Any, *args: Any) -> Any:
        frame, row, column = original(*args)
        return frame, column, row

    wrap(patch, qwen2_vl, "raster", swapped)


def raster_order_transposed(patch: Patch) -> None:
    def by_columns(within: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> Any:
        return within // (rows * columns), within % rows, within // rows % columns

    patch.setattr(qwen2_vl, "raster", by_columns)


def delta_dropped(patch: Patch) -> None:
    def without(original: Any, *args: Any, **named: Any) -> Any:
        positions, deltas = original(*args, **named)
        return MultimodalPositions(positions, torch.zeros_like(deltas))

    wrap(patch, TokenRows, "finished", without)


def delta_dropped_in_decoding(patch: Patch) -> None:
    wrap(patch, multimodal, "continued", lambda original, deltas, *args: original(torch.zeros_like(deltas), *args))


def rounded_before_the_product(patch: Patch) -> None:
    patch.setattr(qwen2_5_vl, "step_of", lambda frames, interval: frames * interval.long())


def seconds_rounded_first(patch: Patch) -> None:
    wrap(patch, qwen2_5_vl, "seconds_of", lambda original, seconds, **named: original([int(number) for number in seconds], **named))


def text_counts_the_tokens_of_an_image(patch: Patch) -> None:
    patch.setattr(qwen2_vl, "longer_side", lambda blocks: blocks.rows * blocks.columns)


def text_counts_the_shorter_side(patch: Patch) -> None:
    patch.setattr(qwen2_vl, "longer_side", lambda blocks: torch.minimum(blocks.rows, blocks.columns))


def text_goes_on_behind_the_last_frame(patch: Patch) -> None:
    wrap(patch, qwen2_vl, "longer_side", lambda original, blocks: torch.maximum(original(blocks), blocks.frames))


def time_counts_inside_a_frame(patch: Patch) -> None:
    def counting(original: Any, within: torch.Tensor, *sizes: Any) -> Any:
        _, row, column = original(within, *sizes)
        return within, row, column

    wrap(patch, qwen3_vl, "raster", counting)


def padding_counts(patch: Patch) -> None:
    wrap(patch, qwen2_vl, "token_rows", lambda original, types, _: original(types, None))


def largest_position_of_padding(patch: Patch) -> None:
    """The delta counts every slot of the row for a token."""
    original = TokenRows.finished

    def padded(self: Any, positions: torch.Tensor, **named: Any) -> MultimodalPositions:
        placed, deltas = original(self, positions, **named)
        return MultimodalPositions(placed, deltas + self.real.sum(1) - self.types.shape[1])

    patch.setattr(TokenRows, "finished", padded)


MUTANTS = (
    *(
        Mutant(change, "image_of_two_rows_and_three_columns", None)
        for change in (
            height_and_width_swapped,
            raster_order_transposed,
            text_counts_the_tokens_of_an_image,
            text_counts_the_shorter_side,
        )
    ),
    *(
        Mutant(change, "image_between_text", None)
        for change in (height_and_width_swapped, raster_order_transposed, text_counts_the_tokens_of_an_image)
    ),
    *(Mutant(change, "decoding_after_an_image", None) for change in (delta_dropped, delta_dropped_in_decoding)),
    *(Mutant(change, "frames_in_seconds", None) for change in (rounded_before_the_product, seconds_rounded_first)),
    Mutant(text_goes_on_behind_the_last_frame, "text_after_a_long_video", None),
    Mutant(time_counts_inside_a_frame, "frames_with_time_stamps", None),
    *(Mutant(change, "padded_image", None) for change in (padding_counts, largest_position_of_padding)),
)
