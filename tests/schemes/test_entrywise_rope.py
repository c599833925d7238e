"""EntrywiseRope against the reference's float64 loops; and that it is no rotation, as it says."""

import pickle

import pytest
import torch
from axes_tools import FLOAT32, drawn, error, in_loops

import ordinate
from ordinate import EntrywiseRope, Rope, positions, reference
from ordinate.scaling import NTK, DynamicNTK, YaRN
from ordinate.schemes.angles import AngleScheme
from ordinate.schemes.rotary import RotaryScheme

SETTINGS = {
    "sections over halves": {"layout": "half", "shares": (8, 4, 6, 6), "spectrum": "shared"},
    "one share is empty": {"layout": "half", "shares": (8, 0, 16), "spectrum": "shared", "base": 500.0},
    "neighbours, one row": {"layout": "interleaved", "shares": (10, 14), "spectrum": "shared"},
    "thirds": {"layout": "interleaved", "shares": (8, 8, 8), "spectrum": "each"},
    "unequal, each its own": {"layout": "half", "shares": (4, 12, 6), "spectrum": "each", "base": 50.0},
}
WIDTH = 26
LOOPS = 4e-14  # the loops round angles up to 40 to float64, and multiply entries up to 4
each_setting = pytest.mark.parametrize("name", SETTINGS)


def made(name, **more):
    return EntrywiseRope(head_dim=WIDTH, **SETTINGS[name], **more)


def places_of(name, rows=2, length=7, most=40):
    shape = (rows, length, len(SETTINGS[name]["shares"]))
    return torch.randint(-20, most, shape, generator=torch.Generator().manual_seed(0))


@each_setting
def test_values(name):
    rope, x = made(name), drawn(2, 3, 7, WIDTH)
    for places in (places_of(name), places_of(name, rows=1), places_of(name).double() * 0.37):
        wanted = in_loops(x, places, lambda rows, where: reference.entrywise_rope(rows, where, **SETTINGS[name]))
        assert error(rope.queries(x, places), wanted) < LOOPS
        single = in_loops(x.float(), places, lambda rows, where: reference.entrywise_rope(rows, where, **SETTINGS[name]))
        assert error(rope.keys(x.float(), rope.at(places)), single) < FLOAT32
        assert error(rope(x.float(), x.float()[:, :1], places)[1], single[:, :1]) < FLOAT32
        by_token = rope.queries(x.float().transpose(1, 2), places, sequence_dim=-3).transpose(1, 2)
        assert error(by_token, single) < FLOAT32
    assert torch.equal(rope.queries(x, places)[..., rope.rotary_dim :], x[..., rope.rotary_dim :])
    assert torch.equal(rope.queries(x, torch.zeros_like(places)), x)


@each_setting
def test_it_is_no_rotation(name):
    """Norms change, the negative position does not undo it, scores are not those of the difference; and none of that is offered."""
    rope, x, places = made(name), drawn(2, 3, 7, WIDTH), places_of(name)
    turned = rope.queries(x, places)
    assert (turned.norm(dim=-1) / x.norm(dim=-1) - 1).abs().max() > 0.05
    assert error(rope.queries(turned, -places), x) > 0.1
    scores = [rope.queries(x, places + by) @ rope.keys(x, places + by).mT for by in (0, 9)]
    assert error(*scores) > 0.5
    assert isinstance(rope, AngleScheme)
    assert not isinstance(rope, RotaryScheme)
    assert not hasattr(rope, "shift")
    assert not hasattr(rope, "returned")


@pytest.mark.parametrize("rule", [None, NTK(alpha=4.0), YaRN(factor=4.0, original_length=64)])
def test_on_text_sections_over_halves_are_rope(rule):
    told = {"head_dim": WIDTH, "layout": "half", "phases": "float32", "arithmetic": "input", "scaling": rule}
    rope, plain = EntrywiseRope(shares=(8, 4, 6, 6), spectrum="shared", **told), Rope(rotary_dim=24, **told)
    for dtype in (torch.float32, torch.bfloat16):
        x = drawn(2, 3, 5, WIDTH, dtype=dtype)
        assert torch.equal(rope.queries(x, range(5)), plain.queries(x, range(5)))
        rows = torch.tensor([[3, 4, 5, 6, 7], [0, 0, 1, 2, 3]])
        assert torch.equal(rope.keys(x, rows), plain.keys(x, rows))
        assert torch.equal(rope.keys(x, rows[..., None].expand(2, 5, 4)), plain.keys(x, rows))
    assert rope.magnitude == plain.magnitude
    assert rope.softmax_scale(64) == plain.softmax_scale(64)


def test_a_rule_that_needs_the_length():
    rule = DynamicNTK(factor=2.0, original_length=8)
    rope = made("sections over halves", scaling=rule)
    plain = Rope(head_dim=24, layout="half", scaling=rule)
    assert rope.at_length(32).inverse_frequencies == 2 * plain.at_length(32).inverse_frequencies
    assert rope.at_length(32).length == 32
    with pytest.raises(ValueError, match=r"positions: needed 0..7, .* use at_length"):
        rope.at(torch.full((1, 2, 4), 9))


@each_setting
def test_float32_phases_round_the_frequency_and_the_product(name):
    rounded, places = made(name, phases="float32"), places_of(name, most=70001)
    chosen = torch.stack([places[..., axis] for axis in rounded.axis_of_entry], dim=-1).float()
    angles = chosen * torch.tensor(rounded.inverse_frequencies, dtype=torch.float32)
    assert torch.equal(rounded.at(places).cos, angles.cos())
    assert torch.equal(rounded.at(places).sin, angles.sin())
    assert not torch.equal(made(name).at(places).cos, rounded.at(places).cos)
    assert rounded.inverse_frequencies == pytest.approx(made(name).inverse_frequencies, rel=3e-7)


@each_setting
def test_phases_of_the_input_round_to_its_dtype(name):
    """In float32 they are those of phases="float32"; in bfloat16 a position beyond 256 is rounded before it is multiplied."""
    rope, places = made(name, phases="input", arithmetic="input"), places_of(name)
    x = drawn(2, 3, 7, WIDTH)
    same = made(name, phases="float32", arithmetic="input")
    assert torch.equal(rope.queries(x.float(), places), same.queries(x.float(), places))
    low = rope.queries(x.bfloat16(), places)
    assert torch.equal(low, rope.queries(x.bfloat16(), rope.at(places)))
    assert not torch.equal(low, same.queries(x.bfloat16(), places))
    wanted = in_loops(x, places, lambda rows, where: reference.entrywise_rope(rows, where, **SETTINGS[name]))
    assert error(rope.queries(x, places), wanted) < LOOPS
    near, far = torch.full_like(places, 256), torch.full_like(places, 257)
    assert torch.equal(rope.queries(x.bfloat16(), near), rope.queries(x.bfloat16(), far))
    assert not torch.equal(rope.queries(x.float(), near), rope.queries(x.float(), far))


def test_attention_over_patches():
    rope, image = (
        EntrywiseRope(head_dim=14, layout="interleaved", shares=(4, 4, 4), spectrum="each"),
        positions.grid(2, 3, frames=2),
    )
    q, k, v = (drawn(2, heads, 12, 14, seed=heads, dtype=torch.float32) for heads in (4, 2, 2))
    told = {"scheme": rope, "q_positions": image, "k_positions": image, "causal": False}
    want = ordinate.attend(q, k, v, **told)
    by_hand = torch.nn.functional.scaled_dot_product_attention(rope.queries(q, image), rope.keys(k, image), v, enable_gqa=True)
    assert error(want, by_hand.double()) < 2e-6
    assert torch.equal(ordinate.attend(q, k, v, at=ordinate.attention_at(rope, image, image), **told), want)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"shares": (4, 3)}, r"shares: needed two even numbers or more, each at least 2, together at most 8, got \(4, 3\)"),
        ({"shares": (8,)}, "shares: needed two even numbers or more"),
        ({"shares": (8, 2)}, "shares: needed .* together at most 8"),
        ({"shares": (8, 0)}, "shares: needed .* each at least 2"),
        ({"shares": (0, 0), "spectrum": "shared"}, "shares: needed .* each at least 0"),
        ({"layout": "Half"}, "layout: needed one of half, interleaved, got 'Half'"),
        (
            {"spectrum": "own", "phases": "f32"},
            "spectrum: needed one of each, shared, got 'own'; phases: needed one of exact, float32",
        ),
        ({"base": -1.0}, "base: needed a positive finite number"),
        ({"length": 8}, "length: needed a scaling rule"),
        ({"scaling": NTK(alpha=2.0)}, "scaling: needed spectrum='shared' and phases 'exact' or 'float32' beside it"),
        ({"scaling": NTK(alpha=2.0), "spectrum": "shared", "phases": "input"}, "scaling: needed spectrum='shared'"),
    ],
)
def test_wrong_settings_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        EntrywiseRope(**{"head_dim": 8, "layout": "half", "shares": (4, 4), "spectrum": "each", **wrong})


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (range(6), r"needed a tensor \[B, T, 2\], 2 coordinates a token"),
        (torch.zeros(2, 1, 6, dtype=torch.int64), "coordinates come last here"),
        (torch.zeros(1, 6, 3, dtype=torch.int64), r"needed shape \[B, T, 2\]"),
    ],
)
def test_positions_of_other_shapes_are_refused(places, said):
    rope = EntrywiseRope(head_dim=8, layout="half", shares=(4, 4), spectrum="each")
    with pytest.raises((ValueError, TypeError), match=said):
        rope.queries(drawn(1, 2, 6, 8), places)


@each_setting
def test_written_down_and_read_back(name):
    rope = made(name, phases="float32")
    again = eval(repr(rope), {"EntrywiseRope": EntrywiseRope})
    assert repr(again) == repr(rope) == repr(pickle.loads(pickle.dumps(rope)))
    assert again._made_by == rope._made_by
    assert not rope.state_dict()
    other = EntrywiseRope(head_dim=WIDTH, **{**SETTINGS[name], "base": 7.0}, phases="float32")
    with pytest.raises(ValueError, match="needed at made with this scheme's frequencies"):
        other.queries(drawn(2, 1, 7, WIDTH), rope.at(places_of(name)))


def test_other_coordinates_with_equal_frequencies_are_told_apart():
    one, other = (EntrywiseRope(head_dim=8, layout="half", shares=shares, spectrum="shared") for shares in ((4, 4), (2, 6)))
    assert one.inverse_frequencies == other.inverse_frequencies
    with pytest.raises(ValueError, match="needed at made with this scheme's frequencies"):
        one.queries(drawn(1, 1, 2, 8), other.at(torch.ones(1, 2, 2)))


def test_gradients():
    rope = made("thirds")
    places = places_of("thirds", rows=1, length=2)
    assert torch.autograd.gradcheck(lambda x: rope.queries(x, places), drawn(1, 1, 2, WIDTH).requires_grad_())
