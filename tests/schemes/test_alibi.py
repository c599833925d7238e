"""ALiBi against the reference's float64 loops, the paper's and the authors' numbers, and hand-made biases."""

import itertools

import numpy as np
import pytest
import score_tools
import torch
from score_tools import listed

from ordinate import ALiBi, attend, reference
from ordinate.schemes.alibi import slopes_of

PLACES = score_tools.PLACES | {
    "fractions": (torch.tensor([0.5, 2.25]), torch.tensor([0.125, -3.5, 7.0], dtype=torch.float64)),
}


def bias_of(alibi, q_places, k_places, batch=2, dtype=torch.float64):
    queries, keys = (len(places) if isinstance(places, range) else places.shape[-1] for places in (q_places, k_places))
    q, k = torch.zeros(batch, alibi.n_heads, queries, 4, dtype=dtype), torch.zeros(batch, 1, keys, 4, dtype=dtype)
    return alibi.bias(q, k, alibi.at(q_places, k_places))


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("n_heads", [1, 3, 8])
@pytest.mark.parametrize("rule", ["paper", "authors"])
def test_values(rule, n_heads, kind):
    alibi, (q_places, k_places) = ALiBi(n_heads=n_heads, slopes=rule), PLACES[kind]
    exact, single = bias_of(alibi, q_places, k_places), bias_of(alibi, q_places, k_places, dtype=torch.float32)
    assert single.dtype == torch.float32
    for row in range(exact.shape[0]):
        want = reference.alibi(listed(q_places, row), listed(k_places, row), reference.alibi_slopes(n_heads, rule))
        assert np.array_equal(exact[row].numpy(), want)
        assert np.array_equal(single[row].numpy(), want.astype(np.float32))  # rounded once


@pytest.mark.parametrize("n_heads", [*range(1, 65), 71, 112])
@pytest.mark.parametrize("rule", ["paper", "authors"])
def test_slopes(rule, n_heads):
    assert list(slopes_of(n_heads, rule)) == reference.alibi_slopes(n_heads, rule)


def authors_get_slopes(n):
    """get_slopes of the authors' repository, in float64."""

    def of_power_of_two(n):
        start = 2 ** (-(2 ** -(np.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if np.log2(n).is_integer():
        return of_power_of_two(n)
    closest = 2 ** int(np.floor(np.log2(n)))
    return of_power_of_two(closest) + authors_get_slopes(2 * closest)[0::2][: n - closest]


@pytest.mark.parametrize("n_heads", [*range(1, 65), 71, 112])
def test_slopes_of_the_authors_code(n_heads):
    # their powers are products of up to 112 rounded factors
    assert np.allclose(slopes_of(n_heads, "authors"), authors_get_slopes(n_heads), rtol=1e-13, atol=0)


def test_numbers_of_the_paper():
    # "for 8 heads the slopes are 1/2^1, 1/2^2, ..., 1/2^8"; for 16 "1/2^0.5, 1/2^1, 1/2^1.5, ..., 1/2^8"
    for rule in ("paper", "authors"):
        assert slopes_of(8, rule) == (0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625)
        assert slopes_of(16, rule)[:4] == (2**-0.5, 0.5, 2**-1.5, 0.25)
        assert slopes_of(16, rule)[-1] == 0.00390625
    assert slopes_of(3, "paper") == (2 ** (-8 / 3), 2 ** (-16 / 3), 2**-8)


def test_a_hand_made_bias_two_ways():
    got = bias_of(ALiBi(n_heads=2, slopes=(0.5, 2)), range(3), range(3), batch=1, dtype=torch.float32)
    assert got.tolist() == [
        [
            [[0, -0.5, -1.0], [-0.5, 0, -0.5], [-1.0, -0.5, 0]],
            [[0, -2.0, -4.0], [-2.0, 0, -2.0], [-4.0, -2.0, 0]],
        ]
    ]


@pytest.mark.parametrize(("n_heads", "cuts"), [(8, [0, 2, 8]), (6, [0, 1, 5, 6]), (3, [0, 3])])
@pytest.mark.parametrize("kind", ["range", "rows", "fractions"])
def test_slices_put_together_are_the_whole(n_heads, cuts, kind):
    whole = ALiBi(n_heads=n_heads, slopes="authors")
    parts = [whole.heads(start, stop) for start, stop in itertools.pairwise(cuts)]
    assert torch.equal(torch.cat([bias_of(part, *PLACES[kind]) for part in parts], dim=1), bias_of(whole, *PLACES[kind]))


def test_softmax_scale():
    assert ALiBi(n_heads=2, slopes="paper").softmax_scale(64) == 0.125


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", ["range", "last of many", "tensors", "rows"])
def test_attention_against_the_loops(causal, kind):
    q_places, k_places = PLACES[kind]
    rows = [(listed(q_places, b), listed(k_places, b)) for b in range(2)]
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(2, h, n, 4, generator=generator, dtype=torch.float64)
        for h, n in ((6, len(rows[0][0])), *[(2, len(rows[0][1]))] * 2)
    )
    alibi = ALiBi(n_heads=6, slopes="authors")
    out = attend(q, k, v, scheme=alibi, q_positions=q_places, k_positions=k_places, causal=causal)
    for b, (queries, keys) in enumerate(rows):
        bias = reference.alibi(queries, keys, reference.alibi_slopes(6, "authors"))
        visible = np.array([[not causal or key <= query for key in keys] for query in queries])
        for h in range(6):
            want = reference.attention(q[b, h].numpy(), k[b, h // 3].numpy(), v[b, h // 3].numpy(), 0.5, bias[h], visible)
            assert np.abs(out[b, h].numpy() - want).max() < 1e-14
