"""ALiBi's bias: sign, alignment, length and rounding, for the slopes that the function itself has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch

from ordinate import reference
from ordinate.testing.attempts import Failed
from ordinate.testing.biases.function import BiasFunction, Places
from ordinate.testing.biases.places import FIRST, LATER, Asked, misplaced, shown, visible
from ordinate.testing.biases.slopes import measured_slopes
from ordinate.testing.comparing import Array, Mistake, Question, close, told_apart
from ordinate.testing.findings import Finding, broken, holds, not_asked

KIND = "alibi-geometry"
FAR = "far distances"
ENDS_AT = 64  # a function may end from here on
CONSTANT = "constant of each query"


class Geometry:
    """ALiBi's bias as one function should give it, compared where keys are seen and up to a constant of each query.

    Args:
        function: the bias.
        causal: whether keys after a query are hidden.

    Attributes:
        slopes: absolute values of those that the function has.

    Example:
        >>> geometry = Geometry(BiasFunction(lambda q, k: 0.5 * k.expand(1, len(q), -1)), causal=True)
        >>> geometry.actual(((4,), range(5))).tolist()
        [[[-2.0, -1.5, -1.0, -0.5, 0.0]]]
    """

    def __init__(self, function: BiasFunction, causal: bool) -> None:
        self.function, self.causal = function, causal
        slopes = measured_slopes(function)
        self.slopes: Array | Failed = slopes if isinstance(slopes, Failed) else np.abs(slopes)

    def right(self, places: Places) -> Array:
        """Give -slope |key - query|, 0 at hidden keys."""
        return self.seen(self.everywhere(places), places)

    def everywhere(self, places: Places) -> Array:
        """Give -slope |key - query|, also at hidden keys."""
        return reference.alibi(list(places[0]), list(places[1]), list(np.asarray(self.slopes)))

    def seen(self, bias: Array, places: Places) -> Array:
        """Give a bias with 0 at hidden keys, where no value matters."""
        return np.where(visible(places, self.causal)[None], bias, 0.0)

    def actual(self, places: Places) -> Array | Failed:
        """Give what the function gives, each row moved to what is right at the nearest key: softmax cancels such a constant."""
        bias = self.function.ask(places)
        return bias if isinstance(bias, Failed) else self.level(bias, places)

    def last_row(self, places: Places) -> Array | Failed:
        """Give what the function gives for one query at the last key, cut from the whole square if it takes one length."""
        if self.function.may_be_asked(places):
            return self.actual(places)
        bias = self.function.ask((places[1], places[1]))
        return bias if isinstance(bias, Failed) else self.level(bias[:, -1:], places)

    def level(self, bias: Array, places: Places) -> Array:
        """Move each row to what is right at the key that is nearest to its query."""
        if len(bias) != len(np.asarray(self.slopes)):
            return bias
        right, seen = self.right(places), visible(places, self.causal)
        apart = np.where(seen, np.abs(np.subtract.outer(list(places[0]), list(places[1]))), np.inf)
        rows, nearest = np.arange(len(apart)), np.argmin(apart, axis=1)
        moved = bias + (right - bias)[:, rows, nearest][..., None]
        return self.seen(moved, places)


def ask_for_geometry(function: BiasFunction, *, causal: bool, log_sum_exp: bool) -> list[Finding]:
    """Check the geometry of ALiBi's bias.

    Args:
        function: the bias.
        causal: whether keys after a query are hidden.
        log_sum_exp: whether the log-sum-exp of the scores is used, so that constants matter.

    Returns:
        The findings.

    Example:
        >>> exact = BiasFunction(lambda q, k: -0.5 * (q[:, None] - k[None, :]).abs().double()[None])
        >>> {finding.verdict for finding in ask_for_geometry(exact, causal=True, log_sum_exp=False)}
        {'holds'}
    """
    geometry = Geometry(function, causal)
    if isinstance(geometry.slopes, Failed):
        names = (*(asked.property for asked in LATER), FAR)
        said = "it gives no bias"
        needed = "[n_heads, 5, 5]"
        where = shown((range(5), range(5)))
        first = broken(FIRST.property, KIND, said, smallest=where, expected=needed, actual=str(geometry.slopes))
        return [first, *(not_asked(name, said) for name in names)]
    first = _question(geometry, FIRST.property, FIRST.places).answered(geometry.actual)
    if first.verdict == "broken":
        return [first, *(not_asked(name, "the distances are wrong already") for name in (*(each.property for each in LATER), FAR))]
    return [first, *(_later(geometry, asked) for asked in LATER), _far(geometry), _constant(geometry, log_sum_exp)]


def _later(geometry: Geometry, asked: Asked) -> Finding:
    places = [each for each in asked.places if geometry.function.may_be_asked(each)]
    if not places:
        return not_asked(asked.property, asked.why_not)
    near = [each for each in places if max(each[1]) < ENDS_AT or not isinstance(geometry.actual(each), Failed)]
    if not near:
        return not_asked(asked.property, f"the function gives no bias at {shown(places[0])}")
    return _question(geometry, asked.property, near).answered(geometry.actual)


def _far(geometry: Geometry) -> Finding:
    """The row of a far query: whole distances up to 256 are exact in bfloat16, up to 2048 in float16."""
    reaches = (64, 300, 2500) if geometry.function.takes != "length" else (64, 300)
    all_places: list[Places] = [(range(reach, reach + 1), range(reach + 1)) for reach in reaches]
    places = [each for each in all_places if not isinstance(geometry.last_row(each), Failed)]
    if not places:
        return not_asked(FAR, f"the function gives no bias for {reaches[0]} keys")
    question = _question(geometry, FAR, places)
    return replace(question, alike=_nearly, mistakes=_roundings(geometry)).answered(geometry.last_row)


def _question(geometry: Geometry, property: str, places: Sequence[Places]) -> Question[Places]:
    return Question(
        property=property,
        kind=KIND,
        inputs=places,
        right=geometry.right,
        shown=shown,
        mistakes=(*_mistakes(geometry), *misplaced(geometry.everywhere, geometry.level)),
        alike=_near(max(max(keys) for _, keys in places)),
    )


def _mistakes(geometry: Geometry) -> tuple[Mistake[Places], ...]:
    slopes = np.asarray(geometry.slopes)[:, None, None]

    def mistake(said: str, remedy: str, gives: Callable[[Array, Array], Array]) -> Mistake[Places]:
        def given(places: Places) -> Array:
            q, k = np.meshgrid(list(places[0]), list(places[1]), indexing="ij")
            return geometry.level(slopes * gives(q.astype(np.float64), k.astype(np.float64))[None], places)

        return Mistake(said=said, remedy=remedy, gives=given)

    def rows(q: Array) -> Array:
        return np.broadcast_to(np.arange(len(q), dtype=np.float64)[:, None], q.shape)

    sign = "bias = -slope (query - key): keys that are farther away get less"
    both = "two-way attention needs -slope |query - key|"
    aligned = "with a cache the last query stands at the last key: query i of Q is at position K - Q + i"
    return (
        mistake("the sign is wrong: the bias grows with the distance", sign, lambda q, k: np.abs(q - k)),
        mistake("the sign is wrong: the bias falls towards the query", sign, lambda _, k: -k),
        mistake("the distance keeps its sign: keys after the query are favoured", both, lambda q, k: k - q),
        mistake("keys after the query get 0", both, lambda q, k: np.minimum(k - q, 0.0)),
        mistake("keys before the query get 0", both, lambda q, k: np.minimum(q - k, 0.0)),
        mistake(
            "the same row of keys serves all queries", f"{both}; a row of keys will do in causal attention alone", lambda _, k: k
        ),
        mistake(
            "queries are counted from 0, so the first query is aligned to the first key", aligned, lambda q, k: -np.abs(k - rows(q))
        ),
        mistake("queries are counted from 0, and keys after that get 0", aligned, lambda q, k: np.minimum(k - rows(q), 0.0)),
        mistake("the distance is squared", sign, lambda q, k: -np.square(q - k)),
        mistake("the bias is that of position 0: it does not depend on the keys", sign, lambda _, k: 0 * k),
    )


def _roundings(geometry: Geometry) -> tuple[Mistake[Places], ...]:
    """The whole bias, or a row of keys, rounded to 16 bits."""

    def rounding(dtype: torch.dtype, keys_only: bool) -> Mistake[Places]:
        def given(places: Places) -> Array:
            q, k = list(places[0]), list(places[1])
            row = np.asarray(geometry.slopes)[:, None, None] * np.array(k, dtype=np.float64)
            bias = (
                np.broadcast_to(row, (len(row), len(q), len(k)))
                if keys_only
                else reference.alibi(q, k, list(np.asarray(geometry.slopes)))
            )
            return geometry.level(np.array(torch.from_numpy(bias.copy()).to(dtype).double().tolist()), places)

        name = str(dtype).removeprefix("torch.")
        form = "the row of keys is" if keys_only else "the bias is"
        return Mistake(
            said=f"{form} rounded to {name}: distances run together",
            remedy="keep the bias in float32 and add it to float32 scores",
            gives=given,
        )

    return tuple(rounding(dtype, keys_only) for dtype in (torch.bfloat16, torch.float16) for keys_only in (False, True))


def _near(farthest: int) -> Callable[[Array, Array], bool]:
    """float32's rounding of a row of keys, slope x position, is harmless."""
    tolerance = 1e-6 + 2e-7 * farthest

    def near(actual: Array, expected: Array) -> bool:
        return actual.shape == expected.shape and bool(np.allclose(actual, expected, rtol=1e-5, atol=tolerance))

    return near


def _nearly(actual: Array, expected: Array) -> bool:
    """float32's rounding of a row of keys is harmless; that of 16 bits is not."""
    return actual.shape == expected.shape and bool(np.all(np.abs(actual - expected) <= 1e-6 * np.abs(expected).max() + 1e-6))


def _constant(geometry: Geometry, log_sum_exp: bool) -> Finding:
    """A constant of each query is no fault, unless the log-sum-exp of the scores is used."""
    places = FIRST.places[-2]
    bias, right = geometry.function.ask(places), geometry.right(places)
    if isinstance(bias, Failed) or close(geometry.seen(bias, places), right):
        return holds(CONSTANT, "there is none: the bias is -slope |query - key| itself")
    if not log_sum_exp:
        return holds(CONSTANT, "each row differs from -slope |query - key| by one number, which the softmax cancels")
    expected, actual = told_apart(right[:1], geometry.seen(bias, places)[:1])
    return broken(
        CONSTANT,
        KIND,
        "each row differs from -slope |query - key| by one number, and the log-sum-exp keeps it",
        smallest=shown(places),
        expected=expected,
        actual=actual,
        remedy="subtract slope x query position from each row, or do not use the log-sum-exp",
    )
