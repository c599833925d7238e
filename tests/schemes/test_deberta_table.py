"""DebertaTable against the layer norm's formula and numbers by hand."""

import numpy as np
import pytest
import torch
from score_tools import loud, numbers

from ordinate import Deberta, DebertaTable


@pytest.mark.parametrize("size", [1.0, 0.02, 3e-4, 0.0])  # at the smallest rows a wrong epsilon is far off
def test_layer_norm(size):
    table = loud(DebertaTable(d_model=6, span=3, layer_norm=True)).double()
    with torch.no_grad():
        table.weight *= size
    rows, gain, shift = (numbers(x) for x in (table.weight, table.norm.weight, table.norm.bias))
    for given, row in zip(numbers(table.table()), rows, strict=True):
        mean = sum(row) / 6
        variance = sum((x - mean) ** 2 for x in row) / 6
        want = [(x - mean) / (variance + 1e-7) ** 0.5 * g + b for x, g, b in zip(row, gain, shift, strict=True)]
        assert np.abs(given - want).max() < 1e-12


def test_without_a_norm_the_rows_are_the_weights():
    table = loud(DebertaTable(d_model=4, span=2, layer_norm=False))
    assert sorted(table.state_dict()) == ["weight"]
    assert torch.equal(table.table(), table.weight)
    assert torch.equal(table(), table.weight)


def test_row_r_is_the_distance_r_minus_span():
    deberta = Deberta(n_heads=1, head_dim=1, content_to_position=True, position_to_content=False, max_distance=3)
    table = DebertaTable(d_model=1, span=deberta.span, layer_norm=False)
    table.load_state_dict({"weight": torch.arange(-3.0, 3.0)[:, None]})
    one = torch.ones(1, 1, 6, 1)
    bias = deberta.bias(one[:, :, :1], one, deberta.at(range(5, 6), range(3, 9)), keys=table.table()[:, None])
    assert np.abs(numbers(bias).flatten() * 2**0.5 - [2, 1, 0, -1, -2, -3]).max() < 1e-6


def test_dropout_acts_in_training_only_and_is_rescaled():
    table = DebertaTable(d_model=64, span=100, layer_norm=True, dropout=0.25)
    full = table.eval().table()
    assert full.all()
    out = table.train().table()
    kept = out != 0
    assert torch.allclose(out[kept], full[kept] / 0.75, rtol=1e-6)
    assert abs(kept.float().mean() - 0.75) < 0.023  # 12800 draws: six standard deviations
    assert not torch.equal(table.table(), out)
    assert torch.equal(table.eval().table(), full)


def test_initial_weights():
    table = DebertaTable(d_model=768, span=256, layer_norm=True)
    assert table.weight.shape == (512, 768)
    assert abs(table.weight.std().item() - 0.02) < 2e-4  # nine standard deviations of the estimate
    assert table.norm.weight.tolist() == [1] * 768
    assert table.norm.bias.tolist() == [0] * 768


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_model": 0}, "d_model: needed a whole number >= 1, got 0"),
        ({"d_model": 8.0}, "d_model: needed a whole number >= 1, got float 8.0"),
        ({"d_model": True}, "d_model: needed a whole number >= 1, got bool True"),
        ({"span": 0}, "span: needed a whole number >= 1, got 0"),
        ({"span": None}, "span: needed a whole number >= 1, got NoneType None"),
        ({"layer_norm": None}, "layer_norm: needed True or False, got None"),
        ({"layer_norm": 1}, "layer_norm: needed True or False, got 1"),
        ({"layer_norm": "layer_norm"}, "layer_norm: needed True or False, got 'layer_norm'"),
        ({"dropout": 1.0}, r"dropout: needed a probability in \[0, 1\), got 1.0"),
        ({"dropout": -0.1}, r"dropout: needed a probability in \[0, 1\), got -0.1"),
        ({"dropout": None}, r"dropout: needed a probability in \[0, 1\), got None"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        DebertaTable(**{"d_model": 8, "span": 2, "layer_norm": True, **change})


def test_layer_norm_has_no_default():
    with pytest.raises(TypeError, match="layer_norm"):
        DebertaTable(d_model=8, span=2)
