"""What attention does in models with position vectors at the input: softmax scale, sight and windows, against their own weights."""

import dataclasses

import pytest
import torch
from reading_spy import lively
from reading_tables import MODELS, inputs_of, model_of, padded_batch, plan_for

BOUND = 3e-6  # two float32 softmaxes of the same scores
SHOWS = 1e-3
FACTOR = 2000
ORDERS = {"squeezebert": (1, 2), "fsmt": (0, 1)}  # [B, C, T] and [T, B, C]
CROSSING = ("trocr", "musicgen_decoder")
SIDES = [
    (model_type, side)
    for model_type in MODELS
    for side in ("encoder", "decoder")
    if side in {s.name for s in plan_for(model_type).stacks}
]
SUFFIXES = {"query": "query", "q_proj": "query", "q_lin": "query", "key": "key", "k_proj": "key", "k_lin": "key", "c_attn": "both"}


def drawn(model):
    """Weights that make attention far from uniform, and do not make it choose one key alone."""
    kind = model.config.model_type
    model = model if kind == "mobilebert" else lively(model)  # without norms, its vectors would grow from layer to layer
    with torch.no_grad():
        for name, weight in model.named_parameters():
            asking = "query" in name or "key" in name
            if kind == "mobilebert" and asking and weight.ndim == 2:
                weight.mul_(FACTOR)
            if kind == "squeezebert" and weight.ndim == 3:  # convolutions of width 1
                weight.mul_(0.1 if asking else 0.2)
    return model


def heads_of(x, n_heads, model_type):
    if model_type in ORDERS:
        x = x.transpose(*ORDERS[model_type])
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def projected(model, part, inputs):
    """Queries and keys of one part's layers in the order of the layers, and what the model gave."""
    seen = {"query": [], "key": []}

    def keep(role):
        def hook(_, __, out):
            out = out[0] if isinstance(out, tuple) else out
            query, key = out.chunk(3, dim=-1)[:2] if role == "both" else (out, out)
            seen["query"] += [query] * (role != "key")
            seen["key"] += [key] * (role != "query")

        return hook

    handles = []
    for name, module in model.named_modules():
        role = SUFFIXES.get(name.split(".")[-1])
        if role and part(name):
            handles.append(module.register_forward_hook(keep(role)))
    with torch.no_grad():
        out = model(**inputs, output_attentions=True, use_cache=False)
    for handle in handles:
        handle.remove()
    return seen["query"], seen["key"], out


def part_of(model, side, *, cross=False):
    """Whether a module's name is of a stack's own attention, or of its attention to another one."""
    if model.config.is_encoder_decoder or model.config.model_type in CROSSING:
        wanted = f"{side}.layers"
        return lambda name: wanted in name and ("encoder_attn" in name or "cross_attention" in name) == cross
    return lambda _: True


def weights_by(layer, causal, query, key, n_heads, model_type):
    """Softmax of the scores with the plan's scale and window."""
    q, k = (heads_of(x, n_heads, model_type) for x in (query, key))
    scores = q @ k.transpose(-1, -2) * layer.softmax_scale
    distance = torch.arange(k.shape[2]) - torch.arange(q.shape[2])[:, None]
    hidden = (distance > 0) if causal else torch.zeros_like(distance, dtype=torch.bool)
    if layer.window is not None:
        hidden = hidden | (distance.abs() >= layer.window)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)


def given(out, side):
    if getattr(out, f"{side}_attentions", None) is not None:
        return getattr(out, f"{side}_attentions")
    return out.attentions


def inputs_for(model):
    tokens, mask = padded_batch("none")
    if model.config.model_type.startswith("musicgen"):
        return {"input_ids": torch.cat((tokens, tokens)), "encoder_hidden_states": torch.randn(2, 7, 48)}
    if model.config.model_type == "trocr":
        return {"input_ids": tokens, "encoder_hidden_states": torch.randn(2, 7, model.config.hidden_size)}
    inputs = inputs_of(model, tokens, mask)
    if model.config.model_type == "speech_to_text":
        inputs["attention_mask"] = torch.ones_like(inputs["attention_mask"])
    return inputs


@pytest.mark.parametrize(("model_type", "side"), [case for case in SIDES if case[0] != "gpt_bigcode"])
def test_attention_weights(model_type, side, near):
    changes = {"scale_attn_by_inverse_layer_idx": True} if model_type in ("gpt2", "imagegpt") else {}
    model, stack = drawn(model_of(model_type, **changes)), plan_for(model_type, **changes).stack(side)
    queries, keys, out = projected(model, part_of(model, side), inputs_for(model))
    theirs = given(out, side)
    assert len(theirs) == len(stack.layers) == len(queries) == len(keys)
    for layer, query, key, weights in zip(stack.layers, queries, keys, theirs, strict=True):
        assert layer.scheme is None
        weights = weights.softmax(dim=-1) if model_type == "squeezebert" else weights  # it gives its scores
        made = weights_by(layer, stack.causal, query, key, weights.shape[1], model_type)
        near(f"{model_type} {side}", made, weights, BOUND)
        wrong = dataclasses.replace(layer, softmax_scale=1.1 * layer.softmax_scale)
        assert (weights_by(wrong, stack.causal, query, key, weights.shape[1], model_type) - weights).abs().max() > SHOWS
    assert len({layer.softmax_scale for layer in stack.layers}) == (3 if changes else 1)


@pytest.mark.parametrize(
    "model_type", [model_type for model_type, side in SIDES if plan_for(model_type).stack(side).cross_attention]
)
def test_cross_attention_weights(model_type, near):
    model, stack = drawn(model_of(model_type)), plan_for(model_type).stack("decoder")
    queries, keys, out = projected(model, part_of(model, "decoder", cross=True), inputs_for(model))
    assert len(out.cross_attentions) == len(stack.layers) == len(queries)
    for query, key, weights in zip(queries, keys, out.cross_attentions, strict=True):
        made = weights_by(stack.cross_attention, False, query, key, weights.shape[1], model_type)
        near(f"{model_type} cross", made, weights, BOUND)


def test_gpt_bigcodes_scale():
    for scaled in (True, False):
        model = model_of("gpt_bigcode", scale_attn_weights=scaled)
        own = [block.attn.scaling for block in model.h]
        assert [layer.softmax_scale for layer in plan_for("gpt_bigcode", scale_attn_weights=scaled).layers] == own
