"""Claims about relative biases: T5's buckets and ALiBi's penalty."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate import reference
from ordinate.claims import library
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import kept, longest, rise, whose
from ordinate.claims.layers import Array

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

Bucket = Callable[[int, int, int, bool], int]
FARTHEST = 300
SLOPES = (0.5, 0.0625)
HEADS = 8


def _t5_buckets(bucket: Bucket = reference.t5_bucket, read: Callable[[range, bool], list[int]] = library.t5_rows) -> Measured:
    """Count how many distances of the past share each of T5Bias's 16 buckets for it; the last one has no end.

    Each distance, in past and future and with one direction alone, against the authors' rule in float64.
    """
    from ordinate.schemes import T5Bias

    rows, every = read(range(0, -FARTHEST, -1), True), range(-FARTHEST, FARTHEST + 1)
    wrong = sum(
        row != bucket(distance, 32, 128, both)
        for both in (True, False)
        for distance, row in zip(every, read(every, both), strict=True)
    )
    sizes = [rows.count(row) for row in sorted(set(rows))]
    shape = tuple(T5Bias(n_heads=12, bidirectional=True).weight.shape)
    in_order = rows == sorted(rows)
    widest = max(sizes[:-1], default=0)
    widening = sizes == sorted(sizes) and sizes[0] == 1 and widest > 8
    return judged(
        holds=wrong == 0 and in_order and widening and shape == (32, 12),
        wrong=wrong,
        alone=sizes.count(1),
        widest=widest,
        buckets=len(sizes),
        rows=shape[0],
        heads=shape[1],
    )


def _t5_parameters(count: Callable[[int], int] | None = None) -> Measured:
    """Parameters of a head for lengths of 512 and 8192: one number a distance, and T5's."""
    per_distance = [2 * n - 1 for n in (512, 8192)]
    t5 = [_t5_numbers(n) if count is None else count(n) for n in (512, 8192)]
    bounded = all(number <= most for number, most in zip(t5, per_distance, strict=True))
    return judged(holds=bounded, t5=t5[0], t5_long=t5[1], each=per_distance[0], each_long=per_distance[1])


def _t5_numbers(length: int) -> int:
    """Count the parameters of one head that serves a length."""
    import torch

    from ordinate.schemes import T5Bias

    scheme = T5Bias(n_heads=1, bidirectional=True)
    x = torch.zeros(1, 1, 1, 4)
    scheme.bias(x, x, scheme.at(range(length - 1, length), range(1)))
    return scheme.weight.numel()


def _alibi_penalty(bias: Callable[..., Array] = reference.alibi, ours: Callable[[range, int], Array] = library.alibi) -> Measured:
    """Divide the bias of every query and key by their distance; hold ALiBi's own against 2^-h times that, h = 1 .. 8."""
    from ordinate.schemes import ALiBi

    places = range(40)
    table = bias(places, places, SLOPES)
    distance = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    apart = distance > 0
    spread = max(float(np.ptp(head[apart] / distance[apart])) for head in table)
    largest = float(table[:, apart].max())
    learned = sum(1 for _ in ALiBi(n_heads=8, slopes="paper").parameters())
    itself = float(np.abs(table[:, ~apart]).max())
    off = float(np.abs(ours(places, HEADS) + np.multiply.outer(2.0 ** -np.arange(1, HEADS + 1), distance)).max())
    holds = spread < 1e-12 and largest < 0 == itself == off and learned == 0
    return judged(holds=holds, spread=spread, largest=largest, learned=learned, ours=off)


def _no_input_vector(build: Callable[..., Any] | None = None) -> Measured:
    """Build the two schemes for a model, and see whether anything is for its input."""
    from ordinate import catalogue
    from ordinate.sites import ScoreScheme

    make = catalogue.build if build is None else build
    parts = [make(name, d_model=64, n_heads=4, max_length=64, causal=True) for name in ("t5", "alibi")]
    inputs = sum(part.input_scheme is not None for part in parts)
    scores = sum(isinstance(part.attention_scheme, ScoreScheme) for part in parts)
    return judged(holds=inputs == 0 and scores == 2, inputs=inputs, scores=scores)


def _extrapolates_a_little(results: Comparison | None = None) -> Measured:
    """How much the loss rises from the training length to the longest tested."""
    found = kept(results)
    rises = {(task, scheme): rise(found, task, scheme) for task in ("text", "shift") for scheme in ("alibi", "t5")}
    alibi, t5 = (max(rises[task, scheme] for task in ("text", "shift")) for scheme in ("alibi", "t5"))
    return judged(
        holds=alibi < 0.1 and t5 < 0.1,
        with_condition=alibi < 0.1 < t5 and rises["shift", "t5"] > rises["text", "t5"],
        alibi_text=rises["text", "alibi"],
        alibi_shift=rises["shift", "alibi"],
        t5_text=rises["text", "t5"],
        t5_shift=rises["shift", "t5"],
        times=longest(found),
        **whose(results),
    )


CLAIMS = (
    Claim(
        name="t5-buckets",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "T5 adds one learned scalar for all shifts of a bucket, and buckets widen with the distance.",
            "В T5 сдвиги одной корзины делят один обученный скаляр, и чем они дальше, тем корзины шире.",
        ),
        check=_t5_buckets,
        shown=Text(
            "{buckets} buckets for the past: {alone} of one distance, then wider, up to {widest} distances, and one without "
            "end; the table is {rows} buckets by {heads} heads",
            "{buckets} корзин для прошлого: {alone} по одному расстоянию, дальше шире, до {widest} расстояний, и последняя без "
            "конца; таблица — {rows} корзины на {heads} голов",
        ),
        verdict=Verdict.HOLDS,
        truth=Text("One scalar a head: each has its own.", "По скаляру на голову: у каждой свой."),
        schemes=("t5",),
    ),
    Claim(
        name="relative-bias-parameters",
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(
            "A relative bias has O(n_max) parameters, or none as ALiBi.",
            "У относительного смещения O(n_max) параметров либо, как у ALiBi, ни одного.",
        ),
        check=_t5_parameters,
        shown=Text(
            "a head for 512 and 8192 positions: one number a distance makes {each} and {each_long}, T5's buckets {t5} and "
            "{t5_long}",
            "одна голова на 512 и 8192 позиции: по числу на каждый сдвиг — {each} и {each_long}, корзины T5 — {t5} и {t5_long}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "That is a bound, reached with one scalar for every shift. T5's buckets are 32 a head at any length.",
            "Это граница; она достигается, когда на каждый сдвиг свой скаляр. У T5 корзин 32 на голову при любой длине.",
        ),
        schemes=("t5", "alibi"),
    ),
    Claim(
        name="alibi-penalty",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "ALiBi subtracts a fixed penalty in proportion to |j - i|.",
            "Штраф ALiBi растёт линейно с |j - i| и не обучается.",
        ),
        check=_alibi_penalty,
        shown=Text(
            "bias over distance varies by {spread:.0e} within a head and is at most {largest}; learned tensors: {learned}",
            "отношение смещения к расстоянию меняется внутри головы на {spread:.0e}, наибольшее смещение {largest}; обучаемых "
            "тензоров: {learned}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "With a slope of its own for each head. It was published for causal attention, where only j ≤ i occurs.",
            "Со своим наклоном у каждой головы. Опубликована схема для каузального внимания, где j ≤ i.",
        ),
        schemes=("alibi",),
    ),
    Claim(
        name="no-input-vector",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "With T5's bias and ALiBi there is no position vector at the input.",
            "T5 и ALiBi ничего не прибавляют ко входу.",
        ),
        check=_no_input_vector,
        shown=Text(
            "of the two, {inputs} act at the input and {scores} on attention scores",
            "из двух схем на входе действуют {inputs}, на оценки внимания — {scores}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("t5", "alibi"),
    ),
    Claim(
        name="relative-bias-extrapolates",
        note=Note.REPRESENTATIONS,
        kind="comparison",
        statement=Text(
            "Relative biases and ALiBi extrapolate a little beyond the training length.",
            "Относительные смещения и ALiBi немного экстраполируют за длину обучения.",
        ),
        check=_extrapolates_a_little,
        shown=Text(
            "{whose}, rise of the loss at {times} times the training length: ALiBi {alibi_text:+.2f} nats on text and "
            "{alibi_shift:+.2f} on repeating a token, T5 {t5_text:+.2f} and {t5_shift:+.2f}",
            "{whose_ru}, рост потери на {times}-кратной длине обучения: ALiBi {alibi_text:+.2f} ната на тексте и "
            "{alibi_shift:+.2f} в повторении токена, T5 {t5_text:+.2f} и {t5_shift:+.2f}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "ALiBi does: its loss hardly rises up to the longest length tested. That of T5's buckets does, most of all where an "
            "exact offset counts.",
            "ALiBi — да: до наибольшей проверенной длины потеря почти не растёт. У корзин T5 она растёт, сильнее всего там, где "
            "нужен точный сдвиг.",
        ),
        schemes=("alibi", "t5"),
    ),
)
