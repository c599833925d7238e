"""Word order: can a classifier tell "dog bites man" from "man bites dog"? An encoder without positions cannot.

Self-attention without a mask gives permuted tokens permuted vectors, so their mean, which is all that the classifier sees, is the
same for both sentences, and of every such pair it gets exactly one right. A sentence and the same with subject and object exchanged
are mirror images: a scheme that knows only how far tokens are apart, not on which side, cannot tell them apart either (two-way
ALiBi). A full stop at the end breaks the mirror; both forms are learned.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from ordinate.lab.model import Transformer
from ordinate.lab.recurrent import Recurrent
from ordinate.lab.rows import Budget, build_row
from ordinate.lab.train import Outcome, optimise

NOUNS = ("dog", "man", "cat", "mouse", "fox", "hen")
VERBS = ("bites", "sees", "chases", "hears")
WORDS = (*NOUNS, *VERBS, ".")
FORMS = ("dog bites man", "dog bites man .")
HELD_OUT = 0.25
SPLIT_SEED = 0
# The budget's steps and rate are those of the longer tasks: few words need smaller ones, and more of them.
MORE_STEPS, LARGER_BATCHES, SMALLER_RATE = 2, 2, 0.4


class Classifier(nn.Module):
    """Two classes from the mean of all vectors: what is not in their sum is not seen."""

    def __init__(self, body: Transformer | Recurrent, d_model: int) -> None:
        super().__init__()
        self.body = body
        self.classes = nn.Linear(d_model, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Give the logits [B, 2] of tokens [B, T]."""
        out: torch.Tensor = self.classes(self.body.vectors(tokens, range(tokens.shape[1])).mean(1))
        return out


def sentences(full_stop: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All sentences "noun verb noun", each followed by the same with the nouns exchanged.

    Args:
        full_stop: whether a full stop ends them.

    Returns:
        Word numbers, the class (1 if the one who acts stands first in the list of nouns), and whether a sentence is held out; a
        pair is held out, or not, as a whole.

    Shape:
        [120, 3 or 4], [120], [120]

    Example:
        >>> words, classes, _ = sentences(full_stop=False)
        >>> [" ".join(WORDS[word] for word in words[row]) for row in (0, 1)], classes[:2].tolist()
        (['dog bites man', 'man bites dog'], [1, 0])
    """
    stop = (WORDS.index("."),) * full_stop
    rows, classes = [], []
    for first, second in itertools.combinations(range(len(NOUNS)), 2):
        for verb in range(len(NOUNS), len(NOUNS) + len(VERBS)):
            rows += [(first, verb, second, *stop), (second, verb, first, *stop)]
            classes += [1, 0]
    pairs = torch.rand(len(rows) // 2, generator=torch.Generator().manual_seed(SPLIT_SEED)) < HELD_OUT
    return torch.tensor(rows), torch.tensor(classes), pairs.repeat_interleave(2)


def order_budget(budget: Budget) -> Budget:
    """Give the training of this task, from that of the longer ones.

    Args:
        budget: theirs.

    Returns:
        More steps of larger batches, at a smaller rate.
    """
    return dataclasses.replace(
        budget,
        steps=MORE_STEPS * budget.steps,
        batch_size=LARGER_BATCHES * budget.batch_size,
        learning_rate=SMALLER_RATE * budget.learning_rate,
    )


def run_order(name: str, budget: Budget, seed: int, report: Callable[[int], None]) -> Outcome:
    """Train and test the classifier on three words, then on three words and a full stop.

    Args:
        name: the row.
        budget: sizes and steps.
        seed: of initial weights and data order.
        report: called with the number of steps done, half of the training's for each form.

    Returns:
        Held-out losses and accuracies of both forms, and how far the vectors of exchanged words differ at most.
    """
    started = time.perf_counter()
    budget = order_budget(budget)
    steps = itertools.count(1)
    losses, accuracies, differences = [], [], []
    for full_stop in (False, True):
        body, position_parameters = build_row(name, budget, vocabulary_size=len(WORDS), causal=False, seed=seed)
        model = Classifier(body, budget.d_model)
        words, classes, held_out = sentences(full_stop)
        _train(model, words[~held_out], classes[~held_out], budget, seed, lambda _: report(next(steps) // (2 * MORE_STEPS)))
        with torch.no_grad():
            logits = model(words[held_out])
            losses.append(float(F.cross_entropy(logits, classes[held_out])))
            accuracies.append(float((logits.argmax(-1) == classes[held_out]).double().mean()))
            differences.append(exchanged_difference(body, words[:, :3]))
    parameters = sum(weight.numel() for weight in model.parameters())
    seconds = time.perf_counter() - started
    return Outcome(tuple(losses), parameters, position_parameters, seconds, tuple(accuracies), differences[0])


@torch.no_grad()
def exchanged_difference(body: Transformer | Recurrent, words: torch.Tensor) -> float:
    """Largest difference between a word's vector in a sentence and in the one with subject and object exchanged.

    Args:
        body: gives the vectors.
        words: three-word sentences, each followed by its exchanged form.

    Returns:
        0 up to rounding if order does not reach the vectors.
    """
    vectors = body.vectors(words, range(words.shape[1]))
    return float((vectors[0::2] - vectors[1::2].flip(1)).abs().max())


def _train(
    model: Classifier, words: torch.Tensor, classes: torch.Tensor, budget: Budget, seed: int, report: Callable[[int], None]
) -> None:
    generator = torch.Generator().manual_seed(seed)

    def loss() -> torch.Tensor:
        rows = torch.randint(len(words), (budget.batch_size,), generator=generator)
        return F.cross_entropy(model(words[rows]), classes[rows])

    optimise(model, loss, budget, report)
