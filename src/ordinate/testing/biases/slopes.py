"""ALiBi's slopes, read off a bias, against the published list and lists that people make by mistake."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from ordinate import reference
from ordinate.testing.attempts import Failed
from ordinate.testing.biases.function import BiasFunction
from ordinate.testing.comparing import Array, Mistake, Question
from ordinate.testing.findings import Finding

Slopes = str | Sequence[float]
REACH = 4
HEAD_COUNTS = (1, 2, 3, 6, 8, 12)
REMEDY = "use the authors' list: 2^(-8 (h + 1) / p) for the largest power of two p, then every second slope of 2 p heads"


def measured_slopes(function: BiasFunction) -> Array | Failed:
    """Fall of the bias for one position farther away, one number a head; negative where the bias rises.

    Args:
        function: the bias.

    Returns:
        The slopes.

    Example:
        >>> measured_slopes(BiasFunction(lambda q, k: -0.5 * (q[:, None] - k[None, :])[None])).tolist()
        [0.5]
    """
    bias = function.ask((range(REACH + 1), range(REACH + 1)))
    return bias if isinstance(bias, Failed) else (bias[:, REACH, REACH] - bias[:, REACH, 0]) / REACH


def slopes_question(n_heads: Sequence[int], slopes: Slopes) -> Question[int]:
    """Ask for the slopes of some head counts.

    Args:
        n_heads: the counts, smallest first.
        slopes: "authors", "paper" or the numbers.

    Returns:
        The question; its input is a head count.

    Example:
        >>> slopes_question((3,), "authors").right(3).tolist()
        [0.0625, 0.00390625, 0.25]
    """
    return Question(
        property="slopes",
        kind="alibi-slopes",
        inputs=tuple(n_heads),
        right=lambda n: declared_slopes(n, slopes),
        shown="{} heads".format,
        mistakes=_mistakes(slopes),
        alike=_alike,
    )


def declared_slopes(n_heads: int, slopes: Slopes) -> Array:
    """Give the list that is right.

    Args:
        n_heads: how many.
        slopes: "authors", "paper" or the numbers.

    Returns:
        One number a head.

    Example:
        >>> declared_slopes(2, "paper").tolist()
        [0.0625, 0.00390625]
    """
    return np.array(reference.alibi_slopes(n_heads, slopes) if isinstance(slopes, str) else slopes, dtype=np.float64)


def ask_for_slopes(function: BiasFunction, n_heads: int, slopes: Slopes, make: Callable[[int], BiasFunction] | None) -> Finding:
    """Check the slopes of a bias, and of others that ``make`` gives.

    Args:
        function: the bias.
        n_heads: its heads.
        slopes: what is right.
        make: from a head count to a bias.

    Returns:
        The finding.

    Example:
        >>> bias = BiasFunction(lambda q, k: -0.5 * (q[:, None] - k[None, :])[None])
        >>> ask_for_slopes(bias, 1, (0.5,), None).verdict
        'holds'
    """
    if make is None or not isinstance(slopes, str):
        return slopes_question((n_heads,), slopes).answered(lambda _: _unsigned(function))
    counts = sorted({*HEAD_COUNTS, n_heads})
    return slopes_question(counts, slopes).answered(lambda n: _unsigned(function if n == n_heads else make(n)))


def _unsigned(function: BiasFunction) -> Array | Failed:
    """A wrong sign is a matter of geometry, and found there."""
    slopes = measured_slopes(function)
    return slopes if isinstance(slopes, Failed) else np.abs(slopes)


def _alike(actual: Array, expected: Array) -> bool:
    return actual.shape == expected.shape and bool(np.allclose(actual, expected, rtol=2e-5, atol=0.0))


def _series(n: int, first: int = 1, reach: float = 8.0, heads: int | None = None) -> list[float]:
    return [2.0 ** (-reach * h / n) for h in range(first, first + (n if heads is None else heads))]


def _power(n: int) -> int:
    """The largest power of two up to n."""
    return 1 << (n.bit_length() - 1)


def _mistakes(slopes: Slopes) -> tuple[Mistake[int], ...]:
    def mistake(said: str, gives: Callable[[int], Sequence[float]], remedy: str = REMEDY) -> Mistake[int]:
        return Mistake(said=said, remedy=remedy, gives=lambda n: np.array(gives(n), dtype=np.float64))

    def right(n: int) -> list[float]:
        return [float(slope) for slope in declared_slopes(n, slopes)]

    def next_power(n: int) -> int:
        return _power(n) if _power(n) == n else 2 * _power(n)

    trained = f'{REMEDY}; if the weights were trained so, say slopes="paper" to this check'
    from_one = "the first exponent is that of h + 1: slopes of 8 heads begin with 1/2, and no head has slope 1"
    return (
        mistake("the slopes are one geometric series 2^(-8 (h + 1) / n), also where n is no power of two", _series, trained),
        mistake(
            "the slopes are the authors' list, which differs from the paper's series",
            lambda n: reference.alibi_slopes(n, "authors"),
            'make one series 2^(-8 (h + 1) / n), or say slopes="authors" to this check',
        ),
        mistake("the exponent is off by one: the slopes begin with 2^0", lambda n: _series(n, first=0), from_one),
        mistake(
            "the exponent is off by one: the slopes begin with 2^0",
            lambda n: _series(_power(n), 0) + _series(2 * _power(n), 0)[0::2][: n - _power(n)],
            from_one,
        ),
        mistake("the exponent is off by one: the first slope is that of the second head", lambda n: _series(n, first=2), from_one),
        mistake("the slopes are in reverse order", lambda n: right(n)[::-1]),
        mistake("the slopes are sorted", lambda n: sorted(right(n), reverse=True), "keep the published order: head by head"),
        mistake("the slopes are sorted", lambda n: sorted(right(n)), "keep the published order: head by head"),
        mistake("the slopes are the first ones of the next larger power of two", lambda n: _series(next_power(n), heads=n)),
        mistake(
            "the extra slopes are neighbours in the series of the next larger power, not every second one",
            lambda n: _series(_power(n)) + _series(2 * _power(n), heads=n - _power(n)),
        ),
        mistake(
            "the extra slopes begin with the second of the next larger power's series, not with the first",
            lambda n: _series(_power(n)) + _series(2 * _power(n))[1::2][: n - _power(n)],
        ),
        mistake("the ratio is 1/2 whatever the head count", lambda n: _series(8, heads=n)),
        mistake("all heads have one slope", lambda n: right(n)[:1] * n),
        mistake("the slopes are 1 / (h + 1)", lambda n: [1 / (h + 1) for h in range(n)]),
        mistake("the series ends with 2^-4, not with 2^-8", lambda n: _series(n, reach=4.0), "set the largest exponent to 8"),
        mistake("the series ends with 2^-16, not with 2^-8", lambda n: _series(n, reach=16.0), "set the largest exponent to 8"),
        mistake("the exponents are not negated", lambda n: [1 / slope for slope in right(n)], "negate the exponent"),
        mistake(
            "the slopes are rounded to bfloat16",
            lambda n: torch.tensor(right(n)).bfloat16().tolist(),
            "keep the slopes in float32",
        ),
        mistake(
            "the slopes are rounded to float16", lambda n: torch.tensor(right(n)).half().tolist(), "keep the slopes in float32"
        ),
    )
