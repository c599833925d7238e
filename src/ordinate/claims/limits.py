"""Claims about what positional schemes cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import LENGTH_TASKS, UnmeasuredError, kept, longest, require_learned, rise, whose
from ordinate.claims.layers import Array

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

WIDTH, TABLE = 16, 64
Join = Callable[[Array, Array], Array]


def _absolute_ends(results: Comparison | None = None) -> Measured:
    """Ask a table for a row past its end; and read how losses rise to the longest tested length."""
    from ordinate.schemes import Learned

    refused = False
    try:
        Learned(max_length=TABLE, d_model=4).at(range(TABLE + 1))
    except ValueError:
        refused = True
    found = kept(results)
    rises = {
        (task, scheme): rise(found, task, scheme)
        for task, scheme in (*((task, "sinusoidal") for task in LENGTH_TASKS), ("text", "rope"))
    }
    soft = min(rises[task, "sinusoidal"] for task in LENGTH_TASKS)
    return judged(
        holds=refused and soft > 0.1,
        rows=TABLE,
        text=rises["text", "sinusoidal"],
        shift=rises["shift", "sinusoidal"],
        rope=rises["text", "rope"],
        times=longest(found),
        **whose(results),
    )


def summed(token: Array, position: Array) -> Array:
    """Add position vectors to token vectors, which then share all entries.

    Args:
        token: vectors.
        position: vectors.

    Returns:
        The sum.

    Shape:
        [T, D], [T, D] -> [T, D]

    Example:
        >>> summed(np.ones((1, 2)), np.ones((1, 2))).tolist()
        [[2.0, 2.0]]
    """
    return token + position


def _compete(join: Join = summed) -> Measured:
    """Split scores of tokens with positions into their four terms; and find another token that gives the same vector."""
    positions = reference.sinusoidal(8, WIDTH)
    tokens = np.random.default_rng(0).normal(size=positions.shape)
    both, none = join(tokens, positions), np.zeros_like(tokens)
    to_query, to_key = np.random.default_rng(1).normal(size=(2, both.shape[1], both.shape[1])) / both.shape[1] ** 0.5
    maps = to_query @ to_key.T
    content, place = (part @ maps @ part.T for part in (join(tokens, none), join(none, positions)))
    cross = both @ maps @ both.T - content - place
    confused = float(
        np.abs(join(tokens[:1], positions[:1]) - join(tokens[:1] + positions[:1] - positions[5:6], positions[5:6])).max()
    )
    sizes = [float(np.sqrt((part**2).mean())) for part in (content, place, cross)]
    holds = sizes[2] > 0.1 and confused < 1e-12
    return judged(holds=holds, confused=confused, content=sizes[0], place=sizes[1], cross=sizes[2])


def _which_is_best(results: Comparison | None = None) -> Measured:
    """The schemes with the lowest loss at the longest tested length, task by task."""
    found = kept(results)
    times = longest(found)
    _require_scatter(found)
    place = found.settings.budget.multiples.index(times)
    best = {task: [name for name in found.lowest(task, place) if name != "gru"] for task in LENGTH_TASKS}
    for task, names in best.items():
        require_learned(found, task, *names)
    shared = set(best["text"]) & set(best["shift"]) & set(best["last"])
    text, shift, last = (", ".join(names) for names in best.values())
    return judged(holds=all(best.values()) and not shared, text=text, shift=shift, last=last, times=times, **whose(results))


def _require_scatter(found: Comparison) -> None:
    """Two seeds a model: one says nothing of how far apart two schemes must be."""
    for task in LENGTH_TASKS:
        spreads = [spread for scheme in found.settings.schemes if (spread := found.spread(task, scheme, 0)) is not None]
        if not spreads:
            raise UnmeasuredError(
                f"needed results on {task!r}, got none; run `ordinate compare` with it",
                f"нужны результаты на задаче {task!r}, а их нет; запустите `ordinate compare` с ней",
            )
        if (seeds := min(found.settings.seeds, *(spread.seeds for spread in spreads))) < 2:
            raise UnmeasuredError(
                f"needed two seeds or more, got {seeds}: one says nothing of the scatter; run `ordinate compare --seeds 2`",
                f"нужно не меньше двух зёрен, а есть {seeds}: одно не говорит о разбросе; запустите `ordinate compare --seeds 2`",
            )


def _text_blind(schemes: tuple[Any, ...] | None = None) -> Measured:
    """What schemes do at ten positions, for two texts."""
    import torch

    from ordinate.schemes import ALiBi, Learned, Rope, Sinusoidal, T5Bias
    from ordinate.sites import InputScheme, QueryKeyScheme

    generator = torch.Generator().manual_seed(0)
    one, two = torch.randn(2, 1, 2, 10, 8, dtype=torch.float64, generator=generator)
    made = (
        Sinusoidal(d_model=8),
        Learned(max_length=10, d_model=8),
        T5Bias(n_heads=2, bidirectional=True),
        ALiBi(n_heads=2, slopes="paper"),
        Rope(head_dim=8, layout="half"),
    )
    worst = 0.0
    for scheme in made if schemes is None else schemes:
        if isinstance(scheme, InputScheme):
            first, second = (scheme(text[0], range(10)) - text[0] for text in (one, two))
        elif isinstance(scheme, QueryKeyScheme):  # one linear map for whatever is turned
            at = scheme.at(range(10))
            first, second = scheme.queries(one + two, at), scheme.queries(one, at) + scheme.queries(two, at)
        else:
            first, second = (scheme.bias(text, text, scheme.at(range(10), range(10))) for text in (one, two))
        worst = max(worst, float((first - second).detach().abs().max()))
    return judged(holds=worst < 1e-12, difference=worst)


def _scheme_decides(results: Comparison | None = None) -> Measured:
    """How the loss on text rises to the longest tested length, from scheme to scheme."""
    found = kept(results)
    names = [name for name in found.settings.schemes if name != "gru"]
    if len(names) < 2:
        raise UnmeasuredError(
            f"needed results of two schemes or more, got {', '.join(names) or 'none'}",
            f"нужны результаты хотя бы двух схем, а есть: {', '.join(names) or 'ни одной'}",
        )
    rises = {name: rise(found, "text", name) for name in names}
    best, worst = min(rises, key=lambda name: rises[name]), max(rises, key=lambda name: rises[name])
    return judged(
        holds=rises[worst] - rises[best] > 0.5,
        best=best,
        least=rises[best],
        worst=worst,
        most=rises[worst],
        times=longest(found),
        **whose(results),
    )


CLAIMS = (
    Claim(
        name="absolute-do-not-extrapolate",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Absolute schemes do not extrapolate: a table has a hard end, sinusoids a soft one.",
            "За длиной обучения абсолютные схемы не работают: таблица обрывается сразу, синусоиды теряют качество постепенно.",
        ),
        check=_absolute_ends,
        shown=Text(
            "a table of {rows} rows has none for position {rows}; {whose}, rise at {times} times the training length: "
            "sinusoids {text:+.2f} nats on text, {shift:+.2f} on repeating a token; RoPE {rope:+.2f} on text",
            "в таблице из {rows} строк для позиции {rows} строки нет; {whose_ru}, рост на {times}-кратной длине обучения: "
            "синусоиды {text:+.2f} ната на тексте, {shift:+.2f} в повторении токена; RoPE {rope:+.2f} на тексте",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Nor does every relative scheme: untouched, RoPE lost more on text.",
            "Но и не всякая относительная схема экстраполирует: RoPE без изменений потерял на тексте больше.",
        ),
        schemes=("sinusoidal", "learned", "rope"),
    ),
    Claim(
        name="added-signals-compete",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Position vectors that are added share the d entries with the token and compete with its content.",
            "Прибавленная ко входу позиция занимает те же d компонент, что и токен, и мешает его содержимому.",
        ),
        check=_compete,
        shown=Text(
            "typical size of the terms of a score, d = 16: content {content:.2f}, position {place:.2f}, the two mixed {cross:.2f}; "
            "another token at position 5 gives the same vector as one at 0 (difference {confused:.0e})",
            "типичная величина слагаемых оценки, d = 16: содержимое {content:.2f}, позиция {place:.2f}, смешанные {cross:.2f}; "
            "другой токен в позиции 5 даёт тот же вектор, что токен в позиции 0 (разность {confused:.0e})",
        ),
        verdict=Verdict.HOLDS,
        schemes=("sinusoidal", "learned"),
    ),
    Claim(
        name="best-scheme-is-open",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "Which scheme generalises best beyond the training length depends on the data: the question is open.",
            "Лучшая схема для длин за пределами обучения неизвестна: на разных данных впереди разные.",
        ),
        check=_which_is_best,
        shown=Text(
            "{whose}, lowest loss at {times} times the training length: text {text}; repeating a token {shift}; reading "
            "what was written last {last}",
            "{whose_ru}, наименьшая потеря на {times}-кратной длине обучения: текст — {text}; повторение токена — {shift}; чтение "
            "последнего записанного — {last}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Measured for three tasks and small models; the dependence on how attention is implemented was not.",
            "Измерено на трёх задачах и малых моделях; зависимость от реализации внимания не измерялась.",
        ),
        schemes=("sinusoidal", "learned", "shaw", "t5", "deberta", "alibi", "rope"),
    ),
    Claim(
        name="indices-not-structure",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Positions are indices, not structure: no scheme knows of sentences, paragraphs or syntax.",
            "Схема видит только номера мест: границ предложений, абзацев и синтаксиса она не знает.",
        ),
        check=_text_blind,
        shown=Text(
            "five schemes, ten positions, two texts: what they do differs by {difference:.0e}",
            "пять схем, десять позиций, два текста: их действие отличается на {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Shaw's and DeBERTa's terms look at the tokens' content, but not at borders of sentences. What schemes for images "
            "know of rows and columns, the caller wrote into the positions.",
            "Слагаемые Shaw и DeBERTa смотрят на содержимое токенов, но не на границы предложений. То, что схемы для "
            "изображений знают о строках и столбцах, записал в позиции тот, кто их вызвал.",
        ),
        schemes=("sinusoidal", "learned", "t5", "alibi", "rope"),
    ),
    Claim(
        name="scheme-decides",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "The scheme decides how a model copes with lengths that it was not trained on.",
            "От позиционной схемы зависит, как модель ведёт себя на длинах, которых не видела при обучении.",
        ),
        check=_scheme_decides,
        shown=Text(
            "{whose}, rise of the loss on text at {times} times the training length: {least:+.2f} nats ({best}) to "
            "{most:+.2f} ({worst}), everything else alike",
            "{whose_ru}, рост потери на тексте на {times}-кратной длине обучения: от {least:+.2f} ната ({best}) до {most:+.2f} "
            "({worst}), всё остальное одинаково",
        ),
        verdict=Verdict.HOLDS,
        schemes=("nope", "sinusoidal", "learned", "shaw", "t5", "deberta", "alibi", "rope"),
    ),
)
