"""Questions to a function: one property over inputs from small to large, with the right answers and those of known mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from ordinate.testing.attempts import Failed
from ordinate.testing.findings import Finding, broken, holds

Array = npt.NDArray[np.float64]
Input = TypeVar("Input")
MOST_SHOWN = 24


@dataclass(frozen=True, kw_only=True)
class Mistake(Generic[Input]):
    """A known mistake, as a formula.

    Attributes:
        said: what is wrong, in a sentence.
        remedy: how to mend it.
        gives: what a function with this mistake gives for an input.
        kind: of the fault, where it is not the question's.
    """

    said: str
    remedy: str
    gives: Callable[[Input], Array]
    kind: str | None = None


def close(actual: Array, expected: Array) -> bool:
    """Say whether two arrays are equal up to float32's rounding.

    Args:
        actual: one.
        expected: the other.

    Returns:
        Whether shapes agree and numbers are near.

    Example:
        >>> close(np.array([1.0]), np.array([1.0000001])), close(np.array([1.0]), np.array([[1.0]]))
        (True, False)
    """
    return actual.shape == expected.shape and bool(np.allclose(actual, expected, rtol=1e-5, atol=1e-6))


@dataclass(frozen=True, kw_only=True)
class Question(Generic[Input]):
    """One property of a function.

    Attributes:
        property: its name.
        kind: of the fault, if it is broken.
        inputs: smallest first.
        right: what is right for an input.
        shown: an input in words.
        mistakes: known ones, the likeliest first.
        alike: whether two answers are the same.
        raising: the remedy if the function raises.
    """

    property: str
    kind: str
    inputs: Sequence[Input]
    right: Callable[[Input], Array]
    shown: Callable[[Input], str]
    mistakes: Sequence[Mistake[Input]] = ()
    alike: Callable[[Array, Array], bool] = close
    raising: str | None = None

    def answered(self, actual: Callable[[Input], Array | Failed]) -> Finding:
        """Ask a function and say what was found.

        Args:
            actual: what the function gives for an input.

        Returns:
            The finding: for a fault with the smallest input, and with the mistake that explains all answers, or all wrong ones.

        Example:
            >>> natural = lambda n: np.arange(n, dtype=np.float64)
            >>> from_one = Mistake(said="counts from 1", remedy="count from 0", gives=lambda n: natural(n) + 1)
            >>> inputs = {"inputs": (1, 2), "shown": "length {}".format}
            >>> count = Question(property="count", kind="decode-offset", right=natural, mistakes=(from_one,), **inputs)
            >>> print(count.answered(lambda n: natural(n) + 1))
            BROKEN  count: counts from 1 [ORD401 decode-offset]
                    input    length 1
                    expected [0]
                    actual   [1]
                    remedy   count from 0
        """
        answers = [(each, actual(each)) for each in self.inputs]
        wrong = [(each, got) for each, got in answers if isinstance(got, Failed) or not self.alike(got, self.right(each))]
        if not wrong:
            return holds(self.property, f"for {len(answers)} inputs, the largest {self.shown(self.inputs[-1])}")
        where, got = wrong[0]
        if isinstance(got, Failed):
            expected = numbers(self.right(where))
            said, remedy = "it gives no value", self.raising
            return broken(
                self.property, self.kind, said, smallest=self.shown(where), expected=expected, actual=str(got), remedy=remedy
            )
        expected, shown = told_apart(self.right(where), got)
        mistake = self._recognised(answers) or self._recognised(wrong)
        if mistake is None:
            said = "it differs, and matches no known mistake"
            return broken(self.property, self.kind, said, smallest=self.shown(where), expected=expected, actual=shown)
        kind = mistake.kind or self.kind
        return broken(
            self.property,
            kind,
            mistake.said,
            smallest=self.shown(where),
            expected=expected,
            actual=shown,
            remedy=mistake.remedy,
        )

    def _recognised(self, answers: Sequence[tuple[Input, Array | Failed]]) -> Mistake[Input] | None:
        """The first mistake that gives all of these answers."""

        def explains(mistake: Mistake[Input]) -> bool:
            return all(isinstance(got, Failed) or self.alike(got, mistake.gives(each)) for each, got in answers)

        return next(filter(explains, self.mistakes), None)


def numbers(array: Array) -> str:
    """Write numbers down, whole ones as such and others with six digits.

    Args:
        array: the numbers.

    Returns:
        Them, or the first ones of many.

    Example:
        >>> numbers(np.array([[1.0, 0.25], [2.0, 1 / 3]])), numbers(np.array(0.5))
        ('[[1, 0.25], [2, 0.333333]]', '0.5')
    """
    if array.size <= MOST_SHOWN:
        return _written(array.tolist())
    return f"{_written(array.ravel()[:MOST_SHOWN].tolist())[:-1]}, ...] (the first {MOST_SHOWN} of {list(array.shape)})"


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return f"{value + 0.0:.6g}"  # + 0.0: no minus before a zero


def told_apart(expected: Array, actual: Array) -> tuple[str, str]:
    """Write two different arrays down so that the difference is seen: as a whole if they are small, else where they differ most.

    Args:
        expected: one.
        actual: the other.

    Returns:
        The two in words.

    Example:
        >>> told_apart(np.zeros(100), np.eye(10).ravel())
        ('0 at [0]', '1 at [0]')
    """
    if expected.shape != actual.shape:
        return f"shape {list(expected.shape)}", f"shape {list(actual.shape)}"
    if expected.size <= MOST_SHOWN:
        return numbers(expected), numbers(actual)
    apart = np.abs(expected - actual)
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(apart), np.inf, apart))), expected.shape)
    where = f"at {[int(index) for index in place]}"
    return f"{_written(float(expected[place]))} {where}", f"{_written(float(actual[place]))} {where}"


def as_array(value: Any) -> Array:
    """Take a tensor, an array or nested lists as float64 numbers.

    Args:
        value: the numbers.

    Returns:
        The array, a copy.

    Example:
        >>> as_array(torch.tensor([1, 2], dtype=torch.bfloat16)).tolist()
        [1.0, 2.0]
    """
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().double().numpy().copy()
    return np.array(value, dtype=np.float64)
