"""The second note's formula and function: what i counts, which widths work, what its picture shows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.order import Array

Table = Callable[[int, int], Array]
Columns = Callable[[int], tuple[int, int]]
ROUNDING = 1e-12
BASE = 10000.0
PICTURE_ROWS, PICTURE_COLUMNS, WIDTH = 50, 100, 512


def by_slices(length: int, d_model: int) -> Array:
    """Sinusoids as the note's function fills them: all sines into every other column from 0, all cosines from 1.

    Frequencies are exp(-2i ln(10000) / d), one for each even number below d.

    Args:
        length: how many positions.
        d_model: width.

    Returns:
        One row a position.

    Shape:
        [length, d_model]

    Raises:
        ValueError: for an odd width above 1, where there is a cosine too many.

    Example:
        >>> by_slices(2, 4).round(2).tolist()
        [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0]]
    """
    frequencies = np.exp(np.arange(0, d_model, 2) * (-math.log(BASE) / d_model))
    angles = np.outer(np.arange(length), frequencies)
    table = np.empty((length, d_model))
    table[:, ::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


def _columns(i: int) -> tuple[int, int]:
    return 2 * i, 2 * i + 1


def _formula_function(function: Table = by_slices, definition: Table = reference.sinusoidal) -> Measured:
    """The function against the definition in loops, over even widths."""
    widths = (2, 4, 64, WIDTH)
    difference = max(float(np.abs(function(100, width) - definition(100, width)).max()) for width in widths)
    return judged(holds=difference < ROUNDING, difference=difference)


def _formula_index(columns: Columns = _columns, d_model: int = WIDTH) -> Measured:
    """Which columns the formula fills if i counts dimensions, and which if it counts pairs."""
    as_dimension = [column for i in range(d_model) for column in columns(i)]
    as_pair = [column for i in range(d_model // 2) for column in columns(i)]
    every = list(range(d_model))
    return judged(
        holds=sorted(as_dimension) == every,
        instead=sorted(as_pair) == every,
        width=d_model,
        outside=sum(column >= d_model for column in as_dimension),
        pairs=d_model // 2,
        exponent=2 * (d_model - 1) / d_model,
        slowest=2 * (d_model // 2 - 1) / d_model,
    )


def _sine_columns(function: Table = by_slices, d_model: int = 8) -> Measured:
    """Every entry against the sine or cosine of its own angle."""
    wrong = 0
    for position, row in enumerate(function(100, d_model)):
        for column, value in enumerate(row):
            angle = position / BASE ** (2 * (column // 2) / d_model)
            wrong += bool(abs(value - (math.cos(angle) if column % 2 else math.sin(angle))) > ROUNDING)
    return judged(holds=wrong == 0, wrong=wrong, entries=100 * d_model)


def _function_widths(function: Table = by_slices, most: int = 64) -> Measured:
    """Call it with every width up to 64."""
    refused = []
    for width in range(1, most + 1):
        try:
            function(10, width)
        except ValueError:
            refused.append(width)
    odd = list(range(3, most + 1, 2))
    return judged(holds=not refused, with_condition=refused == odd, refused=len(refused), odd=len(odd))


def _rows_from_zero(function: Table = by_slices) -> Measured:
    """Rows 0 and 5 of ten against the angles of positions 0 and 5."""
    rows = function(10, WIDTH)
    wanted = reference.sinusoidal([0, 5], WIDTH)
    difference = float(np.abs(rows[[0, 5]] - wanted).max())
    return judged(holds=len(rows) == 10 and difference < ROUNDING, rows=len(rows), difference=difference)


def _wave_picture(function: Table = by_slices, columns: int = PICTURE_COLUMNS) -> Measured:
    """The rectangle that it draws: wavelengths from the zeros between two sines, distances between rows."""
    drawn = function(PICTURE_ROWS, WIDTH)[:, :columns]
    turns = np.arctan2(drawn[1, ::2], drawn[1, 1::2])
    waves = 2 * math.pi / turns
    left_out = function(2, WIDTH)[1, columns:]
    still = np.arctan2(left_out[::2], left_out[1::2]) * PICTURE_ROWS < 2 * math.pi / 10
    apart = np.linalg.norm(drawn[:, None] - drawn[None], axis=2)[np.triu_indices(PICTURE_ROWS, 1)].min()
    return judged(
        holds=bool((np.diff(waves) > 0).all() and waves[-1] < PICTURE_ROWS and apart > 1),
        shortest=float(waves[0]),
        longest=float(waves[-1]),
        waves=len(waves),
        left_out=len(still),
        still=int(still.sum()),
        apart=float(apart),
    )


CLAIMS = (
    Claim(
        name="formula-function",
        note=Note.WORDS,
        kind="identity",
        statement=Text(
            "The function with exp and log computes the printed formula with powers of 10000.",
            "Функция с exp и log вычисляет приведённую формулу со степенями 10000.",
        ),
        check=_formula_function,
        shown=Text(
            "100 positions, widths 2, 4, 64, 512: largest difference {difference:.0e}",
            "100 позиций, размерности 2, 4, 64, 512: наибольшая разность {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text("In float64, at even widths.", "В float64, при чётных размерностях."),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="formula-index",
        note=Note.WORDS,
        kind="identity",
        statement=Text(
            "In the formula for columns 2i and 2i + 1, i is the dimension of the embedding: 0, 1, 2, ...",
            "В формуле для столбцов 2i и 2i + 1 число i — это измерение эмбеддинга: 0, 1, 2, ...",
        ),
        check=_formula_index,
        shown=Text(
            "width {width}: with i = 0 .. {width} - 1, {outside} of the columns named do not exist and the exponent reaches"
            " {exponent:.3f}; with i = 0 .. {pairs} - 1 each column is named once and the exponent stays at {slowest:.3f}",
            "размерность {width}: при i = 0 .. {width} - 1 не существует {outside} из названных столбцов, показатель доходит до"
            " {exponent:.3f}; при i = 0 .. {pairs} - 1 каждый столбец назван один раз, показатель не больше {slowest:.3f}",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "i is the number of the pair, 0 to d/2 - 1; the dimensions are 2i and 2i + 1.",
            "i — номер пары, от 0 до d/2 - 1; измерения — это 2i и 2i + 1.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="sine-columns",
        note=Note.WORDS,
        kind="identity",
        statement=Text("Even columns hold sines, odd ones cosines.", "В чётных столбцах синусы, в нечётных косинусы."),
        check=_sine_columns,
        shown=Text("{wrong} of {entries} entries are something else", "иного значения: {wrong} из {entries} чисел"),
        verdict=Verdict.HOLDS,
        truth=Text(
            "So in the paper; tensor2tensor and fairseq put all sines before all cosines.",
            "Так в статье; tensor2tensor и fairseq ставят все синусы перед всеми косинусами.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="function-widths",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "The printed function works for whatever width d_model it is given.",
            "Напечатанная функция работает с любой размерностью d_model, какую ей дадут.",
        ),
        check=_function_widths,
        shown=Text(
            "widths 1 to 64: {refused} raise an error; odd ones above 1 are {odd}, and the same",
            "размерности от 1 до 64: ошибка у {refused}; это как раз все нечётные больше 1, их {odd}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "Even widths, and 1. Odd ones need a cosine less than sines: cut the last one off, as Sinusoidal does.",
            "Чётные размерности и 1. При нечётной косинусов на один меньше, чем синусов: последний отбрасывают, как Sinusoidal.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="rows-from-zero",
        note=Note.WORDS,
        kind="identity",
        statement=Text(
            "Positions are counted from 0: row 0 of the table is for the first word, row 5 for the sixth.",
            "Позиции считают с нуля: строка 0 таблицы — для первого слова, строка 5 — для шестого.",
        ),
        check=_rows_from_zero,
        shown=Text(
            "{rows} rows for 10 words; rows 0 and 5 against the angles of positions 0 and 5: {difference:.0e}",
            "{rows} строк для 10 слов; строки 0 и 5 и углы позиций 0 и 5: разность {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="wave-picture",
        note=Note.WORDS,
        kind="number",
        statement=Text(
            "A picture of 50 positions and the first 100 of 512 dimensions shows waves of different frequencies, and each position"
            " has a pattern of its own.",
            "На картинке из 50 позиций и первых 100 из 512 измерений видны волны разных частот и свой узор у каждой позиции.",
        ),
        check=_wave_picture,
        shown=Text(
            "{waves} wavelengths, {shortest:.2f} to {longest:.1f} positions; two rows are at least {apart:.2f} apart; of"
            " the {left_out} pairs left out, {still} make less than a tenth of a turn in the picture's 50 positions",
            "длин волн {waves}, от {shortest:.2f} до {longest:.1f} позиции; расстояние между строками не менее {apart:.2f};"
            " из {left_out} пар вне картинки {still} не проходят за её 50 позиций и десятой доли оборота",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "These are the fast pairs alone, a full turn each within the picture; most of the others hardly move there.",
            "Это только быстрые пары, каждая успевает сделать оборот; большинство остальных там почти не меняется.",
        ),
        schemes=("sinusoidal",),
    ),
)
