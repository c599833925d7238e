"""Claims about rotary embeddings: what turns, what a score then depends on, and what the base is for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ordinate import reference
from ordinate.claims import library
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.layers import Array
from ordinate.claims.sinusoid_values import BASE

Turn = Callable[[Array, Sequence[float], Any], Array]
Phases = tuple[Any, Any]
HEAD = 64
FAR = 10**6
# By the kernel, if there is one, and by PyTorch's own operators.
ROPES: tuple[Turn, ...] = (library.rope, functools.partial(library.rope, transformed=True))


def _pairs(turn: Turn = reference.rope, ropes: tuple[Turn, ...] = ROPES) -> Measured:
    """Turn vectors at fifty positions, in float64 and by ``Rope`` with either layout, and read each pair's angle and length."""
    read = [_read_pairs(turn, "interleaved"), *(_read_pairs(rope, layout) for rope in ropes for layout in ("interleaved", "half"))]
    difference, length = (max(values) for values in zip(*read, strict=True))
    return judged(holds=max(difference, length) < 1e-12, pairs=4, difference=difference, length=length)


def _read_pairs(turn: Turn, layout: str) -> tuple[float, float]:
    """How far the turns of four pairs are from the formula's, and their lengths from what they were."""
    x = np.tile(np.random.default_rng(0).normal(size=(1, 8)), (50, 1))
    out = turn(x, range(50), layout)
    first, second = (slice(0, None, 2), slice(1, None, 2)) if layout == "interleaved" else (slice(0, 4), slice(4, None))
    before, after = x[:, first] + 1j * x[:, second], out[:, first] + 1j * out[:, second]
    expected = np.exp(1j * np.arange(50)[:, None] * BASE ** (-np.arange(0, 8, 2) / 8))
    difference, length = np.abs(after / before - expected).max(), np.abs(np.abs(after) - np.abs(before)).max()
    return float(difference), float(length)


def _scores(turn: Turn, query: Array, key: Array, place: int, distance: int) -> float:
    turned = turn(np.stack((query, key)), [place + distance, place], "half")
    return float(turned[0] @ turned[1])


def _difference(turn: Turn = reference.rope, rope: Turn = library.rope) -> Measured:
    """Scores at one distance from forty places; then at another distance, and of another key: in float64 and by ``Rope``."""
    spreads, distances, contents = zip(*(_score_changes(turning) for turning in (turn, rope)), strict=True)
    spread, distance, content = max(spreads), min(distances), min(contents)
    return judged(holds=spread < 1e-11 and distance > 0.1 and content > 0.1, spread=spread, distance=distance, content=content)


def _score_changes(turn: Turn) -> tuple[float, float, float]:
    """By how much a score varies over places, with the distance, and with the key."""
    query, key, other = np.random.default_rng(1).normal(size=(3, HEAD))
    scores = [_scores(turn, query, key, place, 7) for place in range(40)]
    distance, content = _scores(turn, query, key, 0, 8), _scores(turn, query, other, 0, 7)
    return float(np.ptp(scores)), abs(distance - scores[0]), abs(content - scores[0])


def _exact(phases: Phases = ("exact", "float32"), turn: Turn = reference.rope) -> Measured:
    """How a score changes when query and key move by a million: in float64, and with exact and with rounded angles."""
    import torch

    from ordinate.schemes import Rope

    query, key = np.random.default_rng(1).normal(size=(2, HEAD))
    double = abs(_scores(turn, query, key, FAR, 7) - _scores(turn, query, key, 0, 7))
    q, k = (torch.tensor(vector, dtype=torch.float32)[None, None, None] for vector in (query, key))
    changes = []
    for choice in phases:
        rope = Rope(head_dim=HEAD, layout="half", phases=choice)
        near, far = (
            float((rope.queries(q, rope.at(range(n + 7, n + 8))) * rope.keys(k, rope.at(range(n, n + 1)))).sum()) for n in (0, FAR)
        )
        changes.append(abs(near - far))
    small = double < 1e-6 and changes[0] < 1e-4
    return judged(
        holds=small and changes[1] < 1e-4,
        with_condition=small and changes[1] > 1e-3,
        double=double,
        exact=changes[0],
        rounded=changes[1],
    )


def added_score(vectors: Array, table: Array, place: int, distance: int) -> float:
    """Score of a query and a key to which position vectors were added before fixed projections.

    Args:
        vectors: the query token and the key token.
        table: one row a position.
        place: the key's position.
        distance: how much later the query is.

    Returns:
        The score.

    Shape:
        [2, D], [T, D]

    Example:
        >>> added_score(np.zeros((2, 4)), np.zeros((3, 4)), 1, 1)
        0.0
    """
    width = vectors.shape[1]
    to_query, to_key = np.random.default_rng(2).normal(size=(2, width, width)) / width**0.5
    query, key = (vectors[0] + table[place + distance]) @ to_query, (vectors[1] + table[place]) @ to_key
    return float(query @ key)


def _built_in(turn: Turn = reference.rope, rope: Turn = library.rope) -> Measured:
    """Move both tokens by forty places: with rotated queries and keys, and with vectors added before the projections."""
    query, key = np.random.default_rng(1).normal(size=(2, HEAD))
    rotary = max(abs(_scores(turning, query, key, 40, 7) - _scores(turning, query, key, 0, 7)) for turning in (turn, rope))
    table, tokens = reference.sinusoidal(60, HEAD), np.stack((query, key))
    added = abs(added_score(tokens, table, 40, 7) - added_score(tokens, table, 0, 7))
    return judged(holds=rotary < 1e-11 and added > 0.1, rotary=rotary, added=added)


def _no_parameters(make: Callable[[], Any] | None = None) -> Measured:
    """Count what a rotation would learn or store."""
    from ordinate.schemes import Rope

    scheme = Rope(head_dim=HEAD, layout="half") if make is None else make()
    count, stored = sum(weight.numel() for weight in scheme.parameters()), len(scheme.state_dict())
    return judged(holds=count == stored == 0, count=count, stored=stored)


CLAIMS = (
    Claim(
        name="rope-pairs",
        note=Note.REPRESENTATIONS,
        kind="identity",
        statement=Text(
            "RoPE splits a head of width d_k into d_k/2 pairs and turns pair i at position pos by pos · 10000^(-2i/d_k).",
            "В RoPE у головы ширины d_k есть d_k/2 пар; пара i в позиции pos повёрнута на угол pos · 10000^(-2i/d_k).",
        ),
        check=_pairs,
        shown=Text(
            "d_k = 8, {pairs} pairs, 50 positions: angles differ by {difference:.0e}, lengths by {length:.0e}",
            "d_k = 8, пар {pairs}, 50 позиций: повороты отличаются на {difference:.0e}, длины — на {length:.0e}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Which entries are a pair differs: neighbours in the paper, i and i + d_k/2 in Llama.",
            "Какие компоненты образуют пару, зависит от модели: в статье соседние, в Llama — i и i + d_k/2.",
        ),
        schemes=("rope",),
    ),
    Claim(
        name="rope-depends-on-difference",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "With RoPE a score depends on the contents of the two tokens and on m - n, not on m and n separately.",
            "Оценку RoPE определяют содержимое двух токенов и расстояние m - n; сами m и n роли не играют.",
        ),
        check=_difference,
        shown=Text(
            "over 40 places at distance 7 a score varies by {spread:.0e}; at distance 8 it changes by {distance:.2f}, with another "
            "key by {content:.2f}",
            "на 40 местах при расстоянии 7 оценка меняется на {spread:.0e}; при расстоянии 8 — на {distance:.2f}, с другим "
            "ключом — на {content:.2f}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("rope",),
    ),
    Claim(
        name="rope-shift-built-in",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "What projections could make of sinusoids, RoPE has built into every attention layer.",
            "То, чего с синусоидами могут добиться проекции, в RoPE встроено в каждый слой внимания.",
        ),
        check=_built_in,
        shown=Text(
            "both tokens moved by 40 places: the score changes by {rotary:.0e} with RoPE, by {added:.2f} with sinusoids added "
            "before arbitrary projections",
            "оба токена сдвинуты на 40 мест: с RoPE оценка меняется на {rotary:.0e}, с синусоидами перед произвольными "
            "проекциями — на {added:.2f}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("rope", "sinusoidal"),
    ),
    Claim(
        name="rope-shift-exact",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "With RoPE the shift property is exact.",
            "С RoPE сдвиг обоих токенов не меняет оценку, и это точно.",
        ),
        check=_exact,
        shown=Text(
            "query and key moved by 10^6: the score changes by {double:.0e} in float64, {exact:.0e} in float32 with exact angles, "
            "{rounded:.2f} with angles rounded to float32",
            "запрос и ключ сдвинуты на 10^6: оценка меняется на {double:.0e} в float64, на {exact:.0e} во float32 с точными "
            "углами и на {rounded:.2f} с углами, округлёнными до float32",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "In real numbers, and with exact angles. Where position and frequency are multiplied in float32, as in transformers, "
            "a score far from the start is another one.",
            "В вещественных числах и с точными углами. Если позиция умножается на частоту во float32, как в transformers, вдали от "
            "начала оценка уже другая.",
        ),
        schemes=("rope",),
    ),
    Claim(
        name="rope-has-no-parameters",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(
            "The rotation has no parameters.",
            "В повороте нечего обучать и нечего хранить.",
        ),
        check=_no_parameters,
        shown=Text(
            "d_k = 64: {count} parameters, {stored} stored tensors", "d_k = 64: параметров {count}, сохраняемых тензоров {stored}"
        ),
        verdict=Verdict.HOLDS,
        schemes=("rope",),
    ),
)
