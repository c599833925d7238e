"""Word order: the sentences, what a mean of vectors can see of them, and who learns it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch

from ordinate.lab import order
from ordinate.lab.order import WORDS, Classifier, exchanged_difference, run_order, sentences
from ordinate.lab.rows import ROWS, Budget, build_row

SHORT = Budget(d_model=16, n_layers=1, n_heads=2, batch_size=8, length=16, steps=5, learning_rate=1e-2)
BLIND = ("nope", "alibi")


def texts(rows: torch.Tensor) -> list[str]:
    return [" ".join(WORDS[word] for word in row) for row in rows.tolist()]


@pytest.mark.parametrize("full_stop", [False, True])
def test_sentences_are_all_pairs_of_nouns_in_both_orders(full_stop: bool) -> None:
    nouns, verbs = ("dog", "man", "cat", "mouse", "fox", "hen"), ("bites", "sees", "chases", "hears")
    end = " ." if full_stop else ""
    expected = {
        f"{who} {does} {whom}{end}": int(nouns.index(who) < nouns.index(whom))
        for who in nouns
        for whom in nouns
        for does in verbs
        if who != whom
    }
    words, classes, _ = sentences(full_stop)
    assert len(words) == len(expected)
    assert dict(zip(texts(words), classes.tolist(), strict=True)) == expected
    for row in range(0, len(words), 2):
        assert words[row, :3].tolist() == words[row + 1, :3].flip(0).tolist()


def test_pairs_are_held_out_as_a_whole_and_alike_in_both_forms() -> None:
    words, _, held_out = sentences(False)
    kept = {frozenset(text.split()) for text, out in zip(texts(words), held_out.tolist(), strict=True) if not out}
    asked = {frozenset(text.split()) for text, out in zip(texts(words), held_out.tolist(), strict=True) if out}
    assert not kept & asked
    assert len(kept) + len(asked) == 60
    assert 0.15 < len(asked) / 60 < 0.35
    assert torch.equal(held_out, sentences(True)[2])


def changes(name: str, full_stop: bool) -> float:
    """Largest change of a word's vector, sentence by sentence: the full stop stays where it is."""
    model, _ = build_row(name, Budget(), vocabulary_size=len(WORDS), causal=False, seed=0)
    largest = 0.0
    with torch.no_grad():
        for row in sentences(full_stop)[0][0::2]:
            places = [2, 1, 0, 3][: len(row)]
            vectors = model.vectors(row[None], range(len(row)))[0]
            exchanged = model.vectors(row[places][None], range(len(row)))[0]
            largest = max(largest, float((vectors - exchanged[places]).abs().max()))
    return largest


@pytest.mark.parametrize("name", ROWS)
def test_order_reaches_the_vectors_of_all_but_two(name: str) -> None:
    three, four = changes(name, full_stop=False), changes(name, full_stop=True)
    model, _ = build_row(name, Budget(), vocabulary_size=len(WORDS), causal=False, seed=0)
    with torch.no_grad():
        assert exchanged_difference(model, sentences(False)[0]) == pytest.approx(three, abs=1e-5)
    assert (three < 1e-5) is (name in BLIND)
    # A full stop breaks the mirror image in which ALiBi sees three words.
    assert (four < 1e-5) is (name == "nope")
    assert all(value < 1e-5 or value > 0.05 for value in (three, four))


class Told:
    """Vectors that are known: each word's number, and a share of its place."""

    def __init__(self, share: float) -> None:
        self.share = share

    def vectors(self, tokens: torch.Tensor, positions: range) -> torch.Tensor:
        return tokens[..., None].float() + self.share * torch.tensor(list(positions))[:, None].float()


def test_exchanged_difference_of_known_vectors() -> None:
    words = sentences(False)[0]
    assert exchanged_difference(Told(0.0), words) == 0.0  # type: ignore[arg-type]
    # A noun moves by two places.
    assert exchanged_difference(Told(0.25), words) == 0.5  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BLIND)
def test_whatever_is_learned_a_blind_scheme_gets_one_of_two_right(name: str) -> None:
    for steps in (1, 40):
        outcome = run_order(name, dataclasses.replace(SHORT, steps=steps), 3, lambda _: None)
        assert outcome.accuracies[0] == 0.5
        assert outcome.difference is not None
        assert outcome.difference < 1e-5
        if name == "nope":
            assert outcome.accuracies == (0.5, 0.5)
            # No less than the entropy of a coin, however it is trained.
            assert all(value is not None and value > math.log(2) - 1e-6 for value in outcome.losses)


def test_a_run_learns_from_kept_sentences_only_and_is_scored_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[tuple[bool, int], set[str]] = {}
    whole = Classifier.forward

    def spy(model: Classifier, tokens: torch.Tensor) -> torch.Tensor:
        seen.setdefault((torch.is_grad_enabled(), tokens.shape[1]), set()).update(texts(tokens))
        return whole(model, tokens)

    monkeypatch.setattr(Classifier, "forward", spy)
    run_order("rope", dataclasses.replace(SHORT, steps=20), 0, lambda _: None)
    for full_stop in (False, True):
        words, _, held_out = sentences(full_stop)
        assert seen[True, 3 + full_stop] == set(texts(words[~held_out]))
        assert seen[False, 3 + full_stop] == set(texts(words[held_out]))


def test_figures_are_those_of_the_trained_models(monkeypatch: pytest.MonkeyPatch) -> None:
    models: list[Any] = []
    train = order._train

    def spy(model: Classifier, *others: Any) -> None:
        train(model, *others)
        models.append(model)

    monkeypatch.setattr(order, "_train", spy)
    outcome = run_order("learned", dataclasses.replace(SHORT, steps=8), 0, lambda _: None)
    for model, full_stop in zip(models, (False, True), strict=True):
        words, classes, held_out = sentences(full_stop)
        right, losses = [], []
        for row, label in zip(words[held_out], classes[held_out].tolist(), strict=True):
            zero, one = model(row[None])[0].tolist()
            right.append((one > zero) == bool(label))
            losses.append(math.log(math.exp(zero) + math.exp(one)) - (one if label else zero))
        assert outcome.accuracies[full_stop] == sum(right) / len(right)
        assert outcome.losses[full_stop] == pytest.approx(sum(losses) / len(losses), abs=1e-5)
    assert outcome.parameters == sum(weight.numel() for weight in models[0].parameters())
    assert outcome.position_parameters == 16 * 16
    with torch.no_grad():
        assert outcome.difference == exchanged_difference(models[0].body, sentences(False)[0])
    assert outcome.losses == run_order("learned", dataclasses.replace(SHORT, steps=8), 0, lambda _: None).losses


def test_progress_is_told_in_the_steps_of_the_budget() -> None:
    told: list[int] = []
    run_order("nope", dataclasses.replace(SHORT, steps=6), 0, told.append)
    # Twice the steps for each of the two forms.
    assert told == [call // 4 for call in range(1, 4 * 6 + 1)]


@pytest.mark.parametrize("name", ["sinusoidal", "rope"])
def test_schemes_that_encode_order_learn_it(name: str) -> None:
    budget = Budget(d_model=32, n_layers=2, n_heads=2, batch_size=16, length=16, steps=100, learning_rate=1e-2)
    assert min(run_order(name, budget, 1, lambda _: None).accuracies) > 0.9


def test_a_full_stop_lets_alibi_learn_order() -> None:
    accuracies = run_order("alibi", dataclasses.replace(Budget(), steps=150), 0, lambda _: None).accuracies
    assert accuracies[0] == 0.5
    assert accuracies[1] > 0.7
