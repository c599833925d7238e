"""Claims about the notebook's encoder: its frequencies, its table and its dropout, reproduced as behaviour."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.layers import Array
from ordinate.claims.sinusoid_values import BASE, Table

if TYPE_CHECKING:
    import torch

LENGTH, WIDTH = 50, 16


def exponential_frequencies(width: int) -> Array:
    """The frequencies as code often has them: exp(-2i ln 10000 / d), the even numbers 2i from a range of step 2.

    Args:
        width: of the vectors.

    Returns:
        The frequencies.

    Shape:
        [width / 2]

    Example:
        >>> exponential_frequencies(4).round(15).tolist()
        [1.0, 0.01]
    """
    out: Array = np.exp(-np.arange(0, width, 2) * math.log(BASE) / width)
    return out


def filled_table(length: int, width: int) -> Array:
    """A table with sines in even and cosines in odd columns, and a leading axis for the batch.

    Args:
        length: positions.
        width: of the vectors, even.

    Returns:
        The table.

    Shape:
        [1, length, width]

    Example:
        >>> filled_table(3, 4).shape
        (1, 3, 4)
    """
    table = np.zeros((1, length, width))
    angles = np.arange(length)[:, None] * exponential_frequencies(width)
    table[0, :, 0::2], table[0, :, 1::2] = np.sin(angles), np.cos(angles)
    return table


def _exponential_form(form: Callable[[int], Array] = exponential_frequencies) -> Measured:
    """Compare the two ways to write a frequency, for widths 16 and 512."""
    worst = max(float(np.abs(form(width) * BASE ** (np.arange(0, width, 2) / width) - 1).max()) for width in (16, 512))
    return judged(holds=worst < 1e-13, difference=worst)


def _table_shape(fill: Callable[[int, int], Array] = filled_table, rows: Table = reference.sinusoidal) -> Measured:
    """Compare a filled table with the definition, and its first rows added to a batch with the scheme's output."""
    import torch

    from ordinate.schemes import Sinusoidal

    table = fill(LENGTH, WIDTH)
    difference = float(np.abs(table - rows(range(LENGTH), WIDTH)).max())
    x = torch.ones(3, 7, WIDTH, dtype=torch.float64)
    added = float((x + torch.from_numpy(table[:, :7]) - Sinusoidal(d_model=WIDTH)(x, range(7))).abs().max())
    return judged(
        holds=table.shape == (1, LENGTH, WIDTH) and difference < 1e-12 and added < 1e-12,
        shape=str(list(table.shape)),
        difference=difference,
        added=added,
    )


def _kept_fixed(trained: bool = False) -> Measured:
    """Take a training step with the table as a parameter, then cast the module to bfloat16."""
    import torch
    from torch import nn

    table = torch.from_numpy(filled_table(LENGTH, WIDTH)).float()
    positions = nn.Parameter(table.clone(), requires_grad=trained)
    module = nn.Linear(WIDTH, 1)
    module.register_parameter("positions", positions)
    torch.autograd.backward(module(torch.ones(2, LENGTH, WIDTH) + positions).sum())
    torch.optim.SGD(module.parameters(), lr=0.1).step()
    moved = float((positions.detach() - table).abs().max())
    stored, counted = "positions" in module.state_dict(), sum(weight.numel() for weight in module.parameters())
    cast = float((module.bfloat16().state_dict()["positions"].float() - table).abs().max())
    return judged(holds=moved == 0 and stored, moved=moved, counted=counted, cast=cast)


def _dropout_on_sum(add: Callable[[torch.Tensor, range], torch.Tensor] | None = None) -> Measured:
    """Add positions to token vectors with dropout 1/2, and see what became of each entry."""
    import torch

    from ordinate.schemes import Sinusoidal

    x = torch.full((1, 400, WIDTH), 3.0, dtype=torch.float64)
    expected = 2 * (x + torch.from_numpy(reference.sinusoidal(400, WIDTH)))
    scheme: Any = Sinusoidal(d_model=WIDTH, dropout=0.5) if add is None else add
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        out = scheme(x, range(400))
    gone = out == 0
    rest = float((out - expected)[~gone].abs().max())
    share = float(gone.double().mean())
    return judged(holds=0.45 < share < 0.55 and rest < 1e-12, share=share, rest=rest)


CLAIMS = (
    Claim(
        name="exponential-form",
        note=Note.REPRESENTATIONS,
        kind="identity",
        statement=Text(
            "Code computes the frequencies as exp(-2i ln 10000 / d); that is 10000^(-2i/d).",
            "Запись exp(-2i ln 10000 / d), которой пользуется код, — те же самые частоты 10000^(-2i/d).",
        ),
        check=_exponential_form,
        shown=Text(
            "d = 16 and 512 in float64: largest relative difference {difference:.0e}",
            "d = 16 и 512 в float64: наибольшее относительное отличие {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text("Up to the rounding of the number format.", "С точностью до округления в формате чисел."),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="table-shape",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "The encoder's table has the shape [1, max_length, d], sines in even and cosines in odd columns; its first T rows "
            "are added to the input.",
            "Таблица кодировщика — [1, max_length, d]: чётные столбцы занимают синусы, нечётные — косинусы; ко входу длины T "
            "добавляются первые T строк.",
        ),
        check=_table_shape,
        shown=Text(
            "{shape}: differs from the definition by {difference:.0e}, the sum for three sequences from the scheme's by "
            "{added:.0e}",
            "{shape}: отличие от определения {difference:.0e}, отличие суммы для трёх последовательностей от схемы {added:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal",),
    ),
    Claim(
        name="untrained-parameter",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Kept as a parameter that is not trained, the table stays as it is.",
            "Таблица — параметр без градиента: обучение её не меняет.",
        ),
        check=_kept_fixed,
        shown=Text(
            "after a training step it moved by {moved:.0f}; the module counts {counted} parameters with it; cast to bfloat16 it "
            "is off by {cast:.4f}",
            "после шага обучения сдвинулась на {moved:.0f}; вместе с ней у модуля {counted} параметров; после перевода в bfloat16 "
            "ошибка {cast:.4f}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "It is still counted, stored in checkpoints and rounded when the model is cast. Computing the rows anew avoids all "
            "three.",
            "Но она входит в число параметров, попадает в чекпойнты и округляется при смене формата модели. Вычисление "
            "строк заново избавляет от всего этого.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="dropout-on-sum",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Dropout is applied to the sum of embedding and position.",
            "Дропаут стоит после сложения эмбеддинга и позиции.",
        ),
        check=_dropout_on_sum,
        shown=Text(
            "dropout 1/2: {share:.0%} of the entries are 0, token part and all; the rest is twice the sum within {rest:.0e}",
            "дропаут 1/2: {share:.0%} компонент равны 0 вместе с частью токена; остальные — удвоенная сумма с точностью {rest:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "So it hits the token's part as well as the position's.",
            "Поэтому он обнуляет не только позиционную часть, но и часть токена.",
        ),
        schemes=("sinusoidal", "learned"),
    ),
)
