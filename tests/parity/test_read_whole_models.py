"""Attention inside tiny models of transformers, run whole, against ``attend`` driven by ``read``'s plan alone.

Queries, keys and values are the ones the model's own layer made, at angles of 0; from there on scheme, window, chunk, factor of
the queries and softmax scale are the plan's, and what comes out must be what the model's eager attention gave.
"""

import dataclasses

import pytest
import torch
from reading_models import IN_HALVES, MODELS, QUERY_SCALED, plan_of
from reading_multimodal import spread
from reading_rules import new_spelling, plain_spelling
from reading_spy import LENGTH, angles, listen, run, stillness

from ordinate import attend

# Two float32 softmax attentions over 40 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
BOUND = 1e-5
SHOWS = 1e-3
PLACES = torch.arange(LENGTH)
# Each with a rule that changes it most.
RULES = {
    "llama": "llama3",
    "ministral3": "yarn, mscales",
    "mistral4": "yarn, mscales",
    "qwen2": "yarn",
    "gemma3_text": "linear",
    "phi3": "longrope",
    "gpt_neox": "linear",
    "falcon": "linear",
    "glm4": "proportional",
    "deepseek_v2": "yarn, equal mscales",
    "deepseek_v3": "yarn, mscales",
    "gpt_oss": "yarn",
    "olmo3": "yarn, attention factor",
    "smollm3": "yarn",
    "llama4_text": "llama3",
    "modernbert": "linear",
}


def model_of(model_type):
    """Values, and layers with what went in and came out; GPT-OSS's sinks and what Doge's values add are taken away."""
    values = new_spelling(model_type, RULES[model_type]) if model_type in RULES else plain_spelling(model_type, "default")
    if model_type in QUERY_SCALED:
        values["rope_parameters"]["original_max_position_embeddings"] = 8  # so that 40 tokens have five factors
    config, layers = run(values)
    for layer in filter(None, layers):
        if getattr(layer.module, "sinks", None) is not None:
            torch.nn.init.constant_(layer.module.sinks, -torch.inf)
        if model_type == "doge":
            torch.nn.init.zeros_(layer.module.A)
    return values, config, [layer and layer._replace(heard=listen(layer.module, **layer.inputs)) for layer in layers]


def at_angles_of_0(config, layer):
    module, inputs = layer.module, dict(layer.inputs)
    inputs["position_embeddings"] = stillness(inputs["position_embeddings"], config.model_type)
    if config.model_type in QUERY_SCALED:
        inputs["position_ids"] = torch.zeros_like(inputs["position_ids"])
    if "attention_scaling" in inputs:
        inputs["attention_scaling"] = None
    tuned = getattr(module, "attn_temperature_tuning", False)
    module.attn_temperature_tuning = False
    still = listen(module, **inputs)
    module.attn_temperature_tuning = tuned
    return [to_pairs(x) if config.model_type in IN_HALVES else x for x in (still.query, still.key)] + [still.value]


def to_pairs(x):
    """DeepSeek-V3's module orders its pairs by halves; a common order of queries and keys changes no product."""
    first, second = x[..., 16:].chunk(2, dim=-1)
    return torch.cat((x[..., :16], torch.stack((first, second), dim=-1).flatten(-2)), dim=-1)


def attention(plan, index, q, k, v):
    """One layer of a plan."""
    stack, layer = plan.stack(), plan.layers[index]
    built = plan.build().at_length(LENGTH)
    scheme = built.layers[index]
    if layer.query_scale is not None:  # after the rotation, so that q and k are turned here
        q, k = (q, k) if scheme is None else (scheme.queries(q, PLACES), scheme.keys(k, PLACES))
        q, scheme = built.scaled_queries(index, q, PLACES), None
    return attend(
        q,
        k,
        v,
        scheme=scheme,
        q_positions=PLACES,
        k_positions=PLACES,
        causal=stack.causal,
        window=layer.window,
        document_ids=None if layer.chunk is None else PLACES // layer.chunk,
        scale=layer.softmax_scale,
    )


@pytest.mark.parametrize("model_type", MODELS)
def test_attention(model_type, near):
    values, config, layers = model_of(model_type)
    plan = plan_of(values)
    pairs = [
        (attention(plan, index, *at_angles_of_0(config, layer)), layer.heard.out) for index, layer in enumerate(layers) if layer
    ]
    ours, theirs = (torch.cat([out.flatten() for out in outputs]) for outputs in zip(*pairs, strict=True))
    assert theirs.abs().max() > 1.0
    near(f"{model_type}, {len(layers)} layers", ours, theirs, BOUND)


def changes_of(layer):
    """Other settings of a layer, each of which must show in what comes out."""
    yield {"softmax_scale": layer.softmax_scale * 1.05}
    if layer.scheme is not None:
        yield {"scheme": None}
        yield {"scheme": dataclasses.replace(layer.scheme, base=layer.scheme.base * 1.5)}
    for name in ("window", "chunk"):
        if getattr(layer, name) is not None and getattr(layer, name) < LENGTH:
            yield {name: None}
            yield {name: getattr(layer, name) + 1}
    if layer.query_scale is not None:
        yield {"query_scale": None}


@pytest.mark.parametrize("model_type", MODELS)
def test_the_comparison_can_fail(model_type):
    values, config, layers = model_of(model_type)
    plan = plan_of(values)
    for index in {(layer.kind, layer.scheme is None): index for index, layer in enumerate(plan.layers) if layer.attends}.values():
        vectors = at_angles_of_0(config, layers[index])
        for changes in changes_of(plan.layers[index]):
            changed = list(plan.layers)
            changed[index] = dataclasses.replace(changed[index], **changes)
            wrong = dataclasses.replace(plan, stacks=(dataclasses.replace(plan.stack(), layers=tuple(changed)),))
            assert (attention(wrong, index, *vectors) - layers[index].heard.out).abs().max() > SHOWS, changes


@pytest.mark.parametrize("model_type", ["qwen2_vl_text", "qwen3_vl_text", "cohere_compass_text", "neomme"])
def test_attention_at_coordinates(model_type, near):
    """As the model attends to tokens of images: what turns is by coordinates, who is seen by the places in the sequence."""
    values = plain_spelling(model_type, "default")
    config, layers = run(values)
    plan, places = plan_of(values), range(LENGTH)
    coordinates = spread(PLACES, model_type)[-1]
    built = plan.build()
    for index, (planned, layer) in enumerate(zip(plan.layers, layers, strict=True)):
        made = angles(config, coordinates, planned.kind, torch.float32)
        expected = listen(layer.module, **{**layer.inputs, "position_embeddings": made}).out
        q, k, v = at_angles_of_0(config, layer)
        given = {"q_positions": coordinates[None], "k_positions": coordinates[None]}
        found = built.attend(index, q, k, v, order=(places, places), **given)
        near(f"{model_type}, layer {index}", found, expected, BOUND)
        assert (built.attend(index, q, k, v, q_positions=places, k_positions=places) - expected).abs().max() > SHOWS
