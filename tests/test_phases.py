"""phases.py against mpmath at 100 digits: the promise of 0.51 ulp, over all kinds of positions and frequencies."""

import math
import random

import mpmath
import pytest
import torch

from ordinate import phases
from ordinate.phases.frequencies import BITS

DIGITS = 100
PROMISE = 0.51  # ulp of float32: half an ulp of the last rounding, and what the float64 steps add
INDUCTOR_WARNS = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")


@pytest.fixture
def say(capsys):
    def show(text):
        with capsys.disabled():
            print(f"\n  {text}", end="")

    return show


def truth(position, frequency):
    """cos and sin of position * frequency; frequency is a function called at full precision."""
    with mpmath.workdps(DIGITS):
        angle = mpmath.mpf(position) * frequency()
        return mpmath.cos(angle), mpmath.sin(angle)


def from_base(base, numerator, denominator):
    return lambda: mpmath.mpf(base) ** (-mpmath.mpf(numerator) / denominator)


def given(value):
    return lambda: mpmath.mpf(value)


def ulps(got, true, least=-126):
    """Error in units of the last place of the float32 nearest to the true value, or of 2^least if that is larger."""
    with mpmath.workdps(DIGITS):
        exponent = -126 if true == 0 else max(int(mpmath.floor(mpmath.log(abs(true), 2))), least)
        return float(abs(mpmath.mpf(got) - true) / mpmath.mpf(2) ** (exponent - 23))


def worst(positions, frequencies, truths, least=-126):
    """Largest error of cos and sin; truths[n] is the frequency of column n as a function."""
    cos, sin = (table.reshape(-1, len(truths)) for table in phases.exact(positions, frequencies))
    places = list(positions) if isinstance(positions, range) else positions.flatten().tolist()
    error = 0.0
    for row, place in enumerate(places):
        for column, frequency in enumerate(truths):
            true_cos, true_sin = truth(place, frequency)
            error = max(
                error, *(ulps(table[row, column].item(), true, least) for table, true in ((cos, true_cos), (sin, true_sin)))
            )
    return error


def drawn_base(draw):
    return draw.choice([10000.0, 500000.0, 1e6, 100.0, round(10 ** draw.uniform(0.5, 9), 3)])


def worst_of_drawn(seed, rounds, per_round, positions_of):
    """rounds x per_round random (position, pair, base)."""
    draw, error = random.Random(seed), 0.0
    for _ in range(rounds):
        base, width = drawn_base(draw), draw.choice([16, 64, 80, 96, 128, 256])
        pair = draw.randrange(width // 2)
        frequencies = phases.from_base(base, [(2 * pair, width)])
        error = max(error, worst(positions_of(draw, per_round), frequencies, [from_base(base, 2 * pair, width)]))
    return error


def whole(draw, n, limit=2**31 - 1, dtype=torch.int64):
    return torch.tensor([draw.randint(-limit, limit) for _ in range(n)], dtype=dtype)


def fractions(dtype):
    """Sizes from 1 / 8 up to 2^31, each with as many fraction bits as the dtype holds."""
    return lambda draw, n: torch.tensor([draw.uniform(-1, 1) * 2.0 ** draw.uniform(-3, 31) for _ in range(n)], dtype=dtype)


KINDS = {
    "int64, |p| < 2^31": (400, 10, whole),
    "int32": (100, 10, lambda draw, n: whole(draw, n, dtype=torch.int32)),
    "small": (100, 10, lambda draw, n: whole(draw, n, limit=5000)),
    "int64, |p| < 2^52": (200, 10, lambda draw, n: whole(draw, n, limit=2**52)),
    "fractions in float32": (200, 10, fractions(torch.float32)),
    "fractions in float64": (200, 10, fractions(torch.float64)),
    "range": (100, 10, lambda draw, n: range(start := draw.randint(-(2**31), 2**31), start + 7 * n, 7)),
    "falling range": (100, 10, lambda draw, n: range(start := draw.randint(-(2**31), 2**31), start - n, -1)),
    "range from 0": (100, 10, lambda draw, n: range(0, draw.randint(1, 3000) * n, 997)),
    "range over 2^25": (10, 40, lambda _, n: range(2**25 - n // 2, 2**25 + n // 2)),
    "rows [B, T]": (100, 12, lambda draw, n: whole(draw, n).view(3, n // 3)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_exact(kind, say):
    rounds, per_round, positions_of = KINDS[kind]
    error = worst_of_drawn(kind, rounds, per_round, positions_of)
    say(f"exact phases, {kind}: {rounds * per_round} triples, largest error {error:.4f} ulp")
    assert error <= PROMISE


def convergents(value, limit):
    """Numerators of the best fractions of a number: whole positions whose angle is next to a multiple of it."""
    with mpmath.workdps(DIGITS):
        numerators, rest, before, last = [], mpmath.mpf(value()), 0, 1
        while True:
            digit = int(mpmath.floor(rest))
            before, last = last, digit * last + before
            if last >= limit:
                return numerators
            numerators.append(last)
            rest = 1 / (rest - digit)


@pytest.mark.parametrize(("share", "frequency"), [(1, 1.0), (2, 1.0), (4, 1.0), (2, 3.1), (2, 2.9)])
def test_next_to_zeros(share, frequency, say):
    numerators = convergents(lambda: mpmath.pi / share / mpmath.mpf(frequency), 2**48)
    if (share, frequency) == (1, 1.0):
        assert {103993, 104348, 245850922, 411557987, 1068966896} <= set(numerators)
    frequencies = phases.from_values([frequency])
    forms = [torch.tensor(numerators), torch.tensor(numerators, dtype=torch.float64), *[range(n, n + 1) for n in numerators]]
    error = max(worst(form, frequencies, [given(frequency)]) for form in forms)
    say(f"next to multiples of pi / {share}, frequency {frequency}: {len(numerators)} positions, {error:.4f} ulp")
    assert error <= PROMISE


@pytest.mark.parametrize("frequency", [1.0, 0.37, 1e-4, 100.3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_fractions_next_to_zeros(frequency, dtype, say):
    with mpmath.workdps(DIGITS):
        quarters = [float(quarter * mpmath.pi / 2 / mpmath.mpf(frequency)) for quarter in range(1, 400)]
    # Values below 1e-12 are promised to 2e-20 absolute: 0.51 ulp of 2^-42 = 2.3e-13 is 1.4e-20.
    error = worst(torch.tensor(quarters, dtype=dtype), phases.from_values([frequency]), [given(frequency)], least=-42)
    say(f"{dtype} positions next to multiples of pi / 2, frequency {frequency}: {error:.4f} ulp")
    assert error <= PROMISE


@pytest.mark.parametrize("kind", ["int64, |p| < 2^31", "fractions in float32", "fractions in float64", "range"])
def test_given_frequencies(kind, say):
    values = [100.3, 128 * math.pi, 1.0, 0.1, 2 * math.pi, 7.25e-9, 0.0, -0.3, 12345.678]
    positions = KINDS[kind][2](random.Random(1), 40)
    error = worst(positions, phases.from_values(values), [given(value) for value in values])
    say(f"given frequencies up to 12345.678, {kind}: {error:.4f} ulp")
    assert error <= PROMISE


def test_float64(say):
    draw, error = random.Random(2), 0.0
    for positions in (whole(draw, 100), fractions(torch.float64)(draw, 100)):
        tables = phases.exact(positions, phases.from_base(10000.0, [(6, 64)]), dtype=torch.float64)
        for row, place in enumerate(positions.tolist()):
            for got, true in zip(tables, truth(place, from_base(10000.0, 6, 64)), strict=True):
                error = max(error, abs(float(mpmath.mpf(got[row].item()) - true)))
    say(f"float64: largest error {error:.1e}")
    assert error <= 1e-15  # a few ulp of float64 next to 1 (1.1e-16)


@pytest.mark.parametrize("base", [10000.0, 500000.0, 2.5])
def test_frequencies(base):
    made = phases.from_base(base, [(2 * i, 96) for i in range(48)])
    for i, (turns, radians) in enumerate(zip(made.turns, made.radians, strict=True)):
        with mpmath.workdps(DIGITS):
            true = from_base(base, 2 * i, 96)()
            assert abs(turns - true / (2 * mpmath.pi) * 2**BITS) <= 0.501  # a whole number, rounded once from 80 digits
            assert radians == float(true)


def test_float32_angles_are_what_loses(say):
    place, pairs = 131071, [(2 * i, 128) for i in range(64)]
    lossy = phases.float32(torch.tensor([place]), phases.float32_from_base(10000.0, 128))
    exact = phases.exact(torch.tensor([place]), phases.from_base(10000.0, pairs))
    truths = [truth(place, from_base(10000.0, *pair)) for pair in pairs]

    def error(tables):
        return max(abs(tables[which][0, i].item() - float(truths[i][which])) for i in range(64) for which in range(2))

    errors = error(lossy), error(exact)
    say(f"position {place}: float32 angles are off by {errors[0]:.1e}, exact ones by {errors[1]:.1e}")
    assert 1e-3 < errors[0] < 1e-2
    assert errors[1] < 3.1e-8  # 0.51 ulp of a float32 just below 1


def compiled(function):
    torch.compiler.reset()
    return torch.compile(function, fullgraph=True, dynamic=None)


@INDUCTOR_WARNS
def test_compiled_tensor():
    frequencies = phases.from_base(10000.0, [(2 * i, 64) for i in range(32)])
    run = compiled(lambda positions: phases.exact(positions, frequencies))
    draw = random.Random(3)
    for positions in (whole(draw, 64), whole(draw, 64, limit=2**52), torch.tensor(convergents(mpmath.pi, 2**52)[:17])):
        for ours, eager in zip(run(positions), phases.exact(positions, frequencies), strict=True):
            assert torch.equal(ours, eager)


@INDUCTOR_WARNS
def test_compiled_range():
    frequencies = phases.from_base(500000.0, [(2 * i, 64) for i in range(32)])
    run = compiled(lambda positions: phases.exact(positions, frequencies))
    for start, n in ((0, 8), (2**31 - 9, 9), (2**40, 10)):
        for ours, eager in zip(run(range(start, start + n)), phases.exact(range(start, start + n), frequencies), strict=True):
            assert torch.equal(ours, eager)


@INDUCTOR_WARNS
def test_compiled_fractions():
    frequencies = phases.from_values([100.3, 128 * math.pi, 1.0, 7.25e-9])
    run = compiled(lambda positions: phases.exact(positions, frequencies))
    positions = fractions(torch.float64)(random.Random(4), 40)
    for ours, eager in zip(run(positions), phases.exact(positions, frequencies), strict=True):
        assert torch.equal(ours, eager)
