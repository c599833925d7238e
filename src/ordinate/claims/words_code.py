"""The second note's PyTorch module, its behaviour made anew: what it adds, how far it reaches, where its table lives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.words_formula import by_slices

if TYPE_CHECKING:
    from torch import nn

Kept = Literal["attribute", "buffer"]
ROWS, D_MODEL, VOCABULARY = 8, 16, 10


def module(kept: Kept = "attribute") -> nn.Module:
    """Make a module that adds the first rows of a table of sinusoids to the vectors of its tokens.

    Args:
        kept: how it holds the table: as a plain attribute, as the note's does, or as a buffer that is not stored.

    Returns:
        Token vectors in ``embedding``, the table of 8 rows of 16 in ``table``.

    Example:
        >>> [name for name, _ in module().named_parameters()]
        ['embedding.weight']
    """
    import torch

    class WithTable(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(VOCABULARY, D_MODEL)
            table = torch.from_numpy(by_slices(ROWS, D_MODEL)).float()
            if kept == "buffer":
                self.register_buffer("table", table, persistent=False)
            else:
                self.table = table

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.embedding(tokens) + self.table[: tokens.shape[1]]
            return out

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return WithTable()


def _with_buffer() -> nn.Module:
    return module("buffer")


def _module_adds(make: Callable[[], Any] = module) -> Measured:
    """What comes out less the word vectors, for two sentences."""
    import torch

    built = make()
    tokens = torch.tensor([[1, 2, 3, 4], [4, 4, 0, 9]])
    with torch.no_grad():
        added = (built(tokens) - built.embedding(tokens)).numpy()
    difference = float(np.abs(added - by_slices(4, D_MODEL)).max())
    return judged(holds=difference < 1e-6, difference=difference)


def _module_lengths(make: Callable[[], Any] = module) -> Measured:
    """Texts of every length up to twice the rows of its table."""
    import torch

    built, taken = make(), []
    for length in range(1, 2 * ROWS + 1):
        try:
            built(torch.zeros(1, length, dtype=torch.long))
        except RuntimeError:
            continue
        taken.append(length)
    return judged(
        holds=taken == list(range(1, 2 * ROWS + 1)),
        with_condition=taken == list(range(1, ROWS + 1)),
        rows=ROWS,
        longest=max(taken),
        tried=2 * ROWS,
    )


def _module_table(make: Callable[[], Any] = module, mended: Callable[[], Any] = _with_buffer) -> Measured:
    """Store the module, change its numbers' type, move it to another device; the same with a buffer."""
    import torch

    stored = "table" in make().state_dict()
    wide, away = (make().to(where) for where in (torch.float64, torch.device("meta")))
    follows = wide.table.dtype == torch.float64 and away.table.device.type == "meta"
    wide_buffer, away_buffer = (mended().to(where) for where in (torch.float64, torch.device("meta")))
    mends = wide_buffer.table.dtype == torch.float64 and away_buffer.table.device.type == "meta"
    mends = mends and "table" not in mended().state_dict()
    return judged(
        holds=stored and follows,
        instead=not stored and not follows and mends,
        weights=str(wide.embedding.weight.dtype).removeprefix("torch."),
        table=str(wide.table.dtype).removeprefix("torch."),
        device=away.table.device.type,
        state=", ".join(make().state_dict()),
    )


def _names_of_the_module() -> dict[str, Any]:
    import torch

    return {"torch": torch, "nn": torch.nn, "pi": math.pi}


def _module_imports(
    own: Callable[[], Mapping[str, Any]] = _names_of_the_module, earlier: Mapping[str, Any] | None = None
) -> Measured:
    """Take a logarithm with the names that its block imports, then with those of the first block as well."""
    before = {"np": np, "math": math} if earlier is None else earlier
    alone, after = (_missing("math.log(10000.0)", names) for names in (own(), {**before, **own()}))
    return judged(holds=not alone, with_condition=alone == "math" and not after, missing=alone)


def _missing(expression: str, names: Mapping[str, Any]) -> str:
    try:
        eval(expression, dict(names))
    except NameError as error:
        return str(error.name)
    return ""


CLAIMS = (
    Claim(
        name="module-adds",
        note=Note.WORDS,
        kind="identity",
        statement=Text(
            "Position vectors are added to the word vectors, the same ones for every sentence.",
            "Векторы позиций прибавляют к векторам слов, одни и те же для каждого предложения.",
        ),
        check=_module_adds,
        shown=Text(
            "two sentences: what comes out less the word vectors is the table within {difference:.0e}",
            "два предложения: выход без векторов слов совпадает с таблицей, разность {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "The paper also multiplies word vectors by √d first and drops out of the sum; the note's module does neither.",
            "В статье векторы слов сначала умножают на √d, а к сумме применяют дропаут; в модуле заметки нет ни того, ни другого.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="module-lengths",
        note=Note.WORDS,
        kind="property",
        statement=Text("The module takes texts of different lengths.", "Модуль принимает тексты разной длины."),
        check=_module_lengths,
        shown=Text(
            "a table of {rows} rows, lengths 1 to {tried}: works up to {longest}, then an error of shapes",
            "таблица из {rows} строк, длины от 1 до {tried}: работает до {longest}, дальше ошибка размеров",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "Up to the length that its table was made for. The formula needs no table, and computed where it is needed has no end.",
            "До длины, на которую сделана таблица. Формуле таблица не нужна: если вычислять её на месте, конца нет.",
        ),
        schemes=("sinusoidal",),
    ),
    Claim(
        name="module-imports",
        note=Note.WORDS,
        kind="property",
        statement=Text("The printed block of the module runs by itself.", "Напечатанный блок с модулем работает сам по себе."),
        check=_module_imports,
        shown=Text(
            "with the names that the block imports, `{missing}` is not defined; with those of the first block, nothing is missing",
            "с именами, которые импортирует сам блок, не определено `{missing}`; вместе с именами первого блока есть всё",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "After the first block, which imports math. Alone it takes only pi from it, which it does not use.",
            "После первого блока, который импортирует math. Сам по себе он берёт из math только pi, которое не использует.",
        ),
    ),
    Claim(
        name="module-table",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "The printed module, whose table is a plain attribute, can be stored and moved as a whole.",
            "Напечатанный модуль, где таблица — простой атрибут, можно сохранить и перенести целиком.",
        ),
        check=_module_table,
        shown=Text(
            "state: {state}; after .to(float64) the embedding is {weights}, the table {table}; after .to('meta')"
            " the table is on {device}",
            "состояние: {state}; после .to(float64) эмбеддинг {weights}, таблица {table}; после .to('meta') таблица на {device}",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "A plain tensor is neither stored nor moved. register_buffer(..., persistent=False) moves it; or compute it in place.",
            "Обычный тензор не сохраняется и не переносится. С register_buffer(..., persistent=False) переносится; или его"
            " вычисляют на месте.",
        ),
        schemes=("sinusoidal",),
    ),
)
