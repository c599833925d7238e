"""The kit's oracles: every scheme of ``ordinate.reference``, by name and settings, against the fast forms and numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ordinate
from ordinate import reference
from ordinate.testing.oracles import RULES, SCHEMES, oracle


def test_every_definition_is_there() -> None:
    left_out = {"ntk_base", "rope_frequencies", "longrope_magnitude", "yarn_magnitude"}
    assert {*SCHEMES, *RULES} >= set(reference.__all__) - left_out


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(
    ("rule", "scaling"),
    [
        ({}, None),
        ({"rule": "linear", "factor": 4.0}, ordinate.scaling.Linear(factor=4.0)),
        (
            {"rule": "llama3", "factor": 8.0, "low": 1.0, "high": 4.0, "original_length": 64},
            ordinate.scaling.Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=64),
        ),
    ],
    ids=["plain", "linear", "llama3"],
)
def test_rope(layout: str, rule: dict[str, object], scaling: object) -> None:
    x, positions = torch.randn(5, 8, dtype=torch.float64), torch.tensor([0, 1, 7, 3, 900])
    rope = ordinate.Rope(head_dim=8, rotary_dim=4, layout=layout, base=500.0, scaling=scaling)
    turned, _ = rope(x[None, None], x[None, None], positions)
    right = oracle("rope", layout=layout, base=500.0, rotary_dim=4, **rule)(x, positions)
    np.testing.assert_allclose(turned[0, 0].numpy(), right, atol=1e-6)


def test_dynamic_ntk_and_magnitudes() -> None:
    one = np.ones((1, 8))
    dynamic = oracle("rope", layout="half", rule="dynamic_ntk", factor=2.0, original_length=4, length=8)
    np.testing.assert_allclose(dynamic(one, [3]), reference.rope(one, [3], "half", base=reference.ntk_base(10000.0, 8, 3.0)))
    short = oracle("rope", layout="half", rule="dynamic_ntk", factor=2.0, original_length=4, length=4)
    np.testing.assert_allclose(short(one, [3]), reference.rope(one, [3], "half"))
    grown = oracle("rope", layout="half", rotary_dim=4, magnitude=2.0)(one, [0])
    assert grown.tolist() == [[2.0] * 4 + [1.0] * 4]


def test_biases_take_tensors_and_lists() -> None:
    q, k = torch.arange(2), range(3)
    bias = oracle("alibi", n_heads=3, rule="authors")(q, k)
    np.testing.assert_allclose(bias, reference.alibi([0, 1], [0, 1, 2], [1 / 16, 1 / 256, 1 / 4]))
    table = torch.randn(32, 2)
    t5 = ordinate.T5Bias(n_heads=2, bidirectional=True)
    with torch.no_grad():
        t5.weight.copy_(table)
    right = oracle("t5", table=table, max_distance=128, bidirectional=True)(torch.tensor([20]), torch.arange(40))
    made = t5.by_distance(torch.arange(40)[None, :] - 20)
    np.testing.assert_allclose(right, made.detach().double().numpy(), rtol=1e-6)
    assert oracle("t5_bucket", n_buckets=32, max_distance=128, bidirectional=False)(-20) == 17
    assert oracle("shaw", table=[[-1.0], [0.0], [1.0]])([[2.0]], [1], [0, 1, 5]).tolist() == [[-2.0, 0.0, 2.0]]


def test_inputs_and_axes() -> None:
    vectors = oracle("sinusoidal", d_model=4, layout="sin_cos", spacing="closed")(torch.tensor([1]))
    np.testing.assert_allclose(vectors, [[0.841471, 0.000100, 0.540302, 1.0]], atol=1e-6)
    x, places = torch.randn(6, 8, dtype=torch.float64), ordinate.positions.grid(2, 3)
    rope = ordinate.AxialRope(head_dim=8, layout="half", order="blocks", base=100.0)
    right = oracle("axial_rope", layout="half", order="blocks", bases=(100.0, 100.0))(x, places[0])
    np.testing.assert_allclose(rope(x[None, None], x[None, None], places)[0][0, 0].numpy(), right, atol=1e-6)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="scheme: needed one of rope, axial_rope"):
        oracle("xpos")
    with pytest.raises(ValueError, match=r"rule: needed one of linear, ntk, .*got 'yran'"):
        oracle("rope", layout="half", rule="yran")
    with pytest.raises(ValueError, match="got lay_out"):
        oracle("rope", lay_out="half")
    with pytest.raises(ValueError, match=r"yarn: needed settings among .*got low"):
        oracle("rope", layout="half", rule="yarn", factor=2.0, low=1.0)
    with pytest.raises(ValueError, match="alibi_slopes: needed settings among n_heads, rule, got heads"):
        oracle("alibi", heads=3)
