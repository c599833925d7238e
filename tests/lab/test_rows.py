"""The rows of a comparison: alike but for the scheme, and counted right."""

from __future__ import annotations

import dataclasses

import lab_tools
import pytest
import torch

from ordinate.lab.model import Transformer
from ordinate.lab.recurrent import Recurrent
from ordinate.lab.rows import ROWS, Budget, build_row, facts_of, require_row, site_of
from ordinate.schemes import SCHEMES

# Two layers: what they share is counted once.
SMALL = dataclasses.replace(lab_tools.SMALL, n_layers=2)
WIDTH, HEADS, ROWS_OF_A_TABLE = 16, 2, 16
# By hand, for SMALL: Shaw clips at 16 and has keys and values; T5 has 32 buckets; DeBERTa half as many buckets as positions.
POSITIONS = {
    "nope": 0,
    "sinusoidal": 0,
    "learned": ROWS_OF_A_TABLE * WIDTH,
    "shaw": (2 * 16 + 1) * (WIDTH // HEADS) * 2,
    "t5": 32 * HEADS,
    "deberta": 2 * (ROWS_OF_A_TABLE // 2) * WIDTH,
    "alibi": 0,
    "rope": 0,
    "gru": 0,
}


def total(model: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())


def test_rows_are_all_schemes_and_a_recurrent_network() -> None:
    assert tuple(POSITIONS) == ROWS == (*SCHEMES, "gru")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_positions_are_counted_once_and_right(name: str, causal: bool) -> None:
    model, count = build_row(name, SMALL, vocabulary_size=7, causal=causal)
    plain, _ = build_row("nope", SMALL, vocabulary_size=7, causal=causal)
    assert count == POSITIONS[name]
    if name == "gru":
        gates = 2 * 3 * (2 * WIDTH * WIDTH + 2 * WIDTH)
        assert total(model) == 7 * WIDTH + gates + 2 * WIDTH + (WIDTH * 7 + 7)
    else:
        # DeBERTa's table is normalised, which holds no positions.
        assert total(model) == total(plain) + count + (2 * WIDTH if name == "deberta" else 0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "nope"])
def test_shared_weights_are_those_of_nope_and_of_the_seed(name: str, causal: bool) -> None:
    plain = build_row("nope", SMALL, vocabulary_size=7, causal=causal, seed=5)[0].state_dict()
    same = build_row(name, SMALL, vocabulary_size=7, causal=causal, seed=5)[0].state_dict()
    other = build_row(name, SMALL, vocabulary_size=7, causal=causal, seed=6)[0].state_dict()
    assert all(torch.equal(value, same[key]) for key, value in plain.items())
    assert not torch.equal(plain["head.weight"], other["head.weight"])
    added = [key for key in same if key not in plain]
    assert bool(added) is (POSITIONS[name] > 0)


@pytest.mark.parametrize("name", ROWS)
def test_causal_models_do_not_see_the_next_token_and_encoders_do(name: str) -> None:
    tokens = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 3, 4, 6]])
    for causal in (True, False):
        model, _ = build_row(name, SMALL, vocabulary_size=7, causal=causal)
        with torch.no_grad():
            first, second = model(tokens, range(5))[:, :4]
        sees = not torch.equal(first, second) and float((first - second).abs().max()) > 1e-4
        assert sees is (not causal and name != "gru")


def test_a_learned_table_follows_the_budgets_overflow() -> None:
    for overflow in ("wrap", "clamp", "error"):
        budget = Budget(**{**SMALL.__dict__, "overflow": overflow})
        model, _ = build_row("learned", budget, vocabulary_size=7, causal=True)
        assert isinstance(model, Transformer)
        assert model.embed.scheme is not None
        assert getattr(model.embed.scheme, "overflow") == overflow  # noqa: B009
        assert getattr(model.embed.scheme, "max_length") == SMALL.length  # noqa: B009


def test_a_recurrent_network_reads_left_to_right_whatever_the_positions() -> None:
    model, _ = build_row("gru", SMALL, vocabulary_size=7, causal=True)
    assert isinstance(model, Recurrent)
    tokens = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        assert torch.equal(model(tokens, range(3)), model(tokens, range(100, 103)))
        # The state after a beginning is that of the beginning alone.
        torch.testing.assert_close(model(tokens, range(3))[:, :2], model(tokens[:, :2], range(2)))
        assert not torch.allclose(model(tokens, range(3))[:, -1], model(tokens[:, [1, 0, 2]], range(3))[:, -1])


def test_unknown_rows_are_refused_and_all_are_named() -> None:
    said = r"unknown scheme 'grue'; did you mean 'gru'\? There are nope, sinusoidal, learned, shaw, t5, deberta, alibi, rope, gru$"
    for call in (require_row, lambda name: build_row(name, SMALL, vocabulary_size=7, causal=True)):
        with pytest.raises(ValueError, match=said):
            call("grue")


def test_facts_and_sites_of_rows() -> None:
    assert [site_of(name) for name in ROWS] == [
        "nowhere",
        "input",
        "input",
        "scores",
        "scores",
        "scores",
        "scores",
        "queries and keys",
        "reading order",
    ]
    assert (facts_of("nope").encodes, facts_of("gru").encodes) == ("nothing", "the order of reading")
    for name, kind in SCHEMES.items():
        assert kind is None or facts_of(name) is kind.facts
