"""The second note's worked example: its vectors for positions 0, 1 and 2, and its sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged

Vector = tuple[float, float, float, float]
Angle = Callable[[int], float]
# Facts of the note: what it prints for "Я люблю кодировать".
VECTORS: tuple[Vector, ...] = ((0.0, 1.0, 0.0, 0.99), (0.84, 0.54, 0.99, -0.13), (0.91, -0.41, 0.67, -0.98))
WORDS: tuple[Vector, ...] = ((0.2, 0.8, -0.1, 0.5), (0.3, 0.7, 0.2, 0.4), (0.6, 0.3, -0.4, 0.8))
SUMS: tuple[Vector, ...] = ((0.2, 1.8, -0.1, 1.49), (1.14, 1.24, 1.19, 0.27), (1.51, -0.11, 0.27, -0.18))
HALF_A_DIGIT = 0.005 + 1e-9
WIDEST = 4096


def second_angle(d_model: int) -> float:
    """How far the second pair turns in one position: 10000^(-2 / d).

    Args:
        d_model: an even width from 4.

    Returns:
        Radians.

    Example:
        >>> second_angle(4)
        0.01
    """
    return float(10000.0 ** (-2 / d_model))


def _misfit(vector: Vector, position: int, angle: float) -> float:
    """How far the printed numbers are at most from an encoding whose second pair turns by the angle a position."""
    wanted = (math.sin(position), math.cos(position), math.sin(angle * position), math.cos(angle * position))
    return max(abs(value - right) for value, right in zip(vector, wanted, strict=True))


def _nearest(vector: Vector, position: int, angle_of: Angle) -> tuple[int, float]:
    """The width that fits best, among the even ones from 4 to 4096."""
    misfits = {width: _misfit(vector, position, angle_of(width)) for width in range(4, WIDEST + 1, 2)}
    best = min(misfits, key=lambda width: misfits[width])
    return best, misfits[best]


def _example_position_0(vector: Vector = VECTORS[0], angle_of: Angle = second_angle) -> Measured:
    """Every width gives the same vector at position 0."""
    width, misfit = _nearest(vector, 0, angle_of)
    always = all((math.sin(0 * angle_of(d)), math.cos(0 * angle_of(d))) == (0.0, 1.0) for d in range(4, WIDEST + 1, 2))
    return judged(holds=misfit <= HALF_A_DIGIT, instead=always, printed=vector[3], misfit=misfit, width=width)


def _example_position_1(vector: Vector = VECTORS[1], angle_of: Angle = second_angle) -> Measured:
    """The printed second pair against every width, and against any angle from 0 to the first pair's."""
    width, misfit = _nearest(vector, 1, angle_of)
    asked = math.atan2(vector[2], vector[3])
    cosine = min(math.cos(angle_of(d)) for d in range(4, WIDEST + 1, 2))
    return judged(
        holds=misfit <= HALF_A_DIGIT,
        instead=asked > 1 + HALF_A_DIGIT and cosine > math.cos(1),
        asked=asked,
        cosine=cosine,
        limit=math.cos(1),
        misfit=misfit,
        width=width,
    )


def _example_position_2(vector: Vector = VECTORS[2], angle_of: Angle = second_angle) -> Measured:
    """The printed second pair against every width, and against the unit circle."""
    width, misfit = _nearest(vector, 2, angle_of)
    length = math.hypot(*vector[2:])
    return judged(
        holds=misfit <= HALF_A_DIGIT,
        instead=abs(length - 1) > 2 * HALF_A_DIGIT,  # half a digit in each of two entries moves the length by less
        length=length,
        misfit=misfit,
        width=width,
    )


def _example_one_table(vectors: Sequence[Vector] = VECTORS) -> Measured:
    """From position 1 to 2 every pair must turn once more by what it turned from 0 to 1."""
    off = []
    for sine, cosine in ((0, 1), (2, 3)):
        angle = math.atan2(vectors[1][sine], vectors[1][cosine])
        printed = vectors[2][sine], vectors[2][cosine]
        off.append(max(abs(printed[0] - math.sin(2 * angle)), abs(printed[1] - math.cos(2 * angle))))
    # half a digit in the angle counts twice, half a digit in the entry once
    return judged(holds=max(off) <= 3 * HALF_A_DIGIT, instead=off[0] <= 3 * HALF_A_DIGIT, first=off[0], second=off[1])


def _example_first_pair(vectors: Sequence[Vector] = VECTORS) -> Measured:
    """The first pair of positions 1 and 2 to two digits."""
    off = {
        name: abs(vectors[position][entry] - right(position))
        for position in (1, 2)
        for entry, (name, right) in enumerate(((f"sin {position}", math.sin), (f"cos {position}", math.cos)))
    }
    wrong = [name for name, difference in off.items() if difference > HALF_A_DIGIT]
    return judged(
        holds=not wrong,
        instead=wrong == ["cos 2"] and off["cos 2"] < 2 * HALF_A_DIGIT,
        wrong=", ".join(wrong),
        printed=vectors[2][1],
        right=math.cos(2),
    )


def _example_sums(words: Sequence[Vector] = WORDS, vectors: Sequence[Vector] = VECTORS, sums: Sequence[Vector] = SUMS) -> Measured:
    """All twelve additions of printed numbers."""
    rows = zip(words, vectors, sums, strict=True)
    right = [abs(a + b - total) < 1e-9 for row in rows for a, b, total in zip(*row, strict=True)]
    return judged(holds=all(right), right=sum(right), all=len(right))


_NO_WIDTH = Text(
    "the nearest even width from 4 to 4096 is {width}, with an entry off by {misfit:.2f}",
    "ближайшая чётная размерность от 4 до 4096 — {width}, с отклонением {misfit:.2f}",
)

CLAIMS = (
    Claim(
        name="example-position-0",
        note=Note.WORDS,
        kind="number",
        statement=Text("The vector of position 0 begins 0, 1, 0, 0.99.", "Вектор позиции 0 начинается с 0, 1, 0, 0.99."),
        check=_example_position_0,
        shown=Text(
            "widths 4 to 4096: the fourth entry is off by {misfit:.2f}, half a digit would be 0.005",
            "размерности от 4 до 4096: четвёртое число отличается на {misfit:.2f}, половина разряда — 0.005",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "At position 0 every angle is 0: the vector is 0, 1, 0, 1, ... exactly, at any width and base.",
            "В позиции 0 все углы равны 0: вектор равен 0, 1, 0, 1, ... точно, при любой размерности и любом основании.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="example-position-1",
        note=Note.WORDS,
        kind="number",
        statement=Text(
            "The vector of position 1 begins 0.84, 0.54, 0.99, -0.13.", "Вектор позиции 1 начинается с 0.84, 0.54, 0.99, -0.13."
        ),
        check=_example_position_1,
        shown=Text(
            f"{_NO_WIDTH.en}; the second pair would have to turn by {{asked:.2f}} a position, and no pair turns by more than 1:"
            " cosines stay above {limit:.2f}",
            f"{_NO_WIDTH.ru}; вторая пара должна была бы поворачиваться на {{asked:.2f}} за позицию, но ни одна не поворачивается"
            " больше чем на 1: косинусы больше {limit:.2f}",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "No sinusoidal encoding of any width has it: only the first pair is right. At d = 4 it is 0.84, 0.54, 0.01, 1.00.",
            "Такого вектора нет ни при какой размерности, верна только первая пара. При d = 4 это 0.84, 0.54, 0.01, 1.00.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="example-position-2",
        note=Note.WORDS,
        kind="number",
        statement=Text(
            "The vector of position 2 begins 0.91, -0.41, 0.67, -0.98.", "Вектор позиции 2 начинается с 0.91, -0.41, 0.67, -0.98."
        ),
        check=_example_position_2,
        shown=Text(
            f"{_NO_WIDTH.en}; a sine and a cosine of one angle have length 1, this pair {{length:.3f}}",
            f"{_NO_WIDTH.ru}; длина пары из синуса и косинуса одного угла равна 1, у этой {{length:.3f}}",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "0.67 and -0.98 are sine and cosine of no angle at all. At d = 4 the vector is 0.91, -0.42, 0.02, 1.00.",
            "0.67 и -0.98 не синус и косинус никакого угла. При d = 4 вектор равен 0.91, -0.42, 0.02, 1.00.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="example-one-table",
        note=Note.WORDS,
        kind="identity",
        statement=Text(
            "The printed vectors of positions 1 and 2 fit into one table: each pair turns by its angle from row to row.",
            "Напечатанные векторы позиций 1 и 2 — из одной таблицы: от строки к строке каждая пара поворачивается на свой угол.",
        ),
        check=_example_one_table,
        shown=Text(
            "the first pairs are off by {first:.3f}, the second by {second:.2f}",
            "расхождение первых пар {first:.3f}, вторых {second:.2f}",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "The first pairs fit each other within rounding, the second do not.",
            "Первые пары согласуются с точностью до округления, вторые нет.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="example-first-pair",
        note=Note.WORDS,
        kind="number",
        statement=Text(
            "The first two numbers at positions 1 and 2 are right to two digits: 0.84, 0.54 and 0.91, -0.41.",
            "Первые два числа в позициях 1 и 2 верны до двух знаков: 0.84, 0.54 и 0.91, -0.41.",
        ),
        check=_example_first_pair,
        shown=Text(
            "wrong: {wrong}, printed as {printed:.2f}, is {right:.4f}",
            "неверно: {wrong}, напечатано {printed:.2f}, равен {right:.4f}",
        ),
        verdict=Verdict.FAILS,
        truth=Text("Three of the four are; cos 2 rounds to -0.42.", "Верны три из четырёх; cos 2 округляется до -0.42."),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="example-sums",
        note=Note.WORDS,
        kind="number",
        statement=Text(
            "The sums of the printed word vectors and position vectors are added up right.",
            "Суммы напечатанных векторов слов и позиций сложены верно.",
        ),
        check=_example_sums,
        shown=Text("{right} of {all} sums are right", "верны {right} из {all} сумм"),
        verdict=Verdict.HOLDS,
        truth=Text(
            "The additions are right, the position vectors added are not.", "Сложено верно, но прибавлены неверные векторы позиций."
        ),
    ),
)
