"""Three words through attention in two orders: the same vectors elsewhere, or other vectors."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ordinate import reference
from ordinate.claims.order import ROUNDING, attention, word_vectors
from ordinate.notes.texts import TEXTS

if TYPE_CHECKING:
    import numpy.typing as npt

    from ordinate.claims.claim import Language

How = Literal["plain", "causal", "positions"]
HOWS: tuple[How, ...] = ("plain", "causal", "positions")
ORDERS = tuple(itertools.permutations(range(3)))
# Values of this size have the full colour.
FULL = 1.5


def outputs(words: Sequence[str], how: How) -> npt.NDArray[np.float64]:
    """Give attention's output for a row of words.

    Args:
        words: in their order.
        how: "plain" sees every word and no position, "causal" only what has been, "positions" adds sinusoids.

    Returns:
        One vector a word.

    Shape:
        [len(words), 8]

    Example:
        >>> bool(np.allclose(outputs(("a", "b"), "plain")[0], outputs(("b", "a"), "plain")[1]))
        True
    """
    x = word_vectors(tuple(words))
    if how == "positions":
        x = x + reference.sinusoidal(*x.shape)
    hidden = np.triu(np.ones((len(x), len(x)), dtype=bool), 1) if how == "causal" else None
    return attention(x, hidden)


def difference(words: Sequence[str], order: Sequence[int], how: How) -> float:
    """Say how far a word's output in another order is from its output in the first one, at most.

    Args:
        words: in the first order.
        order: which of them stands first, second, third in the other.
        how: as in ``outputs``.

    Returns:
        The largest difference of any number.

    Example:
        >>> difference(("a", "b", "c"), (2, 1, 0), "plain") < 1e-12 < difference(("a", "b", "c"), (2, 1, 0), "causal")
        True
    """
    moved = outputs([words[place] for place in order], how)
    return float(np.abs(moved - outputs(words, how)[list(order)]).max())


def shuffled(words: Sequence[str], order: Sequence[int], *, language: Language) -> str:
    """Write the outputs of both orders as numbers on colours, without positions, with a causal mask and with positions.

    Args:
        words: three.
        order: which of them stands first, second, third.
        language: "en" or "ru".

    Returns:
        HTML.

    Example:
        >>> "Needed: a word" in shuffled(("dog", "", "man"), (2, 1, 0), language="en")
        True
    """
    words = [word.strip() for word in words]
    if not all(words):
        return f'<p class="words-needed">{TEXTS["words_needed"].said(language)}</p>'
    return "".join(_both(words, order, how, language) for how in HOWS)


def _both(words: Sequence[str], order: Sequence[int], how: How, language: Language) -> str:
    """One way of attention: the verdict, and the strips of both orders."""
    change = difference(words, order, how)
    key = "unmoved" if list(order) == sorted(order) else "same" if change < ROUNDING else "different"
    verdict = TEXTS[key].said(language).format(difference=f"{change:.0e}" if change < ROUNDING else f"{change:.2f}")
    strips = _strip(words, how) + _strip([words[place] for place in order], how)
    title = html.escape(TEXTS[how].said(language))
    return f'<section class="words {key}" data-how="{how}"><p><strong>{title}</strong>: {verdict}</p><div>{strips}</div></section>'


def _strip(words: Sequence[str], how: How) -> str:
    rows = "".join(
        f"<tr><th>{html.escape(word)}</th>{''.join(map(_cell, vector))}</tr>"
        for word, vector in zip(words, outputs(words, how).tolist(), strict=True)
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _cell(value: float) -> str:
    """A number on red, if positive, or blue; stronger for larger ones."""
    strength = min(abs(value) / FULL, 1.0) * 0.75
    colour = "178, 24, 43" if value > 0 else "33, 102, 172"
    return f'<td style="background: rgba({colour}, {strength:.2f})">{round(value, 1) + 0.0:.1f}</td>'.replace(">-", ">−")


def order_names(words: Sequence[str]) -> dict[str, Any]:
    """Name the six orders by the words.

    Args:
        words: three.

    Returns:
        The order by its name.

    Example:
        >>> list(order_names("abc").items())[:2]
        [('a b c', (0, 1, 2)), ('a c b', (0, 2, 1))]
    """
    return {" ".join(words[place] for place in order): order for order in ORDERS}
