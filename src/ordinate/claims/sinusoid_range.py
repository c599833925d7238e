"""Claims about how far sinusoids go: no parameters, no end, and what training makes of that."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import LENGTH_TASKS, kept, loss, next_longer, require_learned, whose
from ordinate.claims.layers import Array
from ordinate.claims.sinusoid_values import BASE, Table

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

FAR = (10**6, 10**9)
TAU = 2 * decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def exact_rows(positions: Sequence[int], width: int) -> Array:
    """Sinusoidal vectors with whole turns taken off in 60 decimal digits, so that far positions lose nothing.

    Args:
        positions: whole numbers.
        width: even.

    Returns:
        One vector a position.

    Shape:
        [T, width]

    Example:
        >>> exact_rows([1], 4).round(3).tolist()
        [[0.841, 0.54, 0.01, 1.0]]
    """
    with decimal.localcontext(decimal.Context(prec=60)):
        logarithm = decimal.Decimal(10000).ln()
        frequencies = [(-logarithm * 2 * i / width).exp() for i in range(width // 2)]
        angles = np.array([[float(position * frequency % TAU) for frequency in frequencies] for position in positions])
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(len(positions), width)


def _no_parameters(make: Callable[[], Any] | None = None) -> Measured:
    """Count what a scheme of width 512 would learn or store."""
    from ordinate.schemes import Sinusoidal

    scheme = Sinusoidal(d_model=512) if make is None else make()
    count, stored = sum(weight.numel() for weight in scheme.parameters()), len(scheme.state_dict())
    return judged(holds=count == stored == 0, count=count, stored=stored)


def _any_position(table: Table = reference.sinusoidal) -> Measured:
    """Compare rows at a million and a thousand million with 60 digits, in float64 and with angles in float32."""
    exact = exact_rows(FAR, 16)
    double = float(np.abs(table(FAR, 16) - exact).max())
    frequencies = np.float32(1) / np.float32(BASE) ** (np.arange(0, 16, 2, dtype=np.float32) / np.float32(16))
    angles = (np.array(FAR, dtype=np.float32)[:, None] * frequencies).astype(np.float64)
    single = np.abs(np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(2, 16) - exact).max(1)
    return judged(holds=double < 1e-6, double=double, single=float(single[0]), single_far=float(single[1]))


def _worse_beyond(results: Comparison | None = None) -> Measured:
    """Losses of trained models with sinusoids at the training length and at the next longer one."""
    found = kept(results)
    times = next_longer(found)
    for task in LENGTH_TASKS:
        require_learned(found, task, "sinusoidal")
    at = {(task, n): loss(found, task, "sinusoidal", n) for task in LENGTH_TASKS for n in (1, times)}
    worse = all(at[task, times] > at[task, 1] + 0.1 for task in LENGTH_TASKS)
    return judged(
        holds=worse,
        text=at["text", 1],
        text_beyond=at["text", times],
        shift=at["shift", 1],
        shift_beyond=at["shift", times],
        times=times,
        **whose(results),
    )


def _sine_repeats(table: Table = reference.sinusoidal) -> Measured:
    """Entry 2i one wavelength on; then the nearest that two whole positions below 1000 come in the first pair."""
    rows, gaps = table(range(50), 16), []
    for i in range(8):
        wavelength = 2 * math.pi * BASE ** (2 * i / 16)
        gaps.append(float(np.abs(table([place + wavelength for place in range(50)], 16)[:, 2 * i] - rows[:, 2 * i]).max()))
    sines = table(range(1000), 2)[:, 0]
    order = np.argsort(sines)
    nearest = int(np.diff(sines[order]).argmin())
    first, second = sorted((int(order[nearest]), int(order[nearest + 1])))
    whole = float(abs(sines[first] - sines[second]))
    repeats = max(gaps) < 1e-9
    return judged(
        holds=repeats and whole < 1e-12,
        with_condition=repeats and whole > 1e-9,
        real=max(gaps),
        six=float(abs(sines[7] - sines[1])),
        whole=whole,
        first=first,
        second=second,
    )


CLAIMS = (
    Claim(
        name="sinusoids-have-no-parameters",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text("Sinusoidal positions have no parameters.", "У синусоидальных позиций нет параметров."),
        check=_no_parameters,
        shown=Text(
            "d = 512: {count} parameters, {stored} stored tensors", "d = 512: параметров {count}, сохраняемых тензоров {stored}"
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="formula-at-any-position",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "The formula can be evaluated at any position: in principle there is no maximum length.",
            "Формула даёт вектор для любой позиции, так что предела длины в ней самой нет.",
        ),
        check=_any_position,
        shown=Text(
            "up to position 10^9, against 60 digits: float64 errs by {double:.0e}; with angles in float32 the error is "
            "{single:.2f} at 10^6 and {single_far:.1f} at 10^9",
            "до позиции 10^9, сравнение с 60 знаками: ошибка в float64 — {double:.0e}; с углами в float32 — {single:.2f} на 10^6 и "
            "{single_far:.1f} на 10^9",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Numbers have an end where the formula has none: angles in float32 are useless far out.",
            "У чисел предел есть, хотя у формулы его нет: углы во float32 на дальних позициях бесполезны.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="worse-beyond-training",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "In practice a model with sinusoids works worse beyond the length that it was trained on.",
            "Обученная модель с синусоидами теряет качество на длинах больше обучающей.",
        ),
        check=_worse_beyond,
        shown=Text(
            "{whose}, training length and {times} times that: text {text:.2f} and {text_beyond:.2f} nats, repeating a token "
            "{shift:.3f} and {shift_beyond:.2f}",
            "{whose_ru}, длина обучения и {times}-кратная: текст — {text:.2f} и {text_beyond:.2f} ната, повторение "
            "токена — {shift:.3f} и {shift_beyond:.2f}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "That it is worse was measured, not why.",
            "Измерено, что хуже; причина не измерялась.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="one-sine-repeats",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "A single sine repeats: positions pos and pos + 2π/ω have the same entry 2i.",
            "Один синус периодичен: через 2π/ω позиций компонента 2i принимает прежнее значение.",
        ),
        check=_sine_repeats,
        shown=Text(
            "one wavelength on the entry differs by {real:.0e}; but for ω = 1 whole positions 1 and 7 differ by {six:.2f}, and the "
            "nearest two below 1000, {first} and {second}, by {whole:.0e}",
            "через длину волны компонента отличается на {real:.0e}; но при ω = 1 целые позиции 1 и 7 отличаются на {six:.2f}, а "
            "ближайшие две до 1000, {first} и {second}, — на {whole:.0e}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "For real positions. A wavelength is no whole number of positions (ω is algebraic and π is not), so for whole "
            "positions an entry never repeats exactly, only nearly.",
            "Для вещественных позиций. Длина волны — не целое число позиций (ω — алгебраическое число, а π — нет), поэтому у целых "
            "позиций компонента никогда не повторяется точно, только приближённо.",
        ),
        schemes=("sinusoidal",),
    ),
)
