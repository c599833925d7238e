"""AxialRope against the reference's float64 loops, and what the coordinates of a patch must and must not do."""

import pickle

import pytest
import torch
from axes_tools import FLOAT32, FLOAT64, drawn, error, in_loops
from torch._dynamo.testing import CompileCounter

import ordinate
from ordinate import AxialRope, Rope, positions, reference
from ordinate.kernels import cpu

SETTINGS = {
    "rows first": {"layout": "half"},
    "neighbours": {"layout": "interleaved"},
    "columns first": {"layout": "half", "axis_order": (1, 0)},
    "in turn": {"layout": "half", "order": "alternating", "axis_order": (1, 0)},
    "neighbours in turn": {"layout": "interleaved", "order": "alternating"},
    "halves of each axis": {"layout": "half_by_axis", "base": 100.0},
    "a base an axis": {"layout": "half", "base": (10000.0, 50.0)},
    "even and odd": {"layout": "half", "spectrum": "shared"},
    "three axes": {"layout": "half", "axes": 3},
    "three in turn": {
        "layout": "interleaved",
        "axes": 3,
        "order": "alternating",
        "axis_order": (2, 0, 1),
        "base": (10.0, 20.0, 30.0),
    },
    "three even and odd": {"layout": "half", "axes": 3, "spectrum": "shared"},
    "partial": {"layout": "half", "rotary_dim": 12},
}
WIDTH = 26
each_setting = pytest.mark.parametrize("name", SETTINGS)


def oracle(name):
    told = dict(SETTINGS[name])
    axes = told.pop("axes", 2)
    told["axis_order"] = told.get("axis_order", tuple(range(axes)))
    base = told.pop("base", 10000.0)
    told["bases"] = base if isinstance(base, tuple) else (base,) * axes
    told.setdefault("rotary_dim", WIDTH // (2 * axes) * 2 * axes)
    return axes, lambda x, places: reference.axial_rope(x, places, **told)


@each_setting
def test_values(name):
    axes, turn = oracle(name)
    rope = AxialRope(head_dim=WIDTH, **SETTINGS[name])
    # 24 of 26 entries turn, or 12; 3 x 4 patches and a row of each their own
    image = positions.grid(3, 4, frames=None if axes == 2 else 2)
    n = image.shape[1]
    rows = torch.stack((image[0], image[0].flip(0) * 7 - 5))
    for places in (image, rows, rows.double() * 0.37):
        x = drawn(2, 3, n, WIDTH)
        assert error(rope.queries(x, places), in_loops(x, places, turn)) < FLOAT64
        single = in_loops(x.float(), places, turn)
        assert error(rope.queries(x.float(), rope.at(places)), single) < FLOAT32
        assert error(rope(x.float(), x.float()[:, :1], places)[1], single[:, :1]) < FLOAT32
        by_token = rope.keys(x.float().transpose(1, 2), places, sequence_dim=-3).transpose(1, 2)
        assert error(by_token, single) < FLOAT32


@each_setting
def test_a_patch_at_the_origin_does_not_turn_and_norms_are_kept(name):
    axes, _ = oracle(name)
    rope, x = AxialRope(head_dim=WIDTH, **SETTINGS[name]), drawn(1, 2, 3, WIDTH, dtype=torch.float32)
    assert torch.equal(rope.queries(x, torch.zeros(1, 3, axes, dtype=torch.int64)), x)
    far = torch.tensor([[[2**31 - 1, -70000, 12345][:axes]] * 3])
    assert error(rope.queries(x, far).norm(dim=-1), x.double().norm(dim=-1)) < 3e-6
    assert error(rope.queries(rope.queries(x, far), -far), x.double()) < 3e-6


@each_setting
def test_scores_depend_on_the_differences_of_both_coordinates(name):
    axes, _ = oracle(name)
    rope = AxialRope(head_dim=WIDTH, **SETTINGS[name])
    q, k = drawn(1, 1, 1, WIDTH), drawn(1, 1, 1, WIDTH, seed=1)

    def score(at, to):
        return (rope.queries(q, torch.tensor([[at]])) * rope.keys(k, torch.tensor([[to]]))).sum().item()

    here, there = [3, 1, 4][:axes], [0, 5, 2][:axes]
    moved = [[place + by for place, by in zip(where, (11, -6, 2), strict=False)] for where in (here, there)]
    assert score(*moved) == pytest.approx(score(here, there), abs=1e-12)
    for axis in range(axes):
        other = list(here)
        other[axis] += 1
        assert abs(score(other, there) - score(here, there)) > 1e-3, axis


def test_half_width_of_each_axis_is_rope():
    """With one coordinate at 0 the other axis' pairs are those of a RoPE of half the width."""
    rope, x = AxialRope(head_dim=16, layout="interleaved"), drawn(1, 2, 5, 16)
    rows = torch.stack((torch.arange(5), torch.zeros(5, dtype=torch.int64)), dim=-1)[None]
    small = Rope(head_dim=8, layout="interleaved")
    assert torch.equal(rope.queries(x, rows)[..., :8], small.queries(x[..., :8], range(5)))
    assert torch.equal(rope.queries(x, rows)[..., 8:], x[..., 8:])
    columns = rows.flip(-1)
    assert torch.equal(rope.queries(x, columns)[..., 8:], small.queries(x[..., 8:], range(5)))


@each_setting
def test_float32_phases_round_the_frequency_and_the_product(name):
    axes, _ = oracle(name)
    exact = AxialRope(head_dim=WIDTH, **SETTINGS[name])
    rounded = AxialRope(head_dim=WIDTH, phases="float32", **SETTINGS[name])
    places = positions.grid(2, 3, frames=None if axes == 2 else 2, first=70001)
    angles = torch.stack([places[..., axis] for axis in exact._axis_of_pair], dim=-1).float()
    angles = angles * torch.tensor(rounded.inverse_frequencies, dtype=torch.float32)
    assert torch.equal(rounded.at(places).cos, angles.cos())
    assert torch.equal(rounded.at(places).sin, angles.sin())
    for ours, theirs in zip(rounded.inverse_frequencies, exact.inverse_frequencies, strict=True):
        assert ours == pytest.approx(theirs, rel=3e-7)
    assert not torch.equal(exact.at(places).cos, rounded.at(places).cos)


def test_shift_and_attention():
    rope = AxialRope(head_dim=8, layout="half")
    q, k, v = (drawn(2, heads, 12, 8, seed=heads, dtype=torch.float32) for heads in (4, 2, 2))
    image = positions.grid(3, 4)
    told = {"scheme": rope, "causal": False}
    want = ordinate.attend(q, k, v, q_positions=image, k_positions=image, **told)
    moved = image + torch.tensor([100, -30])
    assert error(ordinate.attend(q, k, v, q_positions=moved, k_positions=moved, **told), want.double()) < 2e-6
    at = ordinate.attention_at(rope, image, image)
    assert torch.equal(ordinate.attend(q, k, v, q_positions=image, k_positions=image, at=at, **told), want)
    transposed = image.flip(-1)
    assert error(ordinate.attend(q, k, v, q_positions=transposed, k_positions=transposed, **told), want.double()) > 1e-3
    turned = rope.keys(k, image)
    assert error(rope.shift(turned, 5), rope.keys(k, image + 5).double()) < 2e-6
    by = torch.tensor([[[2, -1]]]).expand(1, 12, 2)
    assert error(rope.shift(turned, by), rope.keys(k, image + by).double()) < 2e-6
    layer = ordinate.MultiheadAttention(d_model=32, n_heads=4, scheme=rope, causal=False)
    assert layer(drawn(2, 12, 32, dtype=torch.float32), image).shape == (2, 12, 32)


def test_a_causal_mask_over_patches_needs_an_order():
    rope, x, image = AxialRope(head_dim=8, layout="half"), drawn(1, 2, 6, 8), positions.grid(2, 3)
    told = {"scheme": rope, "q_positions": image, "k_positions": image}
    for hides in ({"causal": True}, {"causal": False, "window": 2}):
        with pytest.raises(ValueError, match=r"order: needed order=\(q_order, k_order\) beside positions with several coordinates"):
            ordinate.attend(x, x, x, **told, **hides)
    got = ordinate.attend(x, x, x, **told, causal=True, order=(range(6), range(6)))
    for n in range(1, 7):
        places = {"q_positions": image[:, n - 1 : n], "k_positions": image[:, :n]}
        last = ordinate.attend(x[:, :, n - 1 : n], x[:, :, :n], x[:, :, :n], scheme=rope, causal=False, **places)
        assert error(got[:, :, n - 1 : n], last) < 1e-12


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (range(6), r"needed a tensor \[B, T, 2\], 2 coordinates a token, got range\(0, 6\); ordinate.positions.grid"),
        (torch.arange(6), r"needed shape \[B, T, 2\], 2 coordinates a token, got int64 \[6\]; ordinate.positions.grid"),
        (torch.zeros(6, 2, dtype=torch.int64), r"got int64 \[6, 2\]; one row for all is positions\[None\]"),
        (torch.zeros(2, 1, 6, dtype=torch.int64), r"got int64 \[2, 1, 6\]; coordinates come last here: positions.movedim\(0, -1\)"),
        (torch.zeros(1, 6, 3, dtype=torch.int64), r"needed shape \[B, T, 2\], 2 coordinates a token, got int64 \[1, 6, 3\]"),
        (torch.zeros(1, 5, 2, dtype=torch.int64), r"needed 6 positions, one a token, got 5"),
        (torch.zeros(3, 6, 2, dtype=torch.int64), r"needed 1 rows, one a batch row \(or 1\), got 3"),
        (torch.zeros(1, 6, 2, dtype=torch.bfloat16), r"lower precision merges positions"),
    ],
)
def test_positions_of_other_shapes_are_refused(places, said):
    rope, x = AxialRope(head_dim=8, layout="half"), drawn(1, 2, 6, 8)
    with pytest.raises((ValueError, TypeError), match=said):
        rope.queries(x, places)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rotary_dim": 6}, r"rotary_dim: needed a multiple of 4 \(2 x axes\) from 4 to 8, got 6"),
        ({"rotary_dim": 12}, "rotary_dim: needed a multiple of 4"),
        ({"layout": "Half"}, "layout: needed one of half, half_by_axis, interleaved, got 'Half'"),
        ({"base": (1.0, 2.0, 3.0)}, "base: needed one number, or one for each of 2 axes, got 3"),
        ({"base": (10.0, -2.0)}, "base: needed a positive finite number, got -2.0"),
        ({"base": (1.0, 2.0), "spectrum": "shared"}, "base: needed one number with spectrum='shared'"),
        ({"axis_order": (0, 0)}, "axis_order: needed the numbers 0 to 1, each once"),
        ({"axes": 1}, "axes: needed a whole number >= 2, got 1"),
        ({"axes": 5}, "axes: needed at most 4, a pair each of head_dim=8, got 5"),
        ({"axes": 3, "rotary_dim": 8}, r"rotary_dim: needed a multiple of 6 \(2 x axes\) from 6 to 8, got 8"),
        ({"axis_order": 5}, "axis_order: needed whole numbers in one row, got int 5"),
        ({"axis_order": (1.0, 0)}, "axis_order: needed a whole number >= 0, got float 1.0"),
        ({"layout": "half_by_axis", "order": "alternating"}, "order: needed 'blocks' with layout='half_by_axis'"),
        ({"order": "mixed", "phases": "f32"}, "order: needed one of blocks, alternating, got 'mixed'; phases: needed one of"),
    ],
)
def test_wrong_settings_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        AxialRope(**{"head_dim": 8, "layout": "half", **wrong})


@each_setting
@pytest.mark.parametrize("shape", [(1, 2, 0), (0, 2, 3), (2, 0, 3)])
@pytest.mark.parametrize("compiled", [True, False])
def test_nothing_to_turn(name, shape, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(cpu, "CALL", None)
    rope, x = AxialRope(head_dim=WIDTH, **SETTINGS[name]), torch.zeros(*shape, WIDTH)
    assert rope.queries(x, torch.zeros(1, shape[2], rope.axes, dtype=torch.int64)).shape == x.shape


@each_setting
def test_written_down_and_read_back(name):
    rope = AxialRope(head_dim=WIDTH, **SETTINGS[name])
    again = eval(repr(rope), {"AxialRope": AxialRope})
    assert repr(again) == repr(rope)
    assert (
        again.at(positions.grid(1, 2) if rope.axes == 2 else positions.grid(1, 2, frames=2)).made_by
        == again._made_by
        == rope._made_by
    )
    assert pickle.loads(pickle.dumps(rope))._made_by == rope._made_by
    assert not rope.state_dict()
    assert repr(rope.to(torch.bfloat16)) == repr(again)


def test_what_was_made_by_another_scheme_is_refused():
    """Equal numbers of pairs and frequencies, other coordinates: only the name of what made it tells."""
    x, image = drawn(1, 2, 6, 8), positions.grid(2, 3)
    at = AxialRope(head_dim=8, layout="half").at(image)
    with pytest.raises(ValueError, match="needed at made with this scheme's frequencies"):
        AxialRope(head_dim=8, layout="half", axis_order=(1, 0)).queries(x, at)


def test_compiled_in_one_graph_over_sizes():
    rope = AxialRope(head_dim=8, layout="half")
    counter = CompileCounter()
    torch._dynamo.reset()
    fast = torch.compile(lambda x, places: rope.queries(x, places), fullgraph=True, backend=counter)
    for height, width in ((2, 3), (4, 5), (3, 7)):
        x, image = drawn(1, 2, height * width, 8, dtype=torch.float32), positions.grid(height, width)
        assert torch.equal(fast(x, image), rope.queries(x, image))
    assert counter.frame_count <= 2
    torch._dynamo.reset()


def test_gradients():
    rope, image = AxialRope(head_dim=8, layout="interleaved", order="alternating"), positions.grid(1, 3)
    assert torch.autograd.gradcheck(lambda x: rope.queries(x, image), drawn(1, 1, 3, 8).requires_grad_())
