"""detect_layout on a real model in both layouts, on a real model without RoPE, and on weights that say nothing."""

import math
import re

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from ordinate.checkpoints.detect import NEEDED, LayoutEvidence, detect_layout
from ordinate.checkpoints.layout import convert_layout

SMOLLM2 = {"n_heads": 9, "n_kv_heads": 3, "head_dim": 64}
LAYERS = range(30)


@pytest.fixture(scope="module")
def stored(smollm2_tensors):
    """Query and key weights of SmolLM2's layers, with interleaved pairs as the file keeps them."""
    pairs = ((smollm2_tensors[f"{i}.q"], smollm2_tensors[f"{i}.k"]) for i in LAYERS)
    return [[torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type)) for tensor in pair] for pair in pairs]


@pytest.fixture(scope="module")
def converted(stored):
    """The same with half pairs; the conversion is checked bit for bit against transformers' in its own tests."""
    return [[convert_layout(weight, to="half", **SMOLLM2) for weight in pair] for pair in stored]


def by_loops(q_weight, k_weight, n_heads, n_kv_heads, head_dim):
    """The scores as the formula has them, number by number."""
    q, k = q_weight.double().numpy(), k_weight.double().numpy()

    def coupling(head, a, b):
        kv = head // (n_heads // n_kv_heads)
        rows = [q[head * head_dim + a], q[head * head_dim + b], k[kv * head_dim + a], k[kv * head_dim + b]]
        q_a, q_b, k_a, k_b = (row / math.sqrt(sum(float(number) ** 2 for number in row)) for row in rows)
        return abs(float(np.dot(q_b, k_a)) - float(np.dot(q_a, k_b)))

    half = head_dim // 2
    pairings = {
        "half": [(i, half + i) for i in range(half)],
        "up": [(i, half + (i + 1) % half) for i in range(half)],
        "down": [(i, half + (i - 1) % half) for i in range(half)],
        "interleaved": [(2 * i, 2 * i + 1) for i in range(half)],
        "beside": [(2 * i + 1, (2 * i + 2) % head_dim) for i in range(half)],
    }
    found = {name: [coupling(h, a, b) for h in range(n_heads) for a, b in pairs] for name, pairs in pairings.items()}
    scores = []
    for layout in ("half", "interleaved"):
        against = []
        for rival in pairings.keys() - {layout}:
            x = [own - other for own, other in zip(found[layout], found[rival], strict=True)]
            against.append(sum(x) / math.sqrt(sum(number**2 for number in x)))
        scores.append(min(against))
    return scores


@pytest.mark.parametrize(("heads", "kv_heads", "head_dim"), [(1, 1, 4), (2, 1, 6), (4, 2, 10), (3, 3, 8)])
def test_scores_by_loops(heads, kv_heads, head_dim):
    for _ in range(8):  # so that every rival is the strongest once
        q, k = torch.randn(heads * head_dim, 5), torch.randn(kv_heads * head_dim, 5)
        found = detect_layout(q, k, n_heads=heads, n_kv_heads=kv_heads, head_dim=head_dim)
        wanted = by_loops(q, k, heads, kv_heads, head_dim)
        assert abs(found.half - wanted[0]) < 1e-9
        assert abs(found.interleaved - wanted[1]) < 1e-9


def test_needed_is_the_bound_for_one_in_a_hundred_thousand():
    assert math.isclose(math.exp(-(NEEDED**2) / 2), 1e-5, rel_tol=1e-12)
    assert LayoutEvidence(layout=None, half=0.0, interleaved=0.0).needed == NEEDED


@pytest.mark.parametrize(("layout", "at_least"), [("half", 25), ("interleaved", 25)])
def test_smollm2(layout, at_least, stored, converted):
    verdicts = [detect_layout(q, k, **SMOLLM2).layout for q, k in (stored if layout == "interleaved" else converted)]
    assert set(verdicts) <= {layout, None}, "never wrong"
    assert verdicts.count(layout) >= at_least


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_smollm2_as_a_whole(layout, stored, converted):
    pairs = stored if layout == "interleaved" else converted
    q, k = (torch.cat(weights) for weights in zip(*pairs, strict=True))
    found = detect_layout(q, k, n_heads=30 * 9, n_kv_heads=30 * 3, head_dim=64)
    assert found.layout == layout
    assert {"half": found.half, "interleaved": found.interleaved}[layout] > 25


def test_smollm2_behind_entries_that_do_not_turn(stored, converted):
    """32 rows that do not turn before each head's 64, as in models whose rotary part comes last."""
    for layout, pairs in (("interleaved", stored), ("half", converted)):
        for q, k in pairs[5:10]:
            plain = detect_layout(q, k, **SMOLLM2)
            still = [torch.cat((torch.randn(len(w) // 64, 32, 576), w.view(-1, 64, 576)), dim=1).flatten(0, 1) for w in (q, k)]
            found = detect_layout(*still, n_heads=9, n_kv_heads=3, head_dim=96, rotary_dim=64, rotary_start=32)
            assert found.layout == layout
            assert abs(found.half - plain.half) < 1e-9


def test_scales_of_rows_do_not_matter(converted):
    q, k = converted[6]
    scaled = [(w * torch.rand(len(w), 1).double().exp().pow(20)).double() for w in (q, k)]
    assert detect_layout(*scaled, **SMOLLM2).layout == "half"
    tiny = [(w.double() * 1e-300) for w in (q, k)]
    assert abs(detect_layout(*tiny, **SMOLLM2).half - detect_layout(q, k, **SMOLLM2).half) < 1e-6


def test_pruned_rows_do_not_hide_the_layout(converted):
    q, k = (weight.clone() for weight in converted[6])
    q[5::50], k[:20] = 0, 0
    assert detect_layout(q, k, **SMOLLM2).layout == "half"


def test_rounding_counts_as_nothing():
    """Keys equal to the queries: cosines are symmetric but for their last bits."""
    q = torch.randn(64, 576)
    assert detect_layout(q, 4 * q, n_heads=1, head_dim=64) == LayoutEvidence(layout=None, half=0.0, interleaved=0.0)


def test_half_converted_or_mixed_up_weights_do_not_tell(stored, converted):
    for i in LAYERS:
        assert detect_layout(stored[i][0], converted[i][1], **SMOLLM2).layout is None  # queries and keys disagree
        assert detect_layout(converted[i][0], stored[i][1], **SMOLLM2).layout is None
        assert detect_layout(converted[i][0], converted[i - 1][1], **SMOLLM2).layout is None  # keys of another layer
        twice = [convert_layout(weight, to="half", **SMOLLM2) for weight in converted[i]]
        assert detect_layout(*twice, **SMOLLM2).layout is None


def test_a_wrong_rotary_dim_never_names_the_other_layout(converted):
    for q, k in converted:
        for rotary_dim, start in ((32, 0), (32, 32), (48, 0), (16, 0)):
            assert detect_layout(q, k, **SMOLLM2, rotary_dim=rotary_dim, rotary_start=start).layout is None


def test_a_model_without_rope_does_not_tell(minilm_folder):
    weights = load_file(minilm_folder / "model.safetensors")
    for i in range(6):
        q, k = (weights[f"encoder.layer.{i}.attention.self.{name}.weight"] for name in ("query", "key"))
        for heads in (12, 6, 3):
            found = detect_layout(q, k, n_heads=heads, head_dim=384 // heads)
            assert found.layout is None
            assert max(found.half, found.interleaved) < 3


@pytest.mark.parametrize("head_dim", [4, 6, 16, 64, 128])
def test_random_weights_do_not_tell(head_dim):
    for seed in range(60):
        generator = torch.Generator().manual_seed(seed)
        heads, kv_heads = ((1, 1), (4, 4), (12, 4), (32, 1))[seed % 4]
        q, k = (torch.randn(n * head_dim, 48, generator=generator) for n in (heads, kv_heads))
        if seed % 3:  # rows of queries and keys alike, as training makes them
            k = k + q[: len(k)] * (seed % 3)
        if seed % 5 == 0:  # few large numbers
            q, k = q**5, k**5
        found = detect_layout(q, k, n_heads=heads, n_kv_heads=kv_heads, head_dim=head_dim)
        assert found.layout is None
        assert max(found.half, found.interleaved) < 3


STRANGE = {
    "zeros": lambda: (torch.zeros(512, 64),) * 2,
    "ones": lambda: (torch.ones(512, 64),) * 2,
    "constant rows": lambda: (torch.full((512, 64), 0.3), torch.full((512, 64), -0.7)),
    "tiny": lambda: (1e-38 * torch.randn(512, 64), 1e-38 * torch.randn(512, 64)),
    "some rows of zeros": lambda: (
        torch.randn(512, 64) * (torch.rand(512, 1) > 0.3),
        torch.randn(512, 64) * (torch.rand(512, 1) > 0.3),
    ),
    "identity": lambda: (torch.eye(512),) * 2,
    "one number an entry": lambda: (torch.arange(512 * 64.0).view(512, 64), torch.arange(512 * 64.0).flip(0).view(512, 64)),
    "one direction": lambda: (torch.outer(torch.randn(512), torch.randn(64)), torch.outer(torch.randn(512), torch.randn(64))),
    "orthogonal": lambda: tuple(torch.nn.init.orthogonal_(torch.empty(512, 512)) for _ in range(2)),
    "rows that walk": lambda: (torch.randn(512, 64).cumsum(0), torch.randn(512, 64).cumsum(0)),
    "rows that walk, alike": lambda: (torch.randn(512, 64).cumsum(0),) * 2,
    "copies of one head": lambda: (torch.randn(64, 64).repeat(8, 1), torch.randn(64, 64).repeat(8, 1)),
    "bfloat16": lambda: (torch.randn(512, 64).bfloat16(), torch.randn(512, 64).bfloat16()),
    "ternary": lambda: (torch.randint(-1, 2, (512, 64)).float(), torch.randint(-1, 2, (512, 64)).float()),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_weights_do_not_tell(kind):
    for _ in range(5):
        q, k = STRANGE[kind]()
        found = detect_layout(q, k, n_heads=8, head_dim=64)
        assert found.layout is None, found
        assert math.isfinite(found.half)
        assert math.isfinite(found.interleaved)


def test_copies_of_a_head_count_once():
    q, k = torch.randn(64, 48), torch.randn(64, 48)
    once = detect_layout(q, k, n_heads=1, head_dim=64)
    often = detect_layout(q.repeat(50, 1), k.repeat(50, 1), n_heads=50, head_dim=64)
    assert abs(once.half - often.half) < 1e-9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": torch.zeros(15, 4)}, "q_weight: needed a floating tensor [16, d_in], got float32 [15, 4]"),
        ({"k": torch.zeros(16, 4, dtype=torch.int8)}, "k_weight: needed a floating tensor [16, d_in], got int8 [16, 4]"),
        ({"q": torch.zeros(16, 4).fill_(math.nan)}, "q_weight: needed finite numbers, got float32 [16, 4] with NaN or infinity"),
        ({"k": torch.zeros(16, 4).fill_(math.inf)}, "k_weight: needed finite numbers"),
        ({"q": torch.zeros(16, 5)}, "k_weight: needed as many columns as q_weight, 5, got 4"),
        ({"q": None, "k": torch.zeros(16)}, "got NoneType None; k_weight: needed a floating tensor [16, d_in], got float32 [16]"),
        ({"rotary_dim": 2}, "rotary_dim: needed at least 4, got 2; the layouts of one pair are the same"),
        ({"n_kv_heads": 3}, "n_kv_heads: needed a divisor of n_heads=2, got 3"),
        ({"rotary_dim": 10}, "rotary_dim: needed an even number from 2 to 8"),
    ],
)
def test_faults(changes, message):
    arguments = {"q": torch.zeros(16, 4), "k": torch.zeros(16, 4), "n_heads": 2, "head_dim": 8, **changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        detect_layout(arguments.pop("q"), arguments.pop("k"), **arguments)
