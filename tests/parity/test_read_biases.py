"""Biases as ``read`` plans them, ALiBi of BLOOM, MPT and Falcon and T5's buckets, against the models' own tensors and attention."""

import math

import pytest
import torch
from reading_models import config_of, plan_of
from reading_spy import lively
from transformers import AutoModel, Pop2PianoForConditionalGeneration
from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom_row
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon_row
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor as mpt_row

from ordinate import attend

LENGTH = 40
TOKENS = torch.randint(3, 60, (1, LENGTH), generator=torch.Generator().manual_seed(0))
HEADS = [*range(1, 18), 24, 32, 71, 112]
# Two float32 softmax attentions over 40 keys with outputs of size 1 to 10, scores of another size: a few ulp.
BOUND = 2e-5
ENDS = {"vocab_size": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
T5 = {**ENDS, "d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 4}
T5 |= {"decoder_start_token_id": 0}


def alibi_values(model_type, n_heads, **changes):
    width = 8 * n_heads
    sizes = {
        "bloom": {"hidden_size": width, "n_layer": 2, "n_head": n_heads},
        "mpt": {"d_model": width, "n_heads": n_heads, "n_layers": 2, "max_seq_len": 2 * LENGTH, "attn_config": {"alibi": True}},
        "falcon": {
            "hidden_size": width,
            "num_hidden_layers": 2,
            "num_attention_heads": n_heads,
            "alibi": True,
            "multi_query": False,
        },
    }
    return {"model_type": model_type, **ENDS, **sizes[model_type], **changes}


def row_of(model_type, n_heads):
    """What the model adds to the scores of every query, [H, K]."""
    if model_type == "mpt":
        return mpt_row(n_heads, LENGTH)[:, 0]
    make = bloom_row if model_type == "bloom" else falcon_row
    return make(torch.ones(1, LENGTH, dtype=torch.int64), n_heads, torch.float32)[:, 0]


def bias_of(plan, index=0):
    scheme = plan.build().layers[index]
    nothing = torch.zeros(1, scheme.n_heads, LENGTH, 8)
    return scheme.bias(nothing, nothing, scheme.at(range(LENGTH), range(LENGTH)))[0]


@pytest.mark.parametrize("n_heads", HEADS)
@pytest.mark.parametrize("model_type", ["bloom", "mpt", "falcon"])
def test_alibi_up_to_a_constant_per_row(model_type, n_heads):
    plan = plan_of(alibi_values(model_type, n_heads))
    layer, row = plan.layers[0], row_of(model_type, n_heads).double()
    if model_type == "falcon":  # slopes are bfloat16, so that some products are too: the first one is the slope itself
        assert layer.scheme.slopes == tuple(slope * layer.softmax_scale for slope in row[:, 1].tolist())
        return
    last = bias_of(plan)[:, -1].double()
    # exponents and powers are float32 there: a power of up to n_heads multiplies a rounding by as much
    bound = (n_heads + 4) * 2.0**-23 * row.abs().amax(dim=1, keepdim=True)
    assert ((last - last[:, -1:]) - (row - row[:, -1:])).abs().le(bound).all()
    moved = last.roll(1, dims=0)
    assert n_heads == 1 or not torch.allclose(moved - moved[:, -1:], row - row[:, -1:], rtol=0.1)


def scale_in(model_type, module):
    return module.softmax_scale if model_type == "mpt" else module.inv_norm_factor


@pytest.mark.parametrize("n_heads", [1, 3, 4, 7])
@pytest.mark.parametrize("model_type", ["bloom", "mpt", "falcon"])
def test_alibis_softmax_scale(model_type, n_heads):
    values = alibi_values(model_type, n_heads)
    model, plan = AutoModel.from_config(config_of(values)), plan_of(values)
    scales = {scale_in(model_type, module) for module in model.modules() if hasattr(module, "head_dim")}
    assert all(math.isclose(layer.softmax_scale, scale, rel_tol=2**-52) for layer in plan.layers for scale in scales)
    assert len(scales) == 1
    assert plan.stack().causal
    assert len(plan.layers) == 2


def test_mpts_own_softmax_scale():
    values = alibi_values("mpt", 4, attn_config={"softmax_scale": 0.123})
    model = AutoModel.from_config(config_of(values))
    assert model.blocks[1].attn.softmax_scale == plan_of(values).layers[1].softmax_scale == 0.123


@pytest.mark.parametrize("n_heads", [4, 6])
@pytest.mark.parametrize("model_type", ["bloom", "mpt"])
def test_alibis_attention(model_type, n_heads, watched, near):
    values = alibi_values(model_type, n_heads)
    model, plan = lively(AutoModel.from_config(config_of(values))), plan_of(values)
    layer = model.h[1].self_attention if model_type == "bloom" else model.blocks[1].attn
    seen = watched(model, layer, TOKENS)
    with torch.no_grad():
        if model_type == "bloom":
            q, k, v = layer.query_key_value(seen["x"]).view(1, LENGTH, n_heads, 3, 8).permute(3, 0, 2, 1, 4)
        else:
            q, k, v = (part.view(1, LENGTH, n_heads, 8).transpose(1, 2) for part in layer.Wqkv(seen["x"]).chunk(3, dim=-1))
        out = attention(plan.stack(), 1, q, k, v).transpose(1, 2).flatten(2)
        ours = layer.dense(out) + seen["inputs"][1] if model_type == "bloom" else layer.out_proj(out)
    near(f"{model_type}, {n_heads} heads", ours, seen["out"], BOUND)


@pytest.mark.parametrize("n_heads", [4, 8])
def test_falcons_attention(n_heads, watched, near):
    """Slopes that are powers of two, so that their products are exact in bfloat16 too; not its eager attention, which errs."""
    values = alibi_values("falcon", n_heads)
    model, plan = lively(AutoModel.from_config(config_of(values), attn_implementation="sdpa")), plan_of(values)
    layer = model.h[1].self_attention
    seen = watched(model, layer, TOKENS)
    with torch.no_grad():
        q, k, v = (part.transpose(1, 2) for part in layer._split_heads(layer.query_key_value(seen["x"])))
        out = layer.dense(attention(plan.stack(), 1, q, k, v).transpose(1, 2).flatten(2))
    near(f"falcon, {n_heads} heads", out, seen["out"], BOUND)


def attention(stack, index, q, k, v, scheme=None):
    layer = stack.layers[index]
    scheme = stack.build().layers[index] if scheme is None else scheme
    places = {"q_positions": range(q.shape[2]), "k_positions": range(k.shape[2])}
    return attend(q, k, v, scheme=scheme, **places, causal=stack.causal, scale=layer.softmax_scale)


def t5_of(model_type, buckets, farthest):
    sizes = {"relative_attention_num_buckets": buckets, "relative_attention_max_distance": farthest}
    values = {"model_type": model_type, **T5, **sizes}
    make = Pop2PianoForConditionalGeneration._from_config if model_type == "pop2piano" else AutoModel.from_config
    return lively(make(config_of(values))), plan_of(values)


def attentions(model, side):
    return [block.layer[0].SelfAttention for block in getattr(model, side).block]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 20)])
@pytest.mark.parametrize("model_type", ["t5", "mt5", "umt5", "switch_transformers", "pop2piano"])
def test_t5s_bias_bit_for_bit(model_type, buckets, farthest, side):
    model, plan = t5_of(model_type, buckets, farthest)
    stack, layers = plan.stack(side), attentions(model, side)
    tables = [layer for layer in layers if layer.has_relative_attention_bias]
    assert len(tables) == len({layer.scheme.table for layer in stack.layers}) == (len(layers) if model_type == "umt5" else 1)
    built = stack.build()
    for planned, scheme in zip(stack.layers, built.layers, strict=True):
        own = tables[planned.scheme.table]
        scheme.load_state_dict({"weight": own.relative_attention_bias.weight}, strict=True)
        nothing = torch.zeros(1, 4, 300, 8)
        with torch.no_grad():
            theirs = own.compute_bias(300, 300)
            assert torch.equal(scheme.bias(nothing, nothing, scheme.at(range(300), range(300))), theirs)
    assert len(built.schemes) == len(tables)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("model_type", ["t5", "umt5", "switch_transformers", "pop2piano"])
def test_t5s_attention(model_type, side, watched, near):
    model, plan = t5_of(model_type, 8, 20)
    stack, layers = plan.stack(side), attentions(model, side)
    for index, layer in enumerate(layers):
        seen = watched(model, layer, input_ids=TOKENS, decoder_input_ids=TOKENS)
        scheme = stack.build().layers[index]
        table = layers[stack.layers[index].scheme.table].relative_attention_bias
        scheme.load_state_dict(table.state_dict(), strict=True)
        with torch.no_grad():
            q, k, v = (part(seen["x"]).unflatten(-1, (4, 8)).transpose(1, 2) for part in (layer.q, layer.k, layer.v))
            out = layer.o(attention(stack, index, q, k, v, scheme).transpose(1, 2).flatten(2))
            near(f"{model_type} {side}, layer {index}", out, seen["out"], BOUND)
            scheme.load_state_dict({"weight": table.weight.roll(1, dims=0)}, strict=True)
            wrong = layer.o(attention(stack, index, q, k, v, scheme).transpose(1, 2).flatten(2))
            assert (wrong - seen["out"]).abs().max() > 0.1


def test_t5s_cross_attention(watched, near):
    model, plan = t5_of("t5", 8, 20)
    layer, planned = model.decoder.block[1].layer[1].EncDecAttention, plan.stack("decoder").cross_attention
    seen = watched(model, layer, input_ids=TOKENS, decoder_input_ids=TOKENS[:, :7])
    source = seen["result"].encoder_last_hidden_state
    with torch.no_grad():
        q, k, v = (
            part(x).unflatten(-1, (4, 8)).transpose(1, 2)
            for part, x in ((layer.q, seen["x"]), (layer.k, source), (layer.v, source))
        )
        places = {"q_positions": range(7), "k_positions": range(LENGTH)}
        out = attend(q, k, v, scheme=planned.scheme, **places, causal=False, scale=planned.softmax_scale)
        near("T5 cross", layer.o(out.transpose(1, 2).flatten(2)), seen["out"], BOUND)
    assert plan.stack("encoder").cross_attention is None
