"""Deberta against transformers' DeBERTa v1: clipped distances, queries, keys and values packed per head, projections of its own."""

import pytest
import torch
from transformers import DebertaConfig
from transformers.models.deberta import modeling_deberta as deberta

from ordinate import Deberta, DebertaTable, attend
from ordinate.positions import from_padding_mask

TOKENS = torch.randint(3, 60, (2, 60), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions with outputs of size 1 to 10, their scores sums of three products in another order: a few ulp.
BOUND = 1e-5
BOTH = ("c2p", "p2c")


def model_of(lively, terms=BOTH, span=-1, max_length=16):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    places = {"max_position_embeddings": max_length, "max_relative_positions": span, "position_biased_input": False}
    config = DebertaConfig(vocab_size=64, relative_attention=True, pos_att_type=list(terms), **sizes, **places)
    model = lively(deberta.DebertaModel(config))
    with torch.no_grad():
        # as large as what the projections meet in v2, where the rows are normalised
        model.encoder.rel_embeddings.weight.mul_(4)
    return model


def scheme_of(layer, terms=BOTH):
    sizes = {"n_heads": 4, "head_dim": 8, "max_distance": layer.max_relative_positions}
    return Deberta(**sizes, content_to_position="c2p" in terms, position_to_content="p2c" in terms)


def tables(model, layer, terms=BOTH):
    """The model's relative table in this layer's projections."""
    shared = DebertaTable(d_model=32, span=layer.max_relative_positions, layer_norm=False)
    shared.load_state_dict(model.encoder.rel_embeddings.state_dict(), strict=True)
    projections = {"keys": getattr(layer, "pos_proj", None), "queries": getattr(layer, "pos_q_proj", None)}
    needed = {"keys": "c2p" in terms, "queries": "p2c" in terms}
    return {name: projections[name](shared.table()).unflatten(-1, (4, 8)) for name in needed if needed[name]}


def paper_index(table):
    """The row of every negated distance: the third term read as in the paper."""
    return table[(len(table) - torch.arange(len(table))).clamp(max=len(table) - 1)]


def ours(layer, x, scheme, places, **rest):
    q, k, v = layer.in_proj(x).unflatten(-1, (4, 24)).transpose(1, 2).chunk(3, dim=-1)
    q, v = q + layer.q_bias.view(4, 1, 8), v + layer.v_bias.view(4, 1, 8)
    out = attend(q, k, v, scheme=scheme, q_positions=places, k_positions=places, causal=False, **rest)
    return out.transpose(1, 2).flatten(2)


@pytest.mark.parametrize("span", [-1, 5, 64])
@pytest.mark.parametrize("length", [1, 7, 60])
@pytest.mark.parametrize("terms", [BOTH, ("c2p",), ("p2c",)], ids="+".join)
def test_attention(terms, length, span, lively, watched, near):
    model = model_of(lively, terms, span)
    layer = model.encoder.layer[1].attention.self
    seen = watched(model, layer, TOKENS[:, :length])
    scheme = scheme_of(layer, terms)
    assert scheme.span == (16 if span == -1 else span)
    with torch.no_grad():
        extras = tables(model, layer, terms)
        out = ours(layer, seen["x"], scheme, range(length), extras=extras)
        near(f"DeBERTa {'+'.join(terms)}, length {length}, span {scheme.span}", out, seen["out"], BOUND)
        if length > 1:
            scale = scheme.softmax_scale(8)
            assert (ours(layer, seen["x"], None, range(length), scale=scale) - seen["out"]).abs().max() > 0.1
            backwards = ours(layer, seen["x"], scheme, range(length, 0, -1), extras=extras)
            assert (backwards - seen["out"]).abs().max() > 0.1


@pytest.mark.parametrize(("terms", "factor"), [(BOTH, 3), (("c2p",), 2), (("p2c",), 2)])
def test_softmax_scale(terms, factor, lively, watched):
    model = model_of(lively, terms)
    layer = model.encoder.layer[0].attention.self
    seen = watched(model, layer, TOKENS[:, :10])
    assert scheme_of(layer, terms).softmax_scale(8) == (8 * factor) ** -0.5
    with torch.no_grad():
        wrong = ours(layer, seen["x"], scheme_of(layer, terms), range(10), scale=8**-0.5, extras=tables(model, layer, terms))
        assert (wrong - seen["out"]).abs().max() > 0.1


@pytest.mark.parametrize("terms", [BOTH, ("p2c",)], ids="+".join)
def test_the_papers_index_is_another_model(terms, lively, watched):
    model = model_of(lively, terms)
    layer = model.encoder.layer[0].attention.self
    seen = watched(model, layer, TOKENS)
    with torch.no_grad():
        extras = tables(model, layer, terms)
        extras["queries"] = paper_index(extras["queries"])
        assert (ours(layer, seen["x"], scheme_of(layer, terms), range(60), extras=extras) - seen["out"]).abs().max() > 0.1


def test_left_padded_attention(padded, lively, watched, near):
    tokens, mask = padded
    model = model_of(lively, span=5)
    layer, real, places = model.encoder.layer[1].attention.self, mask.bool(), from_padding_mask(mask)
    seen = watched(model, layer, tokens, attention_mask=mask)
    with torch.no_grad():
        extras = tables(model, layer)
        out = ours(layer, seen["x"], scheme_of(layer), places, mask=real[:, None, None, :], extras=extras)
        near("DeBERTa, left-padded", out[real], seen["out"][real], BOUND)
        assert (ours(layer, seen["x"], scheme_of(layer), places, extras=extras) - seen["out"])[real].abs().max() > 0.1


def test_whole_model(lively, monkeypatch, near):
    model = model_of(lively)
    with torch.no_grad():
        theirs = model(TOKENS).last_hidden_state
        for block in model.encoder.layer:
            layer = block.attention.self

            def forward(x, *_, layer=layer, **__):
                return ours(layer, x, scheme_of(layer), range(60), extras=tables(model, layer)), None

            monkeypatch.setattr(layer, "forward", forward)
        # two attentions one after another
        near("DeBERTa, the whole model", model(TOKENS).last_hidden_state, theirs, 2 * BOUND)
