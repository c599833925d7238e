"""The figures of the page, from what its controls say to HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ordinate import Sinusoidal, plots
from ordinate.notes.choices import RuleName, call, named, rope, stretched_call
from ordinate.notes.pictures import shown
from ordinate.notes.texts import TEXTS
from ordinate.plots.clock_hands import MOST, angles_of
from ordinate.plots.texts import texts

if TYPE_CHECKING:
    from ordinate.claims.claim import Language
    from ordinate.rotation import Layout
    from ordinate.schemes.sinusoidal import SinusoidLayout


def heatmap(*, width: int, base: float, length: int, layout: SinusoidLayout, language: Language) -> str:
    """Draw position vectors as colours.

    Args:
        width: of the vectors.
        base: the 10000 of the paper.
        length: how many positions.
        layout: order of sines and cosines.
        language: "en" or "ru".

    Returns:
        HTML.

    Example:
        >>> "16 of 16 dimensions" in heatmap(width=16, base=1e4, length=8, layout="interleaved", language="en")
        True
    """
    scheme = Sinusoidal(d_model=width, base=float(base), layout=layout)
    figure = plots.heatmap(scheme, positions=length, dimensions=width, language=language)
    return shown(figure, code=call("Sinusoidal", d_model=width, base=base, layout=layout))


def waves(*, width: int, base: float, length: int, layout: SinusoidLayout, language: Language) -> str:
    """Draw four dimensions against the position.

    Args:
        width: of the vectors.
        base: the 10000 of the paper.
        length: how many positions.
        layout: order of sines and cosines.
        language: "en" or "ru".

    Returns:
        HTML.

    Example:
        >>> "dimensions 0, 4, 8, 12 of 16" in waves(width=16, base=1e4, length=8, layout="interleaved", language="en")
        True
    """
    scheme = Sinusoidal(d_model=width, base=float(base), layout=layout)
    figure = plots.waves(scheme, positions=length, language=language)
    return shown(figure, code=call("Sinusoidal", d_model=width, base=base, layout=layout))


def clock_hands(*, head_width: int, base: float, layout: Layout, query: int, key: int, shift: int, language: Language) -> str:
    """Draw the hands of a query and a key, with the score below.

    Args:
        head_width: width of a head.
        base: the 10000 of the paper.
        layout: which entries make a pair.
        query: the query's position m.
        key: the key's position n.
        shift: added to both.
        language: "en" or "ru".

    Returns:
        HTML.

    Example:
        >>> page = clock_hands(head_width=8, base=1e4, layout="half", query=5, key=2, shift=1, language="en")
        >>> 'query at 6, key at 3' in page
        True
    """
    scheme, words = rope(head_width=head_width, base=base, layout=layout), texts(language)
    m, n = query + shift, key + shift
    pairs = head_width // 2
    picked = range(pairs) if pairs <= MOST else [round(index * (pairs - 1) / (MOST - 1)) for index in range(MOST)]
    figure = plots.clock_hands(scheme, position=m, key=n, pairs=picked, language=language)
    code = call("Rope", head_dim=head_width, layout=layout, base=base)
    who = f"{words['query_hand'].format(position=m)}, {words['key_hand'].format(position=n)}"
    return shown(figure, code=code, alt=f"{figure.get_suptitle()}: {who}. {code}")


def score(*, head_width: int, base: float, query: int, key: int, shift: int, language: Language) -> str:
    """Say what the angles between the hands make of the score.

    Args:
        head_width: width of a head.
        base: the 10000 of the paper.
        query: the query's position m.
        key: the key's position n.
        shift: added to both, and without effect.
        language: "en" or "ru".

    Returns:
        Markdown.

    Example:
        >>> score(head_width=4, base=1e4, query=5, key=5, shift=9, language="en").split("**")[1]
        '+1.000'
    """
    scheme = rope(head_width=head_width, base=base)
    hands = zip(angles_of(scheme, "query", query + shift), angles_of(scheme, "key", key + shift), strict=True)
    cosines = [math.cos(m - n) for m, n in hands]
    said = TEXTS["rotation_score"].said(language)
    return said.format(distance=query - key, width=head_width, score=f"{sum(cosines) / len(cosines):+.3f}".replace("-", "−"))


def against_distance(*, scheme: str, heads: int, reach: int, language: Language) -> str:
    """Draw a scheme's score against the distance; DeBERTa's rows, which no score belongs to.

    Args:
        scheme: as in ``texts.SCHEMES``.
        heads: of a layer.
        reach: the farthest distance.
        language: "en" or "ru".

    Returns:
        HTML.

    Example:
        >>> "ALiBi(n_heads=2" in against_distance(scheme="alibi", heads=2, reach=8, language="en")
        True
    """
    made = named(scheme, heads=heads)
    if scheme == "deberta":
        return shown(plots.bias(made, positions=reach + 1, language=language))
    figure = plots.scores_by_distance(made, distances=reach, language=language)
    learned = next(made.parameters(), None) is not None
    return shown(figure, note=texts(language)["untrained"] if learned else "")


def wavelengths(*, head_width: int, base: float, rule: RuleName, factor: float, trained: int, language: Language) -> str:
    """Draw how many tokens each pair needs for a turn, with and without a rule.

    Args:
        head_width: width of a head.
        base: the 10000 of the paper.
        rule: how it is stretched.
        factor: by how much.
        trained: the trained length.
        language: "en" or "ru".

    Returns:
        HTML.

    Example:
        >>> "YaRN(factor=4.0" in wavelengths(head_width=8, base=1e4, rule="yarn", factor=4.0, trained=64, language="en")
        True
    """
    scheme = rope(head_width=head_width, base=base, rule=rule, factor=factor, trained=trained)
    figure = plots.wavelengths(scheme, trained=trained, language=language)
    # Training knew no rule: which pairs turned in it, the plain frequencies say.
    trained_ones = rope(head_width=head_width, base=base).inverse_frequencies
    inside = [2 * math.pi / frequency <= trained for frequency in trained_ones]
    return shown(
        figure, code=stretched_call(scheme), note=TEXTS["turned"].said(language).format(inside=sum(inside), pairs=len(inside))
    )
