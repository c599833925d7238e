"""MiniCPM-V 4.7 against transformers' own get_rope_index, on pictures cut into slices in all the ways that it knows."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
import torch
from prompts import require_equal, transformers_class

from ordinate import multimodal
from ordinate.multimodal.minicpm_v import spread

IMAGE_START, IMAGE_END, SLICE_START, SLICE_END, NEWLINE, TEXT, CROP = 31, 32, 33, 34, 35, 5, 9
MARKERS = {IMAGE_START: 1, IMAGE_END: 1, SLICE_START: 2, SLICE_END: 1, NEWLINE: 1}
CONFIG = SimpleNamespace(
    slice_start_id=SLICE_START,
    slice_end_id=SLICE_END,
    image_start_id=IMAGE_START,
    image_end_id=IMAGE_END,
    newline_id=NEWLINE,
    downsample_mode="16x",
)


def size(draw, merge):
    return tuple(merge * side for side in draw.sample(range(1, 5), 2))


def draw_picture(draw, kind, merge, crops):
    """Token ids and types of a thumbnail and its slices."""

    def crop(own):
        crops[kind].append(own)
        return [(CROP, kind)] * (own[0] * own[1] // merge**2)

    tokens = [(draw.choice((IMAGE_START, TEXT)), 0), *crop(size(draw, merge))]
    if draw.random() < 0.9:
        tokens.append((IMAGE_END, 0))
    if draw.random() < 0.4:
        return tokens
    rows, columns, each = draw.randint(1, 3), draw.randint(1, 3), size(draw, merge)
    for row in range(rows):
        for _ in range(columns if draw.random() < 0.9 else draw.randint(1, 3)):
            own = each if draw.random() < 0.9 else size(draw, merge)
            tokens += [(SLICE_START, 0), *crop(own)] + [(SLICE_END, 0)] * (draw.random() < 0.95)
        tokens += [(NEWLINE, 0)] * (draw.randint(1, 2) if row < rows - 1 else draw.randint(0, 1))
    return tokens


def draw_batch(seed, merge):
    draw = random.Random(seed)
    crops = {1: [], 2: []}
    rows = []
    for _ in range(draw.randint(1, 3)):
        row = [(TEXT, 0)] * draw.randint(0, 3)
        for _ in range(draw.randint(0, 3)):
            row += draw_picture(draw, draw.choice((1, 1, 2)), merge, crops)
            row += [(draw.choice((TEXT, NEWLINE)), 0)] * draw.choice((0, 0, 1, 3))
        rows.append([*row, (TEXT, 0)])
    length = max(map(len, rows)) + draw.randint(0, 2)
    ids, types, mask = (torch.zeros(len(rows), length, dtype=torch.int64) for _ in range(3))
    left = draw.random() < 0.5
    for index, row in enumerate(rows):
        place = slice(length - len(row), length) if left else slice(0, len(row))
        ids[index, place] = torch.tensor([token for token, _ in row])
        types[index, place] = torch.tensor([kind for _, kind in row])
        mask[index, place] = 1
    return ids, types, mask, crops


def asked(ids, types, mask, crops, mode):
    owner = transformers_class("minicpmv4_7", "MiniCPMV4_7Model")
    own = SimpleNamespace(config=CONFIG, _frame_end_idx=owner._frame_end_idx)
    for name in ("_group_visual_frames", "get_vision_position_ids"):
        setattr(own, name, getattr(owner, name).__get__(own))
    sizes = [torch.tensor(crops[kind]) if crops[kind] else None for kind in (1, 2)]
    positions, deltas = owner.get_rope_index(own, ids, types, *sizes, mode, mask)
    return positions.permute(1, 2, 0), deltas[:, 0]


def markers_of(ids):
    markers = torch.zeros_like(ids)
    for token, mark in MARKERS.items():
        markers[ids == token] = mark
    return markers


@pytest.mark.parametrize("masked", [True, False], ids=["mask", "no_mask"])
@pytest.mark.parametrize(("mode", "merge"), [("16x", 4), ("4x", 2), (None, 4)])
def test_minicpm_v(mode, merge, masked):
    cut = 0
    for seed in range(80):
        ids, types, mask, crops = draw_batch(seed, merge)
        given = mask if masked else None
        want = asked(ids, types, given, crops, mode)
        cut += sum(map(len, crops.values()))
        image, video = (torch.tensor(crops[kind], dtype=torch.int64).view(-1, 2) for kind in (1, 2))
        tensors = {"image_crops": image, "video_crops": video}
        for sizes in ({"image_crops": crops[1], "video_crops": crops[2]}, tensors):
            got = multimodal.minicpm_v_positions(types, markers=markers_of(ids), **sizes, spatial_merge=merge, mask=given)
            require_equal(got, want)
    assert cut > 500


def test_a_picture_of_two_slices_by_hand():
    """A thumbnail of 1 x 1 over two slices of 2 x 1, one above the other: text, the picture, text."""
    cut = [SLICE_START, CROP, CROP, SLICE_END]
    ids = [TEXT, IMAGE_START, CROP, IMAGE_END, *cut, NEWLINE, *cut, TEXT]
    types = torch.tensor([[int(token == CROP) for token in ids]])
    positions, _ = multimodal.minicpm_v_positions(
        types, markers=markers_of(torch.tensor([ids])), image_crops=[(1, 1), (2, 1), (2, 1)], spatial_merge=1
    )
    assert positions[0].T.tolist() == [
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6],
        [0, 0, 1, 5, 1, 1, 2, 2, 2, 3, 3, 4, 4, 6],
        [0, 0, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 6],
    ]


def test_spread_is_what_linspace_rounds_to():
    for canvas in range(1, 150, 2):
        for places in range(1, 60):
            want = torch.linspace(0, canvas - 1, places).round().long()
            assert torch.equal(spread(torch.arange(places), torch.tensor(places), torch.tensor(canvas)), want), (canvas, places)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"markers": torch.zeros(1, 3)}, r"markers: needed an integer tensor \[1, 4\] .* got float32 \[1, 3\]"),
        ({"markers": torch.tensor([[0, 3, 0, 0]])}, "markers: needed 0 none, 1 marker or 2 slice start, got 0 to 3"),
        ({"markers": torch.zeros(1, 4, dtype=torch.int64, device="meta")}, "markers: needed a tensor on cpu, .* one on meta"),
        ({"token_types": torch.tensor([[1, 1, 0, 0]])}, "markers: needed a text token, the marker, before every crop"),
        ({"image_crops": [(1, 1, 2)]}, r"image_crops: needed \(rows, columns\) for each, got list \[\(1, 1, 2\)\]"),
        (
            {"image_crops": torch.ones(1, 2)},
            r"image_crops: needed an integer tensor \[N, 2\] .* got float32 \[1, 2\]",
        ),
        ({"spatial_merge": 4}, r"image_crops: needed rows divisible by 4, the merge, got \(1, 1, 2\)"),
    ],
)
def test_what_is_refused(change, message):
    given = {
        "token_types": torch.tensor([[0, 0, 1, 1]]),
        "markers": torch.tensor([[0, 1, 0, 0]]),
        "image_crops": [(1, 2)],
        "spatial_merge": 1,
    }
    with pytest.raises(ValueError, match=message):
        multimodal.minicpm_v_positions(**{**given, **change})
