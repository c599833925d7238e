"""Learned against reference.py and rows picked by hand."""

import numpy as np
import pytest
import torch

from ordinate import Learned, TokenAndPositionEmbedding, reference

PLACES = {
    "range": range(4),
    "later range": range(3, 7),
    "falling range": range(6, -1, -2),
    "shuffled": torch.tensor([3, 3, 0, 6]),
    "int32": torch.tensor([6, 0], dtype=torch.int32),
    "rows": torch.tensor([[0, 1, 2], [6, 0, 4]]),
    "nothing": range(0),
    "nothing, written backwards": range(5, 3),
}


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("padding_offset", [0, 2])
@pytest.mark.parametrize("overflow", ["error", "wrap", "clamp"])
def test_rows(overflow, padding_offset, kind):
    table = Learned(max_length=7, d_model=5, padding_offset=padding_offset, overflow=overflow)
    assert table.weight.shape == (7 + padding_offset, 5)
    places = PLACES[kind]
    flat = list(places) if isinstance(places, range) else places.flatten().tolist()
    want = reference.learned(table.weight.detach().double().numpy(), flat, padding_offset, overflow)
    assert np.array_equal(table.at(places).detach().double().reshape(-1, 5).numpy(), want)


@pytest.mark.parametrize("padding_offset", [0, 2])
@pytest.mark.parametrize("places", [range(5, 100, 9), torch.tensor([[7, 6], [8, 2**40]])])
@pytest.mark.parametrize("overflow", ["wrap", "clamp"])
def test_past_the_end(overflow, places, padding_offset):
    table = Learned(max_length=7, d_model=2, padding_offset=padding_offset, overflow=overflow)
    flat = list(places) if isinstance(places, range) else places.flatten().tolist()
    want = reference.learned(table.weight.detach().double().numpy(), flat, padding_offset, overflow)
    assert np.array_equal(table.at(places).detach().double().reshape(-1, 2).numpy(), want)


def test_the_notes_table_of_32_wraps_around():
    table = Learned(max_length=32, d_model=4, overflow="wrap")
    assert torch.equal(table.at(range(70)), table.weight[torch.arange(70) % 32])


def test_rows_by_hand():
    table = Learned(max_length=3, d_model=2, padding_offset=1, overflow="clamp")
    table.load_state_dict({"weight": torch.tensor([[-1.0, -1.0], [0.0, 10.0], [1.0, 11.0], [2.0, 12.0]])}, strict=True)
    assert table.at(torch.tensor([0, 2, 5])).tolist() == [[0, 10], [2, 12], [2, 12]]
    out = table(torch.tensor([[[100.0, 200.0], [300.0, 400.0]]]), range(1, 3))
    assert out.tolist() == [[[101, 211], [302, 412]]]


def test_sum_by_rows():
    table, x = Learned(max_length=7, d_model=4), torch.randn(2, 3, 4)
    out = table(x, torch.tensor([[0, 1, 2], [6, 0, 4]]))
    for b, row in enumerate([[0, 1, 2], [6, 0, 4]]):
        for t, place in enumerate(row):
            assert torch.equal(out[b, t], x[b, t] + table.weight[place])


@pytest.mark.parametrize("places", [range(3), torch.arange(3), torch.arange(3)[None]])
def test_without_a_batch(places):
    table = Learned(max_length=7, d_model=4)
    out = table(torch.zeros(3, 4), places)
    assert out.shape == (3, 4)
    assert torch.equal(out, table.weight[:3])


@pytest.mark.parametrize("padding_offset", [0, 2])
def test_gradient_reaches_the_rows_that_were_read(padding_offset):
    table = Learned(max_length=4, d_model=2, padding_offset=padding_offset)
    table.at(torch.tensor([[3, 1], [3, 0]])).sum().backward()
    reads = [0] * padding_offset + [1, 1, 0, 2]
    assert table.weight.grad.tolist() == [[n, n] for n in reads]


def test_a_half_precision_table_keeps_the_dtype_of_x():
    table, x = Learned(max_length=4, d_model=8).to(torch.bfloat16), torch.randn(1, 4, 8)
    out = table(x, range(4))
    assert out.dtype == torch.float32
    assert torch.equal(out, x + table.weight.float())
    assert table(x.bfloat16(), range(4)).dtype == torch.bfloat16
    assert table.at(range(2), dtype=torch.float64).dtype == torch.float64


def test_initial_weights_are_bert_s():
    torch.manual_seed(0)
    weight = Learned(max_length=512, d_model=768).weight
    assert weight.numel() == 393216  # "0.4 million in BERT-base"
    assert abs(weight.std().item() - 0.02) < 2e-4  # nine standard deviations of the estimate
    assert weight.abs().max() > 0.06


def test_dropout_acts_on_the_sum_in_training():
    torch.manual_seed(0)
    table, x = Learned(max_length=200, d_model=64, dropout=0.5), torch.full((1, 200, 64), 5.0)
    full = table.eval()(x, range(200))
    out = table.train()(x, range(200))
    kept = out != 0
    assert torch.equal(out[kept], (2 * full)[kept])
    assert abs(kept.float().mean() - 0.5) < 0.03  # 12800 draws: six standard deviations


def test_token_and_position_embedding():
    embed = TokenAndPositionEmbedding(vocabulary_size=9, d_model=4, scheme=Learned(max_length=7, d_model=4), scale=None)
    assert sorted(embed.state_dict()) == ["scheme.weight", "tokens.weight"]
    tokens = torch.tensor([[2, 7, 7], [0, 1, 8]])
    assert torch.equal(embed(tokens, range(3)), embed.tokens.weight[tokens] + embed.scheme.weight[:3])
