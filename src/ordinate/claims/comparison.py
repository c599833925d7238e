"""Claims of the table that compares four schemes, row by row, held against what the library's schemes do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import kept, loss, next_longer, whose

if TYPE_CHECKING:
    from ordinate.catalogue import SchemeRow
    from ordinate.lab.results import Comparison

Rows = Callable[[], "list[SchemeRow]"]
MOVED = 1000
PLACES = {"input": "вход", "scores": "оценки внимания", "queries and keys": "запросы и ключи"}


def _row(rows: Rows | None, name: str) -> SchemeRow:
    """A scheme's row of the table, for a model of BERT-base's sizes."""
    from ordinate.catalogue import schemes_table

    return next(row for row in (schemes_table if rows is None else rows)() if row.name == name)


def _dot_spread(vectors: Any) -> float:
    """How much P_pos . P_pos+1 varies over the positions."""
    array = vectors.detach().double().numpy()
    return float(np.ptp((array[:-1] * array[1:]).sum(1)))


def _row_of_sinusoids(rows: Rows | None = None) -> Measured:
    """Read the row; look at two neighbours, at products of neighbours, and at a far position."""
    import torch

    from ordinate.schemes import Sinusoidal

    row, scheme = _row(rows, "sinusoidal"), Sinusoidal(d_model=64)
    vectors = scheme.at(range(100), dtype=torch.float64)
    differ, spread = float((vectors[1] - vectors[0]).norm()), _dot_spread(vectors)
    far = bool(scheme.at(range(10**9, 10**9 + 1)).isfinite().all())
    holds = (row.applied, row.count) == ("input", 0) and differ > 0.1 and spread < 1e-12 and far
    return judged(
        holds=holds, applied=row.applied, applied_ru=PLACES.get(row.applied, "?"), count=row.count, differ=differ, spread=spread
    )


def _row_of_tables(rows: Rows | None = None) -> Measured:
    """Read the row; look at products of neighbours in a fresh table, and past its end."""
    import torch

    from ordinate.schemes import Learned

    row = _row(rows, "learned")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        scheme = Learned(max_length=512, d_model=768)
    spread, ends = _dot_spread(scheme.at(range(512))), False
    try:
        scheme.at(range(513))
    except ValueError:
        ends = True
    holds = (row.applied, row.count) == ("input", 512 * 768) and spread > 0.01 and ends
    return judged(
        holds=holds,
        applied=row.applied,
        applied_ru=PLACES.get(row.applied, "?"),
        count=row.count,
        spread=spread,
        rows=len(scheme.weight),
    )


def _row_of_biases(rows: Rows | None = None, schemes: tuple[Any, ...] | None = None) -> Measured:
    """Read both rows; move all positions, then keys alone: the largest change of a scheme, and the smaller of both."""
    import torch

    from ordinate.schemes import ALiBi, T5Bias

    found = [_row(rows, name) for name in ("t5", "alibi")]
    x = torch.zeros(1, 4, 20, 8, dtype=torch.float64)
    moved, keys = 0.0, float("inf")
    for scheme in (T5Bias(n_heads=4, bidirectional=True), ALiBi(n_heads=4, slopes="paper")) if schemes is None else schemes:
        here = scheme.bias(x, x, scheme.at(range(20), range(20)))
        there = scheme.bias(x, x, scheme.at(range(MOVED, MOVED + 20), range(MOVED, MOVED + 20)))
        apart = scheme.bias(x, x, scheme.at(range(20), range(5, 25)))
        moved = max(moved, float((here - there).detach().abs().max()))
        keys = min(keys, float((here - apart).detach().abs().max()))
    applied = ", ".join(sorted({row.applied for row in found}))
    return judged(
        holds=applied == "scores" and moved == 0 < keys,
        applied=applied,
        applied_ru=PLACES.get(applied, "?"),
        moved=moved,
        keys=keys,
    )


def _row_of_rope(rows: Rows | None = None, results: Comparison | None = None) -> Measured:
    """Read the row; move all positions; and read the losses of trained models."""
    import torch

    from ordinate.schemes import Rope

    row, scheme, found = _row(rows, "rope"), Rope(head_dim=16, layout="half"), kept(results)
    q, k = torch.randn(2, 1, 1, 20, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    scores = [torch.matmul(a, b.mT) for a, b in (scheme(q, k, range(n, n + 20)) for n in (0, MOVED))]
    moved = float((scores[0] - scores[1]).abs().max())
    times = next_longer(found)
    trained, beyond = (loss(found, "text", "rope", length) for length in (1, times))
    holds = (row.applied, row.count) == ("queries and keys", 0) and moved < 1e-4 and beyond > trained + 0.1
    return judged(
        holds=holds,
        applied=row.applied,
        applied_ru=PLACES.get(row.applied, "?"),
        count=row.count,
        moved=moved,
        times=times,
        trained=trained,
        beyond=beyond,
        **whose(results),
    )


def _cost(rows: Rows | None = None) -> Measured:
    """Count the parameters of the note's schemes and of the library's others, for BERT-base's sizes."""
    from ordinate.catalogue import schemes_table

    counts = {row.name: row.count for row in (schemes_table if rows is None else rows)()}
    named = [counts[name] for name in ("sinusoidal", "learned", "t5", "alibi", "rope")]
    inside = min(named) == 0 and max(named) == counts["learned"] == 512 * 768
    most = max(counts, key=lambda name: counts[name])
    return judged(
        holds=inside,
        least=min(named),
        largest=max(named),
        other=most,
        others=counts[most],
    )


CLAIMS = (
    Claim(
        name="row-sinusoidal",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "Sinusoids: added to the input, 0 parameters, no maximum length in principle, absolute position with shift structure.",
            "Строка о синусоидах: действуют на вход, параметров нет, длина в принципе не ограничена, в векторе — абсолютная "
            "позиция, на которую сдвиг действует известным образом.",
        ),
        check=_row_of_sinusoids,
        shown=Text(
            "applied at: {applied}; {count} parameters; position 10^9 has a vector; neighbours are {differ:.2f} apart, their "
            "product varies by {spread:.0e}",
            "где действует: {applied_ru}; параметров {count}; вектор есть и у позиции 10^9; расстояние между соседями "
            "{differ:.2f}, их произведение меняется на {spread:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="row-learned",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "Learned table: added to the input, n_max · d parameters, maximum length n_max, absolute position.",
            "Строка о таблице: действует на вход, n_max · d параметров, длина до n_max, в векторе — абсолютная позиция.",
        ),
        check=_row_of_tables,
        shown=Text(
            "applied at: {applied}; {count} parameters for 512 · 768; nothing past row {rows}; products of neighbours vary by "
            "{spread:.3f} in a fresh table: no shift structure is given",
            "где действует: {applied_ru}; при 512 · 768 параметров {count}; после {rows} строк ничего нет; произведения соседей "
            "в новой таблице меняются на {spread:.3f}: структура сдвига не задана",
        ),
        verdict=Verdict.HOLDS,
        schemes=("learned",),
    ),
    Claim(
        name="row-relative",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "Relative bias and ALiBi: applied to attention scores, encode the relative shift.",
            "Строка об относительном смещении и ALiBi: действуют на оценки внимания, в них — относительный сдвиг.",
        ),
        check=_row_of_biases,
        shown=Text(
            "applied at: {applied}; all positions moved by 1000 change the bias by {moved:.0f}, keys alone moved by 5 by "
            "{keys:.2f}",
            "где действуют: {applied_ru}; сдвиг всех позиций на 1000 меняет смещение на {moved:.0f}, сдвиг одних ключей на 5 — "
            "на {keys:.2f}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "What the row says of parameters and length: see relative-bias-parameters and relative-bias-extrapolates.",
            "О параметрах и длине в этой строке: relative-bias-parameters и relative-bias-extrapolates.",
        ),
        schemes=("t5", "alibi"),
    ),
    Claim(
        name="row-rope",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "RoPE: applied to queries and keys, 0 parameters, the training length (extendable), relative shift in the dot product.",
            "Строка о RoPE: действует на запросы и ключи, параметров нет, длина — обучающая, но её можно увеличить, в скалярном "
            "произведении — относительный сдвиг.",
        ),
        check=_row_of_rope,
        shown=Text(
            "applied at: {applied}; {count} parameters; all positions moved by 1000 change scores by {moved:.0e}; "
            "{whose}: text {trained:.2f} nats at the training length, {beyond:.2f} at {times} times that",
            "где действует: {applied_ru}; параметров {count}; сдвиг всех позиций на 1000 меняет оценки на {moved:.0e}; "
            "{whose_ru}: текст {trained:.2f} ната на длине обучения, {beyond:.2f} на {times}-кратной",
        ),
        verdict=Verdict.HOLDS,
        truth=Text("How it is extended: see larger-base-stretches.", "Как её расширяют: larger-base-stretches."),
        schemes=("rope",),
    ),
    Claim(
        name="cost-of-order",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(
            "Positions cost a Transformer from 0 to n_max · d parameters.",
            "Позиции стоят трансформеру от 0 до n_max · d параметров.",
        ),
        check=_cost,
        shown=Text(
            "BERT-base's sizes: from {least} to {largest} for the note's schemes; {others} a layer for {other}",
            "размеры BERT-base: от {least} до {largest} у схем заметки; {others} на слой у {other}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "These are the note's schemes. Transformer-XL has a matrix of its own for positions in every layer, d · d and more.",
            "Это схемы заметки. У Transformer-XL в каждом слое своя матрица для позиций, d · d и больше.",
        ),
        schemes=("sinusoidal", "learned", "t5", "alibi", "rope", "transformer_xl"),
    ),
)
