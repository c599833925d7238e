"""Patches of vision encoders against transformers' own vision_utils, and single blocks against its get_vision_position_ids."""

from __future__ import annotations

import random

import pytest
import torch
from prompts import grids_tensor, transformers_class

from ordinate import multimodal


@pytest.mark.parametrize("with_frames", [False, True])
@pytest.mark.parametrize("merge", [1, 2, 3])
def test_patches(merge, with_frames):
    from transformers.vision_utils import get_vision_position_ids

    for seed in range(20):
        draw = random.Random(seed)
        grids = [(draw.randint(1, 3), *(merge * side for side in draw.sample(range(1, 5), 2))) for _ in range(draw.randint(1, 4))]
        want = get_vision_position_ids(grids_tensor(grids), merge, include_temporal=with_frames)
        got = multimodal.patch_positions(grids, merge=merge, with_frames=with_frames)
        assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())


def test_a_merge_for_each_grid():
    from transformers.vision_utils import get_vision_position_ids

    grids, merges = [(1, 4, 6), (2, 3, 5), (1, 3, 9)], [2, 1, 3]
    want = get_vision_position_ids(grids_tensor(grids), torch.tensor(merges))
    assert torch.equal(multimodal.patch_positions(grids, merge=merges), want)


def test_three_rows_and_four_columns():
    rows, columns = multimodal.patch_positions([(1, 3, 4)], merge=1).T.tolist()
    assert columns == [0, 1, 2, 3] * 3
    assert rows == [0] * 4 + [1] * 4 + [2] * 4
    assert multimodal.patch_positions([], merge=2, with_frames=True).shape == (0, 3)


@pytest.mark.parametrize(
    ("grids", "merge", "message"),
    [
        ([(1, 3, 4)], 2, "merge: needed a number that divides height and width, got 2 for 3 x 4"),
        ([(1, -2, 4)], 2, "height: needed a whole number >= 1, got -2"),
        ([(1, 2)], 2, r"grids: needed \(frames, rows, columns\) for each, got tuple \(1, 2\)"),
        ([(1, 2, 4)], [2, 2], "merge: needed 1 numbers, one a grid, got 2"),
        ([(1, 2, 4)], 0, "merge: needed a whole number >= 1, got 0"),
    ],
)
def test_patches_that_are_refused(grids, merge, message):
    with pytest.raises(ValueError, match=message):
        multimodal.patch_positions(grids, merge=merge)


@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize("grid", [(1, 4, 6), (3, 6, 4), (4, 2, 4)])
def test_single_blocks(grid, start):
    """A prompt of nothing but ``start`` tokens of text and one video, against the method that places one block."""

    def block(model, name, *args):
        ids = transformers_class(model, name).get_vision_position_ids(None, start, torch.tensor(grid), *args)
        return ids.T

    def ours(builder, tokens, **settings):
        types = torch.tensor([[0] * start + [2] * tokens])
        return builder(types, video_grids=[grid], spatial_merge=2, **settings).positions[0, start:]

    tokens = grid[0] * grid[1] * grid[2] // 4
    assert torch.equal(ours(multimodal.qwen2_vl_positions, tokens), block("qwen2_vl", "Qwen2VLModel", 1, 2))
    seconds = {"seconds_per_grid": [0.7], "tokens_per_second": 2}
    assert torch.equal(ours(multimodal.qwen2_5_vl_positions, tokens, **seconds), block("qwen2_5_vl", "Qwen2_5_VLModel", 1, 2, 1.4))
    newlines = grid[0] * (grid[1] // 2) * (grid[2] // 2 + 1)
    assert torch.equal(ours(multimodal.hy_v4_vl_positions, newlines), block("hy_v4_vl", "HYV4VLModel", 1, 2))
