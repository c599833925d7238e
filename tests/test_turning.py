"""What theory says of a rotary embedding, against angles counted out pair by pair and floats of the dtypes themselves."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from ordinate import reference, theory
from ordinate.scaling import NTK, DynamicNTK, Linear, Llama3, Proportional, YaRN

LLAMA = Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=8192)


def test_turns_and_wavelengths_are_counted_out() -> None:
    found = theory(base=500000.0, rotary_dim=128, trained=8192, length=65536, rule=LLAMA)
    scaled = reference.llama3(500000.0, 128, 8.0, 1.0, 4.0, 8192)
    for pair, old, new in zip(found.pairs, reference.rope_frequencies(500000.0, 128), scaled, strict=True):
        assert pair.wavelength * old == pytest.approx(2 * math.pi, rel=1e-14)
        assert pair.scaled_wavelength * new == pytest.approx(2 * math.pi, rel=1e-14)
        assert pair.turns_trained == pytest.approx(8192 * old / (2 * math.pi), rel=1e-14)
        assert pair.turns_at_length == pytest.approx(65536 * new / (2 * math.pi), rel=1e-14)
        assert pair.slowed_by == pytest.approx(old / new, rel=1e-14)
        assert pair.complete is (8192 * old >= 2 * math.pi)
    # 29 pairs are longer than 8192 tokens: the ones that Llama 3.1's rule slows by the whole factor
    assert found.never_complete == 29
    assert [pair.pair for pair in found.pairs if round(pair.slowed_by, 9) == 8.0] == list(range(35, 64))


@pytest.mark.parametrize(
    ("rule", "length", "unseen"),
    [
        (None, 4096, 0),
        (None, 4097, 0),
        (None, 8192, 18),
        (Linear(factor=4.0), 16384, 0),
        (Linear(factor=4.0), 16390, 18),
        (YaRN(factor=4.0, original_length=4096), 16384, 0),
        (YaRN(factor=2.0, original_length=4096), 16384, 18),
        (Proportional(proportion=0.5), 10**6, 0),
        (NTK(alpha=1000.0), 8192, 0),
        (DynamicNTK(factor=4.0, original_length=4096), 4096, 0),
    ],
)
def test_unseen_phases(rule: Any, length: int, unseen: int) -> None:
    """Of 64 pairs with base 10000, those from 46 on are longer than 4096 tokens; nothing else can be new."""
    found = theory(base=10000.0, rotary_dim=128, trained=4096, length=length, rule=rule)
    assert [pair.pair for pair in found.pairs if not pair.complete] == list(range(46, 64))
    assert found.unseen == unseen
    reached = [(length - 1) * 2 * math.pi / pair.scaled_wavelength for pair in found.pairs]
    shown = [2 * math.pi if pair.complete else 4096 * 2 * math.pi / pair.wavelength for pair in found.pairs]
    expected = [i for i in range(46, 64) if reached[i] > shown[i] + 1e-9]
    assert [pair.pair for pair in found.pairs if pair.unseen] == expected


def test_the_rule_brings_its_magnitudes() -> None:
    rule = YaRN(factor=40.0, original_length=4096, mscale=1.0, mscale_all_dim=0.707)
    found = theory(base=10000.0, rotary_dim=64, trained=4096, length=163840, rule=rule)
    strengths = [0.1 * strength * math.log(40) + 1 for strength in (1.0, 0.707)]
    assert found.magnitude == pytest.approx(strengths[0] / strengths[1], rel=1e-14)
    assert found.softmax_factor == pytest.approx(strengths[1] ** 2, rel=1e-14)


@pytest.mark.parametrize("length", [2, 100, 257, 2048, 4097, 65536, 131073, 2**24 + 9])
def test_precision_is_that_of_the_dtypes(length: int) -> None:
    found = theory(base=10000.0, rotary_dim=8, trained=64, length=length)
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16), ("float16", torch.float16)):
        last = torch.tensor(float(length - 1), dtype=torch.float64)
        if length - 1 > torch.finfo(dtype).max:
            assert found.angle_errors[name] is None
            assert found.merged_positions[name] is None
            continue
        spacing = 2.0 ** (math.floor(math.log2(length - 1)) if length > 1 else 0) * torch.finfo(dtype).eps
        assert found.angle_errors[name] == min(spacing / 2, math.pi)
        assert found.merged_positions[name] == max(round(spacing), 1)
        error = (last.to(dtype).double() - last).abs().item()
        assert error <= spacing / 2
    assert found.angle_errors["exact"] == pytest.approx(0.51 * 2**-24)


def test_exact_angles_are_promised_up_to_2_to_the_48() -> None:
    for length, bound in ((2**48, pytest.approx(0.51 * 2**-24)), (2**48 + 1, None)):
        assert theory(base=10000.0, rotary_dim=8, trained=64, length=length).angle_errors["exact"] == bound


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base": -1.0}, "base: needed a finite number > 0"),
        ({"base": 1.0}, "base: needed a number > 1, got 1"),
        ({"base": float("nan")}, "base: needed a finite number"),
        ({"rotary_dim": 7}, "rotary_dim: needed an even number up to 65536, got 7"),
        ({"rotary_dim": 10**9}, "rotary_dim: needed an even number up to 65536, got 1000000000"),
        ({"rotary_dim": 2.0}, "rotary_dim: needed a whole number >= 2"),
        ({"trained": 0, "length": True}, "trained: needed .* got 0; length: needed a whole number >= 1, got True"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        theory(**{"base": 10000.0, "rotary_dim": 8, "trained": 64, "length": 128, **changes})
