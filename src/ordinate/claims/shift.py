"""Claims about shifts: what is the same between all positions that lie k apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import SOLVED, kept, loss, next_longer, require_learned, whose
from ordinate.claims.layers import Array
from ordinate.claims.sinusoid_values import Table, frequencies_seen

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

Matrix = Callable[[float, float], Array]


def shift_matrix(omega: float, k: float) -> Array:
    """The matrix that takes (sin, cos) of omega pos to those of omega (pos + k).

    Args:
        omega: radians a position.
        k: the shift.

    Returns:
        The matrix.

    Shape:
        [2, 2]

    Example:
        >>> (shift_matrix(1.0, math.pi / 2) @ [0.0, 1.0]).round(12).tolist()
        [1.0, 0.0]
    """
    return np.array([[math.cos(omega * k), math.sin(omega * k)], [-math.sin(omega * k), math.cos(omega * k)]])


def _shift_rotation(matrix: Matrix = shift_matrix, table: Table = reference.sinusoidal) -> Measured:
    """Take the pairs of 200 positions to those k later, with one matrix a frequency and shift."""
    rows, worst, turned = table(range(300), 16), 0.0, 0.0
    for pair, omega in enumerate(frequencies_seen(table, 16)):
        for k in (1, 7, 100):
            step, columns = matrix(float(omega), k), slice(2 * pair, 2 * pair + 2)
            worst = max(worst, float(np.abs(rows[:200, columns] @ step.T - rows[k : 200 + k, columns]).max()))
            turned = max(turned, float(np.abs(step @ step.T - np.eye(2)).max()), abs(float(np.linalg.det(step)) - 1))
    return judged(holds=worst < 1e-9 and turned < 1e-12, difference=worst, rotation=turned)


def _dot_product(table: Table = reference.sinusoidal) -> Measured:
    """Spread of P_pos . P_pos+k over fifty positions, for shifts of -20 to 20."""
    rows, places = table(range(90), 16), np.arange(20, 70)
    products = {k: (rows[places] * rows[places + k]).sum(1) for k in range(-20, 21)}
    spread = max(float(np.ptp(values)) for values in products.values())
    sides = max(float(np.abs(products[k] - products[-k]).max()) for k in products)
    return judged(holds=spread < 1e-12, spread=spread, sides=sides, at_once=float(products[0][0]), at_five=float(products[5][0]))


def _projection_selects(
    matrix: Matrix = shift_matrix, table: Table = reference.sinusoidal, results: Comparison | None = None
) -> Measured:
    """Turn queries back by five with one linear map; find the key with the highest score for each."""
    width, rows = 64, table(range(64), 64)
    back = np.zeros((width, width))
    for pair, omega in enumerate(frequencies_seen(table, width)):
        back[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = matrix(float(omega), -5)
    best = (rows @ back.T @ rows.T).argmax(1)
    found = float((best[5:] == np.arange(59)).mean())
    losses = kept(results)
    times = next_longer(losses)
    require_learned(losses, "shift", "sinusoidal")
    trained, beyond = (loss(losses, "shift", "sinusoidal", length) for length in (1, times))
    return judged(holds=found == 1 and trained < SOLVED, found=found, trained=trained, beyond=beyond, times=times, **whose(results))


CLAIMS = (
    Claim(
        name="shift-is-rotation",
        note=Note.REPRESENTATIONS,
        kind="identity",
        statement=Text(
            "The pair of position pos + k is that of pos turned by ωk, with one matrix for all positions: "
            "rows (cos ωk, sin ωk) and (-sin ωk, cos ωk).",
            "Пара в позиции pos + k — это пара в позиции pos, повёрнутая на ωk, и матрица для всех позиций одна: "
            "строки (cos ωk, sin ωk) и (-sin ωk, cos ωk).",
        ),
        check=_shift_rotation,
        shown=Text(
            "200 positions, 8 frequencies, 3 shifts: largest difference {difference:.0e}; the matrices are rotations within "
            "{rotation:.0e}",
            "200 позиций, 8 частот, 3 сдвига: наибольшая разность {difference:.0e}; матрицы — повороты с точностью {rotation:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal", "rope"),
    ),
    Claim(
        name="dot-product-of-shift",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "The dot product of the vectors of pos and pos + k depends on k only.",
            "Произведение P_pos · P_pos+k одинаково для всех pos: его определяет сдвиг k.",
        ),
        check=_dot_product,
        shown=Text(
            "d = 16: {at_once:.2f} for k = 0, {at_five:.2f} for k = 5; over 50 positions it varies by {spread:.0e}, "
            "between k and -k by {sides:.0e}",
            "d = 16: {at_once:.2f} при k = 0, {at_five:.2f} при k = 5; на 50 позициях меняется на {spread:.0e}, "
            "между k и -k — на {sides:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "It is the same for k and -k, so by itself it does not tell before from after.",
            "Для k и -k оно одинаково, поэтому само по себе не отличает «раньше» от «позже».",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="projection-selects-offset",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "A linear projection in attention can pick out a relative position; whether a trained model does is to be measured.",
            "Линейная проекция во внимании может выделить относительную позицию; делает ли это обученная модель — вопрос "
            "измерения.",
        ),
        check=_projection_selects,
        shown=Text(
            "d = 64, queries turned back by 5: the highest score is five places back for {found:.0%} of 59; {whose}: a "
            "trained model repeats the token five places back with {trained:.3f} nats, at {times} times the length with "
            "{beyond:.2f}",
            "d = 64, запросы повёрнуты назад на 5: наибольшая оценка пятью позициями раньше у {found:.0%} из 59; "
            "{whose_ru}: обученная модель повторяет токен пятью позициями раньше с потерей {trained:.3f} ната, на "
            "{times}-кратной длине — {beyond:.2f}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "The trained model learned the offset for the positions that it saw, not the rotation that would hold everywhere.",
            "Обученная модель выучила сдвиг для виденных позиций, а не поворот, который годился бы везде.",
        ),
        schemes=("sinusoidal",),
    ),
)
