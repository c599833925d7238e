"""What is said before and after the measurement: costs, what fits, expectations, winners, the block that is read back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from ordinate import Rope
from ordinate.scaling import YaRN
from ordinate.stretching.expected import expected
from ordinate.stretching.probing import Probe, estimated, probed
from ordinate.stretching.recommending import fault_of, recommended, said
from ordinate.stretching.results import Results
from ordinate.stretching.rules import require_rules
from ordinate.stretching.settings import Cell, Settings, read_text, windows_of
from ordinate.stretching.subject import Subject, located, read_subject
from ordinate.stretching.work import Worker
from ordinate.stretching.writing import fitting
from stretching.conftest import TRAINED, llama, save

PROBE = Probe(seconds=2.0, seconds_a_token=0.01, bytes_a_token=100.0, chunk=10, vocabulary=50)
GIB = 2**30


@pytest.fixture
def subject(tiny: Path) -> Subject:
    return read_subject(located(str(tiny)))


def results_of(subject: Subject, text: Path, losses: dict[str, list[float]], length: int = 2 * TRAINED, **changes: Any) -> Results:
    """A run in which every eighth of a rule has one loss."""
    settings = Settings(**{"lengths": (length,), "rules": tuple(losses), "tests": ("ppl",), **changes})
    found = Results(subject, settings, read_text([text]), 1000, expected(subject, settings.rules, settings.lengths))
    for rule, bins in losses.items():
        flat = [loss for loss in bins for _ in range(length // 8)]
        found.cells[Cell("ppl", rule, length)] = [
            {"window": 0, "chunk": 0, "first": 0, "losses": flat, "seconds": 1.0},
            {"ended": True},
        ]
    return found


def test_costs_are_sums_over_chunks() -> None:
    settings = Settings(lengths=(100,), rules=("native",), chunk=10, windows=3)
    by_chunks = sum(PROBE.seconds + PROBE.seconds_a_token * first for first in range(0, 100, 10))
    assert PROBE.prefill(100) == pytest.approx(by_chunks)
    assert estimated(Cell("ppl", "native", 100), PROBE, settings) == pytest.approx(3 * by_chunks)
    assert len(windows_of(settings, 100)) == 3
    assert PROBE.memory(100) == 100 * 100 + 2.5 * 4 * 10 * 50


def test_lengths_that_do_not_fit_are_left_out_and_named(subject: Subject, text: Path) -> None:
    results = results_of(subject, text, {"native": [1.0] * 8, "yarn": [1.0] * 8}, lengths=(64, 128, 256))
    each = {length: 2 * PROBE.prefill(length) for length in (64, 128, 256)}
    assert fitting(results, PROBE, None, None) == ((64, 128, 256), [])
    kept, lines = fitting(results, PROBE, None, each[64] + each[128] + 1)
    assert kept == (64, 128)
    assert lines == [f"left out: 256 tokens would take about {each[256] / 60:.1f} minutes more than the budget leaves"]
    dear = dataclasses.replace(PROBE, bytes_a_token=GIB / 100)
    kept, lines = fitting(results, dear, 2 * GIB, None)
    assert kept == (64, 128)
    assert lines == ["left out: 256 tokens need about 2.6 GiB beside the model, 2.0 GiB are free"]


def test_the_probe_counts_keys_and_values(tiny: Path, text: Path) -> None:
    settings = Settings(lengths=(256,), rules=("native",), start=10, chunk=32)
    worker = Worker(located(str(tiny)), None, settings, read_text([text]))
    probe = probed(worker.model, worker.tokens, settings, 256)
    assert probe.bytes_a_token == 2 * 2 * 1 * 32 * 4  # keys and values, two layers, one head of 32, float32
    assert (probe.chunk, probe.vocabulary) == (32, 256)
    assert probe.seconds > 0


def test_expectations_count_pairs_by_their_phases(tmp_path: Path, subject: Subject) -> None:
    def loops(trained: list[float], now: list[float], length: int) -> tuple[int, int]:
        never = [w for w in trained if 2 * torch.pi / w > TRAINED]
        unseen = [w for w, v in zip(trained, now, strict=True) if w in never and (length - 1) * v > (TRAINED - 1) * w + w]
        return len(never), len(unseen)

    plain = list(Rope(head_dim=32, layout="half", base=100.0).inverse_frequencies)
    for row in expected(subject, ("native", "none", "linear", "ntk", "yarn"), (2 * TRAINED,)):
        rule = {"yarn": YaRN(factor=2.0, original_length=TRAINED)}.get(row.rule)
        now = [w / 2 for w in plain] if row.rule == "linear" else plain
        if row.rule == "ntk":
            now = list(Rope(head_dim=32, layout="half", base=100.0 * 2 ** (32 / 30)).inverse_frequencies)
        if rule is not None:
            now = list(rule.apply(plain, base=100.0).inverse_frequencies)
        assert (row.never_complete, row.unseen) == loops(plain, now, 2 * TRAINED), row.rule
        assert row.slowest == pytest.approx(2 * torch.pi / plain[-1])
        assert row.slowest_now == pytest.approx(2 * torch.pi / now[-1])
    native = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 16}
    scaled = read_subject(located(str(save(llama(rope_parameters=native), tmp_path / "scaled"))))
    trained = list(YaRN(factor=4.0, original_length=16).apply(plain, base=100.0).inverse_frequencies)
    (own,) = expected(scaled, ("native",), (2 * TRAINED,))
    assert (own.never_complete, own.unseen) == loops(trained, trained, 2 * TRAINED)
    assert require_rules(("none", "yarn", "yarn"), scaled, (2 * TRAINED,)) == ("native", "none", "yarn")
    assert require_rules(("none",), subject, (2 * TRAINED,)) == ("native",)  # it has no rule that could be taken out


def test_the_winner_is_the_lowest_beyond_the_trained_length(subject: Subject, text: Path) -> None:
    losses = {"native": [2, 2, 2, 2, 3, 4, 5, 6], "linear": [3.2] * 8, "yarn": [2.1] * 4 + [2.3] * 4}
    results = results_of(subject, text, losses)
    assert (results.inside("native", 128), results.beyond("native", 128)) == (2.0, 4.5)
    assert results.winner(128) == "yarn"
    assert [results.holds(rule, 128) for rule in losses] == [False, False, True]
    lines = said(results)
    assert lines[0] == (
        "128 tokens: yarn goes furthest: 2.30 nats a token beyond the trained length, the checkpoint as it is 4.50; "
        "inside the trained length it costs +0.10"
    )
    assert any("linear: no pair reaches unseen phases, and it is worse" in line for line in lines)
    close = results_of(subject, text, {"native": [2.0] * 8, "yarn": [1.99] * 8})
    assert close.winner(128) == "native"  # what cannot be told apart is not worth a change
    odd = results_of(subject, text, {"native": [2.0] * 3 + [9.0] * 5, "yarn": [2.5] * 8}, length=160)
    assert odd.inside("native", 160) == 2.0  # three eighths end within 64 of 160 tokens, the fourth does not
    assert odd.beyond("native", 160) == 9.0


def test_a_block_that_says_something_else_is_not_given_out(subject: Subject, text: Path) -> None:
    results = results_of(subject, text, {"native": [3.0] * 8, "yarn": [2.0] * 8})
    found = recommended(results)
    assert found is not None
    assert (found["rule"], found["read_back"]) == ("yarn", "as measured")
    wrong = {**found["config"], "rope_parameters": {**found["config"]["rope_parameters"], "factor": 2.5}}
    assert fault_of(wrong, results, "yarn", 128) == "its frequencies are others than those that were measured"
    broken = {**found["config"], "rope_parameters": {**found["config"]["rope_parameters"], "rope_type": "yarm"}}
    assert "it could not be read" in str(fault_of(broken, results, "yarn", 128))
