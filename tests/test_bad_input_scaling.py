"""Bad input to the rules that stretch RoPE, and to Rope with one: one clear line each, all faults of a rule at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from ordinate import Rope
from ordinate.scaling import NTK, RULES, DynamicNTK, LearnedScale, Linear, Llama3, LongRoPE, Proportional, Rule, Turns, YaRN

RIGHT: dict[type[Rule], dict[str, object]] = {
    Linear: {"factor": 4.0},
    NTK: {"alpha": 4.0},
    DynamicNTK: {"factor": 4.0, "original_length": 8},
    YaRN: {"factor": 4.0, "original_length": 8, "beta_fast": 32.0, "beta_slow": 1.0},
    LongRoPE: {"short_factors": (1.0,) * 4, "long_factors": (2.0,) * 4, "original_length": 8, "factor": 4.0},
    Llama3: {"factor": 4.0, "low_frequency_factor": 1.0, "high_frequency_factor": 4.0, "original_length": 8},
    Proportional: {"proportion": 0.5, "factor": 1.0},
    LearnedScale: {"logarithms": (0.5, -0.25, 0.0, 1.0)},
    Turns: {},
}
NOT_NUMBERS = (math.nan, math.inf, -math.inf, 1e400, True, False, "4.0", "", b"4", None, [4.0], (), {}, 4j, float, object())
NOT_POSITIVE = (*NOT_NUMBERS, 0, 0.0, -0.0, -1, -1e-300)
NOT_WHOLE = (*NOT_POSITIVE, 2.0, 8192.5, 1e3)
MAY_BE_LEFT_OUT = ("attention_factor", "mscale", "mscale_all_dim", "short_magnitude", "long_magnitude")


def build(rule: type[Rule], **change: object) -> Rule:
    return rule(**{**RIGHT[rule], **change})


def refused(call: Callable[[], object], *parts: str) -> None:
    """One line, with every part in this order."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    said = str(caught.value)
    assert "\n" not in said
    places = [said.find(part) for part in parts]
    assert -1 not in places, f"needed {parts}, got {said!r}"
    assert places == sorted(places), f"needed {parts} in this order, got {said!r}"


def rope(**settings: object) -> Rope:
    return Rope(**{"head_dim": 8, "layout": "half", **settings})


def test_every_rule_is_here() -> None:
    assert set(RIGHT) == set(RULES.values())
    for rule in RIGHT:
        assert isinstance(rope(scaling=build(rule)).inverse_frequencies, tuple)


@pytest.mark.parametrize("rule", RIGHT, ids=lambda rule: rule.__name__)
def test_absurd_numbers(rule: type[Rule]) -> None:
    for name in RIGHT[rule]:
        absurd = NOT_WHOLE if name == "original_length" else NOT_POSITIVE
        for value in absurd:
            if name.endswith(("_factors", "logarithms")) and isinstance(value, (list, bytes)):
                continue  # rows
            refused(lambda name=name, value=value: build(rule, **{name: value}), f"{rule.__name__}: {name}: needed", "got")


@pytest.mark.parametrize("rule", [Linear, DynamicNTK, YaRN, LongRoPE, Llama3, Proportional], ids=lambda rule: rule.__name__)
def test_factors_below_one(rule: type[Rule]) -> None:
    for factor in (0.999, 0.25, 1e-300):
        refused(lambda factor=factor: build(rule, factor=factor), f"factor: needed a finite number >= 1, got {factor}")
    assert build(rule, factor=1)


@pytest.mark.parametrize("name", MAY_BE_LEFT_OUT)
def test_absurd_magnitudes(name: str) -> None:
    rule = LongRoPE if "magnitude" in name else YaRN
    both = {"short_magnitude": 1.0, "long_magnitude": 1.0} if rule is LongRoPE else {}
    for value in (math.nan, math.inf, 1e400, True, "1.0", "", [1.0], -1, -1e-300, 1j):
        refused(lambda value=value: build(rule, **{**both, name: value}), f"{name}: needed a finite number > 0, got")


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: NTK(alpha=0.5), ("alpha: needed a finite number >= 1, got 0.5",)),
        (lambda: build(YaRN, beta_fast=0.5), ("beta_fast: needed at least beta_slow=1.0, got 0.5",)),
        (lambda: build(YaRN, beta_slow=32.5), ("beta_fast: needed at least beta_slow=32.5, got 32.0",)),
        (lambda: build(YaRN, truncate=1), ("truncate: needed True or False, got 1",)),
        (lambda: build(YaRN, scales_softmax=None), ("scales_softmax: needed True or False, got None",)),
        (
            lambda: build(Llama3, low_frequency_factor=4.5),
            ("high_frequency_factor: needed at least low_frequency_factor=4.5, got 4.0",),
        ),
        (lambda: build(LearnedScale, logarithms=(0.0, 81.0)), ("logarithms: needed numbers between -80 and 80, one a pair, got",)),
        (lambda: build(LearnedScale, logarithms=(0.0, "1")), ("logarithms: needed numbers between -80 and 80, one a pair, got",)),
        (lambda: LearnedScale(logarithms=(0.0,), rule=build(DynamicNTK)), ("rule: needed one that does not depend on the length",)),
        (lambda: LearnedScale(logarithms=(0.0,), rule="yarn"), ("rule: needed one that does not depend on the length", "'yarn'")),
        (lambda: rope(scaling=build(LearnedScale, logarithms=(0.0,))), ("needed 4 logarithms, one a pair, got 1",)),
        (lambda: build(Llama3, low_frequency_factor=5), ("needed at least low_frequency_factor=5, got 4.0",)),
        (lambda: Proportional(proportion=1.5), ("proportion: needed a number in (0, 1], got 1.5",)),
        (lambda: build(LongRoPE, original_length=1), ("original_length: needed a whole number >= 2, got 1",)),
        (lambda: build(LongRoPE, short_magnitude=1.0), ("short_magnitude, long_magnitude: needed both or neither, got one",)),
        (lambda: build(LongRoPE, long_factors=(1.0,) * 3), ("long_factors: needed 4 numbers, as many as short_factors, got 3",)),
        (lambda: build(LongRoPE, long_factors=()), ("long_factors: needed positive finite numbers, one a pair, got ()",)),
        (lambda: build(LongRoPE, short_factors="1234"), ("short_factors: needed positive finite numbers, one a pair, got '1234'",)),
        (lambda: build(LongRoPE, short_factors=2.0), ("short_factors: needed positive finite numbers, one a pair, got 2.0",)),
        (lambda: build(LongRoPE, short_factors=[1.0, "2", 3, 4]), ("short_factors: needed positive finite numbers", "got ['2']")),
        (lambda: build(LongRoPE, long_factors=[1.0, math.nan, 0, -3.0]), ("long_factors: needed", "got [nan, 0, -3.0]")),
        (lambda: build(LongRoPE, long_factors=[1.0, True, 1e400, [1.0]]), ("long_factors: needed", "got [True, inf, [1.0]]")),
    ],
)
def test_numbers_that_do_not_fit_together(call: Callable[[], object], parts: tuple[str, ...]) -> None:
    refused(call, *parts)


def test_all_faults_of_a_rule_come_at_once() -> None:
    refused(lambda: DynamicNTK(factor=0, original_length=2.5), "DynamicNTK: factor: ", "got 0; original_length: ", "got 2.5")
    bad = {"factor": math.nan, "original_length": "8", "attention_factor": -1, "mscale": "x", "truncate": 0, "beta_fast": 0.5}
    names = ("YaRN: factor", "original_length", "attention_factor", "mscale", "truncate", "beta_fast")
    refused(lambda: YaRN(**bad), *(f"{name}: needed" for name in names))
    bad = {"factor": 0.5, "original_length": 0, "low_frequency_factor": -1, "high_frequency_factor": None}
    refused(lambda: Llama3(**bad), "Llama3: factor: ", "original_length: ", "low_frequency_factor: ", "high_frequency_factor: ")
    bad = {
        "short_factors": "1",
        "long_factors": [0],
        "original_length": 1,
        "factor": 0,
        "attention_factor": -1,
        "long_magnitude": -2,
    }
    names = ("LongRoPE: factor", "original_length", "short_factors", "long_factors", "attention_factor", "long_magnitude")
    refused(lambda: LongRoPE(**bad), *(f"{name}: needed" for name in names), "needed both or neither")
    refused(lambda: Proportional(proportion=0, factor=True), "Proportional: proportion: ", "; factor: ")


RULE = YaRN(factor=4.0, original_length=512)


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"scaling": "yarn"}, ("scaling: needed a rule of ordinate.scaling or None, got str 'yarn'",)),
        ({"scaling": {"rope_type": "yarn"}}, ("scaling: needed a rule of ordinate.scaling or None, got dict",)),
        ({"scaling": YaRN}, ("scaling: needed a rule of ordinate.scaling or None, got",)),
        ({"scaling": 4.0}, ("scaling: needed a rule of ordinate.scaling or None, got float 4.0",)),
        ({"scaling": False}, ("scaling: needed a rule of ordinate.scaling or None, got bool False",)),
        ({"scaling": Rope(head_dim=8, layout="half")}, ("scaling: needed a rule of ordinate.scaling or None, got Rope",)),
        ({"length": 4096}, ("length: needed a scaling rule beside it, got 4096 alone",)),
        ({"length": "9"}, ("length: needed a scaling rule beside it, got '9' alone", "length: needed a whole number >= 1")),
        *(
            ({"scaling": RULE, "length": n}, ("length: needed a whole number >= 1, got",))
            for n in (0, -1, 9.0, True, "9", math.nan)
        ),
        ({"scaling": RULE, "inverse_frequencies": (1.0, 0.1, 0.01, 0.001)}, ("scaling: needed base beside it, got inverse_freq",)),
        ({"scaling": build(LongRoPE), "rotary_dim": 6}, ("LongRoPE: needed 3 factors, one a pair, got 4",)),
        ({"scaling": build(LongRoPE), "head_dim": 16, "phases": "float32"}, ("LongRoPE: needed 8 factors, one a pair, got 4",)),
        ({"scaling": NTK(alpha=2.0), "head_dim": 2}, ("NTK scaling: needed at least 2 pairs, got rotary_dim=2",)),
        ({"scaling": build(DynamicNTK), "head_dim": 2, "length": 9}, ("NTK scaling: needed at least 2 pairs, got rotary_dim=2",)),
        (
            {"scaling": "x", "length": 0, "layout": "both", "base": -1.0, "head_dim": 7},
            ("rotary_dim: ", "layout: ", "base: ", "scaling: needed a rule", "length: needed a whole number"),
        ),
    ],
)
def test_rope_with_a_wrong_rule_or_length(settings: dict[str, object], parts: tuple[str, ...]) -> None:
    refused(lambda: rope(**settings), *parts)


@pytest.mark.parametrize("length", [0, -4, 2.5, None, True, "9", math.nan])
def test_at_length(length: object) -> None:
    for scaling in (None, RULE, build(DynamicNTK)):
        with pytest.raises((ValueError, TypeError), match="length: needed a whole number"):
            rope(scaling=scaling).at_length(length)


def test_apply() -> None:
    for wrong in ([], [0.0], [1.0, math.nan], [1.0, -0.1], [math.inf], [[1.0, 0.1]], 1.0, None):
        refused(lambda wrong=wrong: RULE.apply(wrong, base=1e4), "YaRN: inverse_frequencies: needed positive finite numbers")
    for base in (0, -1.0, math.nan, math.inf, True, "10000", None):
        refused(lambda base=base: RULE.apply([1.0], base=base), "YaRN: base: needed a finite number > 0, got")
    bad = {"base": -1, "length": 0}
    refused(lambda: RULE.apply([0.0], **bad), "YaRN: base: needed", "length: needed a whole number", "inverse_frequencies: needed")
    refused(lambda: build(LongRoPE).apply([1.0, 0.1], base=1e4), "LongRoPE: needed 2 factors, one a pair, got 4")
