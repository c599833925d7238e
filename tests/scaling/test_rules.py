"""The rules' numbers in float64: against the reference's loops over many widths, and values worked out by hand or in mpmath."""

from __future__ import annotations

import itertools
import math

import mpmath
import pytest

from ordinate import reference
from ordinate.scaling import NTK, RULES, DynamicNTK, LearnedScale, Linear, Llama3, LongRoPE, Proportional, Rule, Turns, YaRN

BASES, WIDTHS, FACTORS = (100.0, 10000.0, 500000.0, 1e7), (4, 6, 64, 128), (1.0, 1.5, 8.0, 40.0)
GRID = list(itertools.product(BASES, WIDTHS, FACTORS))


def applied(rule: Rule, base: float, width: int, length: int | None = None) -> tuple[float, ...]:
    return rule.apply(reference.rope_frequencies(base, width), base=base, length=length).inverse_frequencies


def same(ours: tuple[float, ...], theirs: list[float], rounding: float = 2e-14) -> None:
    assert len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert abs(a - b) <= rounding * abs(b), f"pair {i}: {a}, needed {b}"


@pytest.mark.parametrize(("base", "width", "factor"), GRID)
def test_every_rule_is_its_reference(base: float, width: int, factor: float) -> None:
    plain = reference.rope_frequencies(base, width)
    same(applied(Linear(factor=factor), base, width), [w / factor for w in plain])
    same(applied(NTK(alpha=factor), base, width), reference.rope_frequencies(reference.ntk_base(base, width, factor), width))
    for length in (1, 16, 17, 40, 1000):
        ratio = max(factor * length / 16 - (factor - 1), 1.0)
        want = reference.rope_frequencies(reference.ntk_base(base, width, ratio) if length > 16 else base, width)
        same(applied(DynamicNTK(factor=factor, original_length=16), base, width, length), want)
        short, long = ([1 + factor * i / 7 + extra for i in range(width // 2)] for extra in (0.0, 2.0))
        rule = LongRoPE(short_factors=short, long_factors=long, original_length=16, factor=factor)
        same(applied(rule, base, width, length), reference.longrope(base, width, short, long, 16, length))
    for original, fast, slow, truncate in ((512, 32.0, 1.0, True), (4096, 32.0, 1.0, False), (4096, 8.5, 2.0, True)):
        rule = YaRN(factor=factor, original_length=original, beta_fast=fast, beta_slow=slow, truncate=truncate)
        # 1 - r cancels: the ramp's rounding counts as that of the whole frequency
        same(applied(rule, base, width), reference.yarn(base, width, factor, original, fast, slow, truncate), 1e-13 * factor)
    for low, high, original in ((1.0, 4.0, 8192), (0.5, 3.0, 100)):
        rule = Llama3(factor=factor, low_frequency_factor=low, high_frequency_factor=high, original_length=original)
        same(applied(rule, base, width), reference.llama3(base, width, factor, low, high, original), 1e-13 * factor)
    same(applied(Turns(), base, width), [2 * math.pi * w for w in plain], 1e-15)
    learned = tuple(math.sin(i) for i in range(width // 2))
    want = [w * math.exp(a) for w, a in zip(plain, learned, strict=True)]
    same(applied(LearnedScale(logarithms=learned), base, width), want, 1e-15)
    same(applied(LearnedScale(logarithms=learned, rule=Linear(factor=factor)), base, width), [w / factor for w in want], 1e-15)
    for share in (1.0, 0.75, 0.5):
        rule = Proportional(proportion=share, factor=factor)
        same(applied(rule, base, width), reference.proportional(base, width, share, factor))


@pytest.mark.parametrize("rule", [Linear(factor=1.0), NTK(alpha=1.0), Proportional(proportion=1.0)])
def test_factor_one_changes_nothing(rule: Rule) -> None:
    same(applied(rule, 1e4, 64), reference.rope_frequencies(1e4, 64), 3e-16)


def test_llama3_bands() -> None:
    rule = Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=8192)
    plain, got = reference.rope_frequencies(5e5, 128), applied(rule, 5e5, 128)
    ratios = [a / b for a, b in zip(got, plain, strict=True)]
    kinds = [sum(test(ratio) for ratio in ratios) for test in (lambda r: abs(r - 1) < 1e-12, lambda r: abs(r - 0.125) < 1e-12)]
    assert kinds == [29, 29]
    want = (0.828168, 0.643743, 0.493507, 0.371122, 0.271425, 0.190211)
    for pair, ratio in enumerate(want, 29):
        assert abs(ratios[pair] - ratio) < 6e-7
        turns = 8192 * mpmath.mpf(500000) ** (-mpmath.mpf(2 * pair) / 128) / (2 * mpmath.pi)
        share = (turns - 1) / 3
        assert abs(ratios[pair] - ((1 - share) / 8 + share)) < 1e-13
    assert abs(got[-1] - 3.068926e-07) < 6e-14


def test_llama3_without_a_blend() -> None:
    """Llama 4 Scout's numbers: a pair is kept if it turns within the trained length, else divided."""
    rule = Llama3(factor=16.0, low_frequency_factor=1.0, high_frequency_factor=1.0, original_length=8192)
    plain, got = reference.rope_frequencies(5e5, 128), applied(rule, 5e5, 128)
    want = [w if 8192 * w / (2 * math.pi) > 1 else w / 16 for w in plain]
    same(got, want, 3e-16)
    assert 0 < sum(a == b for a, b in zip(want, plain, strict=True)) < 64


@pytest.mark.parametrize(
    ("width", "original", "fast", "slow", "truncate", "ends"),
    [
        (128, 4096, 32.0, 1.0, True, (20, 46)),  # 20.944, 45.027
        (8, 512, 32.0, 1.0, True, (0, 2)),
        (8, 512, 32.0, 1.0, False, (0.405940114298, 1.91109009262)),
        (8, 5, 32.0, 1.0, True, (0, 0.001)),  # both before the first pair: the upper end is moved
        (8, 10**9, 32.0, 1.0, True, (6, 7)),  # 6.697, 8.202: the upper end is cut to d - 1
        (8, 512, 1.0, 1.0, False, (1.91109009262, 1.91209009262)),  # no ramp
    ],
)
def test_yarn_ramp_ends(width: int, original: int, fast: float, slow: float, truncate: bool, ends: tuple[float, float]) -> None:
    rule = YaRN(factor=4.0, original_length=original, beta_fast=fast, beta_slow=slow, truncate=truncate)
    assert all(abs(got - want) < 1e-11 for got, want in zip(rule.ramp_ends(10000.0, width), ends, strict=True))


def test_yarn_frequencies_by_hand() -> None:
    same(applied(YaRN(factor=4.0, original_length=512), 1e4, 8), [1.0, 0.0625, 0.0025, 0.00025], 1e-15)
    share = (1 - mpmath.mpf("0.405940114298")) / (mpmath.mpf("1.91109009262") - mpmath.mpf("0.405940114298"))
    pair = float(0.1 * (1 - share) + 0.025 * share)
    same(applied(YaRN(factor=4.0, original_length=512, truncate=False), 1e4, 8), [1.0, pair, 0.0025, 0.00025], 1e-11)


def magnitudes(**settings: float) -> tuple[float, float]:
    scaled = YaRN(**{"original_length": 4096, **settings}).apply([1.0, 0.01], base=1e4)
    return scaled.magnitude, scaled.softmax_factor


@pytest.mark.parametrize(
    ("settings", "magnitude", "softmax_factor"),
    [
        *(({"factor": f}, m, 1.0) for f, m in ((1.0, 1.0), (4.0, 1.138629), (16.0, 1.277259), (32.0, 1.346574), (64.0, 1.415888))),
        ({"factor": 128.0, "attention_factor": 1.485203}, 1.485203, 1.0),
        ({"factor": 4.0, "attention_factor": 0.8782489}, 0.8782489, 1.0),
        ({"factor": 40.0, "mscale": 0.707, "mscale_all_dim": 0.707}, 1.0, 1.589626),
        ({"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0}, 1.0, 1.873854),
        ({"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.707}, 1.368888 / 1.260804, 1.589626),
        ({"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0, "scales_softmax": False}, 1.0, 1.0),
        ({"factor": 40.0, "mscale": 0.707}, 1.368888, 1.0),  # one of two numbers is no quotient
        ({"factor": 40.0, "mscale_all_dim": 0.707}, 1.368888, 1.589626),
        ({"factor": 40.0, "attention_factor": 1.25, "mscale": 1.0, "mscale_all_dim": 1.0}, 1.25, 1.873854),
        ({"factor": 1.0, "mscale": 1.0, "mscale_all_dim": 2.0}, 1.0, 1.0),
    ],
)
def test_yarn_magnitudes(settings: dict[str, float], magnitude: float, softmax_factor: float) -> None:
    got = magnitudes(**settings)
    assert abs(got[0] - magnitude) < 1e-6
    assert abs(got[1] - softmax_factor) < 1e-6


def test_dynamic_ntk_bases() -> None:
    small, wide = DynamicNTK(factor=2.0, original_length=4), DynamicNTK(factor=2.0, original_length=2048)
    for rule, width, length, base in ((small, 8, 8, 43267.487), (wide, 128, 4096, 30527.737), (wide, 128, 2049, 10009.921)):
        assert abs(rule.source(10000.0, width, length)[0] - base) < 6e-4
        same(applied(rule, 10000.0, width, length), [base ** (-2 * i / width) for i in range(width // 2)], 1e-7)
    for rule, width, length in ((small, 8, 4), (small, 8, 1), (small, 8, None), (wide, 128, 2048), (wide, 128, 3)):
        assert rule.source(10000.0, width, length)[0] == 10000.0
        same(applied(rule, 10000.0, width, length), reference.rope_frequencies(10000.0, width), 3e-16)


def test_longrope_boundary_and_magnitude() -> None:
    given = {"short_factors": (1.0, 2.0), "long_factors": (3.0, 8.0), "original_length": 4096, "factor": 32.0}
    for length, want in ((None, (1.0, 0.005)), (1, (1.0, 0.005)), (4096, (1.0, 0.005)), (4097, (1 / 3, 0.00125))):
        same(applied(LongRoPE(**given), 1e4, 4, length), list(want), 1e-15)
    for extra, short, long in (
        ({}, 1.190238, 1.190238),
        ({"attention_factor": 1.1}, 1.1, 1.1),
        ({"short_magnitude": 1.2, "long_magnitude": 1.3}, 1.2, 1.3),
        ({"short_magnitude": 1.2, "long_magnitude": 1.3, "attention_factor": 1.1}, 1.2, 1.3),
        ({"factor": 1.0}, 1.0, 1.0),
    ):
        for length, magnitude in ((4096, short), (4097, long)):
            scaled = LongRoPE(**{**given, **extra}).apply([1.0, 0.01], base=1e4, length=length)
            assert abs(scaled.magnitude - magnitude) < 6e-7
            assert scaled.softmax_factor == 1.0


def test_hunyuan_alpha_enlarges_the_base() -> None:
    base = 10000 * mpmath.mpf(1000) ** (mpmath.mpf(128) / 126)
    assert abs(base - 11158839.925) < 1e-3
    same(applied(NTK(alpha=1000.0), 1e4, 128), [float(base ** (-mpmath.mpf(2 * i) / 128)) for i in range(64)])


def test_proportional_keeps_the_denominators_of_the_full_width() -> None:
    got = applied(Proportional(proportion=0.25), 1e6, 512)
    same(got[:64], [1e6 ** (-2 * i / 512) for i in range(64)])
    assert got[64:] == (0.0,) * 192
    assert applied(Proportional(proportion=0.3), 1e4, 16)[1:3] == (applied(Linear(factor=1.0), 1e4, 16)[1], 0.0)  # int(2.4)


def test_the_table_names_every_rule_once() -> None:
    assert set(RULES.values()) == set(Rule.__subclasses__())
    assert len(set(RULES.values())) == len(RULES)
    for rule in RULES.values():
        assert rule.needs_length == (rule in (DynamicNTK, LongRoPE))


def test_rules_are_values() -> None:
    rule = LongRoPE(short_factors=[1.0, 2.0], long_factors=[3, 4], original_length=4, factor=2.0)
    assert rule == LongRoPE(short_factors=(1.0, 2.0), long_factors=(3.0, 4.0), original_length=4, factor=2.0)
    assert hash(rule) == hash(eval(repr(rule)))
    assert rule != YaRN(factor=2.0, original_length=4)
    with pytest.raises(AttributeError):
        rule.factor = 3.0
    assert math.isclose(rule.apply([1.0, 0.1], base=100.0).magnitude, math.sqrt(1.5))
