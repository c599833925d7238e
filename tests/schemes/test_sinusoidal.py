"""Sinusoidal against the reference's float64 loops and the numbers of the course note."""

import itertools
import math

import numpy as np
import pytest
import torch

from ordinate import Sinusoidal, TokenAndPositionEmbedding, reference

LAYOUTS, SPACINGS = ["interleaved", "sin_cos", "cos_sin"], ["open", "closed"]
FLOAT32 = 3.1e-8  # 0.51 ulp of a float32 just below 1
# the reference rounds frequency and angle in float64: a few 2^-53 of the angle, here at most 3000
FLOAT64 = 2e-12


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("d_model", [1, 2, 3, 4, 5, 6, 7, 16, 33])
def test_values(layout, spacing, d_model):
    scheme = Sinusoidal(d_model=d_model, layout=layout, spacing=spacing)
    want = reference.sinusoidal(40, d_model, layout=layout, spacing=spacing)
    assert np.abs(scheme.at(range(40)).double().numpy() - want).max() <= FLOAT32
    assert np.abs(scheme.at(torch.arange(40), dtype=torch.float64).numpy() - want).max() <= FLOAT64


@pytest.mark.parametrize("base", [100.0, 500000.0])
def test_base(base):
    got = Sinusoidal(d_model=8, base=base).at(range(3000), dtype=torch.float64).numpy()
    assert np.abs(got - reference.sinusoidal(3000, 8, base=base)).max() <= FLOAT64


@pytest.mark.parametrize(
    "places",
    [
        range(9, 0, -2),
        torch.tensor([3, 3, 0, 999]),
        torch.tensor([-4, 1], dtype=torch.int32),
        torch.tensor([0.5, -1.25, 7.125]),
        torch.tensor([1 / 3, 2999.9], dtype=torch.float64),
        torch.tensor([[0, 1, 2], [8, 0, 4]]),
    ],
    ids=["falling range", "shuffled", "negative int32", "float32 fractions", "float64 fractions", "rows"],
)
def test_positions(places):
    got = Sinusoidal(d_model=6).at(places, dtype=torch.float64)
    flat = list(places) if isinstance(places, range) else places.flatten().tolist()
    assert np.abs(got.reshape(-1, 6).numpy() - reference.sinusoidal(flat, 6)).max() <= FLOAT64


def test_the_notes_table():
    table = [[0, 1, 0, 1], [0.841, 0.540, 0.010, 1.000], [0.909, -0.416, 0.020, 1.000], [0.141, -0.990, 0.030, 1.000]]
    assert (Sinusoidal(d_model=4).at(range(4)) - torch.tensor(table)).abs().max() <= 5.1e-4  # three decimals


@pytest.mark.parametrize(("d_model", "longest"), [(16, 19869), (512, 60611)])
def test_the_notes_wavelengths(d_model, longest):
    frequencies = Sinusoidal(d_model=d_model).inverse_frequencies
    assert frequencies[0] == 1.0  # 2 pi positions
    assert round(2 * math.pi / frequencies[-1]) == longest
    ratios = [slow / fast for fast, slow in itertools.pairwise(frequencies)]
    assert max(ratios) - min(ratios) < 1e-12  # a geometric series


def test_closed_spacing_ends_at_one_over_the_base():
    assert Sinusoidal(d_model=16, layout="sin_cos", spacing="closed").inverse_frequencies[-1] == 1e-4


def test_the_notes_dot_product_depends_on_the_offset_only():
    table = Sinusoidal(d_model=16).at(torch.tensor([0, 5, 1000, 10**6, 3, 8, 1003, 10**6 + 3]), dtype=torch.float64)
    products = (table[:4] * table[4:]).sum(-1)
    want = sum(math.cos(3 * 10000 ** (-2 * i / 16)) for i in range(8))
    assert (products - want).abs().max() < 1e-14


@pytest.mark.parametrize("k", [1, 7, -4])
def test_the_notes_shift_is_one_fixed_rotation(k):
    places = torch.tensor([0, 1, 50, 4097])
    here, there = (Sinusoidal(d_model=8).at(p, dtype=torch.float64).view(4, 4, 2) for p in (places, places + k))
    for i in range(4):
        cos, sin = math.cos(k * 10.0**-i), math.sin(k * 10.0**-i)
        rotation = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
        assert (here[:, i] @ rotation.mT - there[:, i]).abs().max() < 1e-14


def test_slow_dimensions_tell_near_from_far():
    slow = Sinusoidal(d_model=4).at(range(31))[:, 2:].double()
    assert (slow[1] - slow[2]).norm() < (slow[1] - slow[30]).norm()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_sum_is_rounded_once(dtype):
    x = (torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0)) * 20).to(dtype)
    places = torch.tensor([[0, 1, 2, 3, 4], [3000, 1, 1, 9, 12]])
    out = Sinusoidal(d_model=6)(x, places)
    assert out.dtype == dtype
    want = x.double() + torch.stack([torch.from_numpy(reference.sinusoidal(row, 6)) for row in places.tolist()])
    # half an ulp of the sum; 1e-7 for the error of P in float32, 2e-12 for float64's
    allowed = torch.finfo(dtype).eps / 2 * want.abs() + (2e-12 if dtype == torch.float64 else 1e-7)
    assert torch.all((out.double() - want).abs() <= allowed)


@pytest.mark.parametrize("places", [range(3), torch.arange(3), torch.arange(3)[None]])
def test_without_a_batch(places):
    out = Sinusoidal(d_model=4)(torch.zeros(3, 4), places)
    assert out.shape == (3, 4)
    assert np.abs(out.double().numpy() - reference.sinusoidal(3, 4)).max() <= FLOAT32


def test_dropout_acts_on_the_sum_in_training():
    torch.manual_seed(0)
    scheme, x = Sinusoidal(d_model=64, dropout=0.5), torch.full((1, 200, 64), 5.0)
    full = scheme.eval()(x, range(200))
    assert torch.equal(full, x + scheme.at(range(200)))
    out = scheme.train()(x, range(200))
    kept = out != 0
    assert torch.equal(out[kept], (2 * full)[kept])  # 5 + P is never 0, so zeros are the dropped entries
    assert abs(kept.float().mean() - 0.5) < 0.03  # 12800 draws: six standard deviations


@pytest.mark.parametrize(("scale", "factor"), [("sqrt", 4.0), (None, 1.0)])
def test_the_embedding_is_scaled_before_the_sum(scale, factor):
    embed = TokenAndPositionEmbedding(vocabulary_size=9, d_model=16, scheme=Sinusoidal(d_model=16), scale=scale)
    tokens = torch.tensor([[2, 7, 7]])
    want = embed.tokens.weight[tokens].double() * factor + torch.from_numpy(reference.sinusoidal(3, 16))
    assert (embed(tokens, range(3)).double() - want).abs().max() < 1e-6
