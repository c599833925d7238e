"""Shaw against the reference's float64 loops, the paper's figure, and rows counted by hand."""

import numpy as np
import pytest
import torch
from score_tools import MASKS, PLACES, SEEN, Largest, check_attention, drawn, listed, loud, numbers, softmax

from ordinate import Shaw, attend, reference
from ordinate.schemes.shaw import relative_rows


def numbered(most):
    """A scheme of width 1 whose tables hold the rows' numbers, and ten times them."""
    shaw = Shaw(head_dim=1, max_distance=most, values=True)
    rows = torch.arange(2.0 * most + 1)[:, None]
    shaw.load_state_dict({"key_weight": rows, "value_weight": 10 * rows})
    return shaw


def rows_read(shaw, length, keys):
    """The rows that every query reads for these keys, through the keys' table and through the values' table: [length, keys]."""
    one, at = torch.ones(1, 1, length, 1), shaw.at(range(length), range(length))
    all_on_one_key = torch.eye(length)[keys][:, None, None].expand(-1, 1, length, -1)
    added = shaw.added_values(at)(all_on_one_key)
    return shaw.bias(one, one, at)[0, 0][:, keys], added[:, 0, :, 0].T / 10


def test_clipping_at_distance_one():
    want = [[1, 2, 2], [0, 1, 2], [0, 0, 1]]
    by_keys, by_values = rows_read(numbered(1), 3, [0, 1, 2])
    assert by_keys.tolist() == by_values.tolist() == want
    assert relative_rows(torch.tensor([[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]), 1, 1).tolist() == want


@pytest.mark.parametrize(("most", "length"), [(1, 1), (1, 2), (1, 500), (16, 500), (2, 5), (499, 500), (700, 500)])
def test_no_length_runs_past_the_table(most, length):
    place = np.arange(length)
    keys = sorted({0, length // 2, length - 1})
    want = np.minimum(np.maximum(place[keys] - place[:, None], -most), most) + most
    for rows in rows_read(numbered(most), length, keys):
        assert np.array_equal(numbers(rows), want)


def test_figure_of_the_paper():
    # figure 1, 2 <= k <= n - 4: a_2,1 = w_-1, a_2,4 = w_2, a_4,n = w_k
    k, n = 3, 8
    for rows in rows_read(numbered(k), n, list(range(n))):
        assert [rows[i - 1, j - 1].item() - k for i, j in ((2, 1), (2, 4), (4, n))] == [-1, 2, k]


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize(("most", "n_heads"), [(1, 1), (3, 4), (2**12, 2)])
def test_values(most, n_heads, kind):
    places, shaw = PLACES[kind], loud(Shaw(head_dim=5, max_distance=most, values=True))
    at = shaw.at(*places)
    for dtype, result, error in ((torch.float64, torch.float64, 1e-14), (torch.float32, torch.float32, 4e-6)):
        q, k, _ = drawn(places, n_heads, 1, 5, dtype)
        weights = torch.rand(2, n_heads, q.shape[2], k.shape[2], dtype=dtype)
        got, added = shaw.bias(q, k, at), shaw.added_values(at)(weights)
        assert got.dtype == added.dtype == result
        for b in range(2):
            sides = [listed(side, b) for side in places]
            for h in range(n_heads):
                want = reference.shaw(numbers(q[b, h]), *sides, numbers(shaw.key_weight)) / 5**0.5
                assert np.abs(numbers(got[b, h]) - want).max() < error
                want = reference.shaw_values(numbers(weights[b, h]), *sides, numbers(shaw.value_weight))
                assert np.abs(numbers(added[b, h]) - want).max() < error


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_queries_give_float32(dtype, autocast):
    places, shaw = PLACES["tensors"], loud(Shaw(head_dim=8, max_distance=2, values=True))
    q, k, _ = drawn(places, 3, 1, 8, dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        got = shaw.bias(q, k, shaw.at(*places))
    assert got.dtype == torch.float32
    for h in range(3):
        want = reference.shaw(numbers(q[0, h]), *(listed(side, 0) for side in places), numbers(shaw.key_weight)) / 8**0.5
        assert np.abs(numbers(got[0, h]) - want).max() < 4e-6


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", SEEN)
@pytest.mark.parametrize(
    ("values", "given", "n_kv_heads"), [(True, None, 6), (False, None, 2), (True, 1.0, 2), (False, 0.25, 6), (True, None, 1)]
)
def test_attention_against_the_loops(values, given, n_kv_heads, kind, causal, mask):
    shaw = loud(Shaw(head_dim=4, max_distance=2, values=values))
    scale = given or 0.5
    check_attention(
        shaw,
        PLACES[kind],
        causal,
        mask,
        n_heads=6,
        n_kv_heads=n_kv_heads,
        width=4,
        scale=scale,
        given=given,
        # the scale stands before q . (k + a): a scale of the caller's multiplies both
        bias=lambda q, _k, queries, keys, _h: scale * reference.shaw(q, queries, keys, numbers(shaw.key_weight)),
        added=(lambda weights, *places: reference.shaw_values(weights, *places, numbers(shaw.value_weight))) if values else None,
    )


def test_a_query_that_sees_nothing_gets_no_table_either():
    shaw = loud(Shaw(head_dim=4, max_distance=2, values=True))
    q, k, v = (x.requires_grad_() for x in drawn(PLACES["range"], 2, 1, 4))
    out = attend(q, k, v, scheme=shaw, q_positions=range(5), k_positions=range(1, 6), causal=True)  # query 0 is before all keys
    assert not out[:, :, 0].any()
    assert out[:, :, 1:].all()
    out[:, :, 0].sum().backward()
    for x in (q, k, v, shaw.key_weight, shaw.value_weight):
        assert not x.grad.any()


def test_gradients_reach_the_rows_that_were_read():
    shaw = numbered(2)
    one, at = torch.ones(1, 1, 3, 1), shaw.at(range(3), range(3))
    shaw.bias(one, one, at).sum().backward()
    shaw.added_values(at)(one.expand(1, 1, 3, 3)).sum().backward()
    for table in (shaw.key_weight, shaw.value_weight):
        assert table.grad.flatten().tolist() == [1, 2, 3, 2, 1]  # pairs at distances -2 .. 2


def test_dropped_weights_reach_neither_values_nor_their_table():
    shaw = Shaw(head_dim=4, max_distance=2, values=True)
    q, k, v = (x.float() for x in drawn(PLACES["range"], 2, 2, 4))
    outs = []
    for in_v, in_table in ((1.0, 0.0), (0.0, 1.0)):
        torch.manual_seed(3)
        with torch.no_grad():
            shaw.value_weight.fill_(in_table)
        places = {"q_positions": range(5), "k_positions": range(5), "causal": False}
        outs.append(attend(q, k, torch.full_like(v, in_v), scheme=shaw, dropout=0.5, **places))
    assert (outs[0] - 1).abs().max() > 0.1  # something was dropped
    assert (outs[0] - outs[1]).abs().max() < 1e-6


@pytest.mark.parametrize("kind", ["range", "rows"])
def test_slices_put_together_are_the_whole(kind):
    whole = loud(Shaw(head_dim=4, max_distance=2, values=True))
    q, k, v = drawn(PLACES[kind], 6, 6, 4)
    places = {"q_positions": PLACES[kind][0], "k_positions": PLACES[kind][1], "causal": False}
    cuts = [(0, 1), (1, 4), (4, 6)]
    parts = [attend(q[:, a:b], k[:, a:b], v[:, a:b], scheme=whole.heads(a, b), **places) for a, b in cuts]
    assert (torch.cat(parts, dim=1) - attend(q, k, v, scheme=whole, **places)).abs().max() < 1e-14
    assert whole.heads(1, 4).key_weight is whole.key_weight


def test_softmax_scale():
    assert Shaw(head_dim=64, max_distance=4, values=False).softmax_scale(64) == 0.125


def test_a_length_of_two_thousand():
    shaw = loud(Shaw(head_dim=4, max_distance=16, values=True))
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 2000, 4, generator=generator) for _ in range(3))
    with torch.no_grad(), Largest() as largest:
        out = attend(q, k, v, scheme=shaw, q_positions=range(2000), k_positions=range(2000), causal=False)
    assert largest.bytes <= 2000 * 2000 * 8  # int64 distances, or the scores of two heads; [Q, K, D] would be twice that
    one_q, one_k, one_v = (numbers(x[0, 1]) for x in (q, k, v))
    for query in (0, 999, 1999):
        rows = np.clip(np.arange(2000) - query, -16, 16) + 16
        weights = softmax(0.5 * (one_k + numbers(shaw.key_weight)[rows]) @ one_q[query])  # the paper's equations 3 and 4
        want = weights @ (one_v + numbers(shaw.value_weight)[rows])
        assert np.abs(numbers(out[0, 1, query]) - want).max() < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head_dim": True}, "head_dim: needed a whole number >= 1, got bool True"),
        ({"head_dim": 8.0}, "head_dim: needed a whole number >= 1, got float 8.0"),
        ({"head_dim": -8}, "head_dim: needed a whole number >= 1, got -8"),
        ({"max_distance": None}, "max_distance: needed a whole number >= 1, got NoneType None"),
        ({"max_distance": True}, "max_distance: needed a whole number >= 1, got bool True"),
        ({"values": 1}, "values: needed True or False, got 1"),
        ({"values": "both"}, "values: needed True or False, got 'both'"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        Shaw(**{"head_dim": 8, "max_distance": 2, "values": True, **change})


def test_values_has_no_default():
    with pytest.raises(TypeError, match="values"):
        Shaw(head_dim=8, max_distance=2)
