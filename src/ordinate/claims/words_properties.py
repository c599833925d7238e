"""The second note on what sines and cosines give: a pattern for each position, any length, relative distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import LENGTH_TASKS, SOLVED, kept, longest, loss, require_learned, rise, whose
from ordinate.claims.order import Array

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

Definition = Callable[[list[float], int], Array]
Turn = Callable[[float, Array], Array]
ROUNDING = 1e-9
BASE = 10000.0
D_MODEL, POSITIONS, SOME = 512, 10_000, 50
MUCH = 0.3  # nats


def _unique_pattern(counted_in: Literal["bfloat16", "float32", "float64"] = "bfloat16", positions: int = POSITIONS) -> Measured:
    """Distances of exact rows, which depend on the lag alone, and how many places are left once positions are rounded."""
    import torch

    frequencies = BASE ** (-np.arange(0, D_MODEL, 2) / D_MODEL)
    squares = (2 - 2 * np.cos(np.outer(np.arange(1, positions), frequencies))).sum(axis=1)
    nearest = math.sqrt(squares.min())
    rounded = torch.arange(positions).to(getattr(torch, counted_in))
    different = len(set(rounded.tolist()))
    return judged(
        holds=nearest > 1 and different == positions,
        with_condition=nearest > 1,
        nearest=nearest,
        lag=int(squares.argmin()) + 1,
        different=different,
        positions=positions,
    )


def _unique_words(definition: Definition = reference.sinusoidal) -> Measured:
    """Sums of 50 drawn words at 50 positions; a word that coincides by construction; one word without positions."""
    rows = definition(list(range(SOME)), D_MODEL)
    words = np.random.default_rng(0).normal(size=(SOME, D_MODEL))
    sums = (words[:, None] + rows[None]).reshape(-1, D_MODEL)
    squares = (sums**2).sum(axis=1)
    apart = squares[:, None] + squares[None] - 2 * sums @ sums.T
    np.fill_diagonal(apart, np.inf)
    nearest = math.sqrt(max(apart.min(), 0.0))
    made = words[0] + rows[0] - rows[1]  # a vector like any other, which training is free to find
    coincide = float(np.abs((made + rows[1]) - (words[0] + rows[0])).max())
    drawn = nearest > 0.1
    return judged(
        holds=drawn and coincide > ROUNDING,
        with_condition=drawn and coincide < ROUNDING,
        nearest=nearest,
        sums=len(sums),
        coincide=coincide,
    )


def _scales_automatically(results: Comparison | None = None, definition: Definition = reference.sinusoidal) -> Measured:
    """The formula far out, and what trained models lose beyond their length."""
    far = definition([10**6], D_MODEL)
    formula = abs(float(np.linalg.norm(far)) - math.sqrt(D_MODEL / 2)) < ROUNDING
    found = kept(results)
    rises: dict[str, Any] = {task: rise(found, task, "sinusoidal") for task in LENGTH_TASKS}
    return judged(
        holds=formula and max(rises.values()) < SOLVED,
        with_condition=formula and min(rises.values()) > MUCH,
        multiple=longest(found),
        **whose(results),
        length=float(np.linalg.norm(far)),
        **rises,
    )


def _turned(angle: float, pair: Array) -> Array:
    sine, cosine = pair
    return np.array([sine * math.cos(angle) + cosine * math.sin(angle), cosine * math.cos(angle) - sine * math.sin(angle)])


def _relative_distances(results: Comparison | None = None, turn: Turn = _turned) -> Measured:
    """A shift as a turn of every pair, and trained models that have to look five places back."""
    rows = reference.sinusoidal(POSITIONS // 100, 64)
    worst = 0.0
    for position in (0, 7, 50):
        for pair in range(32):
            columns = slice(2 * pair, 2 * pair + 2)
            moved = turn(-5 * BASE ** (-2 * pair / 64), rows[position + 5, columns])
            worst = max(worst, float(np.abs(moved - rows[position, columns]).max()))
    found = kept(results)
    times = longest(found)
    require_learned(found, "shift", "sinusoidal")
    trained, beyond = (loss(found, "shift", "sinusoidal", length) for length in (1, times))
    solved = worst < ROUNDING and trained < SOLVED
    return judged(
        holds=solved and beyond < SOLVED,
        with_condition=solved and beyond > MUCH,
        difference=worst,
        trained=trained,
        beyond=beyond,
        multiple=times,
        **whose(results),
    )


CLAIMS = (
    Claim(
        name="unique-words",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "Once positions are added, each word of the sentence has a unique vector.",
            "После прибавления позиций у каждого слова предложения уникальный вектор.",
        ),
        check=_unique_words,
        shown=Text(
            "50 drawn word vectors at 50 positions: two of the {sums} sums are at least {nearest:.1f} apart; a word made for it"
            " coincides with another one position away within {coincide:.0e}",
            "50 случайных векторов слов в 50 позициях: любые две из {sums} сумм отстоят не менее чем на {nearest:.1f};"
            " построенное для этого слово совпадает с другим в соседней позиции, разность {coincide:.0e}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "For word vectors in general; nothing forbids two words that differ by just the difference of two positions.",
            "Для векторов общего вида; ничто не мешает двум словам различаться ровно на разность двух позиций.",
        ),
        schemes=("sinusoidal", "learned"),
    ),
    Claim(
        name="unique-pattern",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "Sines of different frequencies give every position a pattern of its own.",
            "Синусы разных частот дают каждой позиции собственный узор.",
        ),
        check=_unique_pattern,
        shown=Text(
            "width 512, {positions} positions: the nearest two, {lag} apart, differ by {nearest:.2f} (exact angles); counted in"
            " bfloat16, only {different} different positions are left",
            "размерность 512, позиций {positions}: у ближайших двух, на расстоянии {lag}, различие {nearest:.2f} (точные углы);"
            " при счёте в bfloat16 остаётся лишь {different} различных позиций",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "In float32 and wider. bfloat16 has no 257: positions 256 and 257 get one vector.",
            "В float32 и шире. В bfloat16 нет числа 257: у позиций 256 и 257 один вектор.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="scales-automatically",
        note=Note.WORDS,
        kind="comparison",
        statement=Text(
            "The encoding scales by itself: it works for texts of different lengths.",
            "Кодирование само подстраивается под текст и годится для разных длин.",
        ),
        check=_scales_automatically,
        shown=Text(
            "the formula gives a vector of length {length:.0f} at position 10^6 too; {whose}: trained models at {multiple} times"
            " their length lose {text:.2f} nats on text, {shift:.2f} on a token five places back, {last:.2f} on the last value"
            " written",
            "формула даёт вектор длины {length:.0f} и в позиции 10^6; {whose_ru}: модели при {multiple}-кратной длине обучения"
            " теряют {text:.2f} ната на тексте, {shift:.2f} на токене пятью местами раньше, {last:.2f} на последнем значении",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "Up to the lengths seen in training. The formula goes on; a model gets worse beyond them, as the first note says.",
            "В пределах длин, бывших при обучении. Формула есть и дальше, но модель работает хуже: так и в первой заметке.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="relative-distances",
        note=Note.WORDS,
        kind="comparison",
        statement=Text(
            "With sines and cosines a model can learn relative distances.",
            "С синусами и косинусами модель может выучить относительные расстояния.",
        ),
        check=_relative_distances,
        shown=Text(
            "five positions back is a turn of every pair, the same everywhere, within {difference:.0e}; {whose}, trained to find"
            " the token five places back: loss {trained:.3f} nats at the trained length, {beyond:.2f} at {multiple} times",
            "пять позиций назад — поворот каждой пары, везде один и тот же, разность {difference:.0e}; {whose_ru}, модель,"
            " обученная находить токен пятью местами раньше: потери {trained:.3f} ната при длине обучения, {beyond:.2f} при"
            " {multiple}-кратной",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "Within the trained length. What was learned there is no distance that would serve at other positions.",
            "В пределах длины обучения. Выученное там — не расстояние, которое годилось бы и в других позициях.",
        ),
        schemes=("sinusoidal",),
    ),
)
