"""Numbers that no configuration should hold end in one ValueError, and NumPy's are kept as Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ordinate import Rope
from ordinate.scaling import NTK, DynamicNTK, Linear, LongRoPE, Proportional, YaRN

HUGE = 10**400
YARN = {"factor": 4.0, "original_length": 512}
ROWS = {"original_length": 4, "factor": 2.0}


def rope(**settings: Any) -> Rope:
    return Rope(**{"head_dim": 8, "layout": "half", **settings})


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "huge factor": (lambda: Linear(factor=HUGE), "Linear: factor: needed a finite number >= 1, got 1000"),
    "huge alpha": (lambda: rope(scaling=NTK(alpha=1e300)), "NTK scaling: needed a base below 1e"),
    "huge length": (
        lambda: rope(scaling=DynamicNTK(factor=2.0, original_length=4), length=10**300, head_dim=4),
        "length: needed at most 4611686018427387904, got 1000",
    ),
    "base 1": (lambda: rope(scaling=YaRN(**YARN), base=1.0), "YaRN: base: needed a number > 1, got 1"),
    "base 0.5": (lambda: rope(scaling=YaRN(**YARN), base=0.5), "YaRN: base: needed a number > 1, got 0.5"),
    "row as a number": (lambda: YaRN(**YARN, attention_factor=np.ones(2)), "attention_factor: needed a finite number > 0"),
    "no magnitude": (lambda: YaRN(**YARN, attention_factor=0), "attention_factor: needed a finite number > 0, got 0"),
    "false magnitude": (lambda: YaRN(**YARN, mscale=False), "mscale: needed a finite number > 0, got False"),
    "text as frequencies": (
        lambda: Linear(factor=2.0).apply("abc", base=1e4),
        "inverse_frequencies: needed positive finite numbers",
    ),
    "ragged frequencies": (lambda: Linear(factor=2.0).apply([[1.0], [1.0, 2.0]], base=1e4), "inverse_frequencies: needed positive"),
    "bytes as a row": (
        lambda: LongRoPE(short_factors=b"1234", long_factors=(1.0,) * 4, **ROWS),
        "short_factors: needed positive finite numbers, one a pair, got b'1234'",
    ),
    "a set as a row": (
        lambda: LongRoPE(short_factors=(1.0,) * 4, long_factors={1.0, 2.0}, **ROWS),
        "long_factors: needed positive finite numbers",
    ),
    "no pair turns": (lambda: rope(scaling=Proportional(proportion=0.1)), "Proportional: needed at least one pair that turns"),
    "one pair": (
        lambda: rope(scaling=DynamicNTK(factor=2.0, original_length=4), head_dim=2),
        "NTK scaling: needed at least 2 pairs, got rotary_dim=2",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_hostile_numbers_are_refused(what: str) -> None:
    call, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_of_numpy_are_kept_as_python_s() -> None:
    rule = YaRN(factor=np.float64(4.0), original_length=np.int64(512))
    assert repr(rule) == repr(YaRN(**YARN))
    assert rule == YaRN(**YARN)
    assert hash(rule) == hash(YaRN(**YARN))
    long = LongRoPE(short_factors=np.ones(4), long_factors=[1, 2, 3, 4], original_length=4, factor=2.0)
    assert (long.short_factors, long.long_factors) == ((1.0,) * 4, (1, 2, 3, 4))
    scheme = rope(scaling=long, length=np.int64(9))
    assert "length=9" in repr(scheme)
    assert isinstance(rope(scaling=YaRN(**YARN, attention_factor=2)).magnitude, float)


def test_a_zero_of_a_configuration_means_none() -> None:
    assert YaRN(**YARN, mscale=1.0, mscale_all_dim=0).apply([1.0, 0.1], base=1e4).softmax_factor == 1.0
