"""Claims about order: attention and the layers around it do not see where a token stands, unless a mask does."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np

from ordinate.claims import library
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.layers import Array as Array
from ordinate.claims.layers import Layer, feed_forward, layer_norm, softmax

Attention = Callable[[Array, Array | None], Array]
Causal = Callable[[Array, Array, Array], Array]
ROUNDING = 1e-12
WORDS = ("dog", "bites", "man")
WIDTH = 8


def attention(x: Array, hidden: Array | None = None) -> Array:
    """Self-attention of one head: softmax(q k^T / sqrt(d)) v with fixed projections.

    Args:
        x: one vector a token.
        hidden: where True, the query of the row does not see the key of the column.

    Returns:
        One vector a token.

    Shape:
        [T, D], [T, T] -> [T, D]

    Example:
        >>> attention(np.ones((3, 8))).shape
        (3, 8)
    """
    query, key, value = _projected(x)
    scores = query @ key.T / x.shape[1] ** 0.5
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    out: Array = softmax(scores) @ value
    return out


def _projected(x: Array) -> tuple[Array, Array, Array]:
    query, key, value = np.random.default_rng(0).normal(size=(3, x.shape[1], x.shape[1])) / x.shape[1] ** 0.5
    return x @ query, x @ key, x @ value


def word_vectors(words: tuple[str, ...] = WORDS) -> Array:
    """Give a fixed random vector for each word, the same for the same letters.

    Args:
        words: any.

    Returns:
        One vector a word.

    Shape:
        [len(words), 8]

    Example:
        >>> bool((word_vectors(("a", "a"))[0] == word_vectors(("b", "a"))[1]).all())
        True
    """
    return np.array([np.random.default_rng([*word.encode()]).normal(size=WIDTH) for word in words]).reshape(-1, WIDTH)


def largest_change(attend: Attention, x: Array, mask: Array | None = None, *, mask_moves: bool = False) -> float:
    """How far Attn(Pi X) is from Pi Attn(X) at most, over all permutations Pi.

    Args:
        attend: the attention.
        x: one vector a token.
        mask: what is hidden.
        mask_moves: whether the mask is permuted with the tokens.

    Returns:
        The largest difference of any number; rounding alone if attention is equivariant.

    Shape:
        [T, D], [T, T]

    Example:
        >>> largest_change(lambda x, hidden: x, word_vectors())
        0.0
    """
    plain, worst = attend(x, mask), 0.0
    for order in itertools.permutations(range(len(x))):
        places = list(order)
        moved = mask[np.ix_(places, places)] if mask is not None and mask_moves else mask
        worst = max(worst, float(np.abs(attend(x[places], moved) - plain[places]).max()))
    return worst


def _equivariance(attend: Attention = attention) -> Measured:
    """Permute three words in all six ways."""
    change = largest_change(attend, word_vectors())
    return judged(holds=change < ROUNDING, difference=change)


def _softmax_permutation(normalise: Layer = softmax) -> Measured:
    """Permute rows and columns of four tokens' scores before and after the softmax, in all 24 ways."""
    scores, worst = np.random.default_rng(2).normal(size=(4, 4)), 0.0
    for order in itertools.permutations(range(4)):
        both = np.ix_(order, order)
        worst = max(worst, float(np.abs(normalise(scores[both]) - normalise(scores)[both]).max()))
    return judged(holds=worst < ROUNDING, difference=worst)


def _position_wise_layers(layers: tuple[Layer, ...] = (feed_forward, layer_norm)) -> Measured:
    """Permute the words, and give each word to the layer alone."""
    x = word_vectors()
    moved = max(_moved(layer, x) for layer in layers)
    alone = max(float(np.abs(layer(x)[t] - layer(x[t : t + 1])[0]).max()) for layer in layers for t in range(len(x)))
    return judged(holds=moved < ROUNDING and alone < ROUNDING, difference=moved, alone=alone)


def _moved(layer: Layer, x: Array) -> float:
    return largest_change(lambda rows, _: layer(rows), x)


def _padding_mask(attend: Attention = attention, mask_moves: bool = True) -> Measured:
    """Hide a fourth, empty token from all, permute, and let the mask move with the tokens or stay."""
    x = word_vectors((*WORDS, "[pad]"))
    hidden = np.tile(np.arange(4) == 3, (4, 1))
    moved, stayed = largest_change(attend, x, hidden, mask_moves=mask_moves), largest_change(attend, x, hidden)
    return judged(holds=moved < ROUNDING and stayed > 0.1, difference=moved, stayed=stayed)


def _causal_mask(
    attend: Attention = attention,
    causal: Array | None = None,
    ours: tuple[Causal, ...] = (library.attended_causally, functools.partial(library.attended_causally, by_range=False)),
) -> Measured:
    """The same with each word blind to those after it; and ``ordinate.attend`` with causal=True against it."""
    hidden = np.triu(np.ones((3, 3), dtype=bool), 1) if causal is None else causal
    change = largest_change(attend, word_vectors(), hidden)
    first = attend(word_vectors(), hidden)[0]
    alone = attend(word_vectors()[:1], None)[0]
    itself = float(np.abs(first - alone).max())
    off = max(float(np.abs(by(*_projected(word_vectors())) - attend(word_vectors(), hidden)).max()) for by in ours)
    return judged(holds=change > 0.1 and max(itself, off) < ROUNDING, difference=change, first=itself, ours=off)


CLAIMS = (
    Claim(
        name="equivariance",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Without a mask, self-attention of permuted tokens is the permuted self-attention: Attn(ΠX) = Π Attn(X).",
            "Без маски self-attention от переставленных токенов — это переставленный self-attention: Attn(ΠX) = Π Attn(X).",
        ),
        check=_equivariance,
        shown=Text(
            "three words, six permutations: largest difference {difference:.0e}",
            "три слова, шесть перестановок: наибольшая разность {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("nope",),
    ),
    Claim(
        name="softmax-permutation",
        note=Note.REPRESENTATIONS,
        kind="identity",
        statement=Text(
            "A softmax of every row commutes with permuting rows and columns together: softmax(Π S Πᵀ) = Π softmax(S) Πᵀ.",
            "Если одинаково переставить строки и столбцы оценок, построчный softmax переставится так же: softmax(Π S Πᵀ) = Π "
            "softmax(S) Πᵀ.",
        ),
        check=_softmax_permutation,
        shown=Text(
            "four tokens, 24 permutations: largest difference {difference:.0e}",
            "четыре токена, 24 перестановки: наибольшая разность {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("nope",),
    ),
    Claim(
        name="position-wise-layers",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "Fully connected layers, LayerNorm and residual connections treat each token by itself, so they are equivariant too.",
            "Полносвязные слои, LayerNorm и остаточные связи обрабатывают каждый токен отдельно, поэтому они тоже эквивариантны.",
        ),
        check=_position_wise_layers,
        shown=Text(
            "largest difference after permuting {difference:.0e}, between a word in the sentence and the same word alone "
            "{alone:.0e}",
            "наибольшая разность после перестановки {difference:.0e}, между словом в предложении и тем же словом без соседей "
            "{alone:.0e}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("nope",),
    ),
    Claim(
        name="padding-mask",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "A mask that moves with the tokens, as a padding mask does, keeps the symmetry.",
            "Симметрию не нарушает маска, которая движется вместе с токенами; такова маска паддинга.",
        ),
        check=_padding_mask,
        shown=Text(
            "three words and padding, 24 permutations: largest difference {difference:.0e}; with a mask that stays, {stayed:.2f}",
            "три слова и паддинг, 24 перестановки: наибольшая разность {difference:.0e}; если маска остаётся на месте — "
            "{stayed:.2f}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("nope",),
    ),
    Claim(
        name="causal-mask",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "A causal mask breaks the symmetry: it is tied to places, not to tokens, and whatever stands first sees only itself.",
            "Каузальная маска ломает симметрию: она задана местами, и кто бы ни стоял первым, он видит только себя.",
        ),
        check=_causal_mask,
        shown=Text(
            "three words: largest difference {difference:.2f}; the first word's output is its output alone within {first:.0e}",
            "три слова: наибольшая разность {difference:.2f}; выход первого слова такой же, как без соседей, разность {first:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "A decoder without positions can therefore still tell orders apart.",
            "Поэтому декодер и без позиций различает порядок.",
        ),
        schemes=("nope",),
    ),
)
