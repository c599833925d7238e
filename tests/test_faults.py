"""The kinds of faults that positional code has in the wild, each with its right numbers typed in. The name says the kind."""

import math

import pytest
import torch

from ordinate import ALiBi, Learned, Rope, Sinusoidal

PRINTED = 6e-7  # the numbers below have six decimals; half a unit of the last, and float32's own rounding


def close(got, want, bound=PRINTED):
    want = torch.tensor(want, dtype=torch.float64)
    assert got.shape == want.shape
    assert (got.detach().double() - want).abs().max() <= bound


def test_config_key_dropped_the_base_reaches_the_angles():
    rope = Rope(head_dim=128, layout="half", base=1e6)
    assert abs(1000 * rope.inverse_frequencies[1] - 805.8422) < 5e-5
    at = rope.at(range(1000, 1001))
    close(torch.stack((at.cos[0, 1], at.sin[0, 1])), [math.cos(805.8422), math.sin(805.8422)], 5e-5)


def test_layout_mismatch_numbers():
    x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
    half, interleaved = (Rope(head_dim=4, layout=layout).queries(x, range(1, 2)) for layout in ("half", "interleaved"))
    close(half[0, 0, 0], [-1.984111, 1.959901, 2.462378, 4.019800])
    close(interleaved[0, 0, 0], [-1.142640, 1.922076, 2.959851, 4.029800])


def test_layout_mismatch_permutation():
    x = torch.randn(1, 1, 5, 6, generator=torch.Generator().manual_seed(0))
    half, interleaved = (Rope(head_dim=6, layout=layout).queries for layout in ("half", "interleaved"))
    to_half, back = [0, 2, 4, 1, 3, 5], [0, 3, 1, 4, 2, 5]
    assert torch.equal(half(x[..., to_half], range(5))[..., back], interleaved(x, range(5)))
    assert not torch.allclose(half(x[..., back], range(5))[..., to_half], interleaved(x, range(5)), atol=0.1)


@pytest.mark.parametrize("scheme", [Rope(head_dim=8, layout="half"), ALiBi(n_heads=4, slopes="authors"), Sinusoidal(d_model=8)])
def test_derived_keys_in_checkpoint_there_are_none(scheme):
    assert scheme.state_dict() == {}
    assert not [*scheme.parameters(), *scheme.buffers()]
    scheme.load_state_dict({}, strict=True)


def test_low_precision_phase_number():
    rope = Rope(head_dim=32, layout="half")
    assert abs(1857 * rope.inverse_frequencies[1] - 1044.267841) < 5e-7
    close(rope.at(range(1857, 1858)).cos[0, 1], 0.306693)


def test_low_precision_phase_model_wide_cast():
    model = torch.nn.ModuleDict({"rope": Rope(head_dim=128, layout="half"), "linear": torch.nn.Linear(2, 2)}).to(torch.bfloat16)
    assert abs(model["rope"].inverse_frequencies[1] - 0.8659643) < 5e-8
    at = model["rope"].at(torch.tensor([4095]))
    assert at.cos.dtype == torch.float32
    close(at.cos[0, 1], math.cos(4095 * 0.865964323360065))
    assert abs(4095 * 0.8671875 - 4095 * 0.865964323360065 - 5.01) < 0.01  # what bfloat16 would have made of it


def test_low_precision_phase_autocast():
    rope, x = Rope(head_dim=8, layout="half"), torch.ones(1, 1, 1, 8)
    with torch.autocast("cpu", torch.bfloat16):
        near, far = (rope.queries(x, torch.tensor([place])) for place in (65536, 65537))
    assert near.dtype == torch.float32
    for place, turned in ((65536, near), (65537, far)):
        angles = [place * 10.0**-i for i in range(4)]
        first, second = [math.cos(a) - math.sin(a) for a in angles], [math.cos(a) + math.sin(a) for a in angles]
        close(turned[0, 0, 0], first + second, 2e-7)


def test_per_layer_schedule_two_layers_two_settings():
    scaled = tuple(frequency / 8 for frequency in Rope(head_dim=8, layout="half", base=1e6).inverse_frequencies)
    layers = [Rope(head_dim=8, layout="half", inverse_frequencies=scaled), Rope(head_dim=8, layout="half")]
    far, local = (layer.at(range(8, 9)).cos[0, 0] for layer in layers)
    close(far, 0.540302)
    close(local, -0.145500)


def test_derived_buffer_uninit_meta_then_to_empty():
    with torch.device("meta"):
        model = torch.nn.ModuleDict({"rope": Rope(head_dim=8, layout="half"), "sinusoidal": Sinusoidal(d_model=4)})
    model.to_empty(device="cpu")
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            tensor.fill_(math.nan)
    assert model["rope"].inverse_frequencies == (1.0, 0.1, 0.01, 0.001)
    close(model["rope"].at(range(1, 2)).cos[0], [0.540302, 0.995004, 0.999950, 1.000000])
    close(model["sinusoidal"].at(range(1, 2))[0], [0.841471, 0.540302, 0.010000, 0.999950])


@pytest.mark.parametrize("positions", [range(5), torch.arange(5), torch.arange(5, dtype=torch.int32)[None]])
def test_table_range_and_base_names_the_ways_out(positions):
    table = Learned(max_length=4, d_model=8)
    for call in (lambda: table.at(positions), lambda: table(torch.zeros(1, 5, 8), positions)):
        with pytest.raises(ValueError, match=r"0\.\.3, got 4, so length 5 > 4; truncate .*resize .*\"wrap\""):
            call()


def test_backend_dtype_real_pairs_number():
    turned = Rope(head_dim=2, layout="interleaved").queries(torch.tensor([[[[1.0, 0.0]]]]), range(1, 2))
    close(turned[0, 0, 0], [0.540302, 0.841471])


@pytest.mark.parametrize(
    ("n_heads", "slopes"),
    [
        (3, [1 / 16, 1 / 256, 1 / 4]),
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
        (8, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]),
    ],
)
def test_alibi_slopes_authors_rule(n_heads, slopes):
    alibi = ALiBi(n_heads=n_heads, slopes="authors")
    assert list(alibi.slope_values) == slopes
    q = k = torch.zeros(1, n_heads, 1, 4)
    assert alibi.bias(q, k, alibi.at(range(1, 2), range(1))).flatten().tolist() == [-slope for slope in slopes]


def test_alibi_geometry_numbers():
    alibi, q, k = ALiBi(n_heads=1, slopes=(0.5,)), torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 5, 4)
    for query, keys in ((range(4, 5), range(5)), (torch.tensor([4]), torch.arange(5))):
        assert alibi.bias(q, k, alibi.at(query, keys)).flatten().tolist() == [-2, -1.5, -1, -0.5, 0]


def test_partial_rotary_numbers():
    rope = Rope(head_dim=8, layout="half", rotary_dim=4)
    assert rope.inverse_frequencies == (1.0, 0.01)
    x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0, 0.1, -0.7, 1e-9, 3e7]]]])
    turned = rope.queries(x, range(1, 2))[0, 0, 0]
    close(turned[:4], [-1.984111, 1.959901, 2.462378, 4.019800])  # pairs (0, 2) and (1, 3)
    assert torch.equal(turned[4:], x[0, 0, 0, 4:])


def test_cache_key_and_sharing_offsets():
    rope, x = Rope(head_dim=2, layout="half"), torch.tensor([[[[1.0, 0.0]]]])
    close(rope.queries(x, range(1))[0, 0, 0], [1.0, 0.0], 0.0)
    close(rope.queries(x, range(5, 6))[0, 0, 0], [0.283662, -0.958924])


def test_cache_key_and_sharing_another_base():
    x = torch.tensor([[[[1.0, 1.0, 0.0, 0.0]]]])
    first, second = Rope(head_dim=4, layout="half"), Rope(head_dim=4, layout="half", base=100.0)
    for rope, cos in ((first, 0.995004), (second, 0.540302), (first, 0.995004)):
        close(rope.queries(x, range(10, 11))[0, 0, 0, 1], cos)


def test_sinusoid_construction_odd_width():
    rows = Sinusoidal(d_model=5).at(range(2))
    close(rows[0], [0.0, 1.0, 0.0, 1.0, 0.0], 0.0)
    close(rows[1], [0.841471, 0.540302, 0.025116, 0.999685, 0.000631])


@pytest.mark.parametrize(
    ("layout", "spacing", "row"),
    [
        ("interleaved", "open", [0.841471, 0.540302, 0.010000, 0.999950]),
        ("sin_cos", "open", [0.841471, 0.010000, 0.540302, 0.999950]),
        ("sin_cos", "closed", [0.841471, 0.000100, 0.540302, 1.000000]),
    ],
)
def test_sinusoid_construction_three_conventions(layout, spacing, row):
    close(Sinusoidal(d_model=4, layout=layout, spacing=spacing).at(range(1, 2))[0], row)


@pytest.mark.parametrize(
    ("position", "message"),
    [(-1, r"0\.\.3, got -1; a negative"), (4, r"0\.\.3, got 4, so length 5 > 4"), (2.0, r"whole positions .*float32 \[1\]")],
)
def test_cos_sin_range_of_a_table(position, message):
    with pytest.raises(ValueError, match=message):
        Learned(max_length=4, d_model=2).at(torch.tensor([position]))


@pytest.mark.parametrize("overflow", ["error", "wrap", "clamp"])
@pytest.mark.parametrize("positions", [torch.tensor([[2, -1]]), range(-1, 1)])
def test_cos_sin_range_minus_one_has_no_row(overflow, positions):
    with pytest.raises(ValueError, match=r"got -1; a negative position has no row"):
        Learned(max_length=4, d_model=2, overflow=overflow).at(positions)


def test_cos_sin_range_a_formula_takes_any_integer():
    rope, x = Rope(head_dim=8, layout="half"), torch.randn(1, 2, 3, 8)
    back = rope.shift(rope.queries(x, torch.tensor([-1, -1, -1])), 1)
    assert (back - x).abs().max() < 1e-6
    turned = rope.queries(torch.tensor([[[[1.0, 0, 0, 0, 0, 0, 0, 0]]]]), range(-1, 0))
    close(turned[0, 0, 0, [0, 4]], [0.540302, -0.841471])
