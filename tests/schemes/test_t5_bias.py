"""T5Bias against the reference's float64 loops, whole-number arithmetic, 50 digits, and the authors' numbers."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from score_tools import MASKS, PLACES, SEEN, Largest, check_attention, drawn, listed, loud, numbers, softmax

from ordinate import T5Bias, attend, reference
from ordinate.schemes.t5 import bucket_borders

# buckets of one direction, max_distance; the last five have whole-number borders: powers of 2, 3 and 10
ONE_WAY = [
    *[(2, 2), (2, 1000), (3, 2), (3, 50), (4, 3), (5, 4), (7, 20), (16, 128), (32, 128), (16, 9), (32, 17), (32, 256), (64, 128)],
    *[(160, 800), (320, 800), (16, 2**31), (32, 2**40), (129, 2**40)],
    *[(16, 2048), (32, 2**20), (8, 4 * 3**4), (8, 4 * 10**8), (8, 2**42)],
]
SETTINGS = [(n, most, False) for n, most in ONE_WAY] + [(2 * n, most, True) for n, most in ONE_WAY]


def by_integers(reach, n, most):
    """The bucket of one direction without a logarithm: e + the largest k with (r / e)^(n - e) >= (M / e)^k, at most n - 1."""
    e = n // 2
    if reach < e:
        return reach
    power = Fraction(reach, e) ** (n - e)
    lowest, highest = 0, n - 1 - e
    while lowest < highest:
        middle = (lowest + highest + 1) // 2
        lowest, highest = (middle, highest) if power >= Fraction(most, e) ** middle else (lowest, middle - 1)
    return e + lowest


def border(bucket, n, most):
    """The least distance in the bucket or a later one."""
    low, high = 0, 2**43
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if by_integers(middle, n, most) >= bucket else (middle, high)
    return high


def rows_both_ways(t5, reaches):
    """Rows of the past and of the future."""
    reaches = torch.tensor(reaches)
    return t5.buckets(-reaches).tolist(), t5.buckets(reaches).tolist()


@pytest.mark.parametrize(("n_buckets", "most", "bidirectional"), SETTINGS)
def test_every_border(n_buckets, most, bidirectional):
    n = n_buckets // 2 if bidirectional else n_buckets
    borders = sorted({border(bucket, n, most) for bucket in range(1, n)})
    assert sorted(set(bucket_borders(n_buckets, most, bidirectional))) == borders
    reaches = sorted({reach for b in borders for reach in (b - 1, b, b + 1)} | {0, most - 1, most, most + 1, 2**40, 2**62})
    want = [by_integers(reach, n, most) for reach in reaches]
    past, future = rows_both_ways(T5Bias(n_heads=1, n_buckets=n_buckets, max_distance=most, bidirectional=bidirectional), reaches)
    assert past == want
    assert future == [(row + n if reach else 0) if bidirectional else 0 for reach, row in zip(reaches, want, strict=True)]
    assert want[-1] == n - 1


@pytest.mark.parametrize(("n", "most"), [(2, 2), (3, 50), (7, 20), (16, 128), (32, 128), (16, 9), (160, 800), (8, 4 * 10**8)])
def test_fifty_digits(n, most):
    reaches = [*range(n // 2, 300), 511, 512, 800, 39999, 40000, 40001, 10**6, 2**31, 2**40]
    t5 = T5Bias(n_heads=1, n_buckets=n, max_distance=most, bidirectional=False)
    e = n // 2
    with mpmath.workdps(50):
        for reach, row in zip(reaches, t5.buckets(-torch.tensor(reaches)).tolist(), strict=True):
            share = (n - e) * mpmath.log(mpmath.mpf(reach) / e) / mpmath.log(mpmath.mpf(most) / e)
            # a whole number of steps may come out short by the last digits
            assert row == min(e + int(mpmath.floor(share + mpmath.mpf(10) ** -45)), n - 1), reach


def test_borders_that_are_whole_numbers():
    assert bucket_borders(16, 2048, False) == (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024)
    assert bucket_borders(8, 324, False) == (1, 2, 3, 4, 12, 36, 108)
    assert bucket_borders(16, 4 * 10**8, True) == (1, 2, 3, 4, 400, 40000, 4000000)
    assert bucket_borders(8, 2**42, False) == (1, 2, 3, 4, 2**12, 2**22, 2**32)
    # 8, 8 sqrt 2, 16, ...: every other border is a power of two
    assert bucket_borders(32, 128, True)[7:] == (8, 12, 16, 23, 32, 46, 64, 91)


def test_the_authors_numbers():
    causal, two_way = (T5Bias(n_heads=1, bidirectional=way) for way in (False, True))
    assert causal.buckets(torch.tensor([-20, 5, 0, -15, -16, -128])).tolist() == [17, 0, 0, 15, 16, 31]
    distances = torch.tensor([-20, 5, 0, 1, -8, -16, -128, 128])
    assert two_way.buckets(distances).tolist() == [10, 21, 0, 17, 8, 10, 15, 31]
    assert (
        two_way.buckets(distances.double()).tolist() == two_way.buckets(distances.int()).tolist() == [10, 21, 0, 17, 8, 10, 15, 31]
    )
    # where a bfloat16 logarithm errs
    assert two_way.to(torch.bfloat16).buckets(torch.tensor([-16, -32, -90, -91])).tolist() == [10, 12, 14, 15]


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize(
    ("n_buckets", "most", "bidirectional"), [(32, 128, True), (32, 128, False), (6, 5, True), (3, 4, False), (8, 2**42, True)]
)
def test_values(n_buckets, most, bidirectional, kind):
    t5 = loud(T5Bias(n_heads=3, n_buckets=n_buckets, max_distance=most, bidirectional=bidirectional))
    for dtype, result in ((torch.float64, torch.float64), (torch.float32, torch.float32), (torch.bfloat16, torch.float32)):
        q, k, _ = drawn(PLACES[kind], 3, 1, 4, dtype)
        got = t5.bias(q, k, t5.at(*PLACES[kind]))
        assert got.dtype == result
        for row in range(len(got)):
            places = [listed(side, row) for side in PLACES[kind]]
            want = reference.t5(*places, numbers(t5.weight), most, bidirectional)
            assert np.array_equal(numbers(got[row]), want)


def test_weights_of_every_dtype():
    q, at = torch.zeros(1, 1, 1, 4), T5Bias(n_heads=1, bidirectional=True).at(range(1), range(3))
    t5 = T5Bias(n_heads=1, bidirectional=True).double()
    with torch.no_grad():
        t5.weight[[0, 17, 18], 0] = torch.tensor([1 / 3, 0.1, -7.0], dtype=torch.float64)
    k = torch.zeros(1, 1, 3, 4)
    assert t5.bias(q.double(), k.double(), at).flatten().tolist() == [1 / 3, 0.1, -7.0]
    assert t5.bias(q, k, at).flatten().tolist() == np.float32([1 / 3, 0.1, -7.0]).tolist()  # rounded once
    assert t5.bfloat16().bias(q, k, at).flatten().tolist() == [0.333984375, 0.10009765625, -7.0]


@pytest.mark.parametrize("cuts", [[0, 2, 6], [0, 1, 5, 6], [0, 6]])
@pytest.mark.parametrize("kind", ["range", "rows"])
def test_slices_put_together_are_the_whole(cuts, kind):
    whole = loud(T5Bias(n_heads=6, bidirectional=True))
    q, k, _ = drawn(PLACES[kind], 6, 1, 4)
    parts = [whole.heads(start, stop) for start, stop in itertools.pairwise(cuts)]
    biases = [part.bias(q[:, : part.n_heads], k, part.at(*PLACES[kind])) for part in parts]
    assert torch.equal(torch.cat(biases, dim=1), whole.bias(q, k, whole.at(*PLACES[kind])))


def test_slices_share_the_parameter():
    whole = T5Bias(n_heads=5, bidirectional=True)
    part = whole.heads(1, 5).heads(1, 3)
    assert part.weight is whole.weight
    part.by_distance(torch.tensor([-8, 1, 1])).sum().backward()
    want = torch.zeros(32, 5)
    want[8, 2:4], want[17, 2:4] = 1, 2
    assert torch.equal(whole.weight.grad, want)
    with torch.no_grad():
        whole.weight[20] = torch.arange(5.0)
    assert part.by_distance(torch.tensor(4)).tolist() == [2, 3]
    whole.load_state_dict({"weight": torch.full((32, 5), 7.0)})
    assert part.by_distance(torch.tensor(4)).tolist() == [7, 7]
    whole.double()
    assert part.weight is whole.weight


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", SEEN)
@pytest.mark.parametrize(("n_kv_heads", "given"), [(6, None), (2, 1.0)])  # T5's own models have scale=1.0
def test_attention_against_the_loops(n_kv_heads, given, kind, causal, mask):
    t5 = loud(T5Bias(n_heads=6, n_buckets=8, max_distance=6, bidirectional=not causal))
    table = numbers(t5.weight)
    check_attention(
        t5,
        PLACES[kind],
        causal,
        mask,
        n_heads=6,
        n_kv_heads=n_kv_heads,
        width=4,
        scale=given or 0.5,
        given=given,
        bias=lambda _q, _k, queries, keys, h: reference.t5(queries, keys, table, 6, not causal)[h],
    )


def test_softmax_scale():
    assert T5Bias(n_heads=2, bidirectional=True).softmax_scale(64) == 0.125


def test_a_length_of_two_thousand():
    t5 = loud(T5Bias(n_heads=2, bidirectional=False))
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 2000, 4, generator=generator) for _ in range(3))
    for places in (range(2000), torch.arange(2000)):
        with torch.no_grad(), Largest() as largest:
            out = attend(q, k, v, scheme=t5, q_positions=places, k_positions=places, causal=True)
        assert largest.bytes <= 2000 * 2000 * 2 * 4  # as much as the scores of two heads
        one_q, one_k, one_v = (numbers(x[0, 1]) for x in (q, k, v))
        for query in (0, 999, 1999):
            seen = query + 1
            bias = reference.t5([query], range(seen), numbers(t5.weight), 128, False)[1, 0]
            want = softmax(0.5 * one_k[:seen] @ one_q[query] + bias) @ one_v[:seen]
            assert np.abs(numbers(out[0, 1, query]) - want).max() < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_heads": True}, "n_heads: needed a whole number >= 1, got bool True"),
        ({"n_heads": 2.0}, "n_heads: needed a whole number >= 1, got float 2.0"),
        ({"bidirectional": 0}, "bidirectional: needed True or False, got 0"),
        ({"n_buckets": 0}, "n_buckets: needed a whole number >= 4, got 0"),
        ({"n_buckets": 5}, "n_buckets: needed an even number for two directions, got 5"),
        ({"n_buckets": 32.0}, "n_buckets: needed a whole number >= 4, got float 32.0"),
        ({"n_buckets": 320, "max_distance": 80}, "max_distance: needed a whole number >= 81, got 80"),
        ({"n_buckets": 33, "max_distance": 16, "bidirectional": False}, "max_distance: needed a whole number >= 17, got 16"),
        ({"max_distance": -1}, "max_distance: needed a whole number >= 9, got -1"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        T5Bias(**{"n_heads": 2, "bidirectional": True, **change})


def test_bidirectional_has_no_default():
    with pytest.raises(TypeError, match="bidirectional"):
        T5Bias(n_heads=2)
