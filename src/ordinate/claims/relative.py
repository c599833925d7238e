"""Claims about relative biases: T5's buckets and ALiBi's penalty."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate import reference
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.kept_losses import LONGEST, TRAINED, kept, loss
from ordinate.claims.layers import Array

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

Bucket = Callable[[int, int, int, bool], int]
FARTHEST = 300
SLOPES = (0.5, 0.0625)


def _t5_buckets(bucket: Bucket = reference.t5_bucket) -> Measured:
    """Count how many distances of the past share each of T5's 16 buckets for it; the last one has no end."""
    from ordinate.schemes import T5Bias

    rows = [bucket(-distance, 32, 128, True) for distance in range(FARTHEST)]
    sizes = [rows.count(row) for row in sorted(set(rows))]
    shape = tuple(T5Bias(n_heads=12, bidirectional=True).weight.shape)
    in_order = rows == sorted(rows)
    widening = sizes == sorted(sizes) and sizes[0] == 1 and sizes[-2] > 8
    return judged(
        holds=in_order and widening and shape == (32, 12),
        alone=sizes.count(1),
        widest=sizes[-2],
        buckets=len(sizes),
        rows=shape[0],
        heads=shape[1],
    )


def _t5_parameters(count: Callable[[int], int] | None = None) -> Measured:
    """Parameters of a head for lengths of 512 and 8192: one number a distance, and T5's."""
    per_distance = [2 * n - 1 for n in (512, 8192)]
    t5 = [_t5_numbers(n) if count is None else count(n) for n in (512, 8192)]
    grows, fixed = t5[1] > t5[0], t5[0] == t5[1] < per_distance[0]
    return judged(holds=grows, with_condition=fixed, t5=t5[0], t5_long=t5[1], each=per_distance[0], each_long=per_distance[1])


def _t5_numbers(length: int) -> int:
    """Count the parameters of one head that serves a length."""
    import torch

    from ordinate.schemes import T5Bias

    scheme = T5Bias(n_heads=1, bidirectional=True)
    x = torch.zeros(1, 1, 1, 4)
    scheme.bias(x, x, scheme.at(range(length - 1, length), range(1)))
    return scheme.weight.numel()


def _alibi_penalty(bias: Callable[..., Array] = reference.alibi) -> Measured:
    """Divide the bias of every query and key by their distance."""
    from ordinate.schemes import ALiBi

    places = range(40)
    table = bias(places, places, SLOPES)
    distance = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    apart = distance > 0
    spread = max(float(np.ptp(head[apart] / distance[apart])) for head in table)
    largest = float(table[:, apart].max())
    learned = sum(1 for _ in ALiBi(n_heads=8, slopes="paper").parameters())
    itself = float(np.abs(table[:, ~apart]).max())
    return judged(holds=spread < 1e-12 and largest < 0 == itself and learned == 0, spread=spread, largest=largest, learned=learned)


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
    """How much the loss rises from the training length to eight times that."""
    found = kept(results)
    rises = {
        (task, scheme): loss(found, task, scheme, LONGEST) - loss(found, task, scheme, TRAINED)
        for task in ("text", "shift")
        for scheme in ("alibi", "t5")
    }
    alibi, t5 = (max(rises[task, scheme] for task in ("text", "shift")) for scheme in ("alibi", "t5"))
    return judged(
        holds=alibi < 0.1 and t5 < 0.1,
        with_condition=alibi < 0.1 < t5,
        alibi_text=rises["text", "alibi"],
        alibi_shift=rises["shift", "alibi"],
        t5_text=rises["text", "t5"],
        t5_shift=rises["shift", "t5"],
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
        verdict=Verdict.CONDITION,
        truth=Text(
            "With one scalar for every shift. T5's number is fixed by its buckets, 32 a head at any length.",
            "Если на каждый сдвиг свой скаляр. У T5 их число задано корзинами: 32 на голову при любой длине.",
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
            "kept measurement, rise of the loss at eight times the training length: ALiBi {alibi_text:+.2f} nats on text and "
            "{alibi_shift:+.2f} on repeating a token, T5 {t5_text:+.2f} and {t5_shift:+.2f}",
            "сохранённое измерение, рост потери на длине в восемь раз больше обучающей: ALiBi {alibi_text:+.2f} ната на тексте и "
            "{alibi_shift:+.2f} в повторении токена, T5 {t5_text:+.2f} и {t5_shift:+.2f}",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            "ALiBi does, and more than a little: here it lost nothing at eight times the length. T5 lost some on text, and on "
            "exact offsets all that it had learned.",
            "ALiBi — да, и не немного: здесь он ничего не потерял и на восьмикратной длине. T5 на тексте потерял немного, а на "
            "точных сдвигах — всё, чему научился.",
        ),
        schemes=("alibi", "t5"),
    ),
)
