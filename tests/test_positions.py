"""positions.py: what each function makes, by hand, and each error's text."""

import pytest
import torch

from ordinate import positions
from ordinate.positions import as_tensor, check, continued, count, ends, from_padding_mask, packed, same, sequential


def test_sequential():
    assert sequential(4).tolist() == [0, 1, 2, 3]
    assert sequential(4).dtype == torch.int64
    assert sequential(0).tolist() == []
    assert sequential(2, device="meta").device.type == "meta"
    with pytest.raises(ValueError, match="n: needed a whole number >= 0, got -1"):
        sequential(-1)


def test_continued():
    assert continued(6, 2) == range(6, 8)
    assert continued(0, 0) == range(0)
    got = continued(torch.tensor([3, 0], dtype=torch.int32), 2)
    assert got.tolist() == [[3, 4], [0, 1]]
    assert got.dtype == torch.int64


@pytest.mark.parametrize(
    ("past", "n", "error", "message"),
    [
        (-1, 2, ValueError, "past: needed a whole number >= 0, got -1"),
        (1, -2, ValueError, "n: needed a whole number >= 0, got -2"),
        (torch.tensor([1.5]), 2, ValueError, r"past: needed an int or an integer tensor \[B\], got float32 \[1\]"),
        (torch.tensor([[1]]), 2, ValueError, r"past: .* got int64 \[1, 1\]"),
        (torch.tensor(3), 2, ValueError, r"past: .* got int64 \[\]"),
        (2.0, 2, ValueError, r"past: needed a whole number >= 0, got float 2\.0"),
        (True, 2, ValueError, "past: .* got bool True"),
        ("3", 2, ValueError, "past: .* got str '3'"),
    ],
)
def test_continued_refuses(past, n, error, message):
    with pytest.raises(error, match=message):
        continued(past, n)


@pytest.mark.parametrize(
    ("mask", "want"),
    [
        ([0, 0, 1, 1, 1], [0, 0, 0, 1, 2]),
        ([1, 1, 1, 0, 0], [0, 1, 2, 2, 2]),
        ([0, 1, 0, 0, 1], [0, 0, 0, 0, 1]),
        ([1, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
    ],
)
def test_from_padding_mask(mask, want):
    for dtype in (torch.bool, torch.int32, torch.int64):
        assert from_padding_mask(torch.tensor(mask).to(dtype)).tolist() == want
        assert from_padding_mask(torch.tensor([mask, [1] * 5]).to(dtype)).tolist() == [want, [0, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(2, 3), r"mask: needed a bool or integer tensor \[B, T\] \(true = a real token\), got float32 \[2, 3\]"),
        (torch.ones(1, 1, 2, 2, dtype=torch.bool), r"got bool \[1, 1, 2, 2\]"),
        ([1, 0], r"got list \[1, 0\]"),
    ],
)
def test_from_padding_mask_refuses(mask, message):
    with pytest.raises(ValueError, match=message):
        from_padding_mask(mask)


@pytest.mark.parametrize(
    ("given", "places", "ids", "lengths"),
    [
        ({"lengths": [3, 2]}, [0, 1, 2, 0, 1], [0, 0, 0, 1, 1], (3, 2)),
        ({"lengths": (1, 0, 2)}, [0, 0, 1], [0, 2, 2], (1, 0, 2)),
        ({"lengths": torch.tensor([3, 2])}, [0, 1, 2, 0, 1], [0, 0, 0, 1, 1], (3, 2)),
        ({"lengths": [3, 2], "total": 7}, [0, 1, 2, 0, 1, 0, 1], [0, 0, 0, 1, 1, 2, 2], (3, 2, 2)),
        ({"lengths": [3, 2], "total": 5}, [0, 1, 2, 0, 1], [0, 0, 0, 1, 1], (3, 2)),
        ({"cu_seqlens": [0, 3, 5]}, [0, 1, 2, 0, 1], [0, 0, 0, 1, 1], (3, 2)),
        ({"cu_seqlens": torch.tensor([0, 3, 5], dtype=torch.int32)}, [0, 1, 2, 0, 1], [0, 0, 0, 1, 1], (3, 2)),
        ({"cu_seqlens": [0]}, [], [], ()),
        ({"lengths": []}, [], [], ()),
        ({"lengths": [], "total": 2}, [0, 1], [0, 0], (2,)),
    ],
)
def test_packed(given, places, ids, lengths):
    made = packed(**given)
    got_places, got_ids = made
    assert got_places.tolist() == places
    assert got_ids.tolist() == ids
    assert made.lengths == lengths
    assert all(type(length) is int for length in made.lengths)
    assert got_places.dtype == got_ids.dtype == torch.int64


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "packed: needed exactly one of lengths and cu_seqlens, got neither"),
        ({"lengths": [1], "cu_seqlens": [0, 1]}, "needed exactly one of lengths and cu_seqlens, got both"),
        ({"lengths": [3, -2]}, "lengths: needed a whole number >= 0, got -2"),
        ({"cu_seqlens": [0, 3, 2]}, r"cu_seqlens: needed borders that do not fall, got \[0, 3, 2\]"),
        ({"cu_seqlens": [1, 3]}, r"cu_seqlens: needed borders that start at 0, got \[1, 3\]"),
        ({"cu_seqlens": []}, r"cu_seqlens: needed borders that start at 0, got \[\]"),
        ({"lengths": [3, 2], "total": 4}, "total: needed at least 5, the sum of the lengths, got 4"),
        ({"lengths": [1.5]}, r"lengths: needed a whole number >= 0, got float 1\.5"),
        ({"lengths": [True]}, "lengths: needed a whole number >= 0, got bool True"),
        ({"lengths": 3}, "lengths: needed a list of whole numbers, got int 3"),
        ({"lengths": torch.ones(2)}, r"lengths: needed whole numbers in one dimension, got float32 \[2\]"),
        ({"cu_seqlens": torch.zeros(1, 2, dtype=torch.int64)}, r"cu_seqlens: .* one dimension, got int64 \[1, 2\]"),
    ],
)
def test_packed_refuses(given, message):
    with pytest.raises(ValueError, match=message):
        packed(**given)


@pytest.mark.parametrize(
    "given",
    [range(3), torch.arange(3), torch.zeros(2, 3), torch.zeros(3, dtype=torch.float64), torch.zeros(1, 3, dtype=torch.int32)],
)
def test_check_accepts(given):
    check(given, length=3, batch=2)


@pytest.mark.parametrize(
    ("given", "settings", "error", "message"),
    [
        (
            [0, 1],
            {},
            TypeError,
            r"positions: needed a range or an integer tensor \[T\] or \[B, T\], got list \[0, 1\]; use range\(n\)",
        ),
        (3, {"name": "q_positions"}, TypeError, "q_positions: .* got int 3"),
        (torch.zeros(2, dtype=torch.bfloat16), {}, ValueError, r"int32 or int64 .* got bfloat16 \[2\]; lower precision merges"),
        (torch.zeros(2, dtype=torch.float16), {}, ValueError, r"got float16 \[2\]"),
        (torch.zeros(2, dtype=torch.int16), {}, ValueError, r"got int16 \[2\]"),
        (torch.zeros(2, dtype=torch.bool), {}, ValueError, r"got bool \[2\]"),
        (
            torch.zeros(2),
            {"fractional": False},
            ValueError,
            r"whole positions \(int32 or int64\), got float32 \[2\]; tables take no",
        ),
        (
            torch.zeros(2, requires_grad=True),
            {},
            ValueError,
            r"without gradient, got requires_grad=True; pass positions\.detach\(\)",
        ),
        (torch.zeros(1, 2, 3, dtype=torch.int64), {}, ValueError, r"needed shape \[T\] or \[B, T\], got int64 \[1, 2, 3\]"),
        (torch.tensor(3), {}, ValueError, r"needed shape \[T\] or \[B, T\], got int64 \[\]"),
        (range(3), {"length": 4}, ValueError, "positions: needed 4 positions, one a token, got 3"),
        (torch.zeros(2, 3, dtype=torch.int64), {"length": 2}, ValueError, "needed 2 positions, one a token, got 3"),
        (torch.zeros(2, 3, dtype=torch.int64), {"batch": 4}, ValueError, r"needed 4 rows, one a batch row \(or 1\), got 2"),
    ],
)
def test_check_refuses(given, settings, error, message):
    with pytest.raises(error, match=message):
        check(given, **settings)


RANGES = [
    range(0),
    range(5),
    range(3, 9, 2),
    range(3, 10, 2),
    range(9, 0, -4),
    range(9, 1, -4),
    range(4, 9, -1),
    range(-5, 5, 3),
    range(2, 3),
]


@pytest.mark.parametrize("given", RANGES)
def test_count_ends_and_tensor_of_ranges(given):
    assert count(given) == len(given)
    assert as_tensor(given).tolist() == list(given)
    assert as_tensor(given).dtype == torch.int64
    if given:
        assert ends(given) == (min(given), max(given))


def test_as_tensor_cannot_overflow():
    edges = torch.tensor([2**31 - 1, -(2**31)], dtype=torch.int32)
    assert (as_tensor(edges)[0] - as_tensor(edges)[1]).item() == 2**32 - 1
    assert as_tensor(torch.tensor([0.1])).dtype == torch.float64
    assert as_tensor(range(2), "meta").device.type == "meta"
    assert count(torch.zeros(2, 7, dtype=torch.int64)) == 7


def test_same():
    tensor = torch.arange(3)
    assert same(tensor, tensor)
    assert not same(tensor, tensor.clone())  # values are not read
    assert same(range(1, 3), range(1, 3, 1))
    assert not same(range(3), range(0, 3, 2))
    assert not same(range(3), range(1, 3))
    assert not same(range(3), tensor)


def test_nothing_here_keeps_state():
    first = positions.packed([2, 1])
    first.positions.add_(100)
    assert positions.packed([2, 1]).positions.tolist() == [0, 1, 0]
