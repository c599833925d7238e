"""Every scheme gets the same budget: the same initial shared weights, the same data in the same order; and training learns."""

from __future__ import annotations

import math

import pytest
import torch
from lab_tools import SMALL

from ordinate.lab import train
from ordinate.lab.model import Transformer
from ordinate.lab.rows import Budget
from ordinate.lab.tasks import UNASKED, Batch, LastTask, ShiftTask
from ordinate.lab.train import run
from ordinate.schemes import SCHEMES


def captured(monkeypatch: pytest.MonkeyPatch, scheme: str) -> tuple[dict[str, torch.Tensor], list[torch.Tensor]]:
    """Initial weights and the batches of a run."""
    weights: dict[str, torch.Tensor] = {}
    batches: list[torch.Tensor] = []
    loss = train.loss_of

    def spy(model: Transformer, batch: Batch) -> torch.Tensor:
        if not weights:
            weights.update({name: value.clone() for name, value in model.state_dict().items()})
        batches.append(batch.tokens.clone())
        return loss(model, batch)

    monkeypatch.setattr(train, "loss_of", spy)
    run(scheme, ShiftTask(length=16, longest=32, windows=4, seed=9), SMALL, 7, lambda _: None)
    monkeypatch.undo()
    return weights, batches


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name != "nope"])
def test_shared_weights_and_data_are_those_of_nope(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    weights, batches = captured(monkeypatch, "nope")
    other_weights, other_batches = captured(monkeypatch, scheme)
    assert set(weights) <= set(other_weights)
    for name, value in weights.items():
        assert torch.equal(value, other_weights[name]), name
    assert len(batches) == len(other_batches)
    assert all(torch.equal(a, b) for a, b in zip(batches, other_batches, strict=True))


def test_loss_is_cross_entropy_of_the_scored_places() -> None:
    torch.manual_seed(0)
    model = Transformer(vocabulary_size=5, d_model=8, n_layers=1, n_heads=2, causal=True)
    tokens, targets = torch.randint(5, (2, 6)), torch.randint(5, (2, 6))
    logits = model(tokens, range(6)).double()
    expected = []
    for row in range(2):
        for place in (4, 5):
            scores = logits[row, place].tolist()
            total = math.log(sum(math.exp(score) for score in scores))
            expected.append(total - scores[int(targets[row, place])])
    got = train.loss_of(model, Batch(tokens, targets, 2)).item()
    assert got == pytest.approx(sum(expected) / len(expected), abs=1e-6)


def test_a_run_is_repeatable_and_counts_parameters() -> None:
    task = ShiftTask(length=16, longest=32, windows=4, seed=9)
    first, second = (run("rope", task, SMALL, 3, lambda _: None) for _ in range(2))
    assert first.losses == second.losses
    embedding, attention, feed = 16 * 16, 4 * 16 * 16, (16 * 32 + 32) + (32 * 16 + 16)
    assert first.parameters == embedding + attention + feed + 3 * 32 + (16 * 16 + 16)
    assert (first.position_parameters, first.accuracies, first.difference) == (0, (), None)


def test_a_table_with_overflow_error_refuses_longer_inputs() -> None:
    budget = Budget(**{**SMALL.__dict__, "overflow": "error"})
    outcome = run("learned", ShiftTask(length=16, longest=32, windows=4, seed=9), budget, 0, lambda _: None)
    assert outcome.losses[0] is not None
    assert outcome.losses[1] is None


def test_rope_learns_to_address_an_offset() -> None:
    budget = Budget(d_model=32, n_heads=2, batch_size=16, length=32, steps=150, multiples=(1,), windows=16)
    outcome = run("rope", ShiftTask(length=32, longest=32, windows=16, seed=9), budget, 0, lambda _: None)
    assert outcome.losses[0] is not None
    assert outcome.losses[0] < 0.5 * math.log(16)


def test_learning_rate_warms_up_then_falls_to_zero() -> None:
    rates = [train._rate(step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == pytest.approx(1.0)
    assert rates[55] == pytest.approx(0.5)
    assert rates[-1] == pytest.approx(0.5 * (1 + math.cos(math.pi * 89 / 90)))


def test_the_recurrent_row_sees_the_same_data(monkeypatch: pytest.MonkeyPatch) -> None:
    _, batches = captured(monkeypatch, "nope")
    _, others = captured(monkeypatch, "gru")
    assert len(batches) == len(others)
    assert all(torch.equal(a, b) for a, b in zip(batches, others, strict=True))


def test_evaluation_is_the_mean_over_all_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = Transformer(vocabulary_size=LastTask.vocabulary_size, d_model=8, n_layers=1, n_heads=2, causal=True)
    batch = LastTask(length=16, longest=32, windows=7, seed=5).evaluation(32)
    # Two rows at once and one left over: parts of unequal weight.
    monkeypatch.setattr(train, "EVALUATION_TOKENS", 64)
    losses = []
    for row in range(7):
        for place in range(32 - batch.scored, 32):
            target = int(batch.targets[row, place])
            if target != UNASKED:
                scores = model(batch.tokens[row : row + 1], range(32))[0, place].tolist()
                losses.append(math.log(sum(math.exp(score) for score in scores)) - scores[target])
    assert 0 < len(losses) < 7 * batch.scored
    assert train._evaluate(model, batch) == pytest.approx(sum(losses) / len(losses), abs=1e-5)


def test_a_batch_that_asks_nothing_teaches_nothing() -> None:
    # Very short sequences of the register task may read nothing that was written.
    model = Transformer(vocabulary_size=5, d_model=8, n_layers=1, n_heads=2, causal=True)
    train.loss_of(model, Batch(torch.randint(5, (2, 6)), torch.full((2, 6), UNASKED), 6)).backward()
    assert all(weight.grad is not None and not weight.grad.any() for weight in model.parameters())
    assert train._evaluate(model, Batch(torch.randint(5, (2, 6)), torch.full((2, 6), UNASKED), 6)) == 0.0
