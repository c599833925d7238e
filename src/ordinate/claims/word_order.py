"""Claims about the order of words: who can tell "dog bites man" from "man bites dog"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import accuracies, kept, loss, require_learned, whose
from ordinate.claims.layers import Array, Layer, feed_forward, layer_norm
from ordinate.claims.order import ROUNDING, Attention, attention, word_vectors

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

CHANCE_OF_EIGHT = float(np.log(8))  # nats: eight values to guess from


def encoder(x: Array) -> Array:
    """Two blocks of a Transformer encoder without positions and without a mask.

    Args:
        x: one vector a token.

    Returns:
        One vector a token.

    Shape:
        [T, D] -> [T, D]

    Example:
        >>> encoder(word_vectors()).shape
        (3, 8)
    """
    for _ in range(2):
        x = x + attention(layer_norm(x))
        x = feed_forward(layer_norm(x))
    return x


def recurrent(x: Array) -> Array:
    """Read tokens one after the other: h = tanh(x W + h U), with fixed weights.

    Args:
        x: one vector a token.

    Returns:
        The state after each token.

    Shape:
        [T, D] -> [T, D]

    Example:
        >>> recurrent(np.zeros((2, 8))).tolist() == np.zeros((2, 8)).tolist()
        True
    """
    into, onward = np.random.default_rng(3).normal(size=(2, x.shape[1], x.shape[1])) / x.shape[1] ** 0.5
    states, state = [], np.zeros(x.shape[1])
    for vector in x:
        state = np.tanh(vector @ into + state @ onward)
        states.append(state)
    return np.array(states)


def _both(encode: Layer) -> tuple[Array, Array]:
    """What comes out for the sentence, and for the same with its words in reverse."""
    return encode(word_vectors()), encode(word_vectors()[::-1])


def _dog_bites_man(encode: Layer = encoder) -> Measured:
    """Compare the vectors of the two sentences word by word, then place by place."""
    there, back = _both(encode)
    by_word, by_place = float(np.abs(there - back[::-1]).max()), float(np.abs(there - back).max())
    return judged(holds=by_word < ROUNDING and by_place > 0.1, by_word=by_word, by_place=by_place)


def _pooled_classifier(
    pool: Callable[[Array], Array] = lambda vectors: vectors.mean(0), results: Comparison | None = None
) -> Measured:
    """Compare the means of the vectors; and read how often trained classifiers without positions were right."""
    there, back = _both(encoder)
    difference = float(np.abs(pool(there) - pool(back)).max())
    found = accuracies(kept(results), "nope")
    blind = difference < ROUNDING and set(found) == {0.5}
    return judged(holds=blind, difference=difference, accuracy=max(found), **whose(results))


def _recurrent_order(read: Layer = recurrent, results: Comparison | None = None) -> Measured:
    """Compare the last states; and read how often a trained recurrent classifier was right."""
    there, back = _both(read)
    difference = float(np.abs(there[-1] - back[-1]).max())
    found = kept(results)
    accuracy = min(accuracies(found, "gru"))
    require_learned(found, "order", "gru")
    return judged(holds=difference > 0.1 and accuracy > 0.9, difference=difference, accuracy=accuracy, **whose(results))


def _order_must_be_added(attend: Attention = attention, results: Comparison | None = None) -> Measured:
    """Compare the means of attention's output for both sentences, without a mask and with a causal one."""
    hidden = np.triu(np.ones((3, 3), dtype=bool), 1)
    there, back = _both(lambda x: attend(x, None))
    masked, turned = _both(lambda x: attend(x, hidden))
    plain, causal = (float(np.abs(a.mean(0) - b.mean(0)).max()) for a, b in ((there, back), (masked, turned)))
    found = kept(results)
    require_learned(found, "last", "nope")
    decoder = loss(found, "last", "nope")
    needed = plain < ROUNDING
    sees = causal > 0.01 and decoder < 0.8 * CHANCE_OF_EIGHT
    return judged(
        holds=needed and sees,
        plain=plain,
        causal=causal,
        decoder=decoder,
        chance=CHANCE_OF_EIGHT,
        **whose(results),
    )


CLAIMS = (
    Claim(
        name="dog-bites-man",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            'An encoder without positions gives "dog bites man" and "man bites dog" the same three vectors in another order.',
            "Для энкодера без позиций «dog bites man» и «man bites dog» — одна и та же тройка векторов, только переставленная.",
        ),
        check=_dog_bites_man,
        shown=Text(
            "two blocks: a word's vector differs by {by_word:.0e} between the sentences, a place's by {by_place:.2f}",
            "два блока: вектор одного и того же слова отличается на {by_word:.0e}, вектор на одном и том же месте — на "
            "{by_place:.2f}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("nope",),
    ),
    Claim(
        name="pooled-classifier",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "A classifier that sees only the vectors' mean cannot tell the two sentences apart.",
            "Классификатор, который видит только среднее этих векторов, не различит два предложения.",
        ),
        check=_pooled_classifier,
        shown=Text(
            "the two means differ by {difference:.0e}; {whose}: trained without positions, it is right on "
            "{accuracy:.0%} of held-out sentences",
            "средние отличаются на {difference:.0e}; {whose_ru}: обученный без позиций, он прав на {accuracy:.0%} "
            "отложенных предложений",
        ),
        verdict=Verdict.HOLDS,
        schemes=("nope",),
    ),
    Claim(
        name="recurrent-order",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "A recurrent network has no such difficulty: it reads the tokens in order.",
            "Рекуррентная сеть такие предложения различает: она читает слово за словом.",
        ),
        check=_recurrent_order,
        shown=Text(
            "the last states differ by {difference:.2f}; {whose}: a trained GRU is right on at least {accuracy:.0%} of "
            "held-out sentences",
            "последние состояния отличаются на {difference:.2f}; {whose_ru}: обученная GRU права не менее чем на "
            "{accuracy:.0%} отложенных предложений",
        ),
        verdict=Verdict.HOLDS,
    ),
    Claim(
        name="order-must-be-added",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Without a mask, self-attention does not see the order of tokens: it has to be added.",
            "Без маски self-attention не видит порядка токенов: его нужно сообщать отдельно.",
        ),
        check=_order_must_be_added,
        shown=Text(
            "means of the two sentences differ by {plain:.0e} without a mask, by {causal:.2f} with a causal one; {whose}: "
            "a decoder without positions reads the value written last with {decoder:.2f} nats, guessing gives {chance:.2f}",
            "средние двух предложений отличаются на {plain:.0e} без маски и на {causal:.2f} с каузальной; {whose_ru}: "
            "декодер без позиций читает последнее записанное значение с потерей {decoder:.2f} ната, угадывание даёт {chance:.2f}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "A causal mask gives the order away by the number of tokens that each sees: decoders can do without.",
            "Каузальная маска выдаёт порядок числом токенов, которые видит каждый: декодер может обойтись без позиций.",
        ),
        schemes=("nope",),
    ),
)
