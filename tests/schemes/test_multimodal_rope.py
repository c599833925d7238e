"""MultimodalRope against the reference's float64 loops; on text it is RoPE, and passes all that RoPE does."""

import pickle

import pytest
import torch
from axes_tools import FLOAT32, FLOAT64, drawn, error, in_loops

import ordinate
from cases import CASES, Case
from contract_checks import CHECKS, is_hole
from ordinate import MultimodalRope, Rope, reference
from ordinate.scaling import DynamicNTK, Linear, YaRN

# Pair by pair, from the published code: sections of Qwen2-VL, Qwen3-VL, Qwen3.5 and ERNIE 4.5-VL made small.
PATTERNS = {
    ("contiguous", (2, 3, 3)): (0, 0, 1, 1, 1, 2, 2, 2),
    ("interleaved", (4, 2, 2)): (0, 1, 2, 0, 1, 2, 0, 0),
    ("interleaved", (3, 3, 2)): (0, 1, 2, 0, 1, 2, 0, 1),
    ("interleaved", (4, 3, 1)): (0, 1, 2, 0, 1, 0, 0, 1),
    ("interleaved", (4, 4)): (0, 1, 0, 1, 0, 1, 0, 1),
    ("space_first", (2, 3, 3)): (1, 2, 1, 2, 1, 2, 0, 0),
    ("contiguous", (2, 2, 2, 2)): (0, 0, 1, 1, 2, 2, 3, 3),
}
each_pattern = pytest.mark.parametrize(("order", "sections"), PATTERNS)
both_layouts = pytest.mark.parametrize("layout", ["half", "interleaved"])


@each_pattern
@both_layouts
def test_values(order, sections, layout):
    rope = MultimodalRope(head_dim=16, layout=layout, sections=sections, order=order, base=500.0)
    assert rope.axis_of_pair == PATTERNS[order, sections]
    places = torch.randint(-20, 40, (2, 7, len(sections)), generator=torch.Generator().manual_seed(0))
    x = drawn(2, 3, 7, 16)

    def turn(rows, where):
        return reference.multimodal_rope(rows, where, PATTERNS[order, sections], layout, 500.0)

    assert error(rope.queries(x, places), in_loops(x, places, turn)) < FLOAT64
    single = in_loops(x.float(), places[:1], turn)
    assert error(rope.keys(x.float(), rope.at(places[:1])), single) < FLOAT32
    by_token = rope.queries(x.float().transpose(1, 2), places[:1], sequence_dim=-3).transpose(1, 2)
    assert error(by_token, single) < FLOAT32


@each_pattern
@both_layouts
def test_the_last_entries_turn(order, sections, layout):
    """As heads made from a latent vector have it: the first entries stay."""
    rope = MultimodalRope(head_dim=22, layout=layout, sections=sections, order=order, base=500.0, rotary_start=6)
    assert (rope.rotary_dim, rope.rotary_start) == (16, 6)
    places = torch.randint(-20, 40, (1, 7, len(sections)), generator=torch.Generator().manual_seed(0))
    x = drawn(1, 3, 7, 22)
    turned = rope.queries(x, places)
    assert torch.equal(turned[..., :6], x[..., :6])

    def turn(rows, where):
        return reference.multimodal_rope(rows, where, PATTERNS[order, sections], layout, 500.0)

    assert error(turned[..., 6:], in_loops(x[..., 6:], places, turn)) < FLOAT64


@each_pattern
@both_layouts
def test_one_position_for_all_coordinates_is_rope(order, sections, layout):
    axes = len(sections)
    rope = MultimodalRope(head_dim=20, layout=layout, sections=sections, order=order, rotary_dim=16, scaling=Linear(factor=4.0))
    plain = Rope(head_dim=20, layout=layout, rotary_dim=16, scaling=Linear(factor=4.0))
    x = drawn(2, 3, 5, 20, dtype=torch.float32)
    for places in (range(3, 8), torch.tensor([5, 0, 9, 3, 1]), torch.tensor([[5, 0, 9, 3, 1], [0, 1, 2, 3, 4]])):
        want = plain.queries(x, places)
        assert torch.equal(rope.queries(x, places), want)
        whole = torch.as_tensor(list(places)) if isinstance(places, range) else places
        spread = (whole if whole.ndim == 2 else whole[None])[..., None].expand(-1, -1, axes)
        assert torch.equal(rope.queries(x, spread), want)


def test_each_coordinate_turns_its_section_only():
    rope, x = MultimodalRope(head_dim=16, layout="interleaved", sections=(2, 3, 3), order="contiguous"), drawn(1, 1, 1, 16)
    for axis, entries in enumerate((range(4), range(4, 10), range(10, 16))):
        place = torch.zeros(1, 1, 3, dtype=torch.int64)
        place[..., axis] = 9
        moved = (rope.queries(x, place) != x).flatten().nonzero().flatten().tolist()
        assert moved == list(entries)


@pytest.mark.parametrize("check", [name for name in CHECKS if not is_hole(name, CASES["rope half"])])
def test_contract_on_text(check):
    def make(**changed):
        return MultimodalRope(**{"head_dim": 8, "layout": "half", "sections": (1, 2, 1), "order": "contiguous", **changed})

    case = Case("multimodal", "rope", make, lambda: make(base=500000.0), lambda x, at: reference.rope(x, at, "half"))
    CHECKS[check](case)


def test_causal_attention_of_an_image_between_texts():
    """Order is that of the sequence; the second text starts after the image's larger side (3 + 1x2x3 patches + 2)."""
    rope = MultimodalRope(head_dim=16, layout="half", sections=(2, 3, 3), order="contiguous")
    image = [[3, 3 + y, 3 + x] for y in range(2) for x in range(3)]
    places = torch.tensor([[[n] * 3 for n in range(3)] + image + [[n] * 3 for n in (6, 7)]])
    q, k, v = (drawn(1, heads, 11, 16, seed=heads) for heads in (4, 2, 2))
    order = (range(11), range(11))
    full = ordinate.attend(q, k, v, scheme=rope, q_positions=places, k_positions=places, causal=True, order=order)
    for n in range(11):
        one = ordinate.attend(
            q[:, :, n : n + 1],
            k[:, :, : n + 1],
            v[:, :, : n + 1],
            scheme=rope,
            q_positions=places[:, n : n + 1],
            k_positions=places[:, : n + 1],
            causal=False,
        )
        assert error(full[:, :, n : n + 1], one) < 1e-12
    with pytest.raises(ValueError, match="order: needed order="):
        ordinate.attend(q, k, v, scheme=rope, q_positions=places, k_positions=places, causal=True)


def test_cached_decoding_with_coordinates():
    rope = MultimodalRope(head_dim=8, layout="half", sections=(1, 2, 1), order="contiguous")
    layer = ordinate.MultiheadAttention(d_model=16, n_heads=2, scheme=rope, causal=True).double()
    places = torch.tensor([[[0, 0, 0], [1, 1, 1], [1, 1, 2], [1, 2, 1], [1, 2, 2], [3, 3, 3], [4, 4, 4]]])
    x = drawn(1, 7, 16)
    full = layer(x, places, order=(range(7), range(7)))
    cache, parts = ordinate.KeyValueCache(), []
    for start, stop in ((0, 5), (5, 6), (6, 7)):
        at = places[:, start:stop] if start < 5 else places[:, start:stop, 0]  # text: one number will do
        parts.append(layer(x[:, start:stop], at, cache=cache, order=(range(start, stop), range(stop))))
    assert error(torch.cat(parts, dim=1), full) < 1e-12
    assert torch.equal(cache.positions, places)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (torch.zeros(3, 1, 6, dtype=torch.int64), r"got int64 \[3, 1, 6\]; coordinates come last here: positions.movedim\(0, -1\)"),
        (torch.zeros(1, 6, 2, dtype=torch.int64), r"needed shape \[B, T, 3\], 3 coordinates a token, got int64 \[1, 6, 2\]"),
        (torch.zeros(1, 1, 6, 3, dtype=torch.int64), r"needed shape \[B, T, 3\]"),
        (torch.zeros(1, 6, 3), None),
    ],
)
def test_positions_of_other_shapes_are_refused(places, said):
    rope, x = MultimodalRope(head_dim=8, layout="half", sections=(1, 2, 1), order="contiguous"), drawn(1, 2, 6, 8)
    if said is None:
        assert torch.equal(rope.queries(x, places), x)
        return
    with pytest.raises(ValueError, match=said):
        rope.queries(x, places)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sections": (2, 2, 2)}, r"sections: needed two numbers or more that add up to 8 pairs, got \(2, 2, 2\)"),
        ({"sections": (8,)}, "sections: needed two numbers or more"),
        ({"sections": (2, 4, 2), "order": "interleaved"}, "sections: needed room for the turns of every axis"),
        ({"sections": (2, 2, 4), "order": "space_first"}, "sections: needed equal ones after the first"),
        ({"sections": (2.0, 3, 3)}, "sections: needed a whole number"),
        ({"sections": 8}, "sections: needed whole numbers in one row, got int 8"),
        ({"order": "mixed"}, "order: needed one of contiguous, interleaved, space_first, got 'mixed'"),
        ({"rotary_dim": 15}, "rotary_dim: needed an even number"),
        ({"length": 5}, "length: needed a scaling rule beside it"),
    ],
)
def test_wrong_settings_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        MultimodalRope(**{"head_dim": 16, "layout": "half", "sections": (2, 3, 3), "order": "contiguous", **wrong})


def test_scaling_rules_and_lengths():
    told = {"head_dim": 16, "layout": "half"}
    axes = {"sections": (2, 3, 3), "order": "interleaved"} | {"sections": (3, 3, 2)}
    for rule in (YaRN(factor=4.0, original_length=64), Linear(factor=2.0)):
        rope, plain = MultimodalRope(**told, **axes, scaling=rule), Rope(**told, scaling=rule)
        assert rope.inverse_frequencies == plain.inverse_frequencies
        assert rope.magnitude == plain.magnitude
        assert rope.softmax_scale(16) == plain.softmax_scale(16)
    rope = MultimodalRope(**told, **axes, scaling=DynamicNTK(factor=2.0, original_length=8))
    far = torch.full((1, 1, 3), 8)
    with pytest.raises(ValueError, match=r"needed 0..7, since DynamicNTK changes the frequencies"):
        rope.at(far)
    plain = Rope(**told, scaling=DynamicNTK(factor=2.0, original_length=8)).at_length(20)
    assert rope.at_length(20).inverse_frequencies == plain.inverse_frequencies
    x = drawn(1, 1, 1, 16, dtype=torch.float32)
    long = rope.at_length(20)
    again = long.returned(rope.keys(x, far - 5), far - 5, turned_by=rope)
    assert error(again, long.keys(x, far - 5).double()) < 1e-6


@each_pattern
def test_written_down_and_read_back(order, sections):
    rope = MultimodalRope(head_dim=16, layout="half", sections=sections, order=order, scaling=Linear(factor=2.0))
    again = eval(repr(rope), {"MultimodalRope": MultimodalRope, "Linear": Linear})
    assert repr(again) == repr(rope)
    assert again._made_by == rope._made_by == pickle.loads(pickle.dumps(rope))._made_by
