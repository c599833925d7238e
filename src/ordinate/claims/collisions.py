"""Claims about whether two positions can have the same vector: the note's reason, and the distances themselves."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.layers import Array
from ordinate.claims.sinusoid_values import BASE, Table, frequencies_seen

MANY = 10**6
CHUNK, FEW = 2**16, 2**12
PAIRS = 16  # enough to tell that most shifts are not the nearest
WIDTHS = (4, 8, 16, 512)
FLOAT32_END = 2**24


def frequencies(width: int) -> Array:
    """Radians a position, one number a pair: 10000^(-2i/d).

    Args:
        width: of the vectors.

    Returns:
        The frequencies.

    Shape:
        [width / 2]

    Example:
        >>> frequencies(4).tolist()
        [1.0, 0.01]
    """
    out: Array = BASE ** (-np.arange(0, width, 2) / width)
    return out


def nearest_positions(angular: Array, many: int = MANY) -> tuple[float, int]:
    """Smallest distance between the vectors of two of the first positions.

    The distance depends on the shift k alone, |P_pos - P_pos+k|^2 = sum of 4 sin^2(w k / 2), so one pass over k finds it. Part of
    the pairs is a lower bound, which few shifts pass.

    Args:
        angular: frequencies of the pairs.
        many: how many positions.

    Returns:
        The distance, and the shift that has it.

    Shape:
        [pairs]

    Example:
        >>> distance, shift = nearest_positions(frequencies(512), 1000)
        >>> round(distance, 3), shift
        (3.714, 1)
    """
    some = angular[:: max(1, len(angular) // PAIRS)]
    best, found = math.inf, 0
    for start in range(1, many, CHUNK):
        shifts = np.arange(start, min(start + CHUNK, many), dtype=np.float64)
        left = shifts[_squares(shifts, some) < best]
        for begin in range(0, len(left), FEW):
            block = left[begin : begin + FEW]
            squares = _squares(block, angular)
            if squares.min() < best:
                best, found = float(squares.min()), int(block[squares.argmin()])
    return best**0.5, found


def _squares(shifts: Array, angular: Array) -> Array:
    out: Array = (4 * np.sin(shifts[:, None] * angular / 2) ** 2).sum(1)
    return out


def _bfloat16(values: Array) -> Array:
    """Round to bfloat16 and back."""
    import torch

    out: Array = torch.from_numpy(values).to(torch.bfloat16).double().numpy()
    return out


def first_collision(rows: Array) -> int | None:
    """Find the first row that is bit for bit an earlier one.

    Args:
        rows: one a position.

    Returns:
        Its number; None if all differ.

    Shape:
        [T, N]

    Example:
        >>> first_collision(np.array([[1.0], [2.0], [1.0]])), first_collision(np.eye(3))
        (2, None)
    """
    seen: set[bytes] = set()
    for number, row in enumerate(rows):
        bits = row.tobytes()
        if bits in seen:
            return number
        seen.add(bits)
    return None


def _incommensurate(table: Table = reference.sinusoidal) -> Measured:
    """Look for pairs whose wavelengths are whole multiples of the first one; and move the example by its longer wavelength."""
    shared = {}
    for width in WIDTHS:
        ratios = 1 / frequencies_seen(table, width)[1:]
        multiples = [round(ratio) for ratio in ratios if abs(ratio / round(ratio) - 1) < 1e-10]
        shared[width] = multiples[0] if multiples else 0
    places = range(50)
    whole_turn = 2 * math.pi / float(frequencies_seen(table, 4)[1])
    difference = float(np.abs(table([place + whole_turn for place in places], 4) - table(places, 4)).max())
    return judged(
        holds=not any(shared.values()),
        instead=all(shared.values()) and difference < 1e-9,
        four=shared[4],
        eight=shared[8],
        sixteen=shared[16],
        usual=shared[512],
        after=whole_turn,
        difference=difference,
    )


def _no_collision(angular: Callable[[int], Array] = frequencies, rounded: Callable[[Array], Array] = _bfloat16) -> Measured:
    """Smallest distances in float64; first equal rows where positions, angles or the table are bfloat16; float32's positions."""
    (narrow, narrow_shift), (wide, wide_shift) = (nearest_positions(angular(width)) for width in (16, 512))
    example, example_shift = nearest_positions(angular(4))
    places = np.arange(8192, dtype=np.float64)
    position = first_collision(rounded(places)[:, None])
    angles = [first_collision(rounded(places[:, None] * angular(width))) for width in (16, 512)]
    merged = np.float32(FLOAT32_END) == np.float32(FLOAT32_END + 1)
    apart = min(narrow, wide) > 0.1
    return judged(
        holds=apart and position is None,
        with_condition=apart and position is not None and None not in angles and bool(merged),
        narrow=narrow,
        narrow_shift=narrow_shift,
        wide=wide,
        wide_shift=wide_shift,
        example=example,
        example_shift=example_shift,
        position=-1 if position is None else position,
        narrow_angle=-1 if angles[0] is None else angles[0],
        wide_angle=-1 if angles[1] is None else angles[1],
        float32=FLOAT32_END,
    )


CLAIMS = (
    Claim(
        name="incommensurate-periods",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "What keeps whole vectors from repeating is that the pairs' periods are incommensurate.",
            "Векторы целиком не повторяются потому, что периоды пар несоизмеримы.",
        ),
        check=_incommensurate,
        shown=Text(
            "a pair's wavelength is exactly {four} times the first one's for d = 4, {eight} times for d = 8, {sixteen} for d = 16, "
            "{usual} for d = 512; for d = 4 the whole vector repeats after {after:.2f}, difference {difference:.0e}",
            "есть пара, длина волны которой ровно в {four} раз больше первой при d = 4, в {eight} при d = 8, в {sixteen} при d "
            "= 16, в {usual} при d = 512; при d = 4 весь вектор повторяется через {after:.2f}, разность {difference:.0e}",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "Many periods are commensurate: the ratio is a power of 10 wherever 8(j - i)/d is a whole number. In the worked "
            "example the whole vector repeats after 200π. What keeps whole positions apart is that the first period, 2π, is "
            "irrational.",
            "Многие периоды соизмеримы: отношение — степень десяти всюду, где 8(j - i)/d целое. В разобранном примере весь вектор "
            "повторяется через 200π. Целые позиции различает другое: первый период, 2π, иррационален.",
        ),
        schemes=("sinusoidal", "rope"),
    ),
    Claim(
        name="no-collision",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "No two positions in a practical range have the same vector.",
            "Среди позиций, которые встречаются на деле, нет двух с одинаковым вектором.",
        ),
        check=_no_collision,
        shown=Text(
            "first 10^6 positions in float64, smallest distance: {narrow:.2f} (d = 16, {narrow_shift} apart), {wide:.2f} (d = "
            "512, {wide_shift} apart), {example:.0e} (d = 4, {example_shift} apart). In bfloat16 position {position} equals the "
            "one before it; with angles alone rounded so, {narrow_angle} does for d = 16 and {wide_angle} for d = 512. "
            "Positions in float32 merge from {float32} on",
            "первые 10^6 позиций в float64, наименьшее расстояние: {narrow:.2f} (d = 16, сдвиг {narrow_shift}), {wide:.2f} (d = "
            "512, сдвиг {wide_shift}), {example:.0e} (d = 4, сдвиг {example_shift}). В bfloat16 позиция {position} совпадает с "
            "предыдущей; если так округлены только углы, это случается на {narrow_angle} при d = 16 и на {wide_angle} при d = "
            "512. Позиции во float32 сливаются начиная с {float32}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "If positions and angles are computed in float32 or finer: in bfloat16 neighbours collide after a few hundred "
            "tokens. And for widths in use: for d = 4 far positions come very near.",
            "Если позиции и углы вычисляются во float32 или точнее: в bfloat16 соседи совпадают уже через несколько сотен "
            "токенов. И для употребительных ширин: при d = 4 далёкие позиции подходят очень близко.",
        ),
        schemes=("sinusoidal",),
    ),
)
