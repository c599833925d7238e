"""positions.grid against loops and typed-in numbers; height and width always differ."""

import itertools
import math

import pytest
import torch

from ordinate.positions import grid


def loops(frames, height, width, merge=1):
    """Coordinates in the order in which encoders that join m x m patches take them."""
    out = []
    for t in range(frames):
        for block_y, block_x in itertools.product(range(height // merge), range(width // merge)):
            for y, x in itertools.product(range(merge), repeat=2):
                out.append([t, block_y * merge + y, block_x * merge + x])
    return out


def test_three_by_four_row_after_row():
    made = grid(3, 4)
    assert made.dtype == torch.int64
    assert made.shape == (1, 12, 2)
    assert made[0, :, 1].tolist() == [0, 1, 2, 3] * 3
    assert made[0, :, 0].tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize(("frames", "height", "width", "merge"), [(1, 4, 6, 2), (3, 2, 5, 1), (2, 6, 9, 3), (2, 4, 2, 2)])
def test_videos_and_merged_patches(frames, height, width, merge):
    want = loops(frames, height, width, merge)
    assert grid(height, width, frames=frames, merge=merge)[0].tolist() == want
    if frames == 1:
        assert grid(height, width, merge=merge)[0].tolist() == [place[1:] for place in want]


def test_tokens_around_the_patches_are_at_the_origin():
    made = grid(2, 3, prefix=2, suffix=1, first=1)[0].tolist()
    assert made == [[0, 0]] * 2 + [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]] + [[0, 0]]
    assert grid(1, 2, frames=2, first=(5, 0, 1))[0].tolist() == [[5, 0, 1], [5, 0, 2], [6, 0, 1], [6, 0, 2]]


def test_centred_coordinates():
    made = grid(3, 4, centred=True)[0]
    assert made.dtype == torch.float64
    for n, (y, x) in enumerate(itertools.product(range(3), range(4))):
        assert made[n].tolist() == pytest.approx([(2 * y + 1) / 3 - 1, (2 * x + 1) / 4 - 1], abs=1e-16)
    turned = grid(3, 4, centred=True, times=2 * math.pi)[0]
    assert turned.tolist() == (made * (2 * math.pi)).tolist()
    single = grid(3, 4, centred=True, dtype=torch.float32)[0]
    assert single.dtype == torch.float32
    assert (single.double() - made).abs().max() < 1.2e-7


def test_other_resolutions_and_times():
    assert grid(2, 3, times=0.5)[0].tolist() == [[0, 0], [0, 0.5], [0, 1], [0.5, 0], [0.5, 0.5], [0.5, 1]]
    assert grid(1, 2, frames=2, times=(2, 1, 1))[0].tolist() == [[0, 0, 0], [0, 0, 1], [2, 0, 0], [2, 0, 1]]
    assert grid(1, 1, frame_times=[0.25, 4.0])[0].tolist() == [[0.25, 0, 0], [4.0, 0, 0]]
    assert grid(1, 1, frame_times=[0.25, 4.0]).dtype == torch.float64
    assert grid(1, 1, frame_times=[0.25, 4.0], first=3)[0].tolist() == [[0.25, 3, 3], [4.0, 3, 3]]
    assert grid(1, 1, frame_times=[0.25, 4.0], first=(10, 7, 9))[0].tolist() == [[10.25, 7, 9], [14.0, 7, 9]]
    assert grid(1, 2, first=0.5)[0].tolist() == [[0.5, 0.5], [0.5, 1.5]]
    assert grid(1, 2, times=3).dtype == torch.int64
    assert grid(1, 2, dtype=torch.int32).dtype == torch.int32


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"height": 0}, "height: needed a whole number >= 1, got 0"),
        ({"width": 2.0}, "width: needed a whole number >= 1, got float 2.0"),
        ({"merge": 2}, "merge: needed a number that divides height and width, got 2 for 3 x 4"),
        ({"frames": 2, "frame_times": [1.0]}, "frame_times: needed one for each of 2 frames, got 1"),
        ({"first": (1, 2, 3)}, "first: needed one number, or one for each of 2 coordinates, got 3"),
        ({"centred": True, "first": 1}, "first: needed 0 for a centred grid"),
        ({"times": math.nan}, "times: needed a finite number"),
        ({"times": 0.5, "dtype": torch.int64}, "dtype: needed one of torch.float32, torch.float64, got torch.int64"),
        ({"dtype": torch.bfloat16}, "dtype: needed one of"),
        ({"first": 2**40}, "first: needed numbers up to 2147483648, got"),
        ({"first": None}, "first: needed a finite number, got NoneType None"),
        ({"times": "2"}, "times: needed finite numbers"),
        ({"prefix": -1}, "prefix: needed a whole number >= 0, got -1"),
    ],
)
def test_wrong_sizes_are_refused(call, said):
    with pytest.raises(ValueError, match=said):
        grid(**{"height": 3, "width": 4, **call})
