"""The probe's numbers against plain loops, and on small models whose behaviour is known."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
import torch

import tiny_models
from ordinate.checkpoints.scheme_plans import RopePlan
from ordinate.doctor.probe import report as reports
from ordinate.doctor.probe.loading import load
from ordinate.doctor.probe.measuring import Change, probe
from ordinate.doctor.probe.recording import recorded, turning_of
from ordinate.doctor.probe.scores import (
    QUERIES,
    Turning,
    distance_grid,
    key_pairs,
    positional_sensitivity,
    scores,
    semantic_stability,
)

pytest.importorskip("transformers")
BASE, WIDTH = 100.0, 6


def plan_of(layout, **changes):
    return RopePlan(**{"head_dim": WIDTH, "layout": layout, "base": BASE, "rotary_dim": WIDTH, **changes})


def rotated(x, position, layout, rotary_dim=WIDTH):
    """One vector, turned entry by entry."""
    out = list(x)
    for pair in range(rotary_dim // 2):
        angle = position * BASE ** (-2 * pair / rotary_dim)
        one, other = (pair, pair + rotary_dim // 2) if layout == "half" else (2 * pair, 2 * pair + 1)
        out[one] = x[one] * math.cos(angle) - x[other] * math.sin(angle)
        out[other] = x[one] * math.sin(angle) + x[other] * math.cos(angle)
    return out


def dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("rotary_dim", [WIDTH, 4])
def test_scores_are_those_of_turned_vectors(layout, rotary_dim):
    q, k = torch.randn(2, WIDTH, dtype=torch.float64)
    turning = turning_of(plan_of(layout, rotary_dim=rotary_dim), WIDTH, 9)
    for distance in (0, 1, 5, 40):  # the model's frequencies are float32
        expected = dot(rotated(q.tolist(), 50, layout, rotary_dim), rotated(k.tolist(), 50 - distance, layout, rotary_dim))
        assert scores(q, k, turning, torch.tensor(distance)).item() == pytest.approx(expected, abs=2e-5)


def sensitivity_by_loops(q, k):
    at, moved, places = [], [], q.shape[1]
    picked = sorted({round(1 + step * (places - 2) / (QUERIES - 1)) for step in range(QUERIES)})
    for head in range(q.shape[0]):
        for i in picked:
            for j in range(i + 1):
                query, key = q[head, i].tolist(), k[head // 2, j].tolist()
                here = dot(rotated(query, i, "half"), rotated(key, j, "half"))
                at.append(here)
                moved.append(dot(rotated(query, i + 1, "half"), rotated(key, j, "half")) - here)
    mean = sum(at) / len(at)
    deviation = math.sqrt(sum((each - mean) ** 2 for each in at) / len(at))
    return math.sqrt(sum(each**2 for each in moved) / len(moved)) / deviation


def test_positional_sensitivity_is_its_formula():
    q, k = torch.randn(4, 12, WIDTH), torch.randn(2, 12, WIDTH)
    turning = turning_of(plan_of("half"), WIDTH, 12)
    assert positional_sensitivity(q, k, turning) == pytest.approx(sensitivity_by_loops(q, k), rel=1e-6)


def stability_by_loops(q, k, trained):
    kept = asked = 0
    for i in range(1, q.shape[1]):  # no more queries than are asked
        for one, other in zip(*(each.tolist() for each in key_pairs(i)), strict=True):
            for head in range(q.shape[0]):
                query, a, b = q[head, i].tolist(), k[head, one].tolist(), k[head, other].tolist()
                before = dot(query, a) > dot(query, b)
                for distance in distance_grid(trained).tolist():
                    turned = rotated(query, distance, "half")
                    kept += (dot(turned, a) > dot(turned, b)) == before
                    asked += 1
    return kept / asked


def test_semantic_stability_is_its_formula():
    q, k = torch.randn(1, 5, WIDTH, dtype=torch.float64), torch.randn(1, 5, WIDTH, dtype=torch.float64)
    turning = turning_of(plan_of("half"), WIDTH, 5)
    assert semantic_stability(q, k, turning, trained=12) == pytest.approx(stability_by_loops(q, k, 12), abs=2e-3)


def test_slow_frequencies_keep_order_and_fast_ones_do_not():
    q, k = torch.randn(2, 20, 4), torch.randn(2, 20, 4)
    pairs = {"first": (0, 1), "second": (2, 3)}
    slow, fast = Turning(frequencies=(1e-6, 1e-7), **pairs), Turning(frequencies=(2.0, 1.7), **pairs)
    assert semantic_stability(q, k, slow, trained=100) > 0.99
    assert 0.35 < semantic_stability(q, k, fast, trained=100) < 0.65
    assert positional_sensitivity(q, k, slow) < 1e-4
    assert positional_sensitivity(q, k, fast) > 0.5


def test_queries_and_keys_are_caught_before_they_turn():
    model = tiny_models.llama()
    ids = torch.arange(3, 14)[None]
    hooked = {}
    handles = [
        getattr(layer.self_attn, f"{letter}_proj").register_forward_hook(
            lambda _m, _i, out, key=(index, letter): hooked.__setitem__(key, out)
        )
        for index, layer in enumerate(model.model.layers)
        for letter in "qk"
    ]
    classes = [type(module) for module in model.modules()]
    layers = recorded(model, lambda: model(ids), 11)
    for handle in handles:
        handle.remove()
    assert [type(module) for module in model.modules()] == classes
    assert [layer.index for layer in layers] == [0, 1]
    for layer in layers:
        for letter, heads in (("q", 4), ("k", 2)):
            expected = hooked[layer.index, letter].view(11, heads, 8).transpose(0, 1)
            assert torch.equal(getattr(layer, letter), expected)
    assert layers[0].turning.frequencies == pytest.approx([1.0, 0.1, 0.01, 0.001])


def test_a_llama_is_relative():
    found = probe(tiny_models.llama(), torch.arange(3, 35)[None])
    assert found.tokens == 32
    assert found.trained == 256
    assert set(found.shifts) == {1000, 100_000}
    assert found.shifts[1000].largest < 1e-2 < 1 < found.shifts[100_000].largest * 1e4
    assert found.shifts[1000].rms < found.shifts[100_000].rms
    assert found.cached.largest < 1e-4
    assert found.padded.largest < 1e-4
    assert [layer.kind for layer in found.layers] == ["full_attention"] * 2
    assert all(layer.sensitivity > 0 and 0 < layer.stability < 1 for layer in found.layers)


def test_a_wrong_offset_in_the_cache_shows():
    model = tiny_models.llama()
    own = model.model.forward
    model.model.forward = lambda *args, position_ids=None, **named: own(
        *args, position_ids=zero(args, named, position_ids), **named
    )

    def zero(args, named, position_ids):
        ids = named["input_ids"] if "input_ids" in named else args[0]
        return torch.arange(ids.shape[1])[None] if position_ids is None else position_ids

    found = probe(model, torch.arange(3, 35)[None])
    assert found.cached.largest > 0.1
    assert found.padded.largest < 1e-4


def test_a_table_ends_and_has_no_turning_layers():
    found = probe(tiny_models.gpt2(), torch.arange(3, 35)[None], offsets=(0, 10, 1000))
    assert found.shifts[10].largest > 0.1  # absolute
    assert found.shifts[1000] == "IndexError: index out of range in self"
    assert found.cached.largest < 1e-4
    assert found.padded.largest < 1e-4
    assert found.layers == "needed layers that turn queries and keys, got gpt2 without"


def test_biases_have_no_positions_to_give():
    found = probe(tiny_models.bloom(), torch.arange(3, 35)[None])
    assert found.shifts == dict.fromkeys((1000, 100_000), "forward takes no positions")
    assert isinstance(found.cached, Change)


def test_layers_of_two_kinds_have_their_own_frequencies():
    found = probe(tiny_models.gemma3(), torch.arange(3, 35)[None])
    assert [layer.kind for layer in found.layers] == ["sliding_attention", "full_attention"]


@pytest.mark.parametrize(
    ("ids", "settings", "words"),
    [
        (torch.arange(7)[None], {}, r"needed ids \[1, T\] of 8 tokens at least, got \[1, 7\]"),
        (torch.zeros(2, 9).long(), {}, r"got \[2, 9\]"),
        (torch.arange(9)[None], {"offsets": (0, -1)}, "needed offsets, 0 or larger"),
    ],
)
def test_wrong_arguments_are_refused(ids, settings, words):
    with pytest.raises(ValueError, match=words):
        probe(tiny_models.llama(), ids, **settings)
    with pytest.raises(ValueError, match="model of transformers"):
        probe(torch.nn.Identity(), torch.arange(9)[None])


def test_a_folder_is_loaded_and_told(tmp_path):
    tiny_models.llama().save_pretrained(tmp_path)
    result = reports.probed(str(tmp_path))
    lines = reports.lines_of(result, "mine")
    assert "LlamaForCausalLM, 96 tokens, declared length 256" in lines[0]
    assert [line.split()[0] for line in lines[-2:]] == ["0", "1"]
    assert max(map(len, lines[1:])) < 90
    numbers = json.loads(json.dumps(dataclasses.asdict(result)))
    assert numbers["layers"][1]["index"] == 1
    assert numbers["cached"]["largest"] < 1e-3


def test_what_is_not_there_is_said(tmp_path):
    for target in (str(tmp_path), str(tmp_path / "none.gguf"), "a/b/c", "./nothing"):
        with pytest.raises(ValueError, match="--probe: needed a"):
            load(target)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="--probe: could not load"):
        load(str(tmp_path))


@pytest.mark.slow
def test_smollm2(smollm2_gguf):
    pytest.importorskip("gguf")
    found = reports.probed(str(smollm2_gguf))
    assert found.trained == 8192
    assert found.shifts[1000].largest < 1e-2
    assert found.shifts[1000].rms < found.shifts[100_000].rms < 0.1
    assert found.cached.largest < 1e-3
    assert found.padded.largest < 1e-3
    assert len(found.layers) == 30
    assert all(0.01 < layer.sensitivity < 1 and 0.5 < layer.stability < 1 for layer in found.layers)
