"""DeBERTa v1 and v2 as ``read`` plans them, for every combination of their switches, against tiny models' own attention."""

import itertools

import pytest
import torch
from reading_models import config_of, plan_of
from reading_spy import lively
from transformers import AutoModel

from ordinate import attend

LENGTH = 40
TOKENS = torch.randint(3, 60, (1, LENGTH), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions with outputs of size 1 to 10, their scores sums of three products in another order: a few ulp.
BOUND = 1e-5
SIZES = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
TERMS = {"both": ["c2p", "p2c"], "c2p": ["c2p"], "p2c": ["p2c"], "spelled": "p2c|c2p", "none": []}
SPANS = {
    "longest": {"max_position_embeddings": 48},
    "span 5": {"max_position_embeddings": 48, "max_relative_positions": 5},
    "8 buckets": {"max_position_embeddings": 48, "position_buckets": 8},
    "8 buckets of 100": {"max_position_embeddings": 48, "position_buckets": 8, "max_relative_positions": 100},
}
SWITCHES = [
    (kind, terms, relative, biased)
    for kind, terms, relative, biased in itertools.product(("deberta", "deberta-v2"), TERMS, (True, False), (True, False))
    if terms != "none" or not relative
]
WIDER = {"attention_head_size": 16}


def values_of(kind, terms="both", *, relative=True, biased=False, **changes):
    switches = {"pos_att_type": TERMS[terms], "relative_attention": relative, "position_biased_input": biased}
    return {"model_type": kind, **SIZES, **SPANS["longest"], **switches, **changes}


def model_of(values):
    model = lively(AutoModel.from_config(config_of(values)))
    if values["model_type"] == "deberta" and values["relative_attention"]:
        with torch.no_grad():
            model.encoder.rel_embeddings.weight.mul_(4)  # as large as where the rows are normalised
    return model


def extras_of(built, model, layer, scheme):
    """The plan's table with the model's weights, in the layer's own projections."""
    norm = getattr(model.encoder, "LayerNorm", None)
    state = {} if norm is None else {f"norm.{name}": weight for name, weight in norm.state_dict().items()}
    built.table.load_state_dict({"weight": model.encoder.rel_embeddings.weight, **state}, strict=True)
    if hasattr(layer, "in_proj"):
        names = {"keys": "pos_proj", "queries": "pos_q_proj"}
    else:
        prefix = "" if layer.share_att_key else "pos_"
        names = {"keys": f"{prefix}key_proj", "queries": f"{prefix}query_proj"}
    table = built.table.eval()()
    return {name: getattr(layer, names[name])(table).unflatten(-1, (4, 8)) for name in scheme.extras}


def vectors_of(layer, x):
    if hasattr(layer, "in_proj"):
        q, k, v = layer.in_proj(x).unflatten(-1, (4, 24)).transpose(1, 2).chunk(3, dim=-1)
        return q + layer.q_bias.view(4, 1, 8), k, v + layer.v_bias.view(4, 1, 8)
    projections = (layer.query_proj, layer.key_proj, layer.value_proj)
    return [projection(x).unflatten(-1, (4, 8)).transpose(1, 2) for projection in projections]


def both(values, watched, scale=None):
    """What the second layer's attention gives, ours and theirs."""
    model, stack = model_of(values), plan_of(values).stack()
    layer, built = model.encoder.layer[1].attention.self, stack.build()
    seen, scheme, planned = watched(model, layer, TOKENS), built.layers[1], stack.layers[1]
    with torch.no_grad():
        extras = None if scheme is None else extras_of(built, model, layer, scheme)
        places = {"q_positions": range(LENGTH), "k_positions": range(LENGTH), "causal": stack.causal}
        scale = planned.softmax_scale if scale is None else scale
        out = attend(*vectors_of(layer, seen["x"]), scheme=scheme, **places, scale=scale, extras=extras)
    return out.transpose(1, 2).flatten(2), seen["out"]


@pytest.mark.parametrize(("kind", "terms", "relative", "biased"), SWITCHES)
def test_switches(kind, terms, relative, biased, watched, near):
    values = values_of(kind, terms, relative=relative, biased=biased)
    ours, theirs = both(values, watched)
    assert theirs.abs().max() > 1.0
    near(f"{kind}, {terms}, relative {relative}", ours, theirs, BOUND)
    scale = plan_of(values).layers[1].softmax_scale
    wrong, _ = both(values, watched, scale=1.2 * scale)
    assert (wrong - theirs).abs().max() > 0.01


@pytest.mark.parametrize("norm", ["none", "layer_norm"])
@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("terms", ["both", "c2p", "p2c"])
def test_spans_and_buckets(terms, span, share, norm, watched, near):
    own = {"share_att_key": share, "norm_rel_ebd": norm, "layer_norm_eps": 1e-5, **SPANS[span]}
    ours, theirs = both(values_of("deberta-v2", terms, **own), watched)
    near(f"DeBERTa v2, {terms}, {span}", ours, theirs, BOUND)


@pytest.mark.parametrize("span", ["longest", "span 5"])
def test_the_first_version_has_no_buckets(span, watched, near):
    ours, theirs = both(values_of("deberta", **SPANS[span]), watched)
    near(f"DeBERTa v1, {span}", ours, theirs, BOUND)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("kind", ["deberta", "deberta-v2"])
def test_rows_of_the_shared_table(kind, span):
    values = {
        **values_of(kind),
        **{key: value for key, value in SPANS[span].items() if kind == "deberta-v2" or "buckets" not in key},
    }
    model, table = model_of(values), plan_of(values).stack().table
    assert 2 * table.span == model.encoder.rel_embeddings.weight.shape[0]
    assert table.d_model == model.encoder.rel_embeddings.weight.shape[1]
    layer = model.encoder.layer[0].attention.self
    assert plan_of(values).layers[0].scheme.max_distance == layer.max_relative_positions


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("kind", ["deberta", "deberta-v2"])
def test_the_table_at_the_input(kind, biased):
    values = values_of(kind, biased=biased)
    model, stack = model_of(values), plan_of(values).stack()
    table = model.embeddings.position_embeddings
    assert (stack.input is None) == (table is None) == (not biased)
    if biased:
        scheme = stack.build().input
        scheme.load_state_dict(table.state_dict(), strict=True)
        assert torch.equal(scheme.eval().at(range(48)), table(torch.arange(48)))


def test_another_span_shows(watched):
    ours, theirs = both(values_of("deberta-v2", **SPANS["8 buckets"]), watched)
    other, _ = both(values_of("deberta-v2", **SPANS["8 buckets of 100"]), watched)
    assert (other - theirs).abs().max() > 0.1 > (ours - theirs).abs().max()


WIDTHS = {"deberta": ("deberta", {}), "deberta-v2": ("deberta-v2", {}), "deberta-v2 attention_head_size": ("deberta-v2", WIDER)}


@pytest.mark.parametrize("name", WIDTHS)
def test_width_of_the_heads(name):
    kind, changes = WIDTHS[name]
    values = values_of(kind, **changes)
    layer, planned = model_of(values).encoder.layer[0].attention.self, plan_of(values).layers[0]
    assert planned.scheme.head_dim == layer.attention_head_size
    assert planned.softmax_scale == (3 * layer.attention_head_size) ** -0.5
