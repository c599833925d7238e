"""HunYuan-VL and GLM-Image against transformers' own get_rope_index."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
import torch
from prompts import Prompt, draw_prompt, grids_tensor, require_equal, transformers_class, whole_item

from ordinate import multimodal

SEEDS = range(40)
START, END, TEXT, IMAGE = 7, 8, 5, 9


def hunyuan(prompt, *, axes, masked=True):
    owner = transformers_class("hunyuan_vl", "HunYuanVLModel")
    config = SimpleNamespace(
        text_config=SimpleNamespace(rope_parameters={"mrope_section": [1] * axes}),
        vision_config=SimpleNamespace(spatial_merge_size=2),
    )
    own = SimpleNamespace(config=config, get_vision_position_ids=lambda *a, **k: owner.get_vision_position_ids(None, *a, **k))
    positions, deltas = owner.get_rope_index(
        own, prompt.types, prompt.types, grids_tensor(prompt.images), prompt.mask if masked else None
    )
    return positions.permute(1, 2, 0), deltas[:, 0]


@pytest.mark.parametrize("masked", [True, False], ids=["mask", "no_mask"])
@pytest.mark.parametrize("axes", [3, 4, 6])
@pytest.mark.parametrize("spare", [0, 2], ids=["bare", "with_markers"])
def test_hunyuan_vl(spare, axes, masked):
    def runs(kind, grid):
        return [[kind] * ((grid[1] // 2) * (grid[2] // 2 + 1) + spare)]

    for seed in SEEDS:
        for kinds in ((0, 1), (0,)):
            prompt = draw_prompt(seed, runs, kinds=kinds)
            want = hunyuan(prompt, axes=axes, masked=masked)
            for grids in (prompt.images, grids_tensor(prompt.images)):
                mask = prompt.mask if masked else None
                got = multimodal.hunyuan_vl_positions(prompt.types, image_grids=grids, spatial_merge=2, axes=axes, mask=mask)
                require_equal(got, want)


def test_hunyuan_vl_numbers_images_through_the_batch():
    """In transformers too an image's axis depends on the rows above it: the same prompt alone and below itself differ."""
    types = torch.tensor([[0, 1, 1, 0]])
    settings = {"spatial_merge": 2, "axes": 3}
    alone, _ = multimodal.hunyuan_vl_positions(types, image_grids=[(1, 2, 2)], **settings)
    both, _ = multimodal.hunyuan_vl_positions(types.repeat(2, 1), image_grids=[(1, 2, 2)] * 2, **settings)
    assert torch.equal(both[0], alone[0])
    assert both[1, :, 2].tolist() == [0, 1, 1, 3]
    assert alone[0, :, 2].tolist() == [0, 0, 0, 3]


def test_hunyuan_vl_decodes_behind_the_largest_number():
    """Rows of one image of two tokens: the fifth image's number is larger than any place in its row."""
    prompt = Prompt(torch.ones(5, 2, dtype=torch.int64), torch.ones(5, 2, dtype=torch.int64), [(1, 2, 2)] * 5)
    want = hunyuan(prompt, axes=3)
    assert want[1].tolist() == [0, 0, 1, 2, 3]
    got = multimodal.hunyuan_vl_positions(prompt.types, image_grids=prompt.images, spatial_merge=2, axes=3, mask=prompt.mask)
    require_equal(got, want)


@pytest.mark.parametrize(
    ("types", "grids", "message"),
    [
        ([[0, 1, 1, 1]], [(1, 2, 2)], r"needed runs of rows x \(columns \+ 1\) image tokens, or 2 more, got \[3\] for \[2\]"),
        ([[1, 1, 0, 0]], [(1, 2, 2)] * 2, "image_grids: needed 1 grids, one for each run of image tokens, got 2"),
        ([[1, 1, 0, 0]], None, "image_grids: needed 1 grids, .* got 0"),
        ([[2, 2, 0, 0]], None, r"token_types: needed 0 to 1 \(text, image\), got 0 to 2"),
    ],
)
def test_hunyuan_vl_refuses(types, grids, message):
    with pytest.raises(ValueError, match=message):
        multimodal.hunyuan_vl_positions(torch.tensor(types), image_grids=grids, spatial_merge=2, axes=3)
    with pytest.raises(ValueError, match="axes: needed a whole number >= 3, got 2"):
        multimodal.hunyuan_vl_positions(torch.tensor([[0]]), spatial_merge=2, axes=2)


def glm_image(prompt, drawn, ids, per_row):
    """transformers' prompt and, as it keeps them, the positions to draw at."""
    owner = transformers_class("glm_image", "GlmImageModel")
    own = SimpleNamespace(config=SimpleNamespace(image_start_token_id=START, image_end_token_id=END))
    own.get_vision_position_ids = lambda *a, **k: owner.get_vision_position_ids(None, *a, **k)
    grids, given = [], iter(prompt.images)
    for count, targets in zip(per_row, drawn, strict=True):
        grids += [next(given) for _ in range(count)] + [(1, *size) for size in reversed(targets)]
    counts = torch.tensor([count + len(targets) for count, targets in zip(per_row, drawn, strict=True)])
    positions, deltas = owner.get_rope_index(own, ids, torch.tensor(grids), counts, prompt.mask)
    assert not deltas.any()  # a place holder: decoding looks into the kept positions
    return positions.permute(1, 2, 0), own._cached_decode_position_ids.permute(0, 2, 1)


def test_glm_image():
    def marked(kind, grid):
        return [[0, *[kind] * (grid[1] * grid[2]), 0]]

    for seed in SEEDS:
        prompt = draw_prompt(seed, marked, kinds=(0, 1), merge=1)
        draw = random.Random(seed)
        image = prompt.types == 1
        before = torch.nn.functional.pad(image, (0, 1))[:, 1:] & ~image
        behind = torch.nn.functional.pad(image, (1, 0))[:, :-1] & ~image
        ids = torch.full_like(prompt.types, TEXT).masked_fill(image, IMAGE).masked_fill(before, START).masked_fill(behind, END)
        drawn = [[tuple(draw.sample(range(1, 5), 2)) for _ in range(draw.randint(1, 2))] for _ in prompt.types]
        want, want_drawn = glm_image(prompt, drawn, ids, before.sum(1).tolist())
        for grids in (prompt.images, grids_tensor(prompt.images)):
            positions, deltas = multimodal.glm_image_positions(prompt.types, image_grids=grids, mask=prompt.mask)
            require_equal((positions,), (want,))
            got = multimodal.glm_image_drawn_positions(deltas, prompt.mask.sum(1), drawn)
            require_equal((got,), (want_drawn,))


def test_glm_image_by_hand():
    """An image of 1 x 2, then 2 x 1 and 1 x 3 are drawn, and the end marker stands behind both."""
    types = torch.tensor([[0, 1, 1, 0, 0]])
    deltas = multimodal.glm_image_positions(types, image_grids=[(1, 1, 2)]).deltas
    drawn = multimodal.glm_image_drawn_positions(deltas, 5, [[(2, 1), (1, 3)]])
    assert drawn[0].T.tolist() == [[5, 5, 7, 7, 7, 10], [5, 6, 7, 7, 7, 10], [5, 5, 7, 8, 9, 10]]


def test_transformers_drops_rows_that_draw_nothing():
    """A row of the batch without grids has no kept positions, so the rows below it move up. Here every row has its own."""
    prompt = draw_prompt(0, whole_item(1), kinds=(0,), merge=1)
    prompt.types, prompt.mask = torch.zeros(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64)
    _, theirs = glm_image(prompt, [[], [(1, 2)]], torch.full((2, 3), TEXT), [0, 0])
    assert theirs.shape[0] == 1
    ours = multimodal.glm_image_drawn_positions(torch.zeros(2, dtype=torch.int64), 3, [[], [(1, 2)]])
    assert torch.equal(ours[1], theirs[0])
    assert ours[0].tolist() == [[3, 3, 3]] * 3


@pytest.mark.parametrize(
    ("grids", "message"),
    [
        ([[(1, 2)], []], r"deltas: needed an int64 tensor \[2\], one a row of grids, got int64 \[1\]"),
        ([[(1, 2, 3)]], r"grids: needed \(rows, columns\) for each image, got tuple \(1, 2, 3\)"),
        ([[(0, 2)]], "grids: rows: needed a whole number >= 1, got 0"),
    ],
)
def test_what_cannot_be_drawn(grids, message):
    with pytest.raises(ValueError, match=message):
        multimodal.glm_image_drawn_positions(torch.zeros(1, dtype=torch.int64), 3, grids)
    with pytest.raises(ValueError, match=r"seen: needed an int or an integer tensor \[1\], got float32 \[1\]"):
        multimodal.glm_image_drawn_positions(torch.zeros(1, dtype=torch.int64), torch.ones(1), [[]])
