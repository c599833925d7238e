"""The second note on why positions are needed: reading in parallel, reading in order, and which word stands first."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import accuracies, kept, loss, require_learned, whose
from ordinate.claims.order import ROUNDING, WORDS, Array, Attention, attention, word_vectors
from ordinate.claims.word_order import recurrent

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

Reader = Callable[[Array], Array]
CHANCE = 0.5
LITTLE, MUCH = 0.2, 0.9


def _parallel_reading(attend: Attention = attention) -> Measured:
    """The rows of one call against rows computed in another order, each with no other output at hand."""
    x = word_vectors()
    together = attend(x, None)
    apart = np.zeros_like(together)
    for place in reversed(range(len(x))):
        others = [row for row in range(len(x)) if row != place]
        apart[place] = attend(x[[place, *others]], None)[0]
    difference = float(np.abs(together - apart).max())
    return judged(holds=difference < ROUNDING, difference=difference)


def _word_by_word(read: Reader = recurrent) -> Measured:
    """The last states of two orders that end with the same word."""
    states = {order: read(word_vectors(order))[-1] for order in itertools.permutations(WORDS)}
    pairs = itertools.combinations(states, 2)
    nearest = min(float(np.abs(states[one] - states[other]).max()) for one, other in pairs if one[-1] == other[-1])
    return judged(holds=nearest > 0.1, difference=nearest)


def _first_word(attend: Attention = attention, causal: Array | None = None) -> Measured:
    """The sum of the outputs over all orders of three words, without a mask and with one."""
    hidden = np.triu(np.ones((3, 3), dtype=bool), 1) if causal is None else causal
    sums = [[attend(word_vectors(order), mask).sum(axis=0) for order in itertools.permutations(WORDS)] for mask in (None, hidden)]
    encoder, decoder = (float(np.abs(np.array(rows) - rows[0]).max()) for rows in sums)
    blind = encoder < ROUNDING
    return judged(holds=blind and decoder < ROUNDING, with_condition=blind and decoder > 0.1, encoder=encoder, decoder=decoder)


def _explicit_positions(results: Comparison | None = None) -> Measured:
    """Trained models: an encoder's word order, and causal decoders on text and on offsets, with and without positions."""
    found = kept(results)
    without, given = (_order_accuracy(found, scheme) for scheme in ("nope", "sinusoidal"))
    for task in ("order", "shift"):
        require_learned(found, task, "sinusoidal")
    text, shift = (loss(found, task, "nope") - loss(found, task, "sinusoidal") for task in ("text", "shift"))
    needed = without <= CHANCE and given > MUCH
    return judged(
        holds=needed and text > LITTLE,
        with_condition=needed and text <= LITTLE and shift > MUCH,
        without=without,
        given=given,
        text=text,
        shift=shift,
        **whose(results),
    )


def _order_accuracy(results: Comparison, scheme: str) -> float:
    of_three_words = accuracies(results, scheme)[::2]
    return sum(of_three_words) / len(of_three_words)


CLAIMS = (
    Claim(
        name="parallel-reading",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "A Transformer takes in the whole text at once; no place waits for the output of another.",
            "Трансформер принимает весь текст сразу; ни одно место не ждёт выхода другого.",
        ),
        check=_parallel_reading,
        shown=Text(
            "outputs computed one by one, the last place first, against all at once: largest difference {difference:.0e}",
            "выходы по одному, начиная с последнего места, и все сразу: наибольшая разность {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "This is said of reading a given text: a decoder that writes still goes token by token, as it reads what it wrote.",
            "Речь о чтении готового текста: когда декодер пишет, он идёт по токену, так как читает написанное им самим.",
        ),
        schemes=("nope",),
    ),
    Claim(
        name="word-by-word",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "A recurrent network reads in order, so its state holds the order without being told positions.",
            "Рекуррентная сеть читает по порядку, поэтому порядок есть в её состоянии и без указания позиций.",
        ),
        check=_word_by_word,
        shown=Text(
            "three words, pairs of orders with the same last word: the states differ by at least {difference:.2f}",
            "три слова, пары порядков с одним и тем же последним словом: состояния различаются не менее чем на {difference:.2f}",
        ),
        verdict=Verdict.HOLDS,
    ),
    Claim(
        name="explicit-positions",
        note=Note.WORDS,
        kind="comparison",
        statement=Text(
            "Because it sees all words at once, a Transformer has to be told the position of each explicitly.",
            "Поскольку трансформер видит все слова сразу, позицию каждого ему нужно сообщать явно.",
        ),
        check=_explicit_positions,
        shown=Text(
            "{whose}: word order by trained encoders: {without:.0%} right without positions, {given:.0%} with sinusoids; causal"
            " decoders without positions against sinusoids: {text:+.2f} nats on text, {shift:+.2f} on a token five places back",
            "{whose_ru}: порядок слов у обученных энкодеров: верно {without:.0%} без позиций, {given:.0%} с синусоидами; каузальные"
            " декодеры без позиций против синусоид: {text:+.2f} ната на тексте, {shift:+.2f} на токене пятью местами раньше",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "An encoder needs them. A causal decoder gets part of the order from its mask: without positions it loses little on"
            " text, and much where an exact distance counts.",
            "Энкодеру они необходимы. Каузальный декодер получает часть порядка от маски: без позиций он теряет немного на"
            " тексте и много там, где нужно точное расстояние.",
        ),
        schemes=("nope", "sinusoidal"),
    ),
    Claim(
        name="first-word",
        note=Note.WORDS,
        kind="property",
        statement=Text(
            "Without position information a model cannot tell which word stands first.",
            "Если позиции не сообщить, модель не узнает, какое слово первое.",
        ),
        check=_first_word,
        shown=Text(
            "sum of the outputs over all six orders of three words: differs by {encoder:.0e} without a mask, by {decoder:.2f}"
            " with a causal one",
            "сумма выходов по всем шести порядкам трёх слов: различие {encoder:.0e} без маски, {decoder:.2f} с каузальной",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "So it is without a mask, as in BERT's kind. Under a causal mask the first word sees itself alone, and orders differ.",
            "Так без маски, как в моделях типа BERT. При каузальной маске первое слово видит только себя, и порядки различимы.",
        ),
        schemes=("nope",),
    ),
)
