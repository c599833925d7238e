"""Claims about the worked example of width 4, and about adding the vectors to the tokens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.sinusoid_values import Table, frequencies_seen

# As the note prints them.
PRINTED = (
    (0.0, 1.0, 0.0, 1.0),
    (0.841, 0.540, 0.010, 1.000),
    (0.909, -0.416, 0.020, 1.000),
    (0.141, -0.990, 0.030, 1.000),
)
WIDTH = 512
STANDARD, TIED = 1.0, WIDTH**-0.5  # standard deviations of token vectors at the start: nn.Embedding, tensor2tensor


def _example_frequencies(table: Table = reference.sinusoidal) -> Measured:
    """Read the two frequencies off the rows."""
    fast, slow = (float(value) for value in frequencies_seen(table, 4))
    return judged(holds=abs(fast - 1) < 1e-12 and abs(slow - 0.01) < 1e-12, fast=fast, slow=slow)


def _example_table(table: Table = reference.sinusoidal) -> Measured:
    """Round the four rows to three digits."""
    rows, printed = table(range(4), 4), np.array(PRINTED)
    wrong = int((rows.round(3) != printed).sum())
    return judged(holds=wrong == 0, wrong=wrong, entries=printed.size, difference=float(np.abs(rows - printed).max()))


def _distinct_bounded(table: Table = reference.sinusoidal) -> Measured:
    """Find the two nearest of the four rows, and the largest entry."""
    rows = table(range(4), 4)
    nearest = min(float(np.linalg.norm(rows[a] - rows[b])) for a in range(4) for b in range(a))
    largest = float(np.abs(rows).max())
    return judged(holds=nearest > 0.1 and largest <= 1, nearest=nearest, largest=largest)


def _slow_step(table: Table = reference.sinusoidal) -> Measured:
    """Length of the slow pair's step between neighbours, over thirty positions."""
    steps = np.linalg.norm(np.diff(table(range(31), 4)[:, 2:], axis=0), axis=1)
    low, high = float(steps.min()), float(steps.max())
    return judged(holds=round(low, 4) == round(high, 4) == 0.01, low=low, high=high)


def _slow_near_far(table: Table = reference.sinusoidal) -> Measured:
    """Distances in the slow pair from position 1."""
    rows = table([1, 2, 30, 629], 4)[:, 2:]
    near, far, again = (float(np.linalg.norm(rows[other] - rows[0])) for other in (1, 2, 3))
    return judged(holds=near < far, near=near, far=far, again=again)


def _scaling(table: Table = reference.sinusoidal, scale: Callable[[int], float] = math.sqrt) -> Measured:
    """Typical entry of scaled token vectors over that of position vectors, for two usual initialisations."""
    position = float(np.sqrt((table(range(64), WIDTH) ** 2).mean()))
    drawn = np.random.default_rng(0).normal(size=(256, WIDTH))
    token = float(np.sqrt((drawn**2).mean()))
    tied, standard = (token * deviation * scale(WIDTH) / position for deviation in (TIED, STANDARD))
    fits = {name: 0.5 < ratio < 2 for name, ratio in (("tied", tied), ("standard", standard))}
    return judged(
        holds=all(fits.values()),
        with_condition=fits["tied"] and not fits["standard"],
        tied=tied,
        tied_plain=tied / scale(WIDTH),
        standard=standard,
        standard_plain=standard / scale(WIDTH),
    )


def _same_table(add: Callable[[Any, range], Any] | None = None) -> Measured:
    """What is added to two sequences, and how often a model of three blocks adds."""
    import torch

    from ordinate.lab.model import Transformer
    from ordinate.schemes import Sinusoidal

    scheme = Sinusoidal(d_model=8)
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    added = ((scheme if add is None else add)(x, range(5)) - x).numpy()
    difference = float(np.abs(added - reference.sinusoidal(5, 8)).max())
    calls: list[int] = []
    scheme.register_forward_hook(lambda *_: calls.append(1))
    model = Transformer(vocabulary_size=4, d_model=8, n_layers=3, n_heads=2, causal=True, input_scheme=scheme)
    model(torch.tensor([[0, 1, 2]]), range(3))
    return judged(holds=difference < 1e-12 and len(calls) == 1, difference=difference, calls=len(calls))


CLAIMS = (
    Claim(
        name="example-frequencies",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(
            "With d = 4 there are two frequencies, 1 and 0.01.",
            "При d = 4 частот две: 1 и 0.01.",
        ),
        check=_example_frequencies,
        shown=Text("{fast:.12g} and {slow:.12g} radians a position", "{fast:.12g} и {slow:.12g} радиана на позицию"),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="example-table",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(
            "The printed rows of positions 0 to 3 for d = 4 are right to three digits.",
            "Напечатанные строки для позиций 0–3 при d = 4 верны до трёх знаков.",
        ),
        check=_example_table,
        shown=Text(
            "{wrong} of {entries} entries differ after rounding; the largest rest is {difference:.5f}",
            "после округления отличаются {wrong} из {entries} чисел; наибольший остаток {difference:.5f}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="rows-distinct-bounded",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "The four rows are distinct, and all entries lie in [-1, 1].",
            "Все четыре строки разные, а числа в них не выходят за [-1, 1].",
        ),
        check=_distinct_bounded,
        shown=Text(
            "the nearest two rows are {nearest:.2f} apart, the largest entry is {largest:.3f}",
            "расстояние между ближайшими строками {nearest:.2f}, наибольшее по модулю число {largest:.3f}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="slow-step",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(
            "In the example the slow pair moves 0.01 a step.",
            "Каждый шаг сдвигает медленную пару примера на 0.01.",
        ),
        check=_slow_step,
        shown=Text("30 steps: from {low:.7f} to {high:.7f}", "30 шагов: от {low:.7f} до {high:.7f}"),
        verdict=Verdict.HOLDS,
        truth=Text(
            "As a point on the circle: a chord of 2 sin 0.005. Its cosine alone hardly moves at first.",
            "Как точка на окружности: длина хорды 2 sin 0.005. Один только косинус поначалу почти не меняется.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="slow-near-far",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "In the slow entries of the example, positions 1 and 2 are closer than positions 1 and 30.",
            "По медленной паре примера позиция 1 ближе к 2, чем к 30.",
        ),
        check=_slow_near_far,
        shown=Text(
            "distances {near:.4f} and {far:.4f}; between 1 and 629, a wavelength on, {again:.4f}",
            "расстояния {near:.4f} и {far:.4f}; между 1 и 629, через длину волны, — {again:.4f}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Slow entries order distances up to half a wavelength, 314 positions here.",
            "Медленные компоненты упорядочивают расстояния до половины длины волны, здесь 314 позиций.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="sqrt-scaling",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "Multiplying token vectors by √d makes them comparable in size with position vectors.",
            "Умножение векторов токенов на √d делает их сравнимыми по величине с позиционными.",
        ),
        check=_scaling,
        shown=Text(
            "d = 512, typical token entry over position entry: initial deviation 1/√d, {tied_plain:.2f} without the factor and "
            "{tied:.2f} with it; initial deviation 1 (nn.Embedding), {standard_plain:.2f} and {standard:.0f}",
            "d = 512, отношение типичных компонент токена и позиции: при начальном отклонении 1/√d — {tied_plain:.2f} без "
            "множителя и {tied:.2f} с ним; при отклонении 1 (nn.Embedding) — {standard_plain:.2f} и {standard:.0f}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "If token vectors start with deviation 1/√d, as where the output layer shares them. PyTorch's nn.Embedding starts with "
            "deviation 1: there they are comparable without the factor, and the factor drowns the positions.",
            "Если векторы токенов вначале имеют отклонение 1/√d, как при общих весах с выходным слоем. nn.Embedding из PyTorch "
            "начинает с отклонения 1: там они сравнимы и без множителя, а с ним позиции теряются на фоне токенов.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="same-table",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Every sequence gets the same position vectors, added once, before the first block.",
            "Позиционные векторы не зависят от последовательности и входят в модель однажды, до первого блока.",
        ),
        check=_same_table,
        shown=Text(
            "two sequences: what was added differs from the table by {difference:.0e}; additions in a model of three blocks: "
            "{calls}",
            "две последовательности: прибавленное отличается от таблицы на {difference:.0e}; сложений в модели из трёх блоков: "
            "{calls}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal", "learned"),
    ),
)
