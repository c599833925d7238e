"""Train one small model on one task with one scheme, then evaluate it at growing lengths."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ordinate.attention import AttentionScheme
from ordinate.lab.model import Transformer
from ordinate.lab.tasks import Batch, Task
from ordinate.schemes import ALiBi, Learned, Rope, Sinusoidal, require_name
from ordinate.schemes.learned import Overflow
from ordinate.sites import InputScheme

WARM_UP = 0.1
EVALUATION_TOKENS = 16384


@dataclass(frozen=True)
class Budget:
    """What every scheme gets alike: the model's size, the training and the lengths it is tested at."""

    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    batch_size: int = 32
    length: int = 64
    steps: int = 300
    learning_rate: float = 5e-3
    multiples: tuple[int, ...] = (1, 2, 4, 8)
    windows: int = 256
    overflow: Overflow = "wrap"

    @property
    def longest(self) -> int:
        """Longest context that is tested."""
        return self.length * max(self.multiples)


@dataclass(frozen=True)
class Outcome:
    """One trained model: its loss in nats at each multiple of the training length (None: the scheme refuses that length)."""

    losses: tuple[float | None, ...]
    parameters: int
    seconds: float


def build_scheme(name: str, budget: Budget) -> tuple[InputScheme | None, AttentionScheme | None]:
    """Build a scheme by name for the model's size.

    Args:
        name: as in ``ordinate.schemes.SCHEMES``.
        budget: the model's size and the training length.

    Returns:
        The input scheme and the attention scheme; at most one is not None.

    Raises:
        ValueError: for an unknown name.

    Example:
        >>> build_scheme("alibi", Budget())
        (None, ALiBi(n_heads=4, slopes='paper'))
    """
    match require_name(name):
        case "sinusoidal":
            return Sinusoidal(d_model=budget.d_model), None
        case "learned":
            return Learned(max_length=budget.length, d_model=budget.d_model, overflow=budget.overflow), None
        case "alibi":
            return None, ALiBi(n_heads=budget.n_heads, slopes="paper")
        case "rope":
            return None, Rope(head_dim=budget.d_model // budget.n_heads, layout="half")
        case _:
            return None, None


def run(name: str, task: Task, budget: Budget, seed: int, report: Callable[[int], None]) -> Outcome:
    """Train and evaluate.

    The scheme is built first, so that for every scheme the shared parts draw the same weights, and the data the same order.

    Args:
        name: the scheme.
        task: what is learned.
        budget: the same for all schemes.
        seed: of initial weights and data order.
        report: called after every step with the number of steps done.

    Returns:
        Losses at every length.
    """
    started = time.perf_counter()
    torch.manual_seed(seed)
    input_scheme, attention_scheme = build_scheme(name, budget)
    torch.manual_seed(seed)
    model = Transformer(
        vocabulary_size=task.vocabulary_size,
        d_model=budget.d_model,
        n_layers=budget.n_layers,
        n_heads=budget.n_heads,
        input_scheme=input_scheme,
        attention_scheme=attention_scheme,
    )
    _train(model, task, budget, torch.Generator().manual_seed(seed), report)
    losses = tuple(_evaluate(model, task.evaluation(budget.length * multiple)) for multiple in budget.multiples)
    parameters = sum(weight.numel() for weight in model.parameters())
    return Outcome(losses, parameters, time.perf_counter() - started)


def _train(model: Transformer, task: Task, budget: Budget, generator: torch.Generator, report: Callable[[int], None]) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=budget.learning_rate, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, budget.steps))
    for step in range(budget.steps):
        loss = _loss(model, task.batch(budget.batch_size, generator))
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        report(step + 1)


@torch.no_grad()
def _evaluate(model: Transformer, batch: Batch) -> float | None:
    rows = max(EVALUATION_TOKENS // batch.tokens.shape[1], 1)
    parts = zip(torch.split(batch.tokens, rows), torch.split(batch.targets, rows), strict=True)
    try:
        losses = [_loss(model, Batch(tokens, targets, batch.scored)) * len(tokens) for tokens, targets in parts]
    except ValueError:  # a learned table with overflow="error" has no rows there
        return None
    return float(sum(losses)) / len(batch.tokens)


def _loss(model: Transformer, batch: Batch) -> torch.Tensor:
    """Mean cross-entropy, in nats, of the scored places at the end of each row."""
    logits = model(batch.tokens, range(batch.tokens.shape[1]))[:, -batch.scored :]
    return F.cross_entropy(logits.flatten(0, 1), batch.targets[:, -batch.scored :].flatten())


def _rate(step: int, steps: int) -> float:
    """Linear warm-up, then a cosine to zero."""
    warm_up = max(round(WARM_UP * steps), 1)
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(steps - warm_up, 1)))
