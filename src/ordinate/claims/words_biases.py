"""The second note on relative schemes: what DeBERTa and ALiBi do, who uses ALiBi, and lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import LENGTH_TASKS, kept, longest, rise, whose
from ordinate.claims.order import Array
from ordinate.claims.words_tables import Config, schemes_of

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

Bias = Callable[[Array, Array, Array, Array], Array]
Penalty = Callable[[Array], Array]
BLOOM: Config = {"model_type": "bloom", "n_layer": 70, "hidden_size": 14336, "n_head": 112}
LENGTH, WIDTH, HEADS, FAR = 8, 16, 8, 64
ROUNDING = 1e-9


def deberta(q: Array, k: Array, keys: Array, queries: Array) -> Array:
    """Give what ``Deberta`` adds to the scores of one head.

    Args:
        q: queries.
        k: keys.
        keys: the table that queries meet.
        queries: the table that keys meet.

    Returns:
        The scaled terms.

    Shape:
        q [Q, 16], k [K, 16], tables [2 span, 16] -> [Q, K]

    Example:
        >>> deberta(np.zeros((3, 16)), np.zeros((2, 16)), np.ones((4, 16)), np.ones((4, 16))).shape
        (3, 2)
    """
    import torch

    from ordinate import Deberta

    scheme = Deberta(n_heads=1, head_dim=WIDTH, content_to_position=True, position_to_content=True, max_distance=len(keys) // 2)
    contents = [torch.from_numpy(x)[None, None] for x in (q, k)]
    tables = {name: torch.from_numpy(table)[:, None] for name, table in (("keys", keys), ("queries", queries))}
    bias: Array = scheme.bias(contents[0], contents[1], scheme.at(range(len(q)), range(len(k))), **tables)[0, 0].numpy()
    return bias


def _disentangled(q: Array, k: Array, keys: Array, queries: Array) -> Array:
    """The formula, query i and key j reading row i - j + span of both tables."""
    rows = np.subtract.outer(np.arange(len(q)), np.arange(len(k))) + len(keys) // 2
    terms = np.einsum("id,ijd->ij", q, keys[rows]) + np.einsum("jd,ijd->ij", k, queries[rows])
    scaled: Array = terms / (3 * WIDTH) ** 0.5
    return scaled


def _deberta_bias(bias: Bias = deberta, formula: Bias = _disentangled) -> Measured:
    """Numbers at one distance, for tokens with different contents; each of the two terms alone; all against the formula."""
    generator = np.random.default_rng(0)
    q, k = generator.normal(size=(2, LENGTH, WIDTH))
    keys, queries = generator.normal(size=(2, 2 * LENGTH, WIDTH))
    both = bias(q, k, keys, queries)
    terms = bias(q, k, keys, 0 * queries), bias(q, k, 0 * keys, queries)
    spread, content, position = (float(np.ptp(np.diagonal(term, -1))) for term in (both, *terms))
    adds_up = float(np.abs(both - sum(terms)).max())
    off = float(np.abs(both - formula(q, k, keys, queries)).max())
    return judged(
        holds=spread < ROUNDING,
        instead=min(spread, content, position) > 0.1 and max(adds_up, off) < ROUNDING,
        spread=spread,
        content=content,
        position=position,
        ours=off,
    )


def _relative_universal(results: Comparison | None = None) -> Measured:
    """The largest rise of three tasks, for each scheme."""
    found = kept(results)
    names = ("sinusoidal", "learned", "alibi", "deberta", "shaw", "t5", "rope")
    rises: dict[str, Any] = {name: max(rise(found, task, name) for task in LENGTH_TASKS) for name in names}
    absolute = min(rises["sinusoidal"], rises["learned"])
    flat, steep = max(rises[name] for name in ("alibi", "deberta", "shaw")), (rises["t5"], rises["rope"])
    return judged(
        holds=max(flat, *steep) < absolute,
        with_condition=flat < absolute <= min(steep),
        multiple=longest(found),
        overflow=found.settings.budget.overflow,
        **whose(results),
        **rises,
    )


def _alibi_penalty(distance: Array) -> Array:
    """What the library's ALiBi adds at a distance, one row a head."""
    import torch

    from ordinate import ALiBi

    penalty: Array = ALiBi(n_heads=HEADS, slopes="paper").by_distance(torch.from_numpy(distance).double()).numpy()
    return penalty


def _alibi_shift(penalty: Penalty = _alibi_penalty) -> Measured:
    """Steps of the penalty from distance to distance, and the whole attention against scores with it added."""
    import torch

    from ordinate import ALiBi, attend

    steps = np.diff(penalty(-np.arange(float(FAR))), axis=1)
    slopes = -steps[:, 0]
    uneven, off = float(np.abs(steps - steps[:, :1]).max()), float(np.abs(slopes - 2.0 ** -np.arange(1, HEADS + 1)).max())
    q, k, v = np.random.default_rng(0).normal(size=(3, HEADS, LENGTH, WIDTH))
    places: dict[str, Any] = {"q_positions": range(LENGTH), "k_positions": range(LENGTH)}
    alibi = ALiBi(n_heads=HEADS, slopes="paper")
    whole = attend(*(torch.from_numpy(x)[None] for x in (q, k, v)), scheme=alibi, **places, causal=True)[0].numpy()
    bias = penalty(np.subtract.outer(np.arange(LENGTH), np.arange(LENGTH)).T.astype(float))
    visible = np.tri(LENGTH, dtype=bool)
    added = [reference.attention(q[h], k[h], v[h], WIDTH**-0.5, bias[h], visible) for h in range(HEADS)]
    difference = float(np.abs(whole - np.array(added)).max())
    return judged(
        holds=max(off, uneven, difference) < ROUNDING,
        first=float(slopes[0]),
        last=float(slopes[-1]),
        uneven=uneven,
        difference=difference,
    )


def _bloomberg_alibi(bloom: Config = BLOOM) -> Measured:
    """Read what BLOOM's configuration stands for."""
    at_input, in_attention = schemes_of(bloom)
    return judged(
        holds=in_attention == ["alibi"] and at_input == ["none"],
        attention=in_attention[0],
        input=at_input[0],
        heads=int(bloom["n_head"]),
    )


CLAIMS = (
    Claim(
        name="deberta-bias",
        note=Note.WORDS,
        kind="attribution",
        statement=Text(
            "DeBERTa replaces the position vector by a bias PE(i - j), which depends on the distance of two words alone.",
            "DeBERTa заменяет вектор позиции смещением PE(i - j), которое зависит только от расстояния между словами.",
        ),
        check=_deberta_bias,
        shown=Text(
            "eight tokens, neighbours: what is added to the scores differs by up to {spread:.1f} from pair to pair; content to"
            " position alone by {content:.1f}, position to content alone by {position:.1f}",
            "восемь токенов, соседние пары: добавка к оценкам различается до {spread:.1f}; только содержание к позиции —"
            " {content:.1f}, только позиция к содержанию — {position:.1f}",
        ),
        verdict=Verdict.FAILS,
        truth=Text(
            "It is disentangled attention: queries meet vectors of relative positions, and so do keys. Distance and content count.",
            "Это disentangled attention: векторы относительных позиций умножают на запросы и на ключи; важны и расстояние, и"
            " содержание.",
        ),
        schemes=("deberta",),
    ),
    Claim(
        name="relative-universal",
        note=Note.WORDS,
        kind="comparison",
        statement=Text(
            "Relative distances are more universal than absolute positions where texts have different lengths.",
            "Относительные расстояния универсальнее абсолютных позиций, когда длины текстов различны.",
        ),
        check=_relative_universal,
        shown=Text(
            "{whose}: the largest rise of three tasks at {multiple} times the trained length, nats: ALiBi {alibi:+.2f}, DeBERTa"
            " {deberta:+.2f}, Shaw {shaw:+.2f}, T5 {t5:+.2f}, RoPE {rope:+.2f}; learned table"
            " (overflow {overflow}) {learned:+.2f}, sinusoids {sinusoidal:+.2f}",
            "{whose_ru}: наибольший рост потерь из трёх задач при {multiple}-кратной длине обучения, наты: ALiBi {alibi:+.2f},"
            " DeBERTa {deberta:+.2f}, Shaw {shaw:+.2f}, T5 {t5:+.2f}, RoPE {rope:+.2f}; выученная таблица"
            " (overflow {overflow}) {learned:+.2f}, синусоиды {sinusoidal:+.2f}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "Here ALiBi, DeBERTa and Shaw's vectors carry over; T5's buckets and RoPE are relative too, and lose much.",
            "Здесь переносятся ALiBi, DeBERTa и векторы Shaw; корзины T5 и RoPE тоже относительны, но теряют много.",
        ),
        schemes=("alibi", "deberta", "shaw", "t5", "rope", "learned", "sinusoidal"),
    ),
    Claim(
        name="bloomberg-alibi",
        note=Note.WORDS,
        kind="attribution",
        statement=Text(
            "ALiBi is what BLOOM uses, and BloombergGPT after it.", "ALiBi используют BLOOM и вслед за ней BloombergGPT."
        ),
        check=_bloomberg_alibi,
        shown=Text(
            "BLOOM, {heads} heads, as its configuration is read: at the input {input}, in attention {attention}",
            "BLOOM, голов {heads}, по прочитанной конфигурации: на входе {input}, во внимании {attention}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Checked here is BLOOM. That BloombergGPT follows it is its paper's word (Wu et al. 2023, arXiv 2303.17564): it has no"
            " public weights to read.",
            "Здесь проверена BLOOM. Что BloombergGPT следует ей, сказано в её статье (Wu et al., 2023, arXiv 2303.17564): открытых"
            " весов у неё нет.",
        ),
        schemes=("alibi",),
    ),
    Claim(
        name="alibi-shift",
        note=Note.WORDS,
        kind="identity",
        statement=Text(
            "ALiBi has no position vector: a shift linear in the distance is added to the attention scores.",
            "В ALiBi нет вектора позиции: к оценкам внимания прибавляется сдвиг, линейный по расстоянию.",
        ),
        check=_alibi_shift,
        shown=Text(
            "eight heads: {first:.3g} less a position in the first, {last:.3g} in the last, uneven by {uneven:.0e} up to distance"
            " 63; the attention against scores with the shift added: {difference:.0e}",
            "восемь голов: на {first:.3g} меньше за позицию в первой, на {last:.3g} в последней, неравномерность {uneven:.0e} до"
            " расстояния 63; внимание и оценки с прибавленным сдвигом: разность {difference:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "The slopes are fixed, 2^(-8h/H) for head h of H where H is a power of two; nothing is learned.",
            "Наклоны заданы: 2^(-8h/H) для головы h из H, если H — степень двойки; ничего не обучается.",
        ),
        schemes=("alibi",),
    ),
)
