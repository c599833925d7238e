"""Wrong changes to positions with several axes, the ways people get them wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from mutant_tools import Mutant, Patch, wrap
from ordinate import multimodal
from ordinate.multimodal import (
    ernie4_5_vl,
    glm_image,
    hunyuan_vl,
    hy_v4_vl,
    minicpm_v,
    patches,
    qwen2_5_omni,
    qwen2_5_vl,
    qwen2_vl,
    qwen3_omni,
    qwen3_vl,
)
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


# Sound


def sound_behind_the_frames(patch: Patch) -> None:
    """Every token of sound one step further than it is heard."""

    def later(original: Any, *args: Any) -> Any:
        found = original(*args)
        return replace(found, heard=found.heard + 1)

    wrap(patch, qwen2_5_omni, "find_sound", later)


def each_marker_counts(patch: Patch) -> None:
    patch.setattr(qwen2_5_omni, "second_markers", lambda sounding: torch.zeros_like(sounding.block))


def sound_is_text(patch: Patch) -> None:
    def unheard(original: Any, *args: Any) -> Any:
        found = original(*args)
        none = torch.zeros_like(found.sound)
        return replace(found, sound=none, with_sound=none, block=found.block & ~found.sound)

    wrap(patch, qwen2_5_omni, "find_sound", unheard)


def fractions_cut_off(patch: Patch) -> None:
    wrap(patch, qwen3_omni, "time_of", lambda original, *args, **named: original(*args, **named).floor())


def sums_rounded_once(patch: Patch) -> None:
    wrap(patch, qwen3_omni, "_stretches", lambda original, *args: original(*args[:3], args[3].double(), *args[4:]))


# Newlines, numbers, crops and patches


def newline_is_no_column(patch: Patch) -> None:
    wrap(patch, hy_v4_vl, "raster", lambda original, within, rows, columns: original(within, rows, columns - 1))


def frames_begin_where_the_first_began(patch: Patch) -> None:
    def first(original: Any, *args: Any) -> Any:
        frame, row, column = original(*args)
        return torch.zeros_like(frame), row, column

    wrap(patch, hy_v4_vl, "raster", first)


def height_before_width(patch: Patch) -> None:
    def turned(original: Any, *args: Any) -> Any:
        width, height, number = original(*args)
        return height, width, number

    wrap(patch, hunyuan_vl, "width_height_image", turned)


def images_counted_from_one(patch: Patch) -> None:
    wrap(patch, hunyuan_vl, "width_height_image", lambda original, within, columns, number: original(within, columns, number + 1))


def thumbnail_not_stretched(patch: Patch) -> None:
    patch.setattr(minicpm_v, "spread", lambda index, *_: index)


def frames_not_merged(patch: Patch) -> None:
    """The position of the first frame of each pair."""

    def first(original: Any, *args: Any) -> Any:
        frame, row, column = original(*args)
        return 2 * frame, row, column

    wrap(patch, ernie4_5_vl, "raster", first)


def drawn_from_the_number_of_tokens(patch: Patch) -> None:
    def without(original: Any, *args: Any, **named: Any) -> MultimodalPositions:
        positions, deltas = original(*args, **named)
        return MultimodalPositions(positions, torch.ones_like(deltas))

    wrap(patch, multimodal, "glm_image_positions", without)


def drawn_image_counts_its_tokens(patch: Patch) -> None:
    patch.setattr(glm_image, "longer_of", lambda height, width: height * width)


def patches_in_raster_order(patch: Patch) -> None:
    wrap(patch, patches, "grid", lambda original, *sizes, **named: original(*sizes, **{**named, "merge": 1}))


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
    *(Mutant(change, "sound_beside_the_frames", None) for change in (sound_behind_the_frames, each_marker_counts, sound_is_text)),
    *(Mutant(change, "fractions_rounded_one_after_the_other", None) for change in (fractions_cut_off, sums_rounded_once)),
    *(Mutant(change, "frames_with_newlines", None) for change in (newline_is_no_column, frames_begin_where_the_first_began)),
    *(Mutant(change, "width_before_height", None) for change in (height_before_width, images_counted_from_one)),
    Mutant(thumbnail_not_stretched, "thumbnail_over_its_slices", None),
    Mutant(frames_not_merged, "frames_merged_in_time", None),
    *(
        Mutant(change, "drawn_after_the_prompt", None)
        for change in (drawn_from_the_number_of_tokens, drawn_image_counts_its_tokens)
    ),
    Mutant(patches_in_raster_order, "patches_that_merge_stand_together", None),
)
