"""Deberta against the reference's float64 loops, the authors' code in NumPy, and whole-number arithmetic."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from score_tools import MASKS, PLACES, SEEN, Largest, check_attention, drawn, listed, numbers, softmax

from ordinate import Deberta, attend, reference
from ordinate.schemes.deberta import bucket_ends

TERMS = {"both": (True, True), "c2p": (True, False), "p2c": (False, True)}
SIZES = [(1, None), (3, None), (6, 4), (12, 6), (11, 5), (512, 256)]  # max_distance, buckets


def build(terms="both", n_heads=1, head_dim=1, **sizes):
    c2p, p2c = TERMS[terms]
    return Deberta(n_heads=n_heads, head_dim=head_dim, content_to_position=c2p, position_to_content=p2c, **sizes)


def tables_of(deberta, dtype=torch.float64):
    """Random tables [2 span, H, D] for the terms that are there."""
    generator = torch.Generator().manual_seed(5)
    shape = (2 * deberta.span, deberta.n_heads, deberta.head_dim)
    return {name: torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for name in deberta.extras}


def of_head(tables, h):
    """keys and queries of one head for ``reference.deberta``."""
    return [numbers(tables[name][:, h]) if name in tables else None for name in ("keys", "queries")]


def by_integers(reach, buckets, most):
    """The bucket without a logarithm: m + t holds r with m ((M-1)/m)^((t-1)/(m-1)) < r <= m ((M-1)/m)^(t/(m-1))."""
    middle = buckets // 2
    if reach <= middle:
        return reach
    power, lowest, highest = Fraction(reach, middle) ** (middle - 1), 1, buckets - middle
    while lowest < highest:  # the least t whose upper end holds r; buckets and what is beyond share a row
        t = (lowest + highest) // 2
        lowest, highest = (lowest, t) if power <= Fraction(most - 1, middle) ** t else (t + 1, highest)
    return middle + lowest


BUCKETS = [
    *[
        (256, 512),
        (4, 4),
        (4, 100),
        (5, 20),
        (6, 5),
        (7, 50),
        (8, 6),
        (16, 40),
        (32, 17 + 1),
        (64, 2**16),
        (256, 2**31),
        (32, 2**40),
    ],
    *[(8, 33), (10, 406), (6, 30001)],  # whole-number ends: 4 2^t, 5 3^t, 3 100^t
]


@pytest.mark.parametrize(("buckets", "most"), BUCKETS)
def test_every_bucket_end(buckets, most):
    ends = []
    for bucket in range(buckets):
        low, high = 0, 2**42  # the last distance of the bucket
        while high - low > 1:
            half = (low + high) // 2
            low, high = (half, high) if by_integers(half, buckets, most) <= bucket else (low, half)
        ends.append(low)
    reaches = sorted({reach for end in ends for reach in (end - 1, end, end + 1) if reach >= 0} | {most - 1, most, 2**41, 2**62})
    want = [by_integers(reach, buckets, most) for reach in reaches]
    scheme, distances = build(max_distance=most, buckets=buckets), torch.tensor(reaches)
    # the tables are ordered by query - key; both signs of the last bucket and beyond are clipped
    assert scheme.rows(-distances).tolist() == [min(buckets + bucket, 2 * buckets - 1) for bucket in want]
    assert scheme.rows(distances).tolist() == [buckets - bucket for bucket in want]


def test_ends_that_are_whole_numbers():
    assert bucket_ends(8, 33) == (4, 8, 16, 32)
    assert bucket_ends(10, 406) == (5, 15, 45, 135, 405)
    assert bucket_ends(6, 30001) == (3, 300, 30000)


@pytest.mark.parametrize(("buckets", "most"), [(256, 512), (16, 40), (64, 2**16), (32, 2**40), (7, 50)])
def test_fifty_digits(buckets, most):
    middle, reaches = buckets // 2, [*range(buckets // 2 + 1, 600), 2**15, 2**16 - 1, 2**31, 2**39, 2**40 - 1, 2**40]
    rows = build(max_distance=most, buckets=buckets).rows(torch.tensor(reaches)).tolist()
    with mpmath.workdps(50):
        for reach, row in zip(reaches, rows, strict=True):
            share = (middle - 1) * mpmath.log(mpmath.mpf(reach) / middle) / mpmath.log(mpmath.mpf(most - 1) / middle)
            bucket = middle + int(mpmath.ceil(share - mpmath.mpf(10) ** -45))  # a whole share may come out long by the last digits
            assert row == max(buckets - bucket, 0), reach


def authors_log_bucket(relative, bucket_size, max_position):
    """make_log_bucket_position of the authors' repository."""
    sign, middle = np.sign(relative), bucket_size // 2
    reach = np.where((relative < middle) & (relative > -middle), middle - 1, np.abs(relative))
    log = np.ceil(np.log(reach / middle) / np.log((max_position - 1) / middle) * (middle - 1)) + middle
    return np.where(reach <= middle, relative, log * sign).astype(int)


def authors_bias(q, k, keys, queries, length, max_distance, buckets):
    """disentangled_att_bias of the authors' repository for one head of one sequence, without the scale."""
    relative = np.arange(length)[:, None] - np.arange(length)[None]
    span = max_distance if buckets is None else buckets
    if buckets is not None:
        relative = authors_log_bucket(relative, buckets, max_distance)
    c2p = np.take_along_axis(q @ keys.T, np.clip(relative + span, 0, 2 * span - 1), axis=1)
    p2c = np.take_along_axis(k @ queries.T, np.clip(-relative + span, 0, 2 * span - 1), axis=1).T
    return c2p + p2c


@pytest.mark.parametrize(("max_distance", "buckets"), [(3, None), (512, 256), (40, 16), (9, 8)])
def test_the_authors_code(max_distance, buckets):
    length = 70
    deberta = build(n_heads=2, head_dim=6, max_distance=max_distance, buckets=buckets)
    q, k, _ = drawn((range(length), range(length)), 2, 2, 6)
    tables = tables_of(deberta)
    got = deberta.bias(q, k, deberta.at(range(length), range(length)), **tables)
    for h in range(2):
        want = authors_bias(numbers(q[0, h]), numbers(k[0, h]), *of_head(tables, h), length, max_distance, buckets) / 18**0.5
        assert np.abs(numbers(got[0, h]) - want).max() < 1e-13


def test_the_released_buckets():
    v3 = build(max_distance=512, buckets=256)
    right = {0: 256, -1: 257, 1: 255, 128: 128, -128: 384, 129: 127, -129: 385, 511: 1, -511: 511, 512: 0, -512: 511, 9999: 0}
    assert v3.rows(torch.tensor(list(right))).tolist() == list(right.values())
    far = np.arange(-1500, 1501)
    assert np.array_equal(v3.rows(torch.tensor(far)), np.clip(authors_log_bucket(-far, 256, 512) + 256, 0, 511))


def test_v1_clips():
    v1 = build(max_distance=2)
    # equation 3: 0 if i - j <= -k, 2 k - 1 if i - j >= k, else i - j + k
    assert v1.rows(torch.tensor([[0, 1, 2, 9], [-1, -2, -9, -(2**40)]])).tolist() == [[2, 1, 0, 0], [3, 3, 3, 3]]
    assert build(max_distance=512).rows(torch.tensor([511, 512, 2**40, -510, -511, -512])).tolist() == [1, 0, 0, 1022, 1023, 1023]


@pytest.mark.parametrize(("max_distance", "buckets"), [(4, None), (12, 6)])
def test_the_third_term_is_the_released_one_not_the_papers(max_distance, buckets):
    deberta, places = build("p2c", head_dim=3, max_distance=max_distance, buckets=buckets), PLACES["tensors"]
    q, k, _ = drawn(places, 1, 1, 3)
    tables = tables_of(deberta)
    got = numbers(deberta.bias(q, k, deberta.at(*places), **tables)[0, 0])
    sides = [listed(side, 0) for side in places]
    released, paper = (
        reference.deberta(numbers(q[0, 0]), numbers(k[0, 0]), *sides, *of_head(tables, 0), max_distance, buckets, index=index)
        / 6**0.5
        for index in ("released", "paper")
    )
    assert np.abs(got - released).max() < 1e-14
    assert np.abs(got - paper).max() > 0.1


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize(("max_distance", "buckets"), SIZES)
def test_values(max_distance, buckets, terms, kind):
    places, deberta = PLACES[kind], build(terms, n_heads=4, head_dim=5, max_distance=max_distance, buckets=buckets)
    scale = 15**-0.5 if terms == "both" else 10**-0.5
    single, half = (torch.float32, 4e-6), torch.bfloat16
    for dtype, (result, error) in {torch.float64: (torch.float64, 1e-14), torch.float32: single, half: single}.items():
        q, k, _ = drawn(places, 4, 2, 5, dtype)
        tables = tables_of(deberta, dtype)
        got = deberta.bias(q, k, deberta.at(*places), **tables)
        assert got.dtype == result
        for b in range(2):
            sides = [listed(side, b) for side in places]
            for h in range(4):
                content = numbers(q[b, h]), numbers(k[b, h // 2])
                want = scale * reference.deberta(*content, *sides, *of_head(tables, h), max_distance, buckets)
                assert np.abs(numbers(got[b, h]) - want).max() < error


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", SEEN)
@pytest.mark.parametrize(
    ("terms", "sizes", "n_kv_heads", "given"),
    [("both", (3, None), 4, None), ("both", (6, 4), 2, None), ("c2p", (3, None), 2, 1.0), ("p2c", (6, 4), 1, 0.25)],
)
def test_attention_against_the_loops(n_kv_heads, given, terms, sizes, kind, causal, mask):
    max_distance, buckets = sizes
    deberta = build(terms, n_heads=4, head_dim=4, max_distance=max_distance, buckets=buckets)
    tables, scale = tables_of(deberta), given or (12**-0.5 if terms == "both" else 8**-0.5)

    def bias(q, k, queries, keys, h):
        return scale * reference.deberta(q, k, queries, keys, *of_head(tables, h), max_distance, buckets)

    sizes = {"n_heads": 4, "n_kv_heads": n_kv_heads, "width": 4}
    check_attention(deberta, PLACES[kind], causal, mask, scale=scale, given=given, bias=bias, extras=tables, **sizes)


@pytest.mark.parametrize("kind", ["range", "rows"])
def test_slices_put_together_are_the_whole(kind):
    whole = build(n_heads=6, head_dim=4, max_distance=12, buckets=6)
    q, k, _ = drawn(PLACES[kind], 6, 6, 4)
    tables, at = tables_of(whole), whole.at(*PLACES[kind])
    parts = [
        whole.heads(a, b).bias(q[:, a:b], k[:, a:b], at, **{name: table[:, a:b] for name, table in tables.items()})
        for a, b in ((0, 1), (1, 4), (4, 6))
    ]
    assert (torch.cat(parts, dim=1) - whole.bias(q, k, at, **tables)).abs().max() < 1e-14


def test_softmax_scale():
    assert abs(build(head_dim=64, max_distance=2).softmax_scale(64) - 0.07216878364870322) < 2e-17  # 192^-0.5
    assert build("c2p", max_distance=2).softmax_scale(8) == build("p2c", max_distance=2).softmax_scale(8) == 0.25
    assert build(max_distance=2).softmax_scale(12) == 1 / 6


def test_a_length_of_two_thousand():
    deberta = build(n_heads=2, head_dim=4, max_distance=512, buckets=256)
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 2000, 4, generator=generator) for _ in range(3))
    tables = tables_of(deberta, torch.float32)
    with torch.no_grad(), Largest() as largest:
        out = attend(q, k, v, scheme=deberta, q_positions=range(2000), k_positions=range(2000), causal=False, extras=tables)
    assert largest.bytes <= 2000 * 2000 * 8  # int64 distances, or the scores of two heads; [Q, K, D] would be twice that
    one_q, one_k, one_v = (numbers(x[0, 1]) for x in (q, k, v))
    for query in (0, 999, 1999):
        bias = reference.deberta(one_q[[query]], one_k, [query], range(2000), *of_head(tables, 1), 512, 256)[0]
        want = softmax((one_k @ one_q[query] + bias) / 12**0.5) @ one_v
        assert np.abs(numbers(out[0, 1, query]) - want).max() < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_heads": True}, "n_heads: needed a whole number >= 1, got bool True"),
        ({"head_dim": 0}, "head_dim: needed a whole number >= 1, got 0"),
        ({"head_dim": True}, "head_dim: needed a whole number >= 1, got bool True"),
        ({"content_to_position": 1}, "content_to_position: needed True or False, got 1"),
        ({"position_to_content": 0}, "position_to_content: needed True or False, got 0"),
        ({"content_to_position": False}, "content_to_position, position_to_content: needed at least one of the two, got neither"),
        ({"buckets": 0}, "buckets: needed a whole number >= 4, got 0"),
        ({"buckets": -1}, "buckets: needed a whole number >= 4, got -1"),  # "position_buckets": -1 of v1's configurations
        ({"buckets": True}, "buckets: needed a whole number >= 4, got bool True"),
        ({"buckets": 256.0}, "buckets: needed a whole number >= 4, got float 256.0"),
        ({"buckets": 256, "max_distance": 129}, "max_distance: needed a whole number >= 130, got 129"),
        ({"max_distance": 512.0}, "max_distance: needed a whole number >= 1, got float 512.0"),
    ],
)
def test_bad_arguments(change, message):
    terms = {"content_to_position": True, "position_to_content": False}
    with pytest.raises(ValueError, match=message):
        Deberta(**{"n_heads": 2, "head_dim": 8, **terms, "max_distance": 512, **change})
