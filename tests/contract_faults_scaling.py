"""Faults of the rules that stretch RoPE: ramps, bands, lengths, magnitudes. Right values by hand from the papers' formulas."""

from __future__ import annotations

import math

import torch

import ordinate
from contract_tools import draw, identical, near, refuses
from ordinate.scaling import NTK, DynamicNTK, Llama3, LongRoPE, Proportional, Rule, YaRN

DIGITS = 6e-7  # values below are given to six digits
# The default magnitude 0.1 log(factor) + 1.
MAGNITUDES = {1: 1.0, 4: 1.138629, 16: 1.277259, 32: 1.346574, 40: 1.368888, 64: 1.415888}


def _rope(head_dim: int, scaling: Rule, **settings: object) -> ordinate.Rope:
    return ordinate.Rope(**{"head_dim": head_dim, "layout": "half", "scaling": scaling, **settings})


def _close(got: tuple[float, ...], *want: float, digits: float = DIGITS) -> None:
    """Relative agreement: the slow pairs count as much as the fast ones."""
    assert len(got) == len(want)
    for ours, theirs in zip(got, want, strict=True):
        assert abs(ours - theirs) <= digits * abs(theirs), f"{got}, needed {want}"


def yarn_ramp() -> None:
    """d = 8, L = 512: pair 0.40594 turns 32 times, pair 1.91109 turns once; rounded outwards they are 0 and 2."""
    for phases in ("exact", "float32"):
        rope = _rope(8, YaRN(factor=4.0, original_length=512), phases=phases)
        _close(rope.inverse_frequencies, 1, 0.1 * 0.5 + 0.025 * 0.5, 0.0025, 0.00025)
        share = (1 - 0.405940) / (1.911090 - 0.405940)
        rope = _rope(8, YaRN(factor=4.0, original_length=512, truncate=False), phases=phases)
        _close(rope.inverse_frequencies, 1, 0.1 * (1 - share) + 0.025 * share, 0.0025, 0.00025)


def llama3_bands() -> None:
    rule = Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=8192)
    blended = (0.828168, 0.643743, 0.493507, 0.371122, 0.271425, 0.190211)
    for phases, rounding in (("exact", 1e-14), ("float32", 1e-6)):
        got = _rope(128, rule, base=5e5, phases=phases).inverse_frequencies
        ratios = [w / 5e5 ** (-2 * i / 128) for i, w in enumerate(got)]
        assert all(abs(ratio - 1) < rounding for ratio in ratios[:29])
        assert all(abs(8 * ratio - 1) < rounding for ratio in ratios[35:])
        _close(tuple(ratios[29:35]), *blended, digits=4e-6)
        _close(got[-1:], 3.068926e-07)


def dynamic_ntk_history() -> None:
    """Length 8, then 4: the base is that of each, whatever came before."""
    rule = DynamicNTK(factor=2.0, original_length=4)
    fresh = _rope(8, rule)
    plain = ordinate.Rope(head_dim=8, layout="half").inverse_frequencies
    for length in (8, 4, 9, 3, 8, 4):
        rope = fresh.at_length(length)
        if length == 8:
            _close(rope.inverse_frequencies, *(43267.487 ** (-i / 4) for i in range(4)))
        if length <= 4:
            assert rope.inverse_frequencies == plain
            assert rule.source(10000.0, 8, length)[0] == 10000.0
        identical(rope.queries(draw(1, 1, 3, 8), range(3)), _rope(8, rule, length=length).queries(draw(1, 1, 3, 8), range(3)))
    wide = DynamicNTK(factor=2.0, original_length=2048)
    for length, base in ((4096, 30527.737), (2049, 10009.921), (2048, 10000.0), (1, 10000.0)):
        _close(_rope(128, wide, length=length).inverse_frequencies[-1:], base ** (-126 / 128), digits=1e-7)


def longrope_switch() -> None:
    """Original length 4, prompt 3, generation to 5: no cache holds keys of both lists."""
    rule = LongRoPE(short_factors=(1.0, 2.0), long_factors=(3.0, 8.0), original_length=4, factor=2.0)
    short, k = _rope(4, rule, length=3), draw(1, 1, 5, 4)
    _close(short.at_length(4).inverse_frequencies, 1, 0.005)
    _close(short.at_length(5).inverse_frequencies, 1 / 3, 0.01 / 8)
    cached = short.keys(k[:, :, :3], range(3))
    cached = torch.cat((cached, short.at_length(4).keys(k[:, :, 3:4], range(3, 4))), dim=2)
    long = short.at_length(5)
    again = long.returned(cached, range(4), turned_by=short)
    keys = torch.cat((again, long.keys(k[:, :, 4:], range(4, 5))), dim=2)
    near(keys, _rope(4, rule, length=5).keys(k, range(5)), 1e-6)
    refuses(lambda: long.keys(k, short.at(range(5))), ValueError, "at made with this scheme's frequencies")


def ntk_alpha() -> None:
    """HunYuan: base 10000, alpha 1000, d = 128 is base 11158839.925; the fastest pair is kept, the slowest divided by alpha."""
    got = _rope(128, NTK(alpha=1000.0)).inverse_frequencies
    assert got[0] == 1.0
    _close(got[1:2], 11158839.925 ** (-1 / 64), digits=1e-10)
    _close(got[-1:], 10000 ** (-126 / 128) / 1000, digits=1e-12)


def proportional_pairs() -> None:
    """A quarter of 8 pairs turns, with the exponents of the full width; entries of still pairs pass."""
    rope = _rope(16, Proportional(proportion=0.25))
    _close(rope.inverse_frequencies[:2], 1, 10000 ** (-2 / 16))
    assert rope.inverse_frequencies[2:] == (0.0,) * 6
    x = draw(1, 1, 3, 16)
    still = [i for i in range(16) if i % 8 >= 2]
    identical(rope.queries(x, range(5, 8))[..., still], x[..., still])


def yarn_magnitude() -> None:
    """One factor of the turned entries of q and of k: once, not in the entries that pass, not in a shift."""
    for settings, magnitude in [
        *(({"factor": float(factor)}, value) for factor, value in MAGNITUDES.items()),
        ({"factor": 128.0, "attention_factor": 1.485203}, 1.485203),
        ({"factor": 4.0, "attention_factor": 0.8782489}, 0.8782489),
    ]:
        rope = _rope(6, YaRN(original_length=512, **settings), rotary_dim=4, rotary_start=1)
        x = torch.tensor([[[[5.0, 3.0, 2.0, 4.0, 1.0, 7.0]]]])
        for turn in (rope.queries, rope.keys):
            at_zero, at_nine = turn(x, range(1))[0, 0, 0], turn(x, range(9, 10))[0, 0, 0]
            near(at_zero[1:5], magnitude * x[0, 0, 0, 1:5], 4 * DIGITS)
            for pair in ([1, 3], [2, 4]):
                near(at_nine[pair].norm(), magnitude * x[0, 0, 0, pair].norm(), 8 * DIGITS)
            identical(at_nine[[0, 5]], x[0, 0, 0, [0, 5]])
        near(rope.at(range(1)).cos, torch.ones(1, 2), 0.0)
        moved = rope.shift(rope.keys(x, range(1)), 9)
        near(moved, rope.keys(x, range(9, 10)), 4e-6)


def softmax_is_scaled_apart() -> None:
    """DeepSeek: two numbers, never folded into one."""
    for strength, factor in ((0.707, 1.589626), (1.0, 1.873854)):
        rule = YaRN(factor=40.0, original_length=4096, mscale=strength, mscale_all_dim=strength)
        rope, x = _rope(64, rule), draw(1, 1, 1, 64)
        identical(rope.queries(x, range(1)), x)
        assert abs(rope.softmax_scale(192) * math.sqrt(192) - factor) < DIGITS
        q, k, v = draw(1, 1, 1, 64), draw(1, 1, 2, 64, seed=1), torch.eye(2).view(1, 1, 2, 2)
        places = {"q_positions": torch.tensor([0]), "k_positions": torch.tensor([0, 0]), "causal": False}
        want = ((q @ k.mT).double() * factor / 8).softmax(-1)
        near(ordinate.attend(q, k, v, scheme=rope, **places), want, 4e-6)
