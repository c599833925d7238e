"""Claims about the sinusoids' numbers: pairs, frequencies, wavelengths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.layers import Array

Table = Callable[[Sequence[float], int], Array]  # positions and width -> one row a position
RELATIVE = 1e-9
BASE = 10000.0


def frequencies_seen(table: Table, width: int) -> Array:
    """Read off how far each pair turns from position 0 to position 1.

    Args:
        table: gives position vectors with sines in even and cosines in odd columns.
        width: of the vectors.

    Returns:
        Radians a position, one number a pair.

    Shape:
        [width / 2]

    Example:
        >>> frequencies_seen(reference.sinusoidal, 4).round(12).tolist()
        [1.0, 0.01]
    """
    rows = table([0, 1], width)
    sin, cos = rows[:, 0::2], rows[:, 1::2]
    out: Array = np.arctan2(sin[1] * cos[0] - cos[1] * sin[0], cos[1] * cos[0] + sin[1] * sin[0])
    return out


def last_wavelength(table: Table, width: int) -> float:
    """Read off how many positions the slowest pair takes for a turn.

    Args:
        table: as in ``frequencies_seen``.
        width: of the vectors.

    Returns:
        Positions.

    Example:
        >>> round(last_wavelength(reference.sinusoidal, 4), 3)
        628.319
    """
    return 2 * math.pi / float(frequencies_seen(table, width)[-1])


def _one_angle(table: Table = reference.sinusoidal) -> Measured:
    """Compare a hundred rows of width 16 with sine and cosine of one angle a pair."""
    rows = table(range(100), 16)
    angles = np.arange(100)[:, None] * BASE ** (-np.arange(0, 16, 2) / 16)
    difference = max(float(np.abs(rows[:, 0::2] - np.sin(angles)).max()), float(np.abs(rows[:, 1::2] - np.cos(angles)).max()))
    circle = float(np.abs(rows[:, 0::2] ** 2 + rows[:, 1::2] ** 2 - 1).max())
    return judged(holds=difference < 1e-12 and circle < 1e-12, difference=difference, circle=circle)


def _geometric(table: Table = reference.sinusoidal) -> Measured:
    """Divide each frequency by the one before."""
    seen = frequencies_seen(table, 16)
    ratios = seen[1:] / seen[:-1]
    worst = float(np.abs(ratios / BASE ** (-2 / 16) - 1).max())
    return judged(holds=worst < RELATIVE, ratio=float(ratios[0]), last_ratio=float(ratios[-1]), difference=worst)


def _wavelength_ends(table: Table = reference.sinusoidal) -> Measured:
    """Compare the first and the last wavelength of three widths with 2 pi and 2 pi 10000^(1 - 2/d)."""
    worst = 0.0
    for width in (4, 16, 512):
        first = 2 * math.pi / float(frequencies_seen(table, width)[0])
        last = last_wavelength(table, width)
        worst = max(worst, abs(first / (2 * math.pi) - 1), abs(last / (2 * math.pi * BASE ** (1 - 2 / width)) - 1))
    return judged(holds=worst < RELATIVE, difference=worst)


def _wavelength_numbers(table: Table = reference.sinusoidal) -> Measured:
    """Round the last wavelengths of widths 16 and 512."""
    narrow, wide = last_wavelength(table, 16), last_wavelength(table, 512)
    return judged(holds=(round(narrow), round(wide)) == (19869, 60611), narrow=narrow, wide=wide)


def _wavelength_limit(table: Table = reference.sinusoidal) -> Measured:
    """Divide the last wavelength by 2 pi 10000, for growing widths."""
    shares = [last_wavelength(table, width) / (2 * math.pi * BASE) for width in (16, 64, 512, 4096)]
    rising = all(a < b < 1 for a, b in itertools.pairwise(shares))
    return judged(holds=rising and shares[-1] > 0.99, narrow=shares[0], usual=shares[2], wide=shares[3])


def _fast_and_slow(table: Table = reference.sinusoidal) -> Measured:
    """Distances from position 0 in the first and in the last pair of width 16."""
    places = [0, 1, 44, *range(100, 9901, 100)]
    rows = table(places, 16)
    fast, slow = (np.linalg.norm(rows[:, pair] - rows[0, pair], axis=1) for pair in (slice(0, 2), slice(14, 16)))
    coarse = bool((np.diff(slow) > 0).all())
    return judged(
        holds=fast[1] > 0.5 and slow[1] < 0.001 and fast[2] < 0.1 and coarse,
        fast=float(fast[1]),
        fast_again=float(fast[2]),
        slow=float(slow[1]),
        slow_far=float(slow[-1]),
    )


CLAIMS = (
    Claim(
        name="one-angle-a-pair",
        note=Note.REPRESENTATIONS,
        kind="identity",
        statement=Text(
            "Entries 2i and 2i + 1 of a sinusoidal vector are sine and cosine of one angle, position times 10000^(-2i/d).",
            "Компоненты 2i и 2i + 1 синусоидального вектора — синус и косинус одного угла: позиция, умноженная на 10000^(-2i/d).",
        ),
        check=_one_angle,
        shown=Text(
            "100 positions, d = 16: largest difference {difference:.0e}, from sin² + cos² = 1 {circle:.0e}",
            "100 позиций, d = 16: наибольшая разность {difference:.0e}, отклонение от sin² + cos² = 1 — {circle:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="geometric-frequencies",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "The frequencies of the pairs are a geometric progression.",
            "Каждая следующая частота меньше предыдущей в одно и то же число раз: это геометрическая прогрессия.",
        ),
        check=_geometric,
        shown=Text(
            "d = 16: first ratio {ratio:.6f}, last {last_ratio:.6f}, from 10000^(-2/d) by {difference:.0e}",
            "d = 16: первое отношение {ratio:.6f}, последнее {last_ratio:.6f}, отличие от 10000^(-2/d) — {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal", "rope"),
    ),
    Claim(
        name="wavelength-ends",
        note=Note.REPRESENTATIONS,
        kind="identity",
        statement=Text(
            "The first pair's wavelength is 2π positions, the last one's 2π · 10000^(1 - 2/d).",
            "Длина волны первой пары — 2π позиций, последней — 2π · 10000^(1 - 2/d).",
        ),
        check=_wavelength_ends,
        shown=Text(
            "read off the tables of d = 4, 16 and 512: largest relative difference {difference:.0e}",
            "по таблицам для d = 4, 16 и 512: наибольшее относительное отличие {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "In the paper's spacing; tensor2tensor and fairseq space the frequencies so that the last one is 2π · 10000 exactly.",
            "Для частот из статьи; в tensor2tensor и fairseq они расставлены так, что последняя длина волны равна ровно 2π · "
            "10000.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="wavelength-numbers",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(
            "The longest wavelength is about 19,869 positions for d = 16 and 60,611 for d = 512.",
            "Самая длинная волна — примерно 19 869 позиций для d = 16 и 60 611 для d = 512.",
        ),
        check=_wavelength_numbers,
        shown=Text("{narrow:.2f} and {wide:.2f} positions", "{narrow:.2f} и {wide:.2f} позиций"),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="wavelength-limit",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "As d grows, the longest wavelength approaches 2π · 10000 from below.",
            "Чем больше d, тем ближе наибольшая длина волны к 2π · 10000, оставаясь меньше.",
        ),
        check=_wavelength_limit,
        shown=Text(
            "share of 2π · 10000: {narrow:.1%} for d = 16, {usual:.1%} for 512, {wide:.1%} for 4096",
            "доля от 2π · 10000: {narrow:.1%} при d = 16, {usual:.1%} при 512, {wide:.1%} при 4096",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="fast-and-slow",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "The first entries change fast and tell neighbours apart; the last ones change slowly and tell roughly where one is.",
            "Быстрые первые пары разводят соседние позиции, медленные последние показывают, в какой части последовательности мы "
            "находимся.",
        ),
        check=_fast_and_slow,
        shown=Text(
            "d = 16, from position 0: the first pair is {fast:.2f} away at 1 but {fast_again:.3f} at 44; the last one "
            "{slow:.4f} at 1 and farther at every hundred up to {slow_far:.2f} at 9900",
            "d = 16, расстояние от позиции 0: в первой паре {fast:.2f} до позиции 1, но {fast_again:.3f} до 44; в последней "
            "{slow:.4f} до 1, и с каждой сотней оно растёт, до {slow_far:.2f} к позиции 9900",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Farther only up to half a wavelength: the slow pair comes back, too.",
            "Растёт только до половины длины волны: медленная пара тоже возвращается.",
        ),
        schemes=("sinusoidal",),
    ),
)
