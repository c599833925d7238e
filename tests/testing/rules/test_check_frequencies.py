"""Rules planted with their usual mistakes; transformers' own functions are the clean originals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from ordinate.testing import check_frequencies

WIDTH, BASE, TRAINED = 64, 10000.0, 2048
SHORT, LONG = [1.0 + 0.01 * i for i in range(32)], [2.0 + 0.1 * i for i in range(32)]
SETTINGS: dict[str, dict[str, Any]] = {
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, "beta_fast": 24.0, "beta_slow": 2.0},
    "longrope": {"factor": 4.0, "short_factor": SHORT, "long_factor": LONG},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
}


def plain() -> torch.Tensor:
    return BASE ** (-torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)


def theirs(rule: str) -> Callable[[int], Any]:
    given = {"rope_type": rule, "rope_theta": BASE, "original_max_position_embeddings": TRAINED, **SETTINGS[rule]}
    longest = TRAINED if rule == "dynamic" else 4 * TRAINED
    config = LlamaConfig(head_dim=WIDTH, max_position_embeddings=longest, rope_parameters=given)
    return lambda length: ROPE_INIT_FUNCTIONS[rule](config, "cpu", seq_len=length)


@pytest.mark.parametrize("rule", SETTINGS)
def test_transformers_functions(rule: str) -> None:
    report = check_frequencies(theirs(rule), rule=rule, width=WIDTH, base=BASE, original_length=TRAINED, **SETTINGS[rule])
    assert report.broken == (), str(report)
    assert [finding.verdict for finding in report] == ["holds"] * 3


def remembering() -> Callable[[int], torch.Tensor]:
    longest = [0]

    def by_length(length: int) -> torch.Tensor:
        longest[0] = max(longest[0], length)
        ratio = 2.0 * max(longest[0], TRAINED) / TRAINED - 1.0
        return (BASE * ratio ** (WIDTH / (WIDTH - 2))) ** (-torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)

    return by_length


def dynamic(ratio: Callable[[int], float]) -> Callable[[int], torch.Tensor]:
    return lambda n: (BASE * ratio(n) ** (WIDTH / (WIDTH - 2))) ** (-torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)


def long_from(first: int) -> Callable[[int], torch.Tensor]:
    return lambda n: plain() / torch.tensor(LONG if n >= first else SHORT, dtype=torch.float64)


def sticky() -> Callable[[int], torch.Tensor]:
    switched = [False]

    def by_length(length: int) -> torch.Tensor:
        switched[0] = switched[0] or length > TRAINED
        return plain() / torch.tensor(LONG if switched[0] else SHORT, dtype=torch.float64)

    return by_length


PLANTED: list[tuple[str, Callable[..., Any], str, str]] = [
    ("dynamic", remembering(), "dynamic-ntk", "get other frequencies than before"),
    ("dynamic", dynamic(lambda n: max(2.0 * n / TRAINED - 1.0, 0.01)), "dynamic-ntk", "below the trained length the base changes"),
    ("dynamic", dynamic(lambda n: 2.0 * max(n, TRAINED) / TRAINED), "dynamic-ntk", "factor - 1 is not taken off"),
    ("longrope", long_from(TRAINED), "longrope-switch", "begin one token early"),
    ("longrope", sticky(), "longrope-switch", "get other frequencies than before"),
    (
        "longrope",
        lambda _: (theirs("longrope")(2 * TRAINED)[0], 1.0),
        "longrope-switch",
        "the long factors are used at every length",
    ),
    ("llama3", lambda _: plain() / 8, "config-key-dropped", "the bands are dropped"),
    ("llama3", lambda _: 1e6 ** (-torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH), "config-key-dropped", ""),
    ("linear", lambda _: plain(), "config-key-dropped", "the rule linear is ignored"),
    ("linear", lambda _: plain() / 16, "config-key-dropped", "divided by the factor twice"),
    ("yarn", lambda n: (theirs("yarn")(n)[0], 1.138629**2), "yarn-magnitude", "applied twice"),
    ("yarn", lambda n: (theirs("yarn")(n)[0], 1.0), "yarn-magnitude", "never applied"),
    ("default", lambda _: BASE ** (-torch.arange(32) / WIDTH), "sinusoid-construction", "the exponent is i/d"),
    ("default", lambda _: plain()[:16], "partial-rotary", "16 frequencies for 64 entries"),
    ("default", lambda _: 1 / 0, "config-key-dropped", "raises an error"),
]


@pytest.mark.parametrize(("rule", "fn", "kind", "said"), PLANTED, ids=[f"{row[0]}-{i}" for i, row in enumerate(PLANTED)])
def test_planted_mistakes(rule: str, fn: Any, kind: str, said: str) -> None:
    settings = SETTINGS.get(rule, {})
    report = check_frequencies(fn, rule=rule, width=WIDTH, base=BASE, original_length=TRAINED, **settings)
    assert [(kind, True)] == [(finding.kind, said in finding.said) for finding in report.broken][:1], str(report)


def test_the_values_of_small_cases() -> None:
    """d = 8, base 1e4, trained length 4, factor 2: at 8 tokens the base is 43267.487, at 4 it is 10000."""
    for length, base in ((8, 43267.487), (4, 10000.0)):
        ratio = 2.0 * max(length, 4) / 4 - 1.0
        assert math.isclose(BASE * ratio ** (8 / 6), base, rel_tol=1e-7)

    def small(length: int) -> torch.Tensor:
        bases = {8: 43267.487109, 5: 1e4 * 1.5 ** (4 / 3), 16: 1e4 * 7.0 ** (4 / 3)}
        return bases.get(length, BASE) ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)

    report = check_frequencies(small, rule="dynamic", width=8, original_length=4, factor=2.0)
    assert report.broken == (), str(report)


def test_bad_calls() -> None:
    with pytest.raises(ValueError, match="needed one of default, linear"):
        check_frequencies(lambda _: plain(), rule="su", width=WIDTH)
    with pytest.raises(ValueError, match="short_factor, long_factor: needed for longrope"):
        check_frequencies(lambda _: plain(), rule="longrope", width=WIDTH)
