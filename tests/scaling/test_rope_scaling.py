"""Rope with a scaling rule: where its magnitude goes, lengths and cached keys, roundings, and rules as text."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys

import mpmath
import pytest
import torch

import ordinate.scaling
from contract_tools import draw, identical, near
from ordinate import KeyValueCache, MultiheadAttention, Rope, attend, reference
from ordinate.scaling import NTK, DynamicNTK, LearnedScale, Linear, Llama3, LongRoPE, Proportional, Rule, Turns, YaRN

SHORT, LONG = (1.0, 1.5, 2.0, 4.0), (1.25, 3.0, 8.0, 30.0)
RULES: dict[str, Rule] = {
    "linear": Linear(factor=4.0),
    "ntk": NTK(alpha=8.0),
    "dynamic": DynamicNTK(factor=2.0, original_length=4),
    "yarn": YaRN(factor=4.0, original_length=512),
    "yarn exact ramp": YaRN(factor=4.0, original_length=512, truncate=False, attention_factor=0.5),
    "deepseek": YaRN(factor=40.0, original_length=512, mscale=1.0, mscale_all_dim=0.707),
    "longrope": LongRoPE(short_factors=SHORT, long_factors=LONG, original_length=4, factor=8.0),
    "two magnitudes": LongRoPE(
        short_factors=SHORT, long_factors=LONG, original_length=4, factor=8.0, short_magnitude=1.25, long_magnitude=1.5
    ),
    "llama3": Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=200),
    "proportional": Proportional(proportion=0.5, factor=2.0),
    "learned": LearnedScale(logarithms=(0.1, -0.3, 0.0, 1.2), rule=YaRN(factor=4.0, original_length=512)),
    "turns": Turns(),
}
LENGTHS = (None, 3, 4, 5, 9)
PLACES = torch.tensor([4, 0, 17, 2, 9])
INSIDE = PLACES % 4  # within the original length of those that change beyond it, for no length told


def stretched(rule: Rule, length: int | None = None, **settings: object) -> Rope:
    return Rope(**{"head_dim": 8, "layout": "half", "scaling": rule, "length": length, **settings})


def with_magnitude(x: torch.Tensor, rope: Rope, magnitude: float, places: list[int]) -> torch.Tensor:
    """The turned entries of [T, D] times the magnitude, the others as they are; from loops."""
    start, stop = rope.rotary_start, rope.rotary_start + rope.rotary_dim
    settings = {"layout": rope.layout, "rotary_dim": rope.rotary_dim, "rotary_start": start}
    out = torch.from_numpy(
        reference.rope(x.double().numpy(), places, **settings, inverse_frequencies=rope.inverse_frequencies)
    ).clone()
    out[:, start:stop] *= magnitude
    return out


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(("head_dim", "start"), [(8, 0), (11, 0), (11, 2)])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("length", [3, 9])
def test_magnitude_multiplies_turned_entries_once(layout: str, head_dim: int, start: int, name: str, length: int) -> None:
    rule = RULES[name]
    rope = stretched(rule, length, layout=layout, head_dim=head_dim, rotary_dim=8, rotary_start=start)
    scaled = rule.apply(reference.rope_frequencies(10000.0, 8), base=10000.0, length=length)
    magnitude = scaled.magnitude
    near(torch.tensor(rope.inverse_frequencies), torch.tensor(scaled.inverse_frequencies), 1e-15)
    assert rope.magnitude == magnitude
    x = draw(1, 1, 5, head_dim, dtype=torch.float64)
    want = with_magnitude(x[0, 0], rope, magnitude, PLACES.tolist())
    for at in (PLACES, rope.at(PLACES)):
        for turn in (rope.queries, rope.keys):
            near(turn(x, at)[0, 0], want, 2e-14)
            near(turn(x.float(), at)[0, 0], want, 3e-6)
    for turned in rope(x, x, PLACES):
        near(turned[0, 0], want, 2e-14)
    moved = rope.shift(rope.keys(x, PLACES), 6)
    near(moved[0, 0], with_magnitude(x[0, 0], rope, magnitude, (PLACES + 6).tolist()), 2e-14)


@pytest.mark.parametrize("name", RULES)
def test_at_is_a_pure_rotation(name: str) -> None:
    cos, sin, _, _ = stretched(RULES[name], 9).at(PLACES)
    near(cos.double() ** 2 + sin.double() ** 2, torch.ones(5, 4), 3e-7)


def test_scores_carry_the_square_of_the_magnitude_and_the_softmax_factor() -> None:
    rope = stretched(RULES["deepseek"])
    magnitude, factor = (0.1 * math.log(40) + 1) / (0.0707 * math.log(40) + 1), (0.0707 * math.log(40) + 1) ** 2
    q, k, v = (draw(1, 2, 5, 8, seed=seed, dtype=torch.float64) for seed in range(3))
    at = {"layout": "half", "inverse_frequencies": rope.inverse_frequencies}
    for head in range(2):
        turned = [torch.from_numpy(reference.rope(x[0, head].numpy(), PLACES.tolist(), **at)) for x in (q, k)]
        scores = turned[0] @ turned[1].T * magnitude**2 * factor / math.sqrt(8)
        got = attend(q, k, v, scheme=rope, q_positions=PLACES, k_positions=PLACES, causal=False)
        near(got[0, head], scores.softmax(-1) @ v[0, head], 1e-14)
    for name, rule in RULES.items():
        assert abs(stretched(rule).softmax_scale(64) - (factor if name == "deepseek" else 1.0) / 8) < 1e-15


@pytest.mark.parametrize("name", ["dynamic", "longrope", "two magnitudes"])
def test_at_length_does_not_depend_on_what_came_before(name: str) -> None:
    first = stretched(RULES[name])
    x, rope, told = draw(1, 1, 5, 8), first, repr(first)
    for length in (9, 3, 5, 4, 100, 9):
        rope = rope.at_length(length)
        assert rope.length == length
        identical(rope.queries(x, PLACES), stretched(RULES[name], length).queries(x, PLACES))
    assert rope is not first
    assert repr(first) == told
    assert first.length is None
    identical(first.queries(x, INSIDE), stretched(RULES[name], 4).queries(x, INSIDE))


@pytest.mark.parametrize("name", ["linear", "ntk", "yarn", "llama3", "proportional"])
def test_rules_without_a_length_stay(name: str) -> None:
    rope = stretched(RULES[name])
    assert rope.at_length(10**6) is rope
    assert stretched(RULES[name], 7).inverse_frequencies == rope.inverse_frequencies


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["dynamic", "longrope", "two magnitudes"])
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_generation_across_the_original_length(dtype: torch.dtype, name: str, layout: str) -> None:
    """Original length 4, prompt 3, generation to 5: after ``returned`` every key equals a fresh forward at length 5."""
    x, tolerance = draw(2, 3, 5, 10, dtype=dtype), 3e-6 if dtype == torch.float32 else 1e-14
    rows = torch.tensor([[0, 1, 2, 3, 4], [7, 9, 2, 5, 6]])
    given = {"head_dim": 10, "rotary_dim": 8, "rotary_start": 1, "layout": layout}
    rope = stretched(RULES[name], 3, **given)
    cached = rope.keys(x[:, :, :3], rows[:, :3])
    for length in (4, 5):
        longer = rope.at_length(length)
        fresh = longer.keys(x[:, :, length - 1 : length], rows[:, length - 1 : length])
        cached = torch.cat((longer.returned(cached, rows[:, : length - 1], turned_by=rope), fresh), dim=2)
        rope = longer
    near(cached, stretched(RULES[name], 5, **given).keys(x, rows), tolerance)
    back = stretched(RULES[name], 4, **given)
    near(back.returned(cached, rows, turned_by=rope), back.keys(x, rows), tolerance)
    other_order = rope.returned(back.keys(x, rows).transpose(1, 2), rows, turned_by=back, sequence_dim=-3)
    near(other_order.transpose(1, 2), rope.keys(x, rows), tolerance)


@pytest.mark.parametrize("name", ["dynamic", "longrope"])
def test_angles_of_another_length_are_refused(name: str) -> None:
    short, long, x = stretched(RULES[name], 3), stretched(RULES[name], 5), draw(1, 1, 5, 8)
    identical(short.keys(x, stretched(RULES[name], 4).at(range(5))), short.keys(x, range(5)))
    identical(short.keys(x, stretched(RULES[name]).at(INSIDE)), short.keys(x, INSIDE))
    for rope, at in ((short, long.at(range(5))), (long, short.at(range(5))), (long, Rope(head_dim=8, layout="half").at(range(5)))):
        with pytest.raises(ValueError, match="needed at made with this scheme's frequencies"):
            rope.keys(x, at)


@pytest.mark.parametrize("name", ["dynamic", "longrope"])
def test_farther_positions_want_a_length(name: str) -> None:
    """Without one, the frequencies of short sequences would be used for a long one in silence."""
    rope, x = stretched(RULES[name]), draw(1, 1, 5, 8)
    for places in (range(5), range(4, -1, -1), torch.arange(5), torch.tensor([[0, 1, 2, 3, 4.0]])):
        for call in (rope.at, lambda p: rope.queries(x, p), lambda p: rope(x, x, p)):
            with pytest.raises(ValueError, match=r"needed 0\.\.3, since \w+ changes the frequencies .*, got 4; use at_length"):
                call(places)
    for places in (range(4), torch.tensor([3, 0]), range(0)):
        rope.at(places)
    rope.at_length(5).at(range(5))


@pytest.mark.parametrize("change", [{"layout": "interleaved"}, {"rotary_dim": 6}, {"head_dim": 10}, {"rotary_start": 1}])
def test_keys_of_other_entries_cannot_be_turned_again(change: dict[str, object]) -> None:
    rule = DynamicNTK(factor=2.0, original_length=4)
    given = {"head_dim": 9, "rotary_dim": 8}
    with pytest.raises(ValueError, match="turned_by: needed a Rope that turns the same entries"):
        stretched(rule, 9, **given).returned(draw(1, 1, 3, 9), range(3), turned_by=stretched(rule, **{**given, **change}))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", RULES)
def test_float32_phases_agree_to_rounding(name: str, length: int | None) -> None:
    exact, single = (stretched(RULES[name], length, phases=phases) for phases in ("exact", "float32"))
    for ours, theirs in zip(single.inverse_frequencies, exact.inverse_frequencies, strict=True):
        assert torch.tensor(ours, dtype=torch.float32).item() == ours
        assert abs(ours - theirs) <= 1e-6 * theirs  # some ten roundings of 2^-24
    assert single.magnitude == exact.magnitude
    x = draw(1, 1, 5, 8)
    places = INSIDE if length is None else PLACES
    near(single.queries(x, places), exact.queries(x, places), 1e-4)  # 17 radians times 1e-6, sizes up to 4


@pytest.mark.parametrize(("name", "length"), [("ntk", None), ("dynamic", 9), ("dynamic", 4), ("dynamic", 10**6)])
@pytest.mark.parametrize("width", [8, 64])
def test_larger_bases_are_as_exact_as_any(name: str, length: int | None, width: int) -> None:
    """cos and sin to 0.51 ulp of float32 at far positions; the base itself is one float64 number."""
    rule = RULES[name]
    base = mpmath.mpf(rule.source(10000.0, width, length)[0])
    places = [1, 131071, 10_000_019, 2**31 - 1, -(2**31) + 1]
    cos, sin, _, _ = stretched(rule, length, head_dim=width).at(torch.tensor(places))
    with mpmath.workdps(40):
        for row, place in enumerate(places):
            for i in range(width // 2):
                angle = place * base ** (-mpmath.mpf(2 * i) / width)
                for got, want in ((cos[row, i].item(), mpmath.cos(angle)), (sin[row, i].item(), mpmath.sin(angle))):
                    ulp = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(want), 2)) - 23)
                    assert abs(got - want) <= 0.51 * ulp, f"position {place}, pair {i}"


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", RULES)
def test_written_down_copied_and_read_back(name: str, length: int | None) -> None:
    rope, x, places = stretched(RULES[name], length), draw(1, 1, 5, 8), INSIDE if length is None else PLACES
    names = {"Rope": Rope, **vars(ordinate.scaling)}
    for again in (eval(repr(rope), names), pickle.loads(pickle.dumps(rope)), copy.deepcopy(rope)):
        assert repr(again) == repr(rope)
        assert (again.scaling, again.length) == (rope.scaling, rope.length)
        identical(again.queries(x, rope.at(places)), rope.queries(x, places))
        assert again.softmax_scale(8) == rope.softmax_scale(8)
    assert list(rope.state_dict()) == []
    for setting in ("scaling", "length"):
        with pytest.raises(AttributeError):
            setattr(rope, setting, None)


@pytest.mark.parametrize("name", ["yarn", "deepseek", "longrope", "llama3"])
def test_cached_generation_in_a_module(name: str) -> None:
    module = MultiheadAttention(d_model=32, n_heads=4, scheme=stretched(RULES[name], 9), causal=True)
    x, cache = draw(2, 6, 32), KeyValueCache()
    with torch.no_grad():
        steps = [module(x[:, i : i + 1], range(i, i + 1), cache=cache) for i in range(6)]
        near(torch.cat(steps, dim=1), module(x, range(6)), 2e-6)


def test_rules_load_no_torch() -> None:
    program = "import sys, ordinate.scaling as s; s.YaRN(factor=4.0, original_length=512).apply([1.0, 0.1], base=100.0)"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print('torch' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
