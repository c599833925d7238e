"""Claims about learned tables of positions: sizes, the hard end, and how they compare with sinusoids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.claims import library
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import LENGTH_TASKS, SOLVED, kept, loss, require_learned, whose
from ordinate.claims.layers import Array

if TYPE_CHECKING:
    import torch

    from ordinate.lab.results import Comparison
    from ordinate.schemes.learned import Learned, Overflow

BERT_BASE = {
    "model_type": "bert",
    "hidden_size": 768,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "max_position_embeddings": 512,
}
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024}
TRANSLATION = 32  # rows of the course's translation model
Read = Callable[[Mapping[str, Any]], Any]


def read_plan(config: Mapping[str, Any]) -> Any:
    """Read what a configuration says of positions.

    Args:
        config: as in config.json.

    Returns:
        A ``PositionPlan``.

    Example:
        >>> read_plan(GPT2).input.max_length
        1024
    """
    from ordinate import checkpoints

    return checkpoints.read(config)


def _published_lengths(read: Read = read_plan) -> Measured:
    """Read both configurations."""
    plans = {name: read(config).input for name, config in (("bert", BERT_BASE), ("gpt2", GPT2))}
    learned = all(type(plan).__name__ == "LearnedPlan" for plan in plans.values())
    bert, gpt2 = plans["bert"].max_length, plans["gpt2"].max_length
    return judged(holds=learned and (bert, gpt2) == (512, 1024), bert=bert, gpt2=gpt2)


def _table_parameters(make: Callable[[int, int], Learned] | None = None) -> Measured:
    """Count what training changes in tables of several sizes."""
    from ordinate.schemes import Learned

    sizes = ((512, 768), (1024, 768), (32, 256), (7, 5))
    tables = [Learned(max_length=n, d_model=d) if make is None else make(n, d) for n, d in sizes]
    counts = [sum(weight.numel() for weight in table.parameters() if weight.requires_grad) for table in tables]
    return judged(holds=counts == [n * d for n, d in sizes], small=counts[3], gpt2=counts[1], tables=len(sizes))


def _bert_base(config: Mapping[str, Any] = BERT_BASE) -> Measured:
    """Multiply rows and width of BERT-base, and build its table."""
    scheme = read_plan(config).build().input
    count = sum(weight.numel() for weight in scheme.parameters())
    return judged(holds=round(count / 1e6, 1) == 0.4, count=count)


def _no_row_beyond(overflow: Overflow = "error") -> Measured:
    """Ask for the last row and for the one after it, here and in a plain nn.Embedding."""
    import torch

    from ordinate.schemes import Learned

    scheme, plain = Learned(max_length=512, d_model=4, overflow=overflow), torch.nn.Embedding(512, 4)
    last = _refused(lambda: scheme.at(range(512))) or _refused(lambda: plain(torch.tensor([511])))
    next_one = _refused(lambda: scheme.at(range(513)))
    raised = _refused(lambda: plain(torch.tensor([512])))
    return judged(holds=not last and bool(next_one and raised), ours=next_one, plain=raised)


def _refused(ask: Callable[[], object]) -> str:
    """The kind of error that a question raises, or nothing."""
    try:
        ask()
    except (ValueError, IndexError) as error:
        return type(error).__name__
    return ""


def _wraps(
    places: Callable[[torch.Tensor], torch.Tensor] = lambda order: order % TRANSLATION,
    look_up: Callable[[Array, range], Array] = library.wrapped,
) -> Measured:
    """Look 40 positions up in a table of 32 rows, and in ``Learned`` with overflow="wrap"."""
    import torch

    numbers = np.random.default_rng(0).normal(size=(TRANSLATION, 8))
    ours = int((look_up(numbers, range(40)) == numbers[np.arange(40) % TRANSLATION]).all(axis=1).sum())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        table = torch.nn.Embedding(TRANSLATION, 8)
    try:
        rows = table(places(torch.arange(40))).detach()
    except IndexError:
        return judged(holds=False, same=0, length=40, ours=ours)
    same = sum(bool(torch.equal(rows[place], rows[place - TRANSLATION])) for place in range(TRANSLATION, 40))
    return judged(holds=same == 8 and ours == 40, same=same, length=40, ours=ours)


def _as_good_as_sinusoids(results: Comparison | None = None) -> Measured:
    """Losses of both at the training length, task by task; the same means within a tenth, or both solved."""
    found = kept(results)
    for task in LENGTH_TASKS:
        require_learned(found, task, "learned", "sinusoidal")
    pairs = {task: (loss(found, task, "learned"), loss(found, task, "sinusoidal")) for task in LENGTH_TASKS}
    same = {task: abs(a - b) < 0.1 * min(a, b) or max(a, b) < SOLVED for task, (a, b) in pairs.items()}
    return judged(
        holds=all(same.values()),
        with_condition=same["text"] and same["shift"] and not same["last"] and pairs["last"][0] < pairs["last"][1],
        text=pairs["text"][0],
        text_fixed=pairs["text"][1],
        shift=pairs["shift"][0],
        shift_fixed=pairs["shift"][1],
        last=pairs["last"][0],
        last_fixed=pairs["last"][1],
        **whose(results),
    )


CLAIMS = (
    Claim(
        name="published-lengths",
        note=Note.REPRESENTATIONS,
        kind="attribution",
        statement=Text(
            "BERT learns a table of 512 positions, GPT-2 one of 1024.",
            "BERT обучает таблицу на 512 позиций, GPT-2 — на 1024.",
        ),
        check=_published_lengths,
        shown=Text(
            "read from their configurations: learned tables of {bert} and {gpt2} rows",
            "по их конфигурациям: выученные таблицы из {bert} и {gpt2} строк",
        ),
        verdict=Verdict.HOLDS,
        schemes=("learned",),
    ),
    Claim(
        name="table-parameters",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(
            "A table costs n_max · d parameters.",
            "В таблице n_max · d чисел, и все они обучаются.",
        ),
        check=_table_parameters,
        shown=Text(
            "{tables} tables counted, from {small} (7 · 5) to {gpt2} (GPT-2's 1024 · 768)",
            "посчитаны {tables} таблицы, от {small} (7 · 5) до {gpt2} (1024 · 768 у GPT-2)",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "RoBERTa, OPT and fairseq keep two more rows for padding.",
            "RoBERTa, OPT и fairseq держат ещё две строки для паддинга.",
        ),
        schemes=("learned",),
    ),
    Claim(
        name="bert-base-parameters",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text("BERT-base's table has 0.4 million parameters.", "В таблице BERT-base 0.4 млн параметров."),
        check=_bert_base,
        shown=Text("{count} parameters", "{count} параметров"),
        verdict=Verdict.HOLDS,
        schemes=("learned",),
    ),
    Claim(
        name="no-row-beyond",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "A table has a hard end: a position beyond n_max has no row.",
            "Таблица обрывается: позиции, для которой строки нет, взять вектор неоткуда.",
        ),
        check=_no_row_beyond,
        shown=Text(
            "512 rows, position 512: {ours} here, {plain} from nn.Embedding",
            "512 строк, позиция 512: {ours} здесь, {plain} в nn.Embedding",
        ),
        verdict=Verdict.HOLDS,
        schemes=("learned",),
    ),
    Claim(
        name="wrap-around",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Looked up with arange(T) % max_len, a table of 32 rows does not fail on longer inputs: it starts again.",
            "С индексом arange(T) % max_len таблица из 32 строк принимает и более длинный вход: после последней строки снова "
            "берётся первая.",
        ),
        check=_wraps,
        shown=Text(
            "{length} positions: {same} of the last 8 have the vector of the position 32 before",
            "{length} позиций: у {same} из последних 8 вектор позиции, стоящей на 32 раньше",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "The price: positions 0 and 32 cannot be told apart.",
            "Цена: позиции 0 и 32 неотличимы.",
        ),
        schemes=("learned",),
    ),
    Claim(
        name="learned-as-good-as-sinusoids",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "At the training length, learned tables work about as well as sinusoids (the Transformer paper, table 3, row E).",
            "На длине обучения таблица и синусоиды дают почти одинаковое качество (статья о трансформере, таблица 3, строка E).",
        ),
        check=_as_good_as_sinusoids,
        shown=Text(
            "{whose}, learned and sinusoidal: text {text:.2f} and {text_fixed:.2f} nats, repeating a token {shift:.3f} "
            "and {shift_fixed:.3f}, reading what was written last {last:.2f} and {last_fixed:.2f}",
            "{whose_ru}, таблица и синусоиды: текст — {text:.2f} и {text_fixed:.2f} ната, повторение токена — "
            "{shift:.3f} и {shift_fixed:.3f}, чтение последнего записанного — {last:.2f} и {last_fixed:.2f}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "On text, and on tasks that both have learned. After the same short training they can be far apart on another task: on "
            "reading what was written last the table was ahead.",
            "На тексте и на задачах, которые обе схемы освоили. После одинаково короткого обучения на другой задаче разрыв бывает "
            "большим: в чтении последнего записанного таблица впереди.",
        ),
        schemes=("learned", "sinusoidal"),
    ),
)
