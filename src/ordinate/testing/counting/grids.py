"""Coordinates of the patches of an image."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.comparing import Array, Mistake, Question, as_array
from ordinate.testing.findings import Report

Size = tuple[int, int]  # rows, columns
Axes = Literal["row, column", "x, y"]
INPUTS: tuple[Size, ...] = ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (3, 4), (4, 2))
Cells = list[tuple[int, int]]


def check_grid(fn: Callable[[int, int], Any], *, axes: Axes | None = None) -> Report:
    """Check coordinates of patches: row after row (raster order), also where the grid is not square.

    Args:
        fn: fn(height, width) -> [height width, 2], [1, height width, 2], [height, width, 2], or a pair of flat coordinates.
        axes: the order of the coordinates; either is right if None, but one for all sizes.

    Returns:
        One finding.

    Example:
        >>> print(check_grid(lambda h, w: [(n % h, n // h) for n in range(h * w)]).broken[0])
        BROKEN  raster order: patches go column after column [ORD405 grid-order-and-resize]
                input    2 rows, 2 columns
                expected [[0, 0], [0, 1], [1, 0], [1, 1]]
                actual   [[0, 0], [1, 0], [0, 1], [1, 1]]
                remedy   patch n is at row n // width, column n % width
    """
    orders: tuple[Axes, ...] = (axes,) if axes else ("row, column", "x, y")
    findings = [_question(order).answered(lambda size: _ask(fn, size)) for order in orders]
    held = [finding for finding in findings if finding.verdict == "holds"]
    known = [finding for finding in findings if "no known" not in finding.said]
    return Report("grid", ((held or known or findings)[0],))


def _ask(fn: Callable[[int, int], Any], size: Size) -> Array | Failed:
    def coordinates() -> Array:
        given = fn(*size)
        if isinstance(given, tuple) and len(given) == 2:
            return np.stack([as_array(part).ravel() for part in given], axis=-1)
        numbers = as_array(given)
        return numbers.reshape(-1, 2) if numbers.ndim > 2 else numbers

    return attempt(coordinates)


def _question(axes: Axes) -> Question[Size]:
    def flat(cells: Callable[[int, int], Cells], exchanged: bool = False) -> Callable[[Size], Array]:
        def gives(size: Size) -> Array:
            turned = (axes == "x, y") != exchanged
            pairs = [(column, row) if turned else (row, column) for row, column in cells(*size)]
            return np.array(pairs, dtype=np.float64).reshape(-1, 2)

        return gives

    def rows_first(height: int, width: int) -> Cells:
        return [(row, column) for row in range(height) for column in range(width)]

    def columns_first(height: int, width: int) -> Cells:
        return [(row, column) for column in range(width) for row in range(height)]

    def square(height: int, width: int) -> Cells:
        side = math.isqrt(height * width)
        return [divmod(n, side) for n in range(height * width)]

    raster = "patch n is at row n // width, column n % width"
    wrong: tuple[tuple[str, Callable[[Size], Array]], ...] = (
        ("patches go column after column", flat(columns_first)),
        (f"the coordinates are exchanged: {axes} is needed", flat(rows_first, exchanged=True)),
        ("height and width are exchanged", flat(lambda h, w: rows_first(w, h))),
        ("places are divided by the height, not by the width", flat(lambda h, w: [divmod(n, h) for n in range(h * w)])),
        ("the grid is taken to be square", flat(square)),
        ("the grid is taken to be square: the height counts for both", flat(lambda h, _: rows_first(h, h))),
        ("the grid is taken to be square: the width counts for both", flat(lambda _, w: rows_first(w, w))),
        ("coordinates are counted from 1", flat(lambda h, w: [(row + 1, column + 1) for row, column in rows_first(h, w)])),
        ("rows are counted from below", flat(lambda h, w: [(h - 1 - row, column) for row, column in rows_first(h, w)])),
        ("both coordinates are the place in the sequence", flat(lambda h, w: [(n, n) for n in range(h * w)])),
    )
    return Question(
        property="raster order",
        kind="grid-order-and-resize",
        inputs=INPUTS,
        right=flat(rows_first),
        shown=lambda size: f"{size[0]} rows, {size[1]} columns",
        mistakes=[Mistake(said=said, remedy=raster, gives=gives) for said, gives in wrong],
        raising="take any height and width, not only equal ones",
    )
