"""Faults of tokens with several coordinates: rows taken for columns, sections in another order. Right values by hand."""

from __future__ import annotations

import math

import torch

import ordinate
from contract_tools import draw, identical, near, refuses
from ordinate.positions import grid

DIGITS = 6e-7


def rows_before_columns() -> None:
    """3 x 4 patches row after row; a square would hide an exchange."""
    made = grid(3, 4)[0]
    assert made[:, 1].tolist() == [0, 1, 2, 3] * 3
    assert made[:, 0].tolist() == [0] * 4 + [1] * 4 + [2] * 4


def patches_that_are_joined_come_together() -> None:
    """2 x 4 patches in blocks of 2 x 2, then a second frame."""
    made = grid(2, 4, frames=2, merge=2)[0].tolist()
    block = [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [0, 3], [1, 2], [1, 3]]
    assert made == [[t, *place] for t in (0, 1) for place in block]


def centres_of_patches() -> None:
    """Middles of 2 x 4 patches between -1 and 1, times 2 pi."""
    made = grid(2, 4, centred=True, times=2 * math.pi)[0] / math.pi
    near(made[:4], torch.tensor([[-1, -1.5], [-1, -0.5], [-1, 0.5], [-1, 1.5]], dtype=torch.float64), 1e-15)


def each_axis_turns_its_pairs() -> None:
    """Row 3, column 1, D = 8, base 10000: rows turn pairs 0 and 1 by 3 and 0.03, columns pairs 2 and 3 by 1 and 0.01."""
    ones = torch.tensor([[[[1.0] * 4 + [0.0] * 4]]])
    turned = ordinate.AxialRope(head_dim=8, layout="half").queries(ones, torch.tensor([[[3, 1]]]))[0, 0, 0]
    near(turned[:4], torch.tensor([-0.989992, 0.999550, 0.540302, 0.999950]), DIGITS)
    near(turned[4:], torch.tensor([0.141120, 0.029996, 0.841471, 0.010000]), DIGITS)


def axes_take_turns() -> None:
    """The same place with the axes in turn, columns first."""
    ones = torch.tensor([[[[1.0] * 4 + [0.0] * 4]]])
    rope = ordinate.AxialRope(head_dim=8, layout="half", order="alternating", axis_order=(1, 0))
    turned = rope.queries(ones, torch.tensor([[[3, 1]]]))[0, 0, 0]
    near(turned[4:], torch.tensor([0.841471, 0.141120, 0.010000, 0.029996]), DIGITS)


def sections_one_after_another() -> None:
    """Time 5, row 2, column 7, D = 8, base 10000, sections (1, 2, 1): angles 5, 0.2, 0.02, 0.007."""
    rope = ordinate.MultimodalRope(head_dim=8, layout="half", sections=(1, 2, 1), order="contiguous")
    near(rope.at(torch.tensor([[[5, 2, 7]]])).sin[0, 0], torch.tensor([-0.958924, 0.198669, 0.019999, 0.007000]), DIGITS)


def sections_in_turn() -> None:
    """The same with sections (2, 1, 1) interleaved: angles 5, 0.2, 0.07, 0.005; rows and columns first: 2, 0.7, 0.05, 0.005."""
    place = torch.tensor([[[5, 2, 7]]])
    rope = ordinate.MultimodalRope(head_dim=8, layout="half", sections=(2, 1, 1), order="interleaved")
    near(rope.at(place).sin[0, 0], torch.tensor([-0.958924, 0.198669, 0.069943, 0.005000]), DIGITS)
    rope = ordinate.MultimodalRope(head_dim=8, layout="half", sections=(2, 1, 1), order="space_first")
    near(rope.at(place).sin[0, 0], torch.tensor([0.909297, 0.644218, 0.049979, 0.005000]), DIGITS)


def coordinates_come_last() -> None:
    """Positions as transformers keeps them, [3, B, T], are refused; so is a causal mask over coordinates."""
    rope, x = ordinate.MultimodalRope(head_dim=8, layout="half", sections=(2, 1, 1), order="contiguous"), draw(2, 1, 5, 8)
    refuses(lambda: rope.at(torch.zeros(3, 2, 5, dtype=torch.int64)), ValueError, "positions.movedim(0, -1)")
    places = torch.zeros(2, 5, 3, dtype=torch.int64)
    identical(rope.queries(x, places), x)
    told = {"scheme": rope, "q_positions": places, "k_positions": places}
    refuses(lambda: ordinate.attend(x, x, x, causal=True, **told), ValueError, "order: needed")


FAULTS = (
    rows_before_columns,
    patches_that_are_joined_come_together,
    centres_of_patches,
    each_axis_turns_its_pairs,
    axes_take_turns,
    sections_one_after_another,
    sections_in_turn,
    coordinates_come_last,
)
