"""Train one small model on one task with one scheme, then evaluate it at growing lengths."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from ordinate.lab.model import Transformer
from ordinate.lab.recurrent import Recurrent
from ordinate.lab.rows import Budget, build_row
from ordinate.lab.tasks import UNASKED, Batch, Task

WARM_UP = 0.1
EVALUATION_TOKENS = 16384


@dataclass(frozen=True)
class Outcome:
    """One trained model: its loss in nats at each multiple of the training length (None: the scheme refuses that length).

    On the task of word order the two losses and accuracies are those of three words, and of three words and a full stop;
    ``difference`` is the largest between the vectors of a three-word sentence and those of the same words exchanged.
    """

    losses: tuple[float | None, ...]
    parameters: int
    position_parameters: int
    seconds: float
    accuracies: tuple[float, ...] = ()
    difference: float | None = None


def run(name: str, task: Task, budget: Budget, seed: int, report: Callable[[int], None]) -> Outcome:
    """Train and evaluate.

    For every scheme the shared parts draw the same weights, and the data the same order.

    Args:
        name: the row.
        task: what is learned.
        budget: the same for all rows.
        seed: of initial weights and data order.
        report: called after every step with the number of steps done.

    Returns:
        Losses at every length.
    """
    started = time.perf_counter()
    model, position_parameters = build_row(name, budget, vocabulary_size=task.vocabulary_size, causal=True, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    optimise(model, lambda: loss_of(model, task.batch(budget.batch_size, generator)), budget, report)
    losses = tuple(_evaluate(model, task.evaluation(budget.length * multiple)) for multiple in budget.multiples)
    parameters = sum(weight.numel() for weight in model.parameters())
    return Outcome(losses, parameters, position_parameters, time.perf_counter() - started)


def optimise(model: nn.Module, loss: Callable[[], torch.Tensor], budget: Budget, report: Callable[[int], None]) -> None:
    """Train for the budget's steps: AdamW, warm-up, cosine, clipped gradients.

    Args:
        model: what is trained.
        loss: gives the loss of the next batch.
        budget: steps and learning rate.
        report: called after every step with the number of steps done.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=budget.learning_rate, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, budget.steps))
    for step in range(budget.steps):
        optimizer.zero_grad()
        torch.autograd.backward(loss())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        report(step + 1)


def loss_of(model: Transformer | Recurrent, batch: Batch) -> torch.Tensor:
    """Mean cross-entropy, in nats, of what is asked at the scored places at the end of each row.

    Args:
        model: a language model.
        batch: tokens and targets.

    Returns:
        A scalar.
    """
    logits = model(batch.tokens, range(batch.tokens.shape[1]))[:, -batch.scored :]
    return F.cross_entropy(logits.flatten(0, 1), batch.targets[:, -batch.scored :].flatten(), ignore_index=UNASKED)


@torch.no_grad()
def _evaluate(model: Transformer | Recurrent, batch: Batch) -> float | None:
    rows = max(EVALUATION_TOKENS // batch.tokens.shape[1], 1)
    total, asked = 0.0, 0
    try:
        for tokens, targets in zip(torch.split(batch.tokens, rows), torch.split(batch.targets, rows), strict=True):
            here = int((targets[:, -batch.scored :] != UNASKED).sum())
            if here:
                total += here * float(loss_of(model, Batch(tokens, targets, batch.scored)))
                asked += here
    except ValueError:  # a learned table with overflow="error" has no rows there
        return None
    return total / max(asked, 1)


def _rate(step: int, steps: int) -> float:
    """Linear warm-up, then a cosine to zero."""
    warm_up = max(round(WARM_UP * steps), 1)
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(steps - warm_up, 1)))
