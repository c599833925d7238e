"""The reference, the other tests' oracle, against numbers and forms that do not come from this library."""

import math

import numpy as np
import pytest

from ordinate import reference


def positional_encoding(seq_length, d_model):
    """The course note's NumPy function, for even widths."""
    encoding = np.zeros((seq_length, d_model))
    position = np.arange(0, seq_length).reshape(-1, 1)
    div_term = np.exp(np.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    encoding[:, 0::2] = np.sin(position * div_term)
    encoding[:, 1::2] = np.cos(position * div_term)
    return encoding


@pytest.mark.parametrize(("seq_length", "d_model"), [(10, 512), (50, 4), (1, 2), (200, 6), (0, 8)])
def test_sinusoidal_is_the_notes_function(seq_length, d_model):
    # exp of a logarithm against a power: 2^-52 of the frequency, so up to 200 * 2^-51 in the angle
    assert np.allclose(reference.sinusoidal(seq_length, d_model), positional_encoding(seq_length, d_model), rtol=0, atol=2e-13)


def test_sinusoidal_table_of_the_note():
    table = [[0, 1, 0, 1], [0.841, 0.540, 0.010, 1.000], [0.909, -0.416, 0.020, 1.000], [0.141, -0.990, 0.030, 1.000]]
    assert np.abs(reference.sinusoidal(4, 4) - table).max() <= 5.1e-4


@pytest.mark.parametrize(
    ("d_model", "layout", "spacing", "row"),
    [
        (4, "interleaved", "open", [0.841471, 0.540302, 0.010000, 0.999950]),
        (4, "sin_cos", "open", [0.841471, 0.010000, 0.540302, 0.999950]),
        (4, "cos_sin", "open", [0.540302, 0.999950, 0.841471, 0.010000]),
        (4, "sin_cos", "closed", [0.841471, 0.000100, 0.540302, 1.000000]),
        (4, "cos_sin", "closed", [0.540302, 1.000000, 0.841471, 0.000100]),
        (5, "interleaved", "open", [0.841471, 0.540302, 0.025116, 0.999685, 0.000631]),
        (5, "interleaved", "closed", [0.841471, 0.540302, 0.010000, 0.999950, 0.000100]),
        (5, "sin_cos", "open", [0.841471, 0.010000, 0.540302, 0.999950, 0.0]),
        (3, "sin_cos", "closed", [0.841471, 0.540302, 0.0]),
        (1, "interleaved", "open", [0.841471]),
        (1, "sin_cos", "open", [0.0]),
    ],
)
def test_sinusoidal_at_position_one(d_model, layout, spacing, row):
    assert np.abs(reference.sinusoidal([1], d_model, layout=layout, spacing=spacing)[0] - row).max() <= 5.1e-7


def test_sinusoidal_takes_positions_and_a_base():
    got = reference.sinusoidal([0.5, -2], 4, base=16.0)
    want = [[math.sin(p), math.cos(p), math.sin(p / 4), math.cos(p / 4)] for p in (0.5, -2)]
    assert np.abs(got - want).max() < 1e-15


def test_learned_by_hand():
    table = np.array([[9.0], [9.5], [0.0], [1.0], [2.0]])
    assert reference.learned(table, [2, 0], padding_offset=2).tolist() == [[2.0], [0.0]]
    assert reference.learned(table, [3, 7], padding_offset=2, overflow="wrap").tolist() == [[0.0], [1.0]]
    assert reference.learned(table, [3, 7], padding_offset=2, overflow="clamp").tolist() == [[2.0], [2.0]]
    for position, overflow in ((3, "error"), (-1, "wrap"), (-1, "clamp"), (-1, "error")):
        with pytest.raises(ValueError, match=f"position {position} has no row"):
            reference.learned(table, [position], padding_offset=2, overflow=overflow)


@pytest.mark.parametrize(
    ("layout", "want"),
    [("half", [-1.984111, 1.959901, 2.462378, 4.019800]), ("interleaved", [-1.142640, 1.922076, 2.959851, 4.029800])],
)
def test_rope_numbers(layout, want):
    assert np.abs(reference.rope(np.array([[1.0, 2.0, 3.0, 4.0]]), [1], layout) - want).max() <= 5.1e-7


def complex_rope(x, positions, base):
    """The same as one vectorised product of complex numbers, adjacent entries a pair."""
    width = x.shape[1]
    angles = np.outer(positions, base ** (-np.arange(0, width, 2) / width))
    turned = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


@pytest.mark.parametrize("base", [10000.0, 100.0])
@pytest.mark.parametrize("width", [2, 6, 16])
def test_rope_is_a_complex_product(width, base):
    x, positions = np.random.default_rng(0).normal(size=(5, width)), [0, 3, -7, 0.5, 200]
    want = complex_rope(x, positions, base)
    assert np.abs(reference.rope(x, positions, "interleaved", base=base) - want).max() < 2e-13  # angles to 200: 200 * 2^-52
    order = [*range(0, width, 2), *range(1, width, 2)]  # half: first entries of all pairs, then second ones
    assert np.abs(reference.rope(x[:, order], positions, "half", base=base) - want[:, order]).max() < 2e-13


def test_rope_of_a_part():
    x = np.random.default_rng(1).normal(size=(3, 9))
    got = reference.rope(x, [1, 2, 9], "interleaved", rotary_dim=4, rotary_start=3)
    assert np.array_equal(got[:, [0, 1, 2, 7, 8]], x[:, [0, 1, 2, 7, 8]])
    assert np.abs(got[:, 3:7] - complex_rope(x[:, 3:7], [1, 2, 9], 10000.0)).max() < 1e-14
    given = reference.rope(np.array([[1.0, 0.0]]), [3], "half", inverse_frequencies=[0.5])
    assert np.abs(given - [[math.cos(1.5), math.sin(1.5)]]).max() < 1e-15


def test_alibi_slopes_by_hand():
    assert reference.alibi_slopes(8, "paper") == [2**-h for h in range(1, 9)]
    assert reference.alibi_slopes(8, "authors") == [2**-h for h in range(1, 9)]
    assert reference.alibi_slopes(3, "authors") == [1 / 16, 1 / 256, 1 / 4]
    assert reference.alibi_slopes(6, "authors") == [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]
    assert reference.alibi_slopes(1, "authors") == [1 / 256]
    assert reference.alibi_slopes(12, "authors")[8:] == [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert reference.alibi_slopes(3, "paper") == [2 ** (-8 / 3), 2 ** (-16 / 3), 2**-8]


def test_alibi_by_hand():
    assert reference.alibi([4], range(5), [0.5]).tolist() == [[[-2, -1.5, -1, -0.5, 0]]]
    assert reference.alibi([0, 2], [1, 3], [1.0, 3.0]).tolist() == [[[-1, -3], [-1, -1]], [[-3, -9], [-3, -3]]]


@pytest.mark.parametrize(
    ("bidirectional", "rows"),
    [
        # T5's own numbers: 32 rows, distance 128
        (True, {0: 0, -1: 1, 1: 17, -7: 7, -8: 8, -11: 8, -12: 9, -15: 9, -16: 10, -20: 10, -22: 10, -23: 11, -31: 11, -32: 12}),
        (True, {-45: 12, -46: 13, -63: 13, -64: 14, -90: 14, -91: 15, -128: 15, -(2**40): 15, 5: 21, 128: 31, 2**40: 31}),
        (False, {0: 0, 5: 0, 2**40: 0, -1: 1, -15: 15, -16: 16, -18: 16, -19: 17, -20: 17, -21: 18, -112: 30, -113: 31, -128: 31}),
    ],
)
def test_t5_buckets_by_hand(bidirectional, rows):
    assert {distance: reference.t5_bucket(distance, 32, 128, bidirectional) for distance in rows} == rows


def test_t5_borders_that_are_whole_numbers():
    # 4 of 8 rows are wide and begin at 4, 4 b, 4 b^2, 4 b^3 for max_distance = 4 b^4
    for b in (3, 10, 2**10):
        for k in range(1, 4):
            got = [reference.t5_bucket(-(4 * b**k + step), 8, 4 * b**4, False) for step in (-1, 0)]
            assert got == [3 + k, 4 + k]


def test_t5_by_hand():
    table = np.array([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])
    # two ways, 2 rows each: 0 for the token itself, 1 for the past, 2 + 1 for the future
    assert reference.t5([1, 7], [0, 1, 2], table, 8, True).tolist() == [
        [[1, 0, 3], [1, 1, 1]],
        [[1.5, 0.5, 3.5], [1.5, 1.5, 1.5]],
    ]
    # the past only, 2 rows exact, then 2 sqrt(4) = 4
    assert reference.t5([4], [0, 1, 2, 3, 4, 5], table, 8, False)[0].tolist() == [[3, 2, 2, 1, 0, 0]]


def test_shaw_by_hand():
    table = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])  # the past, the token itself, the future
    q = np.array([[1.0, 10.0], [3.0, 5.0]])
    assert reference.shaw(q, [0, 2], [0, 2, 9], table).tolist() == [[10, 22, 22], [3, 5, 16]]
    weights = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    assert reference.shaw_values(weights, [0, 2], [0, 2, 9], table).tolist() == [[1.0, 1.5], [1.0, 0.0]]


def test_shaw_clips_on_both_sides():
    numbered = np.arange(5.0)[:, None]
    rows = reference.shaw(np.ones((4, 1)), range(4), range(4), numbered)
    assert rows.tolist() == [[2, 3, 4, 4], [1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]]
    for j in range(4):
        single = np.zeros((4, 4))
        single[:, j] = 1
        assert reference.shaw_values(single, range(4), range(4), numbered)[:, 0].tolist() == rows[:, j].tolist()
    assert reference.shaw(np.ones((1, 1)), [0], [-(2**40), 2**40], numbered).tolist() == [[0, 4]]


def test_deberta_buckets_by_hand():
    # 8 buckets, distance 33: exact to 4, then ends at 8, 16, 32
    right = {0: 0, 1: 1, 4: 4, 5: 5, 8: 5, 9: 6, 16: 6, 17: 7, 32: 7, 33: 8, 64: 8, 65: 9}
    for distance, bucket in right.items():
        assert reference.deberta_bucket(distance, 8, 33) == bucket
        assert reference.deberta_bucket(-distance, 8, 33) == -bucket
    # 128 (511 / 128)^(1 / 127) = 129.4, and the released model's last regular bucket ends at 511
    released = {128: 128, 129: 129, 130: 130, 131: 131, 511: 255, 512: 256, -129: -129, -511: -255}
    assert {distance: reference.deberta_bucket(distance, 256, 512) for distance in released} == released


def test_deberta_terms_by_hand():
    one, table = np.ones((1, 1)), np.arange(6.0)[:, None]  # 3 distances each way: row = query - key + 3
    for query, key, row, back in ((4, 4, 3, 3), (4, 3, 4, 2), (4, 6, 1, 5), (4, 7, 0, 5), (7, 4, 5, 0), (0, 2**40, 0, 5)):
        assert reference.deberta(one, 0 * one, [query], [key], table, None, 3).item() == row
        assert reference.deberta(0 * one, one, [query], [key], None, table, 3).item() == row
        assert reference.deberta(0 * one, one, [query], [key], None, table, 3, index="paper").item() == back
        assert reference.deberta(2 * one, 5 * one, [query], [key], table, 10 * table, 3).item() == 2 * row + 50 * row


def test_deberta_with_vectors_and_buckets():
    q, k = np.array([[1.0, 2.0]]), np.array([[0.0, 1.0], [3.0, -1.0]])
    keys = np.stack([np.arange(16.0), np.arange(16.0) / 16], axis=1)
    # key 16 places back: bucket 6, row 14; key 40 places on: bucket -8, row 0
    assert reference.deberta(q, k, [100], [84, 140], keys, None, 33, 8).tolist() == [[14 + 2 * 14 / 16, 0.0]]
    assert reference.deberta(q, k, [100], [84, 140], keys, 1 + keys, 33, 8).tolist() == [[15.75 + 1.875, 0 + 3 - 1]]
    assert reference.deberta(q, k, [100], [84, 140], None, 1 + keys, 33, 8, index="paper").tolist() == [
        [1 + 2 / 16, 3 * 16 - (1 + 15 / 16)]  # rows 2 and 15
    ]


def test_attention_is_the_softmax_formula():
    random = np.random.default_rng(2)
    q, k, v, bias = random.normal(size=(3, 4)), random.normal(size=(5, 4)), random.normal(size=(5, 2)), random.normal(size=(3, 5))
    visible = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]) > 0
    weights = np.where(visible, np.exp(0.5 * q @ k.T + bias), 0.0)
    totals = weights.sum(1, keepdims=True)
    want = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), 0.0) @ v
    assert np.abs(reference.attention(q, k, v, 0.5, bias, visible) - want).max() < 1e-14


def test_attention_by_hand():
    # scores ln 1 and ln 3: weights 1/4 and 3/4
    out = reference.attention(
        np.zeros((1, 1)), np.zeros((2, 1)), np.array([[4.0], [8.0]]), 1.0, np.array([[0.0, math.log(3)]]), np.ones((1, 2)) > 0
    )
    assert abs(out[0, 0] - 7.0) < 1e-15


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reference.sinusoidal(2, 4, layout="mixed"), "unknown layout 'mixed' or spacing 'open'"),
        (lambda: reference.sinusoidal(2, 4, spacing="tight"), "spacing 'tight'"),
        (lambda: reference.rope(np.ones((1, 2)), [0], "mixed"), "unknown layout 'mixed'"),
        (lambda: reference.alibi_slopes(2, "mine"), "unknown rule 'mine'"),
        (lambda: reference.deberta(*[np.ones((1, 1))] * 2, [0], [0], None, None, 2, index="mine"), "unknown index 'mine'"),
    ],
)
def test_unknown_names(call, message):
    with pytest.raises(ValueError, match=message):
        call()
