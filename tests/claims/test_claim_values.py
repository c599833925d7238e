"""What the claims measure about the first note, against numbers from elsewhere: mpmath, published ones, plain loops."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ordinate import checkpoints
from ordinate.claims import find
from ordinate.claims.collisions import first_collision, frequencies, nearest_positions
from ordinate.claims.kept_losses import kept, loss
from ordinate.claims.layers import feed_forward, layer_norm, softmax
from ordinate.claims.learned_tables import BERT_BASE, GPT2
from ordinate.claims.order import attention, largest_change, word_vectors
from ordinate.claims.recurrence import attention_of_one
from ordinate.claims.rotary import added_score
from ordinate.claims.rotary_models import BEYOND, HEAD, LLAMA, TIMES, TRAINED, WITHIN, enlarged_base
from ordinate.claims.shift import shift_matrix
from ordinate.claims.sinusoid_range import exact_rows
from ordinate.claims.word_order import encoder, recurrent

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "tests" / "checkpoints" / "configs"


def values(name: str) -> dict[str, Any]:
    return dict(find(name).check().values)


def _row(position: int, width: int) -> list[mpmath.mpf]:
    with mpmath.workdps(50):
        angles = [position * mpmath.mpf(10000) ** (-mpmath.mpf(2 * i) / width) for i in range(width // 2)]
        return [part for angle in angles for part in (mpmath.sin(angle), mpmath.cos(angle))]


def _distance(first: int, second: int, width: int) -> float:
    both = zip(_row(first, width), _row(second, width), strict=True)
    return float(mpmath.sqrt(sum((a - b) ** 2 for a, b in both)))


# The parts that checks are made of


def _attention_by_loops(x: Any, hidden: Any) -> Any:
    query, key, value = np.random.default_rng(0).normal(size=(3, 8, 8)) / 8**0.5
    out = np.zeros_like(x)
    for i, here in enumerate(x):
        weights = [0.0 if hidden[i, j] else math.exp(here @ query @ (there @ key) / 8**0.5) for j, there in enumerate(x)]
        out[i] = sum(weight / sum(weights) * (there @ value) for weight, there in zip(weights, x, strict=True))
    return out


def test_attention_is_attention() -> None:
    x, hidden = word_vectors(), np.triu(np.ones((3, 3), dtype=bool), 1)
    np.testing.assert_allclose(attention(x), _attention_by_loops(x, 0 * hidden), atol=1e-14)
    np.testing.assert_allclose(attention(x, hidden), _attention_by_loops(x, hidden), atol=1e-14)
    np.testing.assert_allclose(attention_of_one(x, 2), attention(x)[2], atol=1e-14)


def test_layers_are_those_of_torch() -> None:
    x = word_vectors()
    tensor = torch.from_numpy(x)
    np.testing.assert_allclose(layer_norm(x), torch.nn.functional.layer_norm(tensor, (8,), eps=1e-12).numpy(), atol=1e-12)
    np.testing.assert_allclose(softmax(x), tensor.softmax(1).numpy(), atol=1e-15)
    widen = torch.from_numpy(np.random.default_rng(1).normal(size=(8, 16)) / 8**0.5)
    expected = tensor + torch.relu(tensor @ widen) @ widen.T / 4
    np.testing.assert_allclose(feed_forward(x), expected.numpy(), atol=1e-14)


def test_a_recurrent_state_is_that_of_torch() -> None:
    x = word_vectors()
    into, onward = np.random.default_rng(3).normal(size=(2, 8, 8)) / 8**0.5
    network = torch.nn.RNN(8, 8, bias=False).double()
    network.load_state_dict({"weight_ih_l0": torch.from_numpy(into.T), "weight_hh_l0": torch.from_numpy(onward.T)})
    np.testing.assert_allclose(recurrent(x), network(torch.from_numpy(x))[0].detach().numpy(), atol=1e-14)


def test_largest_change_is_over_all_permutations() -> None:
    x, orders = word_vectors(), list(itertools.permutations(range(3)))
    changes = [np.abs(np.cumsum(x[list(order)], 0) - np.cumsum(x, 0)[list(order)]).max() for order in orders]
    assert largest_change(lambda rows, _: np.cumsum(rows, 0), x) == max(changes) > 0


def test_encoders_mean_is_blind_and_its_rows_are_not() -> None:
    here, there = encoder(word_vectors(("a", "b", "c"))), encoder(word_vectors(("c", "b", "a")))
    np.testing.assert_allclose(here.mean(0), there.mean(0), atol=1e-14)
    assert np.abs(here - there).max() > 1


# Sinusoids


@pytest.mark.parametrize(("width", "printed", "key"), [(16, 19869, "narrow"), (512, 60611, "wide")])
def test_wavelengths_are_those_of_mpmath(width: int, printed: int, key: str) -> None:
    exact = float(2 * mpmath.pi * mpmath.mpf(10000) ** (1 - mpmath.mpf(2) / width))
    assert values("wavelength-numbers")[key] == pytest.approx(exact, rel=1e-10)
    assert round(exact) == printed


def test_shares_of_the_longest_wavelength() -> None:
    found = values("wavelength-limit")
    for key, width in (("narrow", 16), ("usual", 512), ("wide", 4096)):
        assert found[key] == pytest.approx(float(mpmath.mpf(10000) ** (-mpmath.mpf(2) / width)), rel=1e-10)


def test_far_rows_are_those_of_mpmath() -> None:
    for position in (0, 1, 10**6, 10**9, 2**52 + 1):
        np.testing.assert_allclose(exact_rows([position], 16)[0], [float(part) for part in _row(position, 16)], atol=1e-15)


def test_errors_of_far_positions() -> None:
    found = values("formula-at-any-position")
    frequency = np.float32(1) / np.float32(10000) ** (np.arange(0, 16, 2, dtype=np.float32) / np.float32(16))
    angles = (np.float32(10**6) * frequency).astype(float)
    rows = [part for angle in angles for part in (math.sin(angle), math.cos(angle))]
    assert found["single"] == pytest.approx(max(abs(a - float(b)) for a, b in zip(rows, _row(10**6, 16), strict=True)))
    assert found["double"] < 1e-6 < found["single"] < found["single_far"]


def test_distances_of_the_example() -> None:
    found = values("slow-near-far")
    assert found["near"] == pytest.approx(2 * math.sin(0.005), rel=1e-9)
    assert found["far"] == pytest.approx(2 * math.sin(0.145), rel=1e-9)
    assert found["again"] == pytest.approx(2 * abs(math.sin(3.14)), rel=1e-6)
    assert values("slow-step")["low"] == pytest.approx(2 * math.sin(0.005), rel=1e-9)
    assert values("rows-distinct-bounded")["nearest"] == pytest.approx(min(_distance(a, b, 4) for a in range(4) for b in range(a)))


def test_sizes_of_tokens_are_those_of_nn_embedding() -> None:
    found = values("sqrt-scaling")
    torch.manual_seed(0)
    token = float(torch.nn.Embedding(500, 512).weight.detach().square().mean().sqrt())
    assert found["standard_plain"] == pytest.approx(token / 0.5**0.5, rel=0.01)  # a sine's square is 1/2 in the mean
    assert found["standard"] == pytest.approx(512**0.5 * token / 0.5**0.5, rel=0.01)
    assert found["tied"] == pytest.approx(2**0.5, rel=0.01)


def test_dot_products_are_sums_of_cosines() -> None:
    found = values("dot-product-of-shift")
    assert found["at_five"] == pytest.approx(sum(math.cos(5 * 10000 ** (-i / 8)) for i in range(8)))
    assert found["at_once"] == pytest.approx(8)


def test_shift_matrix_is_the_sum_formula() -> None:
    there = shift_matrix(0.3, 7) @ [math.sin(0.3 * 5), math.cos(0.3 * 5)]
    np.testing.assert_allclose(there, [math.sin(0.3 * 12), math.cos(0.3 * 12)], atol=1e-15)


# Collisions


@pytest.mark.parametrize("width", [4, 16, 80])
def test_nearest_positions_are_those_of_all_pairs(width: int) -> None:
    rows = np.array([[float(part) for part in _row(position, width)] for position in range(200)])
    apart = np.linalg.norm(rows[:, None] - rows, axis=-1) + 9 * np.eye(200)
    distance, shift = nearest_positions(frequencies(width), 200)
    first, second = np.unravel_index(apart.argmin(), apart.shape)
    assert distance == pytest.approx(apart.min(), rel=1e-9)
    assert _distance(0, shift, width) == pytest.approx(_distance(int(first), int(second), width), rel=1e-9)


def test_no_shift_is_passed_over() -> None:
    """All shifts and all pairs of entries, without the lower bound."""
    for width, many in ((16, 10**6), (80, 10**5)):
        shifts, squares = np.arange(1, many, dtype=np.float64), np.zeros(many - 1)
        for i in range(width // 2):
            squares += 2 - 2 * np.cos(shifts * 10000 ** (-2 * i / width))
        distance, shift = nearest_positions(frequencies(width), many)
        assert shift == squares.argmin() + 1
        assert distance == pytest.approx(squares.min() ** 0.5, rel=1e-6)


def test_smallest_distances_are_those_of_mpmath() -> None:
    found = values("no-collision")
    for key, width in (("narrow", 16), ("wide", 512), ("example", 4)):
        assert found[key] == pytest.approx(_distance(0, found[f"{key}_shift"], width), rel=1e-6)
    assert (found["narrow_shift"], found["wide_shift"], found["example_shift"]) == (615746, 1, 735761)


def test_collisions_in_bfloat16_are_real_and_first() -> None:
    found = values("no-collision")
    assert found["position"] == 257
    assert torch.tensor(257.0).bfloat16() == torch.tensor(256.0).bfloat16() != torch.tensor(255.0).bfloat16()
    for key, width in (("narrow_angle", 16), ("wide_angle", 512)):
        row = [torch.tensor([p * 10000 ** (-2 * i / width) for i in range(width // 2)]).bfloat16() for p in range(found[key] + 1)]
        assert torch.equal(row[-1], row[-2])
        assert len(torch.unique(torch.stack(row[:-1]).float(), dim=0)) == found[key]
    merged = [float(torch.tensor(found["float32"] + step, dtype=torch.float32)) for step in (-1, 0, 1)]
    assert merged[0] < merged[1] == merged[2]


def test_first_collision_is_the_first() -> None:
    rows = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 1.0], [0.0, 2.0], [0.0, 1.0]])
    assert first_collision(rows) == 3
    assert first_collision(rows[:3]) is None


def test_periods_of_the_example_are_commensurate() -> None:
    with mpmath.workdps(40):
        whole_turn = 200 * mpmath.pi
        for position in range(5):
            for frequency in (1, mpmath.mpf("0.01")):
                assert abs(mpmath.sin(frequency * (position + whole_turn)) - mpmath.sin(frequency * position)) < 1e-35
                assert abs(mpmath.cos(frequency * (position + whole_turn)) - mpmath.cos(frequency * position)) < 1e-35
        for width, pairs, ratio in ((4, 1, 100), (8, 1, 10), (16, 2, 10), (512, 64, 10)):
            assert abs(mpmath.mpf(10000) ** (mpmath.mpf(2 * pairs) / width) - ratio) < 1e-30
    found = values("incommensurate-periods")
    assert (found["four"], found["eight"], found["sixteen"], found["usual"]) == (100, 10, 10, 10)


def test_near_repeats_of_a_sine() -> None:
    found = values("one-sine-repeats")
    sines = sorted((float(mpmath.sin(place)), place) for place in range(1000))
    gap, first, second = min((b - a, *sorted((m, n))) for (a, m), (b, n) in itertools.pairwise(sines))
    assert (found["first"], found["second"]) == (first, second)
    assert found["whole"] == pytest.approx(gap, rel=1e-6)
    assert found["six"] == pytest.approx(abs(math.sin(1) - math.sin(7)), rel=1e-9)


# Tables, biases, rotations


@pytest.mark.filterwarnings("ignore:.*n_ctx. changes nothing:UserWarning")  # a key of GPT-2's that says the length once more
def test_sizes_of_published_models() -> None:
    assert values("bert-base-parameters")["count"] == 393216
    assert values("table-parameters")["gpt2"] == 786432
    assert (values("published-lengths")["bert"], values("published-lengths")["gpt2"]) == (512, 1024)
    for name, config in (("bert_base_uncased", BERT_BASE), ("gpt2", GPT2), ("llama_3_2_1b", LLAMA)):
        published = json.loads((CONFIGS / f"{name}.json").read_text())
        mine, theirs = (checkpoints.read(source) for source in (config, published))
        assert (mine.input, mine.layers, mine.stacks[0].max_length) == (theirs.input, theirs.layers, theirs.stacks[0].max_length)


def test_widths_of_t5s_buckets() -> None:
    """Past distances 0..7 alone; then from 8, 12, 16, 23, 32, 46, 64 and 91 on, as the authors' code counts them."""
    found = values("t5-buckets")
    assert (found["alone"], found["buckets"], found["widest"]) == (8, 16, 91 - 64)


def test_scores_of_sums_are_loops() -> None:
    tokens, table = np.random.default_rng(5).normal(size=(2, 4)), np.random.default_rng(6).normal(size=(9, 4))
    to_query, to_key = np.random.default_rng(2).normal(size=(2, 4, 4)) / 2
    query = [sum((tokens[0, a] + table[5, a]) * to_query[a, b] for a in range(4)) for b in range(4)]
    key = [sum((tokens[1, a] + table[2, a]) * to_key[a, b] for a in range(4)) for b in range(4)]
    assert added_score(tokens, table, 2, 3) == pytest.approx(sum(q * k for q, k in zip(query, key, strict=True)))


def test_unseen_angles_are_counted_by_pairs() -> None:
    base, found = enlarged_base(10000.0, HEAD, TIMES), values("larger-base-stretches")
    unseen = plain = 0
    for i in range(HEAD // 2):
        old, new = (mpmath.mpf(value) ** (-mpmath.mpf(2 * i) / HEAD) for value in (10000, base))
        if TRAINED * old < 2 * mpmath.pi:
            plain += 1
            unseen += TIMES * new > old * (1 + mpmath.mpf(10) ** -9)
    assert (found["unseen"], found["unseen_plain"]) == (unseen, plain)
    assert base == pytest.approx(10000 * 4 ** (64 / 62))


# Kept measurements


def test_losses_of_the_stretched_model_are_those_kept() -> None:
    cells = json.loads((ROOT / "benchmarks" / "results" / "stretch_smollm2_202612.json").read_text())["cells"]
    bins = {cell["rule"]: cell["bins"] for cell in cells}
    assert {rule: round(bins[rule][-1], 2) for rule in BEYOND} == BEYOND
    assert {rule: round(sum(bins[rule][:4]) / 4, 2) for rule in WITHIN} == WITHIN


def test_losses_of_small_models_are_those_kept() -> None:
    cells = json.loads((ROOT / "src" / "ordinate" / "lab" / "kept_comparison.json").read_text())["cells"]
    for task, scheme, length in (("text", "rope", 0), ("shift", "sinusoidal", 1), ("last", "gru", 3)):
        rows = [cell["losses"][length] for cell in cells if (cell["task"], cell["scheme"]) == (task, scheme)]
        assert loss(kept(None), task, scheme, 2**length) == pytest.approx(sum(rows) / len(rows))
    with pytest.raises(ValueError, match="needed results of 'xpos' on 'text' at 1 times the training length, got none"):
        loss(kept(None), "text", "xpos")


def test_figures_of_the_recurrent_network_come_from_its_own_row() -> None:
    found = values("recurrent-any-length")
    assert found["memory"] == pytest.approx(loss(kept(None), "last", "gru"))
    assert found["rope"] == pytest.approx(loss(kept(None), "last", "rope"))
    assert found["chance"] == pytest.approx(math.log(8))
