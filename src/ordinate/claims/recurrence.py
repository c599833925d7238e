"""Claims that compare Transformers with recurrent networks: length, memory, and working in parallel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import kept, longest, loss, require_learned, rise, whose
from ordinate.claims.layers import Array, Layer, softmax
from ordinate.claims.order import ROUNDING, attention, word_vectors
from ordinate.claims.word_order import recurrent

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

VALUES = 8  # that a register can hold in the task "last"


def attention_of_one(x: Array, place: int) -> Array:
    """Self-attention's output at one place, computed without any other output.

    Args:
        x: one vector a token.
        place: which.

    Returns:
        The vector.

    Shape:
        [T, D] -> [D]

    Example:
        >>> attention_of_one(np.ones((3, 8)), 1).shape
        (8,)
    """
    query, key, value = np.random.default_rng(0).normal(size=(3, x.shape[1], x.shape[1])) / x.shape[1] ** 0.5
    scores = x[place : place + 1] @ query @ (x @ key).T / x.shape[1] ** 0.5
    out: Array = (softmax(scores) @ (x @ value))[0]
    return out


def _any_length(results: Comparison | None = None) -> Measured:
    """A trained recurrent network from the training length to the longest tested, and on the task of memory."""
    found = kept(results)
    times = longest(found)
    rises = [rise(found, task, "gru") for task in ("text", "shift")]
    require_learned(found, "last", "rope")
    memory, rope = loss(found, "last", "gru"), loss(found, "last", "rope")  # near chance is what a weak memory looks like
    return judged(
        holds=max(rises) < 0.02 and memory > 5 * rope,
        rise=round(max(rises), 3) + 0.0,  # no -0.000
        memory=memory,
        rope=rope,
        chance=math.log(VALUES),
        times=times,
        **whose(results),
    )


def _parallel(alone: Callable[[Array, int], Array] = attention_of_one, read: Layer = recurrent) -> Measured:
    """Compute each place by itself; and start a recurrent network in the middle."""
    x = word_vectors(("the", "dog", "bites", "the", "man"))
    whole = attention(x)
    attended = max(float(np.abs(alone(x, place) - whole[place]).max()) for place in range(len(x)))
    states = read(x)
    started = max(float(np.abs(read(x[place:])[0] - states[place]).max()) for place in range(1, len(x)))
    return judged(holds=attended < ROUNDING and started > 0.1, attended=attended, started=started)


CLAIMS = (
    Claim(
        name="recurrent-any-length",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "A recurrent network takes any length, with a weak memory.",
            "Рекуррентная сеть принимает любую длину, но память у неё слабая.",
        ),
        check=_any_length,
        shown=Text(
            "{whose}: a GRU's loss rises by {rise:.3f} nats at {times} times the training length; reading the value written "
            "last it reaches {memory:.2f}, RoPE {rope:.2f}, guessing {chance:.2f}",
            "{whose_ru}: на {times}-кратной длине обучения потеря GRU растёт на {rise:.3f} ната; в чтении последнего записанного "
            "значения она достигает {memory:.2f}, RoPE — {rope:.2f}, угадывание — {chance:.2f}",
        ),
        verdict=Verdict.HOLDS,
    ),
    Claim(
        name="parallel-over-positions",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "A Transformer works on all positions in parallel, a recurrent network does not.",
            "Трансформер обрабатывает все позиции параллельно, рекуррентная сеть — нет.",
        ),
        check=_parallel,
        shown=Text(
            "attention at one place without the others' outputs differs by {attended:.0e}; a recurrent state without those "
            "before it by {started:.2f}",
            "внимание на одном месте без выходов остальных отличается на {attended:.0e}; рекуррентное состояние без предыдущих "
            "— на {started:.2f}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "When text is read or trained on. When it is written, both go token by token.",
            "При чтении и обучении. При порождении текста обе модели идут токен за токеном.",
        ),
        schemes=("nope",),
    ),
)
