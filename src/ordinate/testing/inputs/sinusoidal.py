"""Check of sinusoidal position vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.comparing import Array, Question, numbers, told_apart
from ordinate.testing.findings import Finding, Report, broken, holds, not_asked
from ordinate.testing.inputs.adapters import adapted
from ordinate.testing.inputs.function import InputFunction
from ordinate.testing.inputs.sinusoids import CONVENTIONS, Positions, mistakes_of, vectors

KIND = "sinusoid-construction"
NEAR: tuple[Positions, ...] = ((0,), (0, 1), (0, 1, 2), tuple(range(9)))
ASKED: tuple[tuple[str, str, str, tuple[Positions, ...]], ...] = (
    ("offset", "decode-offset", "the function takes no offset", ((1,), (5, 6, 7), (40, 41))),
    ("any order", KIND, "the function takes no positions", ((2, 0), (3, 0, 2), (5, 5, 1))),
    ("far positions", "low-precision-phase", "the function takes no offset", ((257,), (511, 512), (1857,), (4095, 4096))),
)
ENDS_AT = 16  # a function may end from here on
ROUNDING = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-10}


def check_sinusoidal(
    fn: Any,
    *,
    d_model: int,
    convention: str | None = None,
    base: float = 10000.0,
    max_length: int | None = None,
    padding_offset: int = 0,
    make: Callable[[int], Any] | None = None,
) -> Report:
    """Check sinusoidal vectors, and say which convention they follow.

    Sines and cosines in turn, or all sines before all cosines, with exponents 2i / d or i / (d / 2 - 1), are conventions: a fault
    only where none matches, or another one than was declared.

    Args:
        fn: fn(positions [T]) -> [T, d_model]; other signatures go through an adapter, most of them by themselves.
        d_model: width.
        convention: layout and spacing that are needed, as "interleaved/open" (the paper's), "sin_cos/closed"; any if None.
        base: of the frequencies.
        max_length: farthest position + 1, if there is one.
        padding_offset: position 0 has the vector of this position.
        make: from a width to such a function, to check width 5.

    Returns:
        A finding for each property.

    Raises:
        ValueError: for an unknown convention, or a function's signature that is unknown.

    Example:
        >>> from ordinate import Sinusoidal
        >>> print(next(iter(check_sinusoidal(Sinusoidal(d_model=8, layout="sin_cos"), d_model=8))))
            ok  convention: follows sin_cos/open
    """
    if convention is not None and convention not in CONVENTIONS:
        raise ValueError(f"convention: needed one of {', '.join(CONVENTIONS)}, got {convention!r}")
    check = _Check(adapted(fn, d_model), d_model, base, padding_offset, max_length)
    followed = check.followed()
    first = check.convention(followed, convention)
    later: list[Finding]
    if first.verdict == "broken":
        later = [not_asked(name, "the vectors are wrong already") for name, *_ in ASKED]
    else:
        offset, order, far = (check.later(followed, *asked) for asked in ASKED)
        later = [offset, order, far if offset.verdict != "broken" else not_asked(far.property, "the offset is wrong already")]
    odd = check.odd_width(make, [convention] if convention else list(CONVENTIONS))
    return Report("sinusoidal vectors", (first, *later, odd, memory(check.function), own_result(check.function)))


class _Check:
    """A function and the settings that say what is right."""

    def __init__(self, function: InputFunction, d_model: int, base: float, first: int, max_length: int | None) -> None:
        self.function, self.d_model, self.base, self.first, self.max_length = function, d_model, base, first, max_length
        given = function.raw((0,))
        dtype = given.dtype if isinstance(given, torch.Tensor) else torch.float32
        self.rounding = ROUNDING.get(dtype, 1e-6)

    def right(self, positions: Positions, convention: str, d_model: int | None = None) -> Array:
        moved = [position + self.first for position in positions]
        return vectors(moved, self.d_model if d_model is None else d_model, convention, self.base)

    def alike(self, reach: float) -> Callable[[Array, Array], bool]:
        """float32's angles are off by some 1e-6 of themselves, results by the rounding of their dtype."""
        tolerance = self.rounding + 2e-6 * reach

        def near(actual: Array, expected: Array) -> bool:
            return actual.shape == expected.shape and bool(np.all(np.abs(actual - expected) <= tolerance))

        return near

    def fitting(self, inputs: Sequence[Positions]) -> list[Positions]:
        def reached(positions: Positions) -> bool:
            return self.max_length is None or max(positions) < self.max_length

        return [each for each in inputs if self.function.may_be_asked(each) and reached(each)]

    def followed(self) -> list[str]:
        """Conventions that explain all near positions."""
        answers = [(positions, self.function.ask(positions)) for positions in self.fitting(NEAR)]
        near = self.alike(max(NEAR[-1]))

        def explains(convention: str) -> bool:
            return all(not isinstance(got, Failed) and near(got, self.right(each, convention)) for each, got in answers)

        return [convention for convention in CONVENTIONS if explains(convention)]

    def convention(self, followed: Sequence[str], declared: str | None) -> Finding:
        name = "convention"
        if declared in followed or (followed and declared is None):
            return holds(name, f"follows {' and '.join(followed)}")
        wanted = declared or "interleaved/open"
        if followed:
            where = self.fitting(NEAR)[-1]
            expected, actual = told_apart(self.right(where, wanted), self.right(where, followed[0]))
            said = f"the vectors follow {followed[0]}, not {wanted}"
            remedy = "the forms are no permutations of each other: make the vectors as the weights were trained"
            return broken(name, KIND, said, smallest=_shown(where), expected=expected, actual=actual, remedy=remedy)
        conventions = [declared] if declared else list(CONVENTIONS)
        question = self._question(name, KIND, self.fitting(NEAR), wanted, mistakes=conventions)
        return question.answered(lambda positions: self.function.ask(positions))

    def later(self, followed: Sequence[str], name: str, kind: str, why: str, inputs: tuple[Positions, ...]) -> Finding:
        asked = self.fitting(inputs)
        if not asked and name == "far positions":
            asked = self.fitting([tuple(range(int(each[-1]) + 1)) for each in inputs])
        if not asked:
            return not_asked(name, why)
        near = [each for each in asked if max(each) < ENDS_AT or not isinstance(self.function.ask(each), Failed)]
        if not near:
            return not_asked(name, f"the function gives no vectors at {_shown(asked[0])}")
        return self._question(name, kind, near, followed[0], mistakes=followed[:1]).answered(self.function.ask)

    def _question(
        self, name: str, kind: str, inputs: Sequence[Positions], convention: str, mistakes: Sequence[str]
    ) -> Question[Positions]:
        return Question(
            property=name,
            kind=kind,
            inputs=inputs,
            right=lambda positions: self.right(positions, convention),
            shown=_shown,
            mistakes=mistakes_of(self.d_model, self.base, mistakes, self.first),
            alike=self.alike(max(max(each) for each in inputs)),
            raising="make the vectors from the positions, of any number and any width",
        )

    def odd_width(self, make: Callable[[int], Any] | None, conventions: Sequence[str]) -> Finding:
        name, width, positions = "odd width", 5, (0.0, 1.0)
        if make is None and self.d_model % 2 == 0:
            return not_asked(name, "the width is even, and no make= was given")
        width = width if make is not None else self.d_model
        made = self.function if make is None else attempt(lambda: adapted(make(width), width))
        got = made if isinstance(made, Failed) else made.ask((0, 1))
        remedy = "give the last pair its sine alone: one more sine than cosines"
        expected = self.right(positions, conventions[0], width)
        where = f"d_model {width}, positions [0, 1]"
        if isinstance(got, Failed):
            said = "an odd width fails"
            return broken(name, KIND, said, smallest=where, expected=numbers(expected), actual=str(got), remedy=remedy)
        near = self.alike(1.0)
        if any(near(got, self.right(positions, each, width)) for each in conventions):
            return holds(name, f"width {width}")
        shown, actual = told_apart(expected, got)
        said = "vectors of odd width follow no convention"
        return broken(name, KIND, said, smallest=where, expected=shown, actual=actual, remedy=remedy)


def _shown(positions: Positions) -> str:
    whole = [int(position) for position in positions]
    return f"positions {whole}" if len(whole) <= 8 else f"positions {whole[0]} .. {whole[-1]}"


def memory(function: InputFunction) -> Finding:
    """Check that an answer stays the same after a longer question.

    Args:
        function: the vectors.

    Returns:
        The finding.

    Example:
        >>> memory(InputFunction(lambda positions: positions[:, None])).verdict
        'holds'
    """
    name, kind = "no memory", "cache-key-and-sharing"
    first, _, again = (function.ask(tuple(range(length))) for length in (3, 8, 3))
    if isinstance(first, Failed):
        return not_asked(name, "it gives no value")
    if not isinstance(again, Failed) and np.array_equal(first, again):
        return holds(name, "length 3 before and after length 8")
    said = "the answer for length 3 changes after one for length 8"
    shown = ("another one", str(again)) if isinstance(again, Failed) else told_apart(first, again)
    return broken(name, kind, said, smallest="length 3, then 8, then 3", expected=shown[0], actual=shown[1])


def own_result(function: InputFunction) -> Finding:
    """Check that who receives vectors may change them: later answers stay the same. What is changed is put back.

    Args:
        function: the vectors.

    Returns:
        The finding.

    Example:
        >>> table = torch.zeros(4, 2)
        >>> own_result(InputFunction(lambda positions: table[: len(positions)], takes="length")).said
        'the result is a view of a stored table: who changes it changes later answers'
    """
    name, positions = "results are the caller's own", (0, 1, 2)
    first, given = function.ask(positions), function.raw(positions)
    if isinstance(first, Failed) or not isinstance(given, (torch.Tensor, np.ndarray)):
        return not_asked(name, "it gives no tensor")
    kept = given.clone() if isinstance(given, torch.Tensor) else given.copy()
    if isinstance(attempt(lambda: _written(given, kept + 1)), Failed):
        return holds(name, "they cannot be changed in place")
    again = function.ask(positions)
    attempt(lambda: _written(given, kept))
    if not isinstance(again, Failed) and np.array_equal(first, again):
        return holds(name, "a change in place does not reach later answers")
    said = "the result is a view of a stored table: who changes it changes later answers"
    remedy = "return a copy, or add the table to the embeddings inside of the function"
    shown = ("the first answer", str(again)) if isinstance(again, Failed) else told_apart(first, again)
    where = "positions [0, 1, 2], 1 added in place to the result, then again"
    return broken(name, "cache-key-and-sharing", said, smallest=where, expected=shown[0], actual=shown[1], remedy=remedy)


def _written(given: Any, numbers: Any) -> None:
    given[...] = numbers
