"""What every rule that stretches RoPE has in common. Rules are plain numbers: nothing here needs torch."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

LARGEST = 1e300  # room for what is multiplied by it
Periods = npt.NDArray[np.floating[Any]]


class Scaled(NamedTuple):
    """What a rule makes of frequencies: radians a position, the factor of cos and sin, and the factor of the softmax scale."""

    inverse_frequencies: tuple[float, ...]
    magnitude: float
    softmax_factor: float


class Rule(abc.ABC):
    """Changes the frequencies of a rotary embedding; a frozen dataclass of plain numbers, equal if its numbers are equal."""

    # Whether the frequencies depend on the length of the sequence, beyond the original one.
    needs_length: ClassVar[bool] = False
    # Whether the rule changes nothing but the base: its frequencies are then as exact as any base's.
    only_base: ClassVar[bool] = False

    @abc.abstractmethod
    def source(self, base: float, width: int, length: int | None) -> tuple[float, int]:
        """Give the base that the periods base^(2i / width) should be made from, and for how many pairs, the fastest first."""

    @abc.abstractmethod
    def scale(self, periods: Periods, *, base: float, width: int, length: int | None) -> tuple[Periods, float, float]:
        """Give width / 2 inverse frequencies in the dtype of the periods, the magnitude of cos and sin, and the softmax factor."""

    def apply(self, inverse_frequencies: Sequence[float], *, base: float, length: int | None = None) -> Scaled:
        """Apply the rule to frequencies w_i = base^(-2i / d), in float64.

        Args:
            inverse_frequencies: w_i in radians a position, d / 2 numbers.
            base: what they were made from.
            length: of the sequence, where the rule needs it; None or any length up to the original one give the same.

        Returns:
            New frequencies, the factor of cos and sin, and the factor of the softmax scale.

        Raises:
            ValueError: if the numbers do not fit.
        """
        faults = [*positive("base", base), *([] if length is None else whole("length", length, least=1))]
        values = _row_of(inverse_frequencies)
        if not len(values) or not (np.isfinite(values) & (values > 0)).all():
            faults.append(f"inverse_frequencies: needed positive finite numbers in one row, got {inverse_frequencies!r:.80}")
        require(type(self).__name__, faults)
        width = 2 * len(values)
        changed, pairs = self.source(base, width, length)
        periods = 1.0 / values[:pairs]
        if changed != base:
            periods = periods * (changed / base) ** (np.arange(pairs) * 2 / width)
        scaled, magnitude, softmax_factor = self.scale(periods, base=changed, width=width, length=length)
        if not np.isfinite(scaled).all():
            raise ValueError(f"{type(self).__name__}: needed numbers that give finite frequencies, got {self!r:.120}")
        return Scaled(tuple(float(value) for value in scaled), magnitude, softmax_factor)

    def _settle(self) -> None:
        """Keep NumPy's numbers as Python's and rows as tuples: rules are compared, hashed and written as their call."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, (np.generic, np.ndarray)):
                value = value.tolist()
            object.__setattr__(self, field.name, tuple(value) if isinstance(value, list) else value)


def _row_of(values: object) -> Periods:
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(0)
    return row if row.ndim == 1 else np.zeros(0)


def require(rule: str, faults: Sequence[str]) -> None:
    """Refuse, naming all faults at once.

    Args:
        rule: whose numbers they are.
        faults: none if all is well.

    Raises:
        ValueError: if there is one.

    Example:
        >>> require("Linear", ["factor: needed a number >= 1, got 0"])
        Traceback (most recent call last):
        ValueError: Linear: factor: needed a number >= 1, got 0
    """
    if faults:
        raise ValueError(f"{rule}: {'; '.join(faults)}")


def positive(name: str, value: object, *, least: float | None = None) -> list[str]:
    """Find what is wrong with a number that should be positive and finite.

    Args:
        name: what the caller calls it.
        value: what came.
        least: smallest allowed, if more than 0.

    Returns:
        One fault or none.

    Example:
        >>> positive("factor", 0.5, least=1.0)
        ['factor: needed a finite number >= 1, got 0.5']
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and 0 < value <= LARGEST and (least is None or value >= least):  # type: ignore[operator]
        return []
    return [f"{name}: needed a finite number {'> 0' if least is None else f'>= {least:g}'}, got {value!r:.60}"]


def whole(name: str, value: object, *, least: int) -> list[str]:
    """Find what is wrong with a number that should be whole.

    Args:
        name: what the caller calls it.
        value: what came.
        least: smallest allowed.

    Returns:
        One fault or none.

    Example:
        >>> whole("original_length", 8192.5, least=1)
        ['original_length: needed a whole number >= 1, got 8192.5']
    """
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least:
        return []
    return [f"{name}: needed a whole number >= {least}, got {value!r:.60}"]
