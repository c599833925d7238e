"""convert_layout against rows moved one by one, rotations, transformers' own converters and a real checkpoint in both layouts."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import re
from types import SimpleNamespace

import gguf
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.core_model_loading import PermuteForRope
from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor

from ordinate import Rope
from ordinate.checkpoints.layout import convert_layout

# heads, head_dim, rotary_dim, rotary_start
HEADS = [
    (1, 6, None, 0),
    (3, 6, None, 0),
    (2, 10, 6, 0),
    (2, 10, 6, 4),
    (2, 9, 8, 1),
    (4, 16, 4, 12),
    (3, 64, None, 0),
    (2, 80, 20, 0),
]
DTYPES = (torch.float64, torch.bfloat16, torch.float8_e4m3fn, torch.int8, torch.uint8, torch.bool, torch.complex64)


def moved(rows, to, heads, head_dim, rotary_dim, start):
    """Row by row: pair i is (2i, 2i + 1) in one layout and (i, n/2 + i) in the other."""
    half = rotary_dim // 2
    out = list(rows)
    for head in range(heads):
        first = head * head_dim + start
        for pair in range(half):
            for member in range(2):
                apart, beside = first + pair + member * half, first + 2 * pair + member
                out[apart if to == "half" else beside] = rows[beside if to == "half" else apart]
    return out


def settings(heads, head_dim, rotary_dim, start):
    return {"n_heads": heads, "head_dim": head_dim, "rotary_dim": rotary_dim, "rotary_start": start}


@pytest.mark.parametrize(("to", "order"), [("half", [0, 2, 4, 1, 3, 5]), ("interleaved", [0, 3, 1, 4, 2, 5])])
def test_six_rows_by_hand(to, order):
    weight = torch.arange(12.0).view(6, 2)
    assert convert_layout(weight, to=to, n_heads=1, head_dim=6).tolist() == [weight[row].tolist() for row in order]
    assert convert_layout(weight[:, 0], to=to, n_heads=1, head_dim=6).tolist() == [2.0 * row for row in order]


@pytest.mark.parametrize("to", ["half", "interleaved"])
@pytest.mark.parametrize(("heads", "head_dim", "rotary_dim", "start"), HEADS)
def test_rows_move_one_by_one(heads, head_dim, rotary_dim, start, to):
    wanted = moved(list(range(heads * head_dim)), to, heads, head_dim, rotary_dim or head_dim, start)
    for shape in ((), (5,), (3, 2)):  # bias or scales, weight or LoRA B, anything with a row an output
        weight = torch.randn(heads * head_dim, *shape)
        got = convert_layout(weight, to=to, **settings(heads, head_dim, rotary_dim, start))
        assert torch.equal(got, weight[wanted])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_back_and_forth_keeps_every_bit(dtype):
    weight = torch.randint(0, 2, (24, 5)).to(dtype) if dtype == torch.bool else (100 * torch.randn(24, 5)).to(dtype)
    for to, back in (("half", "interleaved"), ("interleaved", "half")):
        there = convert_layout(weight, to=to, n_heads=3, head_dim=8, rotary_dim=6)
        again = convert_layout(there, to=back, n_heads=3, head_dim=8, rotary_dim=6)
        assert there.dtype == again.dtype == dtype
        assert not torch.equal(there.view(torch.uint8), weight.view(torch.uint8))
        assert torch.equal(again.view(torch.uint8), weight.view(torch.uint8))


@pytest.mark.parametrize("rotary_dim", [2, 8])
def test_the_result_is_new_and_contiguous(rotary_dim):
    weight = torch.nn.Parameter(torch.randn(5, 16).t())  # the columns of another tensor, as a transposed Conv1D weight is
    got = convert_layout(weight, to="half", n_heads=2, head_dim=8, rotary_dim=rotary_dim)
    before = weight.detach().clone()
    assert got.is_contiguous()
    assert not got.requires_grad
    got.zero_()
    assert torch.equal(weight, before)


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize(("head_dim", "rotary_dim", "start"), [(6, 6, 0), (10, 6, 2)])
def test_scores_stay_and_outputs_move(head_dim, rotary_dim, start, heads, kv_heads):
    """Turned vectors are permuted, scores are what they were, in both directions."""
    x, places = torch.randn(2, 7, 5, dtype=torch.float64), range(3, 10)
    q_weight, k_weight = (torch.randn(n * head_dim, 5, dtype=torch.float64) for n in (heads, kv_heads))
    turn = {"head_dim": head_dim, "rotary_dim": rotary_dim, "rotary_start": start}

    def turned(layout, q_weight, k_weight):
        rope = Rope(layout=layout, **turn)
        q, k = ((x @ weight.t()).view(2, 7, -1, head_dim).transpose(1, 2) for weight in (q_weight, k_weight))
        q, k = rope.queries(q, places), rope.keys(k, places)
        return q, k, q @ k.repeat_interleave(heads // kv_heads, dim=1).mT

    for old, new in (("interleaved", "half"), ("half", "interleaved")):
        wanted = turned(old, q_weight, k_weight)
        converted = [convert_layout(w, to=new, n_heads=heads, n_kv_heads=kv_heads, **turn) for w in (q_weight, k_weight)]
        got = turned(new, *converted)
        order = moved(list(range(head_dim)), new, 1, head_dim, rotary_dim, start)
        for ours, theirs in zip(got[:2], wanted[:2], strict=True):
            assert (ours - theirs[..., order]).abs().max() < 1e-12
        assert (got[2] - wanted[2]).abs().max() < 1e-12
        assert (turned(new, q_weight, k_weight)[2] - wanted[2]).abs().max() > 0.1  # without conversion: another model


def test_lora_factors():
    a, b = torch.randn(4, 12), torch.randn(24, 4)
    options = {"to": "half", "n_heads": 3, "head_dim": 8}
    whole, parts = convert_layout(b @ a, **options), convert_layout(b, **options) @ a
    assert (whole - parts).abs().max() < 1e-6
    with pytest.raises(ValueError, match=r"needed 24 rows \(n_heads=3 x head_dim=8\), got float32 \[4, 12\]; a LoRA A factor"):
        convert_layout(a, **options)


@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize(("heads", "head_dim"), [(1, 6), (3, 6), (4, 32)])
def test_transformers_own_operations(heads, head_dim, ndim):
    weight = torch.randn(heads * head_dim, *[7] * (ndim - 1))
    config = SimpleNamespace(num_attention_heads=heads)
    for to, inverse in (("half", False), ("interleaved", True)):
        theirs = PermuteForRope(inverse=inverse)._permute_for_rope(weight, config)
        assert torch.equal(convert_layout(weight, to=to, n_heads=heads, head_dim=head_dim), theirs)
    theirs = LlamaTensorProcessor()._reverse_permute_weights(weight.numpy(), 2 * heads, heads)
    ours = convert_layout(weight, to="half", n_heads=2 * heads, n_kv_heads=heads, head_dim=head_dim)
    assert torch.equal(ours, torch.from_numpy(theirs))


def test_transformers_operation_takes_the_query_heads_for_keys():
    """Of grouped keys it makes something else: the reason for n_kv_heads."""
    keys, config = torch.randn(2 * 6, 7), SimpleNamespace(num_attention_heads=3)
    theirs = PermuteForRope()._permute_for_rope(keys, config)
    ours = convert_layout(keys, to="half", n_heads=4, n_kv_heads=2, head_dim=6)
    assert torch.equal(ours, keys[moved(list(range(12)), "half", 2, 6, 6, 0)])
    assert not torch.equal(ours, theirs)


def test_smollm2_in_both_layouts(smollm2_gguf, smollm2_tensors):
    """The file keeps interleaved pairs, the model that transformers makes of it half pairs; also row by row of packed bytes."""
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM.from_pretrained(smollm2_gguf.parent, gguf_file=smollm2_gguf.name, config=config)
    heads = {"n_heads": 9, "n_kv_heads": 3, "head_dim": 64}
    for i, layer in enumerate(model.model.layers):
        for x, projection in (("q", layer.self_attn.q_proj), ("k", layer.self_attn.k_proj)):
            tensor, wanted = smollm2_tensors[f"{i}.{x}"], projection.weight.detach()
            stored = torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type))
            assert not torch.equal(stored, wanted)
            assert torch.equal(convert_layout(stored, to="half", **heads), wanted)
            assert torch.equal(convert_layout(wanted, to="interleaved", **heads), stored)
            packed = convert_layout(torch.from_numpy(tensor.data.copy()), to="half", **heads).numpy()
            assert torch.equal(torch.from_numpy(gguf.dequantize(packed, tensor.tensor_type)), wanted)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"to": "halves"}, "to: needed one of half, interleaved, got 'halves'"),
        ({"n_heads": 0}, "n_heads: needed a whole number >= 1, got 0"),
        ({"n_kv_heads": 2}, "n_kv_heads: needed a divisor of n_heads=3, got 2"),
        ({"head_dim": 7, "rotary_dim": 3}, "rotary_dim: needed an even number from 2 to 7 (head_dim=7, rotary_start=0), got 3"),
        ({"rotary_start": 7}, "rotary_start: needed room for a pair in head_dim=8, got 7"),
        ({"to": None, "n_heads": 1.0, "head_dim": True}, "to: needed one of half, interleaved, got None; n_heads: needed a whole"),
        ({"to": None, "n_heads": 1.0, "head_dim": True}, "got 1.0; head_dim: needed a whole number >= 1, got True"),
        ({"weight": torch.zeros(23, 2)}, "weight: needed 24 rows (n_heads=3 x head_dim=8), got float32 [23, 2]"),
        ({"weight": torch.zeros(16), "n_kv_heads": 1}, "24 rows (n_heads=3 x head_dim=8) or 8 (n_kv_heads=1 x head_dim=8), got"),
        ({"weight": torch.zeros(72, 2)}, "weight.split((24, 24, 24)) where they follow one another"),
        ({"weight": torch.zeros(40, 2), "n_kv_heads": 1}, "weight.split((24, 8, 8))"),
        ({"weight": torch.tensor(1.0)}, "weight: needed a tensor with one row an output, got float32 []"),
        ({"weight": [[1.0]]}, "weight: needed a tensor with one row an output, got list [[1.0]]; torch.from_numpy takes arrays"),
    ],
)
def test_faults(changes, message):
    arguments = {"weight": torch.zeros(24, 2), "to": "half", "n_heads": 3, "head_dim": 8, **changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        convert_layout(arguments.pop("weight"), **arguments)
