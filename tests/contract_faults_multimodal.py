"""Faults of positions with several axes: the smallest prompts, and their positions worked out by hand."""

from __future__ import annotations

import numpy as np
import torch

from ordinate import multimodal

TYPES = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 0, 0]])


def _is(got: torch.Tensor, *axes: list[int]) -> None:
    """Of the first row, axis after axis."""
    assert got[0].T.tolist() == [list(axis) for axis in axes]


def image_between_text() -> None:
    """Three tokens of text, an image of 2 x 2 tokens, two of text."""
    positions, _ = multimodal.qwen2_vl_positions(TYPES, image_grids=[(1, 4, 4)], spatial_merge=2)
    _is(positions, [0, 1, 2, 3, 3, 3, 3, 5, 6], [0, 1, 2, 3, 3, 4, 4, 5, 6], [0, 1, 2, 3, 4, 3, 4, 5, 6])


def image_of_two_rows_and_three_columns() -> None:
    types = torch.tensor([[0, 1, 1, 1, 1, 1, 1, 0]])
    positions, _ = multimodal.qwen2_vl_positions(types, image_grids=[(1, 2, 3)], spatial_merge=1)
    _is(positions, [0, 1, 1, 1, 1, 1, 1, 4], [0, 1, 1, 1, 2, 2, 2, 4], [0, 1, 2, 3, 1, 2, 3, 4])


def decoding_after_an_image() -> None:
    """Nine tokens were seen; the tenth stands at 7."""
    deltas = multimodal.qwen2_vl_positions(TYPES, image_grids=[(1, 4, 4)], spatial_merge=2).deltas
    assert deltas.tolist() == [-2]
    _is(multimodal.continued(deltas, 9, 2), [7, 8], [7, 8], [7, 8])


def frames_in_seconds() -> None:
    """Two tokens a second and half a second a frame: whole steps, because the product is rounded, not the factors."""
    types = torch.tensor([[2, 2, 2, 2, 0]])
    settings = {"seconds_per_grid": [0.5], "tokens_per_second": 2, "spatial_merge": 1}
    positions, _ = multimodal.qwen2_5_vl_positions(types, video_grids=[(4, 1, 1)], **settings)
    _is(positions, [0, 1, 2, 3, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1])
    half = multimodal.qwen2_5_vl_positions(types, video_grids=[(4, 1, 1)], **{**settings, "seconds_per_grid": [0.25]})
    _is(half.positions[..., :1], [0, 0, 1, 1, 1])


def text_after_a_long_video() -> None:
    """Frames do not count: the text goes on behind the longer side, the next token of decoding behind all."""
    types = torch.tensor([[0, 2, 2, 2, 2, 2, 0]])
    positions, deltas = multimodal.qwen2_vl_positions(types, video_grids=[(5, 1, 1)], spatial_merge=1)
    _is(positions, [0, 1, 2, 3, 4, 5, 2], [0, 1, 1, 1, 1, 1, 2], [0, 1, 1, 1, 1, 1, 2])
    assert deltas.tolist() == [-1]


def frames_with_time_stamps() -> None:
    """Two frames of 1 x 2 tokens, each after its stamp: time does not count inside a frame."""
    types = torch.tensor([[0, 2, 2, 0, 2, 2, 0]])
    positions, _ = multimodal.qwen3_vl_positions(types, video_grids=[(2, 1, 2)], spatial_merge=1)
    _is(positions, [0, 1, 1, 3, 4, 4, 6], [0, 1, 1, 3, 4, 4, 6], [0, 1, 2, 3, 4, 5, 6])


def padded_image() -> None:
    """The prompt of the first check with two pad slots before it and one behind."""
    types = torch.nn.functional.pad(TYPES, (2, 1))
    mask = torch.nn.functional.pad(torch.ones_like(TYPES), (2, 1))
    positions, deltas = multimodal.qwen2_vl_positions(types, image_grids=[(1, 4, 4)], spatial_merge=2, mask=mask)
    whole = [0, 0, 0, 1, 2, 3, 3, 3, 3, 5, 6, 0], [0, 0, 0, 1, 2, 3, 3, 4, 4, 5, 6, 0], [0, 0, 0, 1, 2, 3, 4, 3, 4, 5, 6, 0]
    _is(positions, *whole)
    assert deltas.tolist() == [-2]


def sound_beside_the_frames() -> None:
    """Two frames 5 steps apart, two tokens of sound between them; both markers at either end share a position."""
    types = torch.tensor([[0, 0, 2, 3, 3, 2, 0, 0, 0]])
    settings = {"seconds_per_grid": [0.2], "steps_per_second": 25, "spatial_merge": 1}
    positions, _ = multimodal.qwen2_5_omni_positions(types, video_grids=[(2, 1, 1)], **settings)
    _is(positions, [0, 0, 1, 1, 2, 6, 7, 7, 8], [0, 0, 1, 1, 2, 1, 7, 7, 8], [0, 0, 1, 1, 2, 1, 7, 7, 8])


def fractions_rounded_one_after_the_other() -> None:
    """A frame at 1 + 0.2431; the marker behind it is one further, rounded again. One sum rounded once would be another number."""
    step = np.float32(0.0187) * np.float32(13)
    frame = np.float32(1) + step
    behind = frame + np.float32(1)
    assert float(behind) != float(np.float32(2 + float(step)))
    settings = {"seconds_per_grid": [0.0187], "n_audios": 0, "steps_per_second": 13, "spatial_merge": 1}
    positions, _ = multimodal.qwen3_omni_positions(torch.tensor([[0, 2, 2, 0]]), video_grids=[(2, 1, 1)], **settings)
    assert positions[0, :, 0].tolist() == [0.0, 1.0, float(frame), float(behind)]


def frames_with_newlines() -> None:
    """Two frames of one row of one column and its newline: a frame takes two steps on every axis."""
    types = torch.tensor([[0, 2, 2, 2, 2, 0]])
    positions, _ = multimodal.hy_v4_vl_positions(types, video_grids=[(2, 1, 1)], spatial_merge=1)
    _is(positions, [0, 1, 1, 3, 3, 5], [0, 1, 1, 3, 3, 5], [0, 1, 2, 3, 4, 5])


def width_before_height() -> None:
    """HunYuan-VL: 2 rows of 1 column and a newline; (width, height, image) on the last axes, text goes on counting."""
    types = torch.tensor([[0, 1, 1, 1, 1, 0]])
    positions, _ = multimodal.hunyuan_vl_positions(types, image_grids=[(1, 2, 1)], spatial_merge=1, axes=4)
    _is(positions, [0, 1, 2, 3, 4, 5], [0, 0, 1, 0, 1, 5], [0, 0, 0, 1, 1, 5], [0, 0, 0, 0, 0, 5])


def thumbnail_over_its_slices() -> None:
    """A thumbnail of 1 x 2 tokens over one slice of 1 x 4: its tokens stand at the canvas' ends."""
    types, markers = torch.tensor([[0, 1, 1, 0, 0, 1, 1, 1, 1, 0]]), torch.tensor([[1, 0, 0, 1, 2, 0, 0, 0, 0, 1]])
    crops = [(1, 2), (1, 4)]
    positions, _ = multimodal.minicpm_v_positions(types, markers=markers, image_crops=crops, spatial_merge=1)
    _is(positions, [0] * 10, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 3, 4, 0, 0, 1, 2, 3, 3])


def frames_merged_in_time() -> None:
    types = torch.tensor([[2, 2, 0]])
    positions, _ = multimodal.ernie4_5_vl_positions(types, video_grids=[(4, 1, 1)], spatial_merge=1, temporal_merge=2)
    _is(positions, [0, 1, 1], [0, 0, 1], [0, 0, 1])


def drawn_after_the_prompt() -> None:
    """A prompt of text, an image of 1 x 2 and text; then 2 x 3 tokens are drawn, and the end marker."""
    deltas = multimodal.glm_image_positions(torch.tensor([[0, 1, 1, 0, 0]]), image_grids=[(1, 1, 2)]).deltas
    drawn = multimodal.glm_image_drawn_positions(deltas, 5, [[(2, 3)]])
    _is(drawn, [5, 5, 5, 5, 5, 5, 8], [5, 5, 5, 6, 6, 6, 8], [5, 6, 7, 5, 6, 7, 8])


def patches_that_merge_stand_together() -> None:
    """2 rows of 4 columns, merged two by two."""
    rows, columns = multimodal.patch_positions([(1, 2, 4)], merge=2).T.tolist()
    assert (rows, columns) == ([0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 2, 3, 2, 3])


FAULTS = (
    image_between_text,
    image_of_two_rows_and_three_columns,
    decoding_after_an_image,
    frames_in_seconds,
    text_after_a_long_video,
    frames_with_time_stamps,
    padded_image,
    sound_beside_the_frames,
    fractions_rounded_one_after_the_other,
    frames_with_newlines,
    width_before_height,
    thumbnail_over_its_slices,
    frames_merged_in_time,
    drawn_after_the_prompt,
    patches_that_merge_stand_together,
)
