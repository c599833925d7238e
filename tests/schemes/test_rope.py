"""Rope against the reference's float64 loops, numbers typed in, and complex multiplication."""

import cmath
import math

import numpy as np
import pytest
import torch

from ordinate import Rope, reference

LAYOUTS = ["half", "interleaved"]
# float32: cos, sin and two products rounded, one sum: under 2.5 half-ulps of numbers up to 4; float64: the same of 2^-53
FLOAT32, FLOAT64 = 1e-6, 4e-15
PLACES = {
    "range": range(5),
    "later range": range(7, 22, 3),
    "falling range": range(4, -1, -1),
    "shuffled": torch.tensor([4, 0, 17, 2, 9]),
    "int32": torch.tensor([4, 0, 17, 2, 9], dtype=torch.int32),
    "negative": torch.tensor([-3, -1, 0, 1, -100]),
    "fractions": torch.tensor([0.5, -2.25, 100.125, 3.0, 1e-3], dtype=torch.float64),
    "rows": torch.tensor([[0, 1, 2, 3, 4], [9, 3, 3, 0, 70]]),
    "one row for all": torch.tensor([[0, 5, 2, 3, 4]]),
}


def drawn(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def slow(x, places, **settings):
    """reference.rope for [B, H, T, D]."""
    out = np.zeros(x.shape)
    for b in range(x.shape[0]):
        row = list(places) if isinstance(places, range) else (places if places.ndim == 1 else places[b % len(places)]).tolist()
        for h in range(x.shape[1]):
            out[b, h] = reference.rope(x[b, h].double().numpy(), row, **settings)
    return torch.from_numpy(out)


def error(ours, theirs):
    assert ours.shape == theirs.shape
    return (ours.double() - theirs).abs().max().item()


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values(layout, kind):
    places = PLACES[kind]
    x = drawn(2, 3, 5, 8)
    rope, want = Rope(head_dim=8, layout=layout), slow(x, places, layout=layout)
    assert error(rope.queries(x, places), want) < FLOAT64
    assert error(rope.keys(x, rope.at(places)), want) < FLOAT64
    single = slow(x.float(), places, layout=layout)
    assert error(rope.queries(x.float(), places), single) < FLOAT32
    assert error(rope(x.float(), x.float(), places)[1], single) < FLOAT32


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("head_dim", "rotary_dim", "start"), [(8, 4, 0), (8, 4, 4), (8, 4, 3), (7, 6, 0), (7, 6, 1), (9, 2, 5), (2, 2, 0)]
)
def test_some_entries_turn_and_the_rest_pass(layout, head_dim, rotary_dim, start):
    x, rope = drawn(1, 2, 4, head_dim), Rope(head_dim=head_dim, layout=layout, rotary_dim=rotary_dim, rotary_start=start)
    turned = rope.queries(x, range(3, 7))
    assert error(turned, slow(x, range(3, 7), layout=layout, rotary_dim=rotary_dim, rotary_start=start)) < FLOAT64
    still = [entry for entry in range(head_dim) if not start <= entry < start + rotary_dim]
    assert torch.equal(turned[..., still], x[..., still])


def test_all_after_rotary_start_turn():
    assert Rope(head_dim=10, layout="half", rotary_start=4).rotary_dim == 6


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("base", [100.0, 500000.0, 2.5])
def test_base(layout, base):
    x = drawn(1, 1, 5, 8)
    assert (
        error(Rope(head_dim=8, layout=layout, base=base).queries(x, range(5)), slow(x, range(5), layout=layout, base=base))
        < FLOAT64
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_given_frequencies(layout):
    given, x = (0.5, 3.0, 1e-3, 40.25), drawn(1, 1, 5, 8)
    rope = Rope(head_dim=8, layout=layout, inverse_frequencies=given)
    assert rope.inverse_frequencies == given
    assert error(rope.queries(x, range(5)), slow(x, range(5), layout=layout, inverse_frequencies=given)) < FLOAT64


def test_pairs_are_complex_numbers_turned_by_the_angle():
    rope, x = Rope(head_dim=6, layout="interleaved"), drawn(1, 1, 1, 6)
    turned = rope.queries(x, range(13, 14)).flatten().tolist()
    for i in range(3):
        want = complex(*x.flatten()[2 * i : 2 * i + 2].tolist()) * cmath.exp(13j * 10000 ** (-2 * i / 6))
        assert abs(complex(*turned[2 * i : 2 * i + 2]) - want) < FLOAT64


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_note_scores_depend_on_contents_and_distance(layout):
    rope, q, k = Rope(head_dim=8, layout=layout), drawn(1, 1, 1, 8), drawn(1, 1, 1, 8, seed=1)

    def score(m, n):
        return (rope.queries(q, range(m, m + 1)) @ rope.keys(k, range(n, n + 1)).mT).item()

    # one number from the formula: sum over pairs of |q||k| cos(angle between them + (m - n) w)
    pairs = [(0, 4), (1, 5), (2, 6), (3, 7)] if layout == "half" else [(0, 1), (2, 3), (4, 5), (6, 7)]
    want = 0.0
    for i, (first, second) in enumerate(pairs):
        a, b = (complex(x[0, 0, 0, first].item(), x[0, 0, 0, second].item()) for x in (q, k))
        want += (a * b.conjugate() * cmath.exp(1j * 4 * 10 ** (-i))).real
    for m, n in ((4, 0), (7, 3), (100007, 100003), (2**31 - 1, 2**31 - 5)):
        assert abs(score(m, n) - want) < 1e-13
    assert abs(score(3, 0) - want) > 0.01


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_heads_after_tokens(layout, dtype):
    rope, x = Rope(head_dim=8, layout=layout, rotary_dim=4), drawn(2, 3, 5, 8, dtype=dtype)
    for places in (range(2, 7), PLACES["shuffled"], PLACES["rows"], PLACES["one row for all"]):
        turned = rope.queries(x.transpose(1, 2), places, sequence_dim=-3)
        assert torch.equal(turned.transpose(1, 2), rope.queries(x, places))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_packed_without_a_batch(layout):
    rope, x, places = Rope(head_dim=8, layout=layout), drawn(5, 3, 8), torch.tensor([0, 1, 2, 0, 1])
    want = slow(x.transpose(0, 1)[None], places, layout=layout)[0].transpose(0, 1)
    assert error(rope.keys(x, places, sequence_dim=-3), want) < FLOAT64
    assert error(rope.keys(x, places[None], sequence_dim=-3), want) < FLOAT64  # [1, N] names the same tokens


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_head_without_a_batch(layout):
    rope, x = Rope(head_dim=8, layout=layout), drawn(5, 8)
    want = slow(x[None, None], range(5), layout=layout)[0, 0]
    assert error(rope.queries(x, range(5)), want) < FLOAT64
    assert error(rope.queries(x, torch.arange(5)[None]), want) < FLOAT64


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shift(layout):
    rope, x = Rope(head_dim=8, layout=layout, rotary_dim=6), drawn(2, 3, 5, 8)
    keys = rope.keys(x, PLACES["rows"])

    def at(places):
        return slow(x, places, layout=layout, rotary_dim=6)

    assert error(rope.shift(keys, 5), at(PLACES["rows"] + 5)) < FLOAT64
    assert error(rope.shift(keys, -70), at(PLACES["rows"] - 70)) < FLOAT64
    assert error(rope.shift(keys, range(5)), at(PLACES["rows"] + torch.arange(5))) < FLOAT64
    by = torch.tensor([[0, -1, 2, 3, 4], [7, 7, 7, 0, -70]])
    assert error(rope.shift(keys, by), at(PLACES["rows"] + by)) < FLOAT64
    assert error(rope.shift(keys.transpose(1, 2), by, sequence_dim=-3).transpose(1, 2), at(PLACES["rows"] + by)) < FLOAT64


def test_at_gives_cos_and_sin_of_each_position():
    cos, sin, positions, _ = Rope(head_dim=4, layout="half").at(torch.tensor([[0, 1], [2, 3]]))
    for b, t in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for i, frequency in enumerate((1.0, 0.01)):
            angle = positions[b, t].item() * frequency
            assert abs(cos[b, t, i].item() - math.cos(angle)) < 6.1e-8
            assert abs(sin[b, t, i].item() - math.sin(angle)) < 6.1e-8


def test_half_precision_is_rounded_once():
    rope, x = Rope(head_dim=8, layout="half"), drawn(1, 1, 5, 8, dtype=torch.bfloat16)
    want = slow(x, range(100, 105), layout="half")
    # half an ulp of bfloat16's 8 bits, and float32's own error on top
    half_ulp = 2.0**-9 * 2.0 ** torch.frexp(want).exponent
    assert torch.all((rope.queries(x, range(100, 105)).double() - want).abs() <= half_ulp + 1e-6)


def test_mixed_arithmetic_rounds_cos_and_sin_and_nothing_else():
    """(x1, x2) -> (x1 c - x2 s, x2 c + x1 s) in float32, c and s rounded to bfloat16; the other arithmetics give other bits."""
    x = drawn(1, 1, 64, 4, dtype=torch.bfloat16)
    angles = torch.arange(64).float()[:, None] * torch.tensor([1.0, 0.01])
    c, s = angles.cos().bfloat16().float(), angles.sin().bfloat16().float()
    first, second = x[0, 0, :, :2].float(), x[0, 0, :, 2:].float()
    want = torch.cat((first * c - second * s, second * c + first * s), dim=-1).bfloat16()
    turned = {
        name: Rope(head_dim=4, layout="half", phases="float32", arithmetic=name).queries(x, range(64))[0, 0]
        for name in ("mixed", "float32", "input")
    }
    assert torch.equal(turned["mixed"], want)
    assert not torch.equal(turned["float32"], want)
    assert not torch.equal(turned["input"], want)


def test_float16_angles_are_not_rounded_to_float16():
    x = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float16)
    turned = Rope(head_dim=2, layout="half").queries(x, range(131071, 131072)).flatten().double()
    assert abs(turned[0].item() - math.cos(131071)) < 2.0**-11
    assert abs(turned[1].item() - math.sin(131071)) < 2.0**-11


def test_softmax_scale():
    assert Rope(head_dim=64, layout="half").softmax_scale(64) == 0.125
