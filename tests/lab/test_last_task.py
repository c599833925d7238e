"""The register task against registers kept in plain Python."""

from __future__ import annotations

import math

import pytest
import torch

from ordinate.lab.results import chance
from ordinate.lab.tasks import UNASKED, LastTask

REGISTERS = VALUES = 8


def answers(tokens: list[int]) -> list[int | None]:
    """What each token reads: None for writes and for registers that hold nothing yet."""
    held: dict[int, int] = {}
    read: list[int | None] = []
    for token in tokens:
        if token < REGISTERS * VALUES:
            register, value = divmod(token, VALUES)
            held[register] = value
            read.append(None)
        else:
            read.append(held.get(token - REGISTERS * VALUES))
    return read


def asked(targets: torch.Tensor) -> list[int | None]:
    return [None if target == UNASKED else target for target in targets.tolist()]


def test_training_targets_are_what_the_registers_hold() -> None:
    batch = LastTask(length=24, longest=48, windows=2, seed=1).batch(40, torch.Generator().manual_seed(0))
    assert batch.scored == batch.tokens.shape[1] == 24
    for tokens, targets in zip(batch.tokens, batch.targets, strict=True):
        assert asked(targets) == answers(tokens.tolist())


def test_training_never_asks_for_a_register_not_yet_written() -> None:
    batch = LastTask(length=24, longest=48, windows=2, seed=1).batch(40, torch.Generator().manual_seed(0))
    empty = 0
    for tokens, targets in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        written: set[int] = set()
        for token, target in zip(tokens, targets, strict=True):
            if token < REGISTERS * VALUES:
                written.add(token // VALUES)
                assert target == UNASKED
            elif token - REGISTERS * VALUES not in written:
                empty += 1
                assert target == UNASKED
            else:
                assert 0 <= target < VALUES
    assert empty > 0


@pytest.mark.parametrize("length", [6, 16, 64])
def test_evaluation_asks_the_same_at_every_length_and_what_the_shortest_can_answer(length: int) -> None:
    task = LastTask(length=length, longest=8 * length, windows=64, seed=3)
    longest = task.evaluation(8 * length)
    scored = max(length // 4, 1)
    beyond = 0
    for multiple in (1, 2, 4, 8):
        batch = task.evaluation(multiple * length)
        assert batch.scored == scored
        assert torch.equal(batch.tokens, longest.tokens[:, -multiple * length :])
        assert torch.equal(batch.targets[:, -scored:], longest.targets[:, -scored:])
        for tokens, targets in zip(batch.tokens.tolist(), batch.targets, strict=True):
            # From the training length before the end, and no less by all that the context holds.
            within, everything = answers(tokens[-length:])[-scored:], answers(tokens)[-scored:]
            assert asked(targets[-scored:]) == within
            assert all(near in (None, far) for near, far in zip(within, everything, strict=True))
            beyond += sum(near is None and far is not None for near, far in zip(within, everything, strict=True))
    assert length == 64 or beyond > 0, "no read was left out: the check checked nothing"


def test_reads_are_three_in_ten_and_all_registers_and_values_occur() -> None:
    tokens = LastTask(length=64, longest=64, windows=2, seed=1).batch(400, torch.Generator().manual_seed(0)).tokens
    assert set(tokens.flatten().tolist()) == set(range(REGISTERS * VALUES + REGISTERS)) == set(range(LastTask.vocabulary_size))
    assert float((tokens >= REGISTERS * VALUES).double().mean()) == pytest.approx(0.3, abs=0.01)


def test_chance_is_the_logarithm_of_the_answers() -> None:
    targets = LastTask(length=64, longest=64, windows=2, seed=1).batch(400, torch.Generator().manual_seed(0)).targets
    counts = torch.bincount(targets[targets != UNASKED])
    frequencies = [count / int(counts.sum()) for count in counts.tolist()]
    assert chance("last") == pytest.approx(math.log(8))
    assert -sum(share * math.log(share) for share in frequencies) == pytest.approx(math.log(8), abs=2e-3)


def test_held_out_sequences_depend_on_the_seed() -> None:
    first, again, other = (LastTask(length=16, longest=32, windows=4, seed=seed).evaluation(32).tokens for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
