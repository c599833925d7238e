"""Checks of the contract that only rotations of queries and keys have."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from cases import Case
from contract_tools import SHUFFLED, differ, draw, identical, near
from ordinate.schemes.rotary import RotaryScheme

FAR = torch.tensor([0, 1, -1, 70000, -123456, 2**31 - 1, -(2**31 - 1)])


def _rope(case: Case) -> RotaryScheme:
    scheme = case.make()
    assert isinstance(scheme, RotaryScheme), "turns nothing"
    return scheme


def _vectors(case: Case, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return draw(2, case.n_heads, 7, case.head_dim, seed=4, dtype=dtype)


def norms_kept(case: Case) -> None:
    """A rotation keeps lengths, however far the position."""
    rope, x = _rope(case), _vectors(case)
    near(rope.queries(x, FAR).norm(dim=-1), x.norm(dim=-1), 2e-6)


def origin_is_identity(case: Case) -> None:
    """Position 0 turns nothing, to the last bit; entries outside the rotated width are never touched."""
    rope, x = _rope(case), _vectors(case)
    identical(rope.queries(x, torch.zeros(7, dtype=torch.int64)), x)
    outside = [i for i in range(case.head_dim) if not rope.rotary_start <= i < rope.rotary_start + rope.rotary_dim]
    identical(rope.queries(x, FAR)[..., outside], x[..., outside])


def inverse_by_negative(case: Case) -> None:
    """Turned by p, then by -p, gives the vector back."""
    rope, x = _rope(case), _vectors(case)
    near(rope.queries(rope.queries(x, FAR), -FAR), x, 2e-6)


def shift_of_turned_keys(case: Case) -> None:
    """Re-turning turned keys by n equals turning them at positions larger by n; n an int, a range, or one a token."""
    rope = _rope(case)
    places = torch.tensor(SHUFFLED)
    rows = torch.stack((places, places.flip(0) + 30))
    turned = rope.keys(_vectors(case), places)
    for by in (4, -9, range(3, 10), places.flip(0), rows):
        target = places + (torch.tensor(list(by)) if isinstance(by, range) else by)
        # two turns round twice; float32 phases are off by 2^-24 of angles up to 100
        near(rope.shift(turned, by), rope.keys(_vectors(case), target), 2e-6 + 300 * case.phase_error, str(by))
    identical(turned, rope.keys(_vectors(case), places), "shift wrote into its input")


def scores_depend_on_distance(case: Case) -> None:
    """q at m times k at n is a function of m - n."""
    rope = _rope(case)
    q, k = _vectors(case)[:, :, :1], _vectors(case)[:, :, 1:2]
    for distance in (0, 1, -3, 500):
        want = (rope.queries(q, range(distance, distance + 1)) * rope.keys(k, range(1))).sum(-1)
        for n in (3, -20, 1000):
            place = torch.tensor([n])
            got = (rope.queries(q, place + distance) * rope.keys(k, place)).sum(-1)
            # a score sums 8 products of size 4; float32 phases add their angle error times |q| |k| < 30
            near(got, want, 1e-5 + 30 * case.phase_error * 3000, f"{n + distance} - {n}")
    scores = [(rope.queries(q, range(n, n + 1)) * k).sum(-1) for n in (0, 3)]
    differ(*scores, 0.05, "distances 0 and 3")


def small_rotations(case: Case) -> None:
    """B, H and T in 1, 2, 3, where one axis can be mistaken for another: one row of positions for all, or one a batch row."""
    rope = _rope(case)
    for batch, heads, length in itertools.product((1, 2, 3), repeat=3):
        x = draw(batch, heads, length, case.head_dim)
        rows = torch.tensor([[b + (b + 1) * t for t in range(length)] for b in range(batch)])
        for positions in (rows, rows[:1], rows[0]):
            places = positions.expand(batch, length).tolist()
            turned = [[case.oracle(head.double().numpy(), row) for head in x[b]] for b, row in enumerate(places)]
            want = torch.tensor(np.array(turned))
            near(rope.queries(x, positions), want, 2e-6, f"{(batch, heads, length)}")
            by_token = rope.keys(x.transpose(1, 2), positions, sequence_dim=-3).transpose(1, 2)
            near(by_token, want, 2e-6, f"{(batch, heads, length)} by token")


def one_call_forms(case: Case) -> None:
    """rope(q, k, ...), queries, keys, ``at`` computed first or not, and both sequence dims say the same to the last bit."""
    rope, q, k = _rope(case), _vectors(case), _vectors(case)[:, : case.n_kv_heads] * 0.5
    for positions in (range(5, 12), torch.tensor(SHUFFLED), torch.tensor([SHUFFLED, SHUFFLED[::-1]])):
        want = rope.queries(q, positions), rope.keys(k, positions)
        identical(rope(q, k, positions), want, "positions")
        identical(rope(q, k, rope.at(positions)), want, "at")
        by_token = rope(q.transpose(1, 2), k.transpose(1, 2), rope.at(positions), sequence_dim=-3)
        identical(tuple(part.transpose(1, 2) for part in by_token), want, "[B, T, H, D]")
    packed = torch.arange(14)
    flat = q.transpose(1, 2).flatten(0, 1)
    got = rope.queries(flat, packed, sequence_dim=-3).unflatten(0, (2, 7)).transpose(1, 2)
    identical(got, rope.queries(q, packed.view(2, 7)), "[N, H, D]")
