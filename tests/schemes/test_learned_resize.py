"""Learned.resize: rows kept, rows mixed, rows drawn."""

import re

import pytest
import torch

from interpolation import mix, rounded_once
from ordinate import Learned

WIDTH = 8


@pytest.mark.parametrize("padding_offset", [0, 2])
@pytest.mark.parametrize(("method", "length"), [("linear", 12), ("linear", 3), ("nearest", 9), ("truncate", 4), ("extend", 11)])
def test_learned_resize(method, length, padding_offset):
    table = Learned(max_length=7, d_model=WIDTH, padding_offset=padding_offset, overflow="wrap", dropout=0.5).eval()
    table = table.to(torch.bfloat16).requires_grad_(False)
    before = table.weight.clone()
    got = table.resize(length, method=method)
    assert (got.max_length, got.d_model, got.padding_offset, got.overflow, got.dropout) == (
        length,
        WIDTH,
        padding_offset,
        "wrap",
        0.5,
    )
    assert (got.training, got.weight.requires_grad, got.weight.dtype) == (False, False, torch.bfloat16)
    assert torch.equal(table.weight, before)
    assert torch.equal(got.weight[:padding_offset], before[:padding_offset])
    rows, new = before[padding_offset:].double(), got.weight[padding_offset:]
    assert new.shape == (length, WIDTH)
    if method == "linear":
        mixed = [sum(w * row for w, row in zip(mix(7, length, p, "linear"), rows, strict=True)) for p in range(length)]
        assert rounded_once(new, torch.stack(mixed), torch.bfloat16)
    elif method == "nearest":
        assert torch.equal(new, rows[[p * 7 // length for p in range(length)]].bfloat16())
    else:
        assert torch.equal(new[:7], rows[:length].bfloat16())
    assert torch.equal(got.at(range(length)), new)
    assert got.train().weight.is_leaf


def test_learned_resize_trains_on_and_is_a_copy():
    table = Learned(max_length=7, d_model=WIDTH)
    for length, method in ((7, "linear"), (7, "extend"), (7, "truncate")):
        got = table.resize(length, method=method)
        assert torch.equal(got.weight, table.weight)
        assert got.weight.data_ptr() != table.weight.data_ptr()
        assert got.training
        got.at(range(3)).sum().backward()
        assert got.weight.grad is not None
        assert table.weight.grad is None


def test_only_new_rows_are_drawn():
    table, before = Learned(max_length=8, d_model=16), torch.get_rng_state()
    for method in ("linear", "nearest", "truncate"):
        table.resize(8, method=method)
    assert torch.equal(torch.get_rng_state(), before)


def test_extended_rows_are_drawn_as_the_first_were():
    table = Learned(max_length=8, d_model=1024)
    torch.manual_seed(1)
    drawn = table.resize(520, method="extend").weight[8:].detach()
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.nn.init.normal_(torch.empty(512, 1024), std=0.02))  # the old rows are not drawn again


@pytest.mark.parametrize(
    ("length", "method", "message"),
    [
        (9, "truncate", 'method: needed at most 7 rows from "truncate", got 9; use "linear" to lengthen'),
        (6, "extend", 'method: needed at least 7 positions for "extend", got 6; use "truncate" to shorten'),
        (9, "cubic", "method: needed one of extend, linear, nearest, truncate, got 'cubic'"),
        (0, "linear", "new_max_length: needed a whole number >= 1, got 0"),
        (8.0, "linear", "new_max_length: needed a whole number >= 1, got float 8.0"),
    ],
)
def test_learned_resize_faults(length, method, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Learned(max_length=7, d_model=4, padding_offset=2).resize(length, method=method)
