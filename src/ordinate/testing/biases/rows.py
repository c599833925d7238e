"""Biases that read rows of a table: which row for which distance, and for which positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ordinate.testing.attempts import Failed
from ordinate.testing.biases.function import BiasFunction, Places
from ordinate.testing.biases.places import FIRST, LATER, Asked, misplaced, shown, visible
from ordinate.testing.biases.row_rules import RowOf, Variant
from ordinate.testing.comparing import Array, Mistake, Question
from ordinate.testing.findings import Finding, not_asked

KIND = "relative-index-logic"
# A square of this length shows these distances where a function takes lengths only.
LARGEST_SQUARE = 200


@dataclass(frozen=True)
class RowRule:
    """A published rule.

    Attributes:
        row: of a distance = key position - query position.
        variants: mistaken forms.
        distances: to try, nearest first.
        allowed: other numbers that stand for the same rows, as a function of the right one.
    """

    row: RowOf
    variants: tuple[Variant, ...]
    distances: Sequence[int]
    allowed: tuple[Callable[[int], int], ...] = ()


class Rows:
    """A bias seen as the numbers of the rows that it reads.

    Args:
        function: the bias.
        causal: whether keys after a query are hidden.
        table: the rows' values [rows, H]; None if the function gives numbers of rows.

    Example:
        >>> import torch
        >>> Rows(BiasFunction(lambda q, k: (k[None, :] - q[:, None]) + 9), True, None).at_distance(-2).item()
        7.0
    """

    def __init__(self, function: BiasFunction, causal: bool, table: Array | None) -> None:
        self.function, self.table = function, table
        self.hidden = causal and not function.everywhere

    def actual(self, places: Places) -> Array | Failed:
        """Give the rows [1, Q, K], 0 at hidden keys."""
        bias = self.function.ask(places)
        if isinstance(bias, Failed):
            return bias
        rows = self._numbers(bias)
        return rows if isinstance(rows, Failed) else self.seen(rows, places)

    def seen(self, rows: Array, places: Places) -> Array:
        """Give rows with 0 at hidden keys, where no row matters."""
        return np.where(visible(places, self.hidden)[None], rows, 0.0)

    def at_distance(self, distance: int) -> Array | Failed:
        """Give the row of one distance, from the smallest question that shows it."""
        query = max(0, -distance)
        places: Places = (range(query, query + 1), range(query + distance, query + distance + 1))
        if self.function.may_be_asked(places):
            rows = self.actual(places)
            return rows if isinstance(rows, Failed) else rows[0, 0, 0]
        length = abs(distance) + 1
        rows = self.actual((range(length), range(length)))
        return rows if isinstance(rows, Failed) else rows[0, query, query + distance]

    def fits(self, distance: int) -> bool:
        """Say whether a distance can be asked for, and matters."""
        if distance > 0 and self.hidden:
            return False
        return self.function.takes == "positions" or abs(distance) < LARGEST_SQUARE

    def _numbers(self, bias: Array) -> Array | Failed:
        if self.table is None:
            if np.nanmax(np.abs(bias - bias.round()), initial=0.0) > 0 or not np.array_equal(bias[:1].repeat(len(bias), 0), bias):
                raise ValueError(
                    "fn: needed numbers of rows, whole and the same for all heads, got a bias; give its table=, [rows, H], or the "
                    "function of buckets through from_buckets"
                )
            return bias[:1]
        if len(bias) != self.table.shape[1]:
            return Failed(f"{len(bias)} heads, needed {self.table.shape[1]}, the table's")
        apart = np.abs(bias[:, None] - self.table.T[:, :, None, None]).max(axis=0)
        return np.where(apart.min(axis=0) <= 1e-5 * (1 + np.abs(self.table).max()), apart.argmin(axis=0), np.nan)[None]


def ask_for_rows(rows: Rows, rule: RowRule) -> list[Finding]:
    """Check which rows a bias reads, first by distance and then by positions.

    Args:
        rows: the bias.
        rule: the right rule.

    Returns:
        The findings.

    Example:
        >>> rule = RowRule(lambda distance: max(-distance, 0), (), (0, -1, -2))
        >>> bias = BiasFunction(lambda q, k: (q[:, None] - k[None, :]).clamp(min=0))
        >>> {finding.verdict for finding in ask_for_rows(Rows(bias, True, None), rule)}
        {'holds'}
    """
    distances = [distance for distance in rule.distances if rows.fits(distance)]
    row = _convention(rows, rule, distances)
    by_distance = _distances(replace(rule, row=row, distances=distances)).answered(rows.at_distance)
    asked = (FIRST, *LATER)
    if by_distance.verdict == "broken":
        return [by_distance, *(not_asked(each.property, "the rows are wrong already") for each in asked)]
    return [by_distance, *(_places(rows, row, each) for each in asked)]


def _convention(rows: Rows, rule: RowRule, distances: Sequence[int]) -> RowOf:
    """The rule's numbers, or other numbers for the same rows if the function gives those."""
    for other in rule.allowed:
        answers = [(rows.at_distance(distance), other(rule.row(distance))) for distance in distances]
        if all(not isinstance(got, Failed) and float(got) == row for got, row in answers):
            return lambda distance: other(rule.row(distance))
    return rule.row


def _distances(rule: RowRule) -> Question[int]:
    def mistake(variant: Variant) -> Mistake[int]:
        return Mistake(said=variant.said, remedy=variant.remedy, gives=lambda distance: np.array(float(variant.row(distance))))

    return Question(
        property="row of each distance",
        kind=KIND,
        inputs=tuple(rule.distances),
        right=lambda distance: np.array(float(rule.row(distance))),
        shown="key position - query position = {}".format,
        mistakes=tuple(map(mistake, rule.variants)),
    )


def _places(rows: Rows, row: RowOf, asked: Asked) -> Finding:
    places = tuple(each for each in asked.places if rows.function.may_be_asked(each))
    if not places:
        return not_asked(asked.property, asked.why_not)

    def everywhere(where: Places) -> Array:
        return np.array([[[float(row(key - query)) for key in where[1]] for query in where[0]]])

    question = Question(
        property=asked.property,
        kind=KIND,
        inputs=places,
        right=lambda where: rows.seen(everywhere(where), where),
        shown=shown,
        mistakes=misplaced(everywhere, rows.seen),
    )
    return question.answered(rows.actual)
