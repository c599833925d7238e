"""The second note on who reads a table: BERT, GPT and T5; and what a learned table is, can and cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import LENGTH_TASKS, kept, loss, require_learned, whose

if TYPE_CHECKING:
    import torch

    from ordinate.lab.results import Comparison

    Table = Callable[[int, int], torch.nn.Module]

Config = Mapping[str, Any]
BERT: Config = {"model_type": "bert", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12}
GPT: Config = {"model_type": "openai-gpt", "n_layer": 12, "n_embd": 768, "n_head": 12}
GPT_2: Config = {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12}
T5: Config = {"model_type": "t5", "num_layers": 6, "d_model": 512, "d_kv": 64, "num_heads": 8}
MARGIN = 0.01  # nats, below which losses of the comparison are not told apart


def schemes_of(config: Config) -> tuple[list[str], list[str]]:
    """Names of the schemes that a model type's configuration stands for.

    Args:
        config: with ``model_type``, as in config.json.

    Returns:
        Those at the input, one a stack, and those in attention, one a stack; "none" where there is none.

    Example:
        >>> schemes_of(GPT)
        (['learned'], ['none'])
    """
    from ordinate import checkpoints

    stacks = checkpoints.read(config).stacks
    at_input = ["none" if stack.input is None else stack.input.scheme for stack in stacks]
    in_attention = ["none" if (scheme := stack.layers[0].scheme) is None else scheme.scheme for stack in stacks]
    return at_input, in_attention


def _bert_gpt_sinusoids(bert: Config = BERT, gpt: Config = GPT, gpt_2: Config = GPT_2) -> Measured:
    """Read what the three configurations stand for."""
    found = {name: schemes_of(config) for name, config in (("bert", bert), ("gpt", gpt), ("gpt_2", gpt_2))}
    inputs: dict[str, Any] = {name: at_input[0] for name, (at_input, _) in found.items()}
    return judged(
        holds=set(inputs.values()) == {"sinusoidal"},
        instead=all(pair == (["learned"], ["none"]) for pair in found.values()),
        **inputs,
    )


def _t5_table(t5: Config = T5) -> Measured:
    """Read what T5's configuration stands for, and how many numbers it learns."""
    from ordinate import checkpoints

    at_input, in_attention = schemes_of(t5)
    schemes = [stack.build().layers[0] for stack in checkpoints.read(t5).stacks]
    numbers = {tuple(weight.shape) for scheme in schemes if scheme is not None for weight in scheme.parameters()}
    return judged(
        holds="learned" in at_input,
        instead=at_input == ["none", "none"] and in_attention == ["t5", "t5"] and numbers == {(32, 8)},
        input=at_input[0],
        attention=in_attention[0],
        shape=", ".join(f"{rows} x {heads}" for rows, heads in sorted(numbers)),
    )


def _embedding(length: int, width: int) -> torch.nn.Module:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return torch.nn.Embedding(length, width)


def _table_weights(table: Table = _embedding) -> Measured:
    """Count the weights and let a gradient step run over three of eight rows."""
    import torch

    module = table(8, 4)
    numbers = sum(weight.numel() for weight in module.parameters() if weight.requires_grad)
    before = [weight.detach().clone() for weight in module.parameters()]
    total = module(torch.arange(3)).sum()
    if total.requires_grad:
        total.backward()
    with torch.no_grad():
        for weight in module.parameters():
            weight.sub_(0.1 * (torch.zeros_like(weight) if weight.grad is None else weight.grad))
    moved = sum(int((old != new).any(dim=1).sum()) for old, new in zip(before, module.parameters(), strict=True))
    return judged(holds=numbers == 8 * 4 and moved == 3, numbers=numbers, moved=moved)


def _table_optimal(results: Comparison | None = None) -> Measured:
    """A table that holds sinusoids, and losses of trained models at the trained length."""
    import torch

    from ordinate import Learned, Sinusoidal

    learned, sinusoids = Learned(max_length=64, d_model=16), Sinusoidal(d_model=16).at(range(64))
    with torch.no_grad():
        learned.weight.copy_(sinusoids)
    flexible = torch.equal(learned.at(range(64)), sinusoids)
    found = kept(results)
    for task in LENGTH_TASKS:
        require_learned(found, task, "learned", "sinusoidal")
    gains: dict[str, Any] = {task: loss(found, task, "learned") - loss(found, task, "sinusoidal") for task in LENGTH_TASKS}
    return judged(
        holds=flexible and all(gain < MARGIN for gain in gains.values()),
        with_condition=flexible and min(gains.values()) < -MARGIN and max(gains.values()) > MARGIN,
        **whose(results),
        **{task: round(gain, 2) + 0.0 for task, gain in gains.items()},  # no -0.00
    )


def _table_lengths(overflow: str = "error") -> Measured:
    """Ask a table of eight rows for fewer, for more, and resize it."""
    import torch

    from ordinate import Learned

    table: Any = Learned(max_length=8, d_model=4, overflow=overflow)  # type: ignore[arg-type]
    try:
        refused = table.at(range(9)) is None
    except ValueError:
        refused = True
    shorter = torch.equal(table.at(range(5)), table.at(range(8))[:5])
    longer = table.resize(16, method="extend").at(range(16))
    between = table.resize(16, method="linear").at(range(16))
    resized = torch.equal(longer[:8], table.weight) and bool((between[1:-1].diff(dim=0) != 0).any())
    return judged(
        holds=refused and not shorter,
        with_condition=refused and shorter and resized,
        refused=refused,
        rows=len(longer),
        kept=int((longer[:8] == table.weight).all(dim=1).sum()),
    )


CLAIMS = (
    Claim(
        name="bert-gpt-sinusoids",
        note=Note.WORDS,
        kind="attribution",
        statement=Text("BERT and GPT use vectors of sines and cosines.", "BERT и GPT используют векторы из синусов и косинусов."),
        check=_bert_gpt_sinusoids,
        shown=Text(
            "at the input, as their configurations are read: BERT {bert}, GPT {gpt}, GPT-2 {gpt_2}",
            "на входе, по прочитанным конфигурациям: BERT — {bert}, GPT — {gpt}, GPT-2 — {gpt_2}",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "All three learn a table. Sinusoids are the original Transformer's (Vaswani et al. 2017).",
            "Все три обучают таблицу (learned). Синусоиды — в исходном трансформере (Vaswani et al., 2017).",
        ),
        schemes=("sinusoidal", "learned"),
    ),
    Claim(
        name="t5-table",
        note=Note.WORDS,
        kind="attribution",
        statement=Text(
            "T5 learns a table with a vector for each absolute position.",
            "T5 обучает таблицу с вектором для каждой абсолютной позиции.",
        ),
        check=_t5_table,
        shown=Text(
            "T5-small's configuration: at the input {input}, in attention {attention}, a table of {shape} numbers",
            "конфигурация T5-small: на входе {input}, во внимании {attention}, таблица {shape} чисел",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "T5 learns one number a head for each of 32 buckets of relative distances, and adds it to the scores.",
            "T5 обучает по числу на голову для каждой из 32 корзин относительных расстояний и прибавляет его к оценкам внимания.",
        ),
        schemes=("t5", "learned"),
    ),
    Claim(
        name="table-weights",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "A learned table is an ordinary matrix of weights, trained by gradient descent with the rest.",
            "Выучиваемая таблица — обычная матрица весов, которую обучают градиентным спуском вместе с остальными.",
        ),
        check=_table_weights,
        shown=Text(
            "8 rows of 4: {numbers} trainable numbers; a step on a text of three words moves {moved} rows",
            "8 строк по 4: обучаемых чисел {numbers}; шаг на тексте из трёх слов сдвигает строк: {moved}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Rows that no training text reaches stay as they were drawn.",
            "Строки, до которых не дошёл ни один текст при обучении, остаются случайными.",
        ),
        schemes=("learned",),
    ),
    Claim(
        name="table-optimal",
        note=Note.WORDS,
        kind="comparison",
        statement=Text(
            "A learned table is more flexible than the formula and can find the best vectors.",
            "Выучиваемая таблица гибче формулы и может найти лучшие векторы.",
        ),
        check=_table_optimal,
        shown=Text(
            "a table can hold sinusoids exactly; {whose}: trained models at the trained length, table against sinusoids:"
            " {text:+.2f} nats on text, {shift:+.2f} on a token five places back, {last:+.2f} on the last value written",
            "таблица может содержать сами синусоиды; {whose_ru}: обученные модели при длине обучения, таблица против синусоид:"
            " {text:+.2f} ната на тексте, {shift:+.2f} на токене пятью местами раньше, {last:+.2f} на последнем записанном"
            " значении",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "It can hold any vectors; what a small training finds is better on one task and worse on another.",
            "Она вмещает любые векторы; то, что находит небольшое обучение, лучше на одной задаче и хуже на другой.",
        ),
        schemes=("learned", "sinusoidal"),
    ),
    Claim(
        name="table-lengths",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "A learned table requires training anew for new lengths.", "Выучиваемая таблица требует переобучения для новых длин."
        ),
        check=_table_lengths,
        shown=Text(
            "a table of 8 rows: 5 positions need nothing, 9 are refused; extended to {rows}, {kept} rows stay as they were",
            "таблица из 8 строк: для 5 позиций ничего не нужно, 9 отвергаются; после расширения до {rows} прежних строк: {kept}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "Only for lengths beyond the table. It can be extended or resampled; its new rows have to be trained.",
            "Только для длин за концом таблицы. Её можно расширить или пересчитать; новые строки надо доучивать.",
        ),
        schemes=("learned",),
    ),
)
