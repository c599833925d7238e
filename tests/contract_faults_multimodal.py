"""Faults of positions with several axes: the smallest prompts, and their positions worked out by hand."""

from __future__ import annotations

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


FAULTS = (
    image_between_text,
    image_of_two_rows_and_three_columns,
    decoding_after_an_image,
    frames_in_seconds,
    text_after_a_long_video,
    frames_with_time_stamps,
    padded_image,
)
