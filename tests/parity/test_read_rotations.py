"""Queries and keys as ``read``'s schemes turn them, against every model type's own attention module, in float32 and bfloat16.

The module is called twice, with its model's angles and with angles of 0, and gives its attention function what it made of them:
layout, slice, arithmetic, magnitude, layers that do not turn and factors of queries are the module's own, whatever function it
calls. Bit for bit, but for complex products (Llama 4, DeepSeek-V2): there within two roundings of float32.
"""

import copy
import dataclasses
import functools

import pytest
import torch
from reading_models import COMPLEX, IN_HALVES, MODELS, QUERY_SCALED, SINUSOIDS, file_of, plan_of
from reading_multimodal import other_sections, spread
from reading_multimodal import ours as as_ours
from reading_rules import PLAIN_ONLY, new_spelling, plain_spelling
from reading_spy import LENGTH, angles, listen, run, stillness

from ordinate.checkpoints.built import query_factors
from ordinate.checkpoints.plan import QueryScale
from ordinate.checkpoints.scheme_plans import MultimodalRopePlan

FAR = torch.tensor([*range(LENGTH - 3), 1000, 40000, 1000003])
IN_TABLE = torch.tensor([*range(LENGTH - 1), 1000])
ULP = 2.0**-23
LATENT_START = 16
SETTINGS = {
    "plain": plain_spelling,
    "magnitude": lambda model_type, _: new_spelling(
        model_type, "longrope, attention factor" if model_type in ("phi3", "phi4_multimodal") else "yarn, attention factor"
    ),
}
CASES = [
    (model_type, setting, dtype)
    for model_type in MODELS
    for setting in SETTINGS
    for dtype in (torch.float32, torch.bfloat16)
    if setting == "plain" or model_type not in PLAIN_ONLY
]


@functools.cache
def model_of(model_type, setting):
    values = SETTINGS[setting](model_type, "default")
    if model_type in QUERY_SCALED:
        values["rope_parameters"] = {
            **new_spelling(model_type, "yarn, attention factor")["rope_parameters"],
            "original_max_position_embeddings": 8,
        }
    return *run(values), plan_of(values)


def halves(x):
    """DeepSeek-V3's order after a rotation: the first entries of all pairs, then the second ones."""
    return torch.cat((x[..., :LATENT_START], x[..., LATENT_START::2], x[..., LATENT_START + 1 :: 2]), dim=-1)


def pairs(x):
    """The order before it."""
    first, second = x[..., LATENT_START:].chunk(2, dim=-1)
    return torch.cat((x[..., :LATENT_START], torch.stack((first, second), dim=-1).flatten(-2)), dim=-1)


def theirs(config, layer, kind, positions, dtype):
    """Queries and keys that the module hands on, at angles of 0 and at its own."""
    module, inputs = copy.deepcopy(layer.module).to(dtype), dict(layer.inputs)
    for name in {"hidden_states", "value_embeds"} & set(inputs):
        inputs[name] = None if inputs[name] is None else inputs[name].to(dtype)
    mask = torch.zeros(1, 1, LENGTH, LENGTH, dtype=dtype)
    inputs["attention_mask"] = {"causal": mask} if isinstance(inputs.get("attention_mask"), dict) else mask
    made = None if inputs["position_embeddings"] is None else angles(config, positions, kind, dtype)
    places = {"position_ids": positions[None]} if inputs.get("position_ids") is not None else {}
    scaled = {}
    if inputs.get("attention_scaling") is not None:  # Beam's factor of queries
        scaled = {"attention_scaling": file_of(config.model_type).compute_attention_scaling(positions[None])}
    turned = listen(module, **{**inputs, **places, **scaled, "position_embeddings": made})
    module.attn_temperature_tuning = False  # Llama 4's factor of queries counts tokens, not positions
    places = {name: torch.zeros_like(ids) for name, ids in places.items()}
    scaled = dict.fromkeys(scaled)
    still = listen(module, **{**inputs, **places, **scaled, "position_embeddings": stillness(made, config.model_type)})
    return still, turned


def ours(plan, index, still, positions):
    """The same from the plan alone."""
    built, q, k = plan.build().at_length(int(positions.max()) + 1), still.query, still.key
    scheme = built.layers[index]
    if scheme is not None:
        q, k = scheme.queries(q, as_ours(positions)), scheme.keys(k, as_ours(positions))
    counted = range(LENGTH) if plan.model_type == "llama4_text" else positions
    return built.scaled_queries(index, q, counted), k


def both(model_type, setting, dtype, plan=None, only_turning=False):
    """Give (ours, theirs) of queries and of keys, for a layer of each sort."""
    config, layers, own = model_of(model_type, setting)
    plan = plan or own
    positions = IN_TABLE if model_type in SINUSOIDS else spread(FAR, model_type)[-1]
    sorts = {(layer.kind, layer.scheme is None): index for index, layer in enumerate(plan.layers) if layer.attends}
    for (kind, rests), index in sorts.items():
        if rests and only_turning:
            continue
        still, turned = theirs(config, layers[index], kind, positions, dtype)
        in_order = model_type in IN_HALVES and getattr(config, "rope_interleave", True)
        if in_order:
            still = still._replace(query=pairs(still.query), key=pairs(still.key))
        q, k = ours(plan, index, still, positions)
        yield from zip((halves(q), halves(k)) if in_order else (q, k), (turned.query, turned.key), strict=True)
        assert rests == torch.equal(still.key, k)


@pytest.mark.parametrize(("model_type", "setting", "dtype"), CASES, ids=lambda value: str(value).removeprefix("torch."))
def test_rotation(model_type, setting, dtype):
    for one, other in both(model_type, setting, dtype):
        assert one.dtype == other.dtype == dtype
        if model_type in COMPLEX and dtype == torch.float32:
            # cos and sin an ulp apart, and products in another order: each entry moves by two roundings of its pair's size
            assert ((one - other).abs() <= 2 * ULP * other.abs().max()).all()
        else:
            assert torch.equal(one, other)


@pytest.mark.parametrize("interleave", [True, False])
def test_deepseek_v3_says_its_layout(interleave):
    values = {**plain_spelling("deepseek_v3", "default"), "rope_interleave": interleave}
    config, layers = run(values)
    plan = plan_of(values)
    still, turned = theirs(config, layers[0], "full_attention", FAR, torch.float32)
    if interleave:
        still = still._replace(query=pairs(still.query), key=pairs(still.key))
    q, k = ours(plan, 0, still, FAR)
    assert plan.layers[0].scheme.layout == ("interleaved" if interleave else "half")
    assert torch.equal(halves(q) if interleave else q, turned.query)
    assert torch.equal(halves(k) if interleave else k, turned.key)


@pytest.mark.parametrize("model_type", MODELS)
def test_the_comparison_can_fail(model_type):
    """Another layout, slice or magnitude shows, and so do other sections and another order of theirs."""
    scheme = next(layer.scheme for layer in model_of(model_type, "plain")[2].layers if layer.scheme)
    other = "half" if scheme.layout == "interleaved" else "interleaved"
    wrongs = changed_axes(scheme) if isinstance(scheme, MultimodalRopePlan) else changed_slices(scheme)
    for wrong in ({"layout": other}, *wrongs):
        plan = with_scheme(model_of(model_type, "plain")[2], **wrong)
        found = both(model_type, "plain", torch.float32, plan, only_turning=True)
        assert all((one - theirs).abs().max() > 0.1 for one, theirs in found)


def changed_slices(scheme):
    narrower = {"rotary_dim": scheme.rotary_dim - 2, "rotary_start": scheme.rotary_start}
    return narrower, {**narrower, "rotary_start": scheme.rotary_start + 2}


def changed_axes(scheme):
    """A pair of another axis turns by the first one, all of the second's do, and the axes stand in another order."""
    other = {"sections": lambda scheme: scheme.sections[::-1]} if scheme.order == "contiguous" else {"order": "contiguous"}
    return {"sections": other_sections}, {"sections": joined_sections, "order": "contiguous"}, other


def joined_sections(scheme):
    first, second, *rest = scheme.sections
    return (first + second, 0, *rest)


@pytest.mark.parametrize("model_type", ["llama", "olmo2", "gptj", "falcon", "codegen", "cohere", "cohere2", "modernbert"])
def test_the_other_arithmetic_shows_in_bfloat16(model_type):
    plan = model_of(model_type, "plain")[2]
    own = plan.layers[0].scheme.arithmetic
    for other in {"float32", "input", "mixed"} - {own}:
        found = both(model_type, "plain", torch.bfloat16, with_scheme(plan, arithmetic=other))
        assert not all(torch.equal(one, theirs) for one, theirs in found)


def with_scheme(plan, **changes):
    """The plan with other settings in every scheme, some of which depend on the scheme."""
    layers = tuple(
        layer if layer.scheme is None else dataclasses.replace(layer, scheme=replaced(layer.scheme, changes))
        for layer in plan.layers
    )
    return dataclasses.replace(plan, stacks=(dataclasses.replace(plan.stack(), layers=layers),))


def replaced(scheme, changes):
    return dataclasses.replace(scheme, **{name: value(scheme) if callable(value) else value for name, value in changes.items()})


@pytest.mark.parametrize(("beta", "length"), [(0.1, 16384), (0.1, 8), (0.37, 100)])
def test_query_factors_of_ministral3(beta, length):
    positions = torch.cat((torch.arange(5000), torch.tensor([16383, 16384, 131071, 1000003])))[None]
    expected = file_of("ministral3").get_llama_4_attn_scale(positions, beta, length)
    found = query_factors(QueryScale(strength=beta, length=length, first=0, rounded=True), positions)
    assert found.shape == expected.shape
    assert torch.equal(found, expected)
    off = query_factors(QueryScale(strength=beta, length=length, first=1, rounded=True), positions)
    assert (off - expected).abs().max() > 0.001


@pytest.mark.parametrize("settings", [{}, {"attn_scale": 0.37, "floor_scale": 5}, {"attn_temperature_tuning": False}])
def test_query_factors_of_llama4(settings):
    """Queries of ones, so that what the module hands on is the factor."""
    values = {**plain_spelling("llama4_text", "default"), **settings}
    _, layers = run(values)
    module, inputs = layers[3].module, dict(layers[3].inputs)
    inputs["hidden_states"] = torch.ones(1, 400, 96)
    inputs["attention_mask"] = torch.zeros(1, 1, 400, 400)
    with torch.no_grad():
        module.q_proj.weight.fill_(0.0)[:, 0] = 1.0
    expected = listen(module, **inputs).query[..., :1]
    found = plan_of(values).build().scaled_queries(3, torch.ones(1, 1, 400, 1), range(400))
    assert ((found - expected).abs() <= ULP * expected).all()
    assert (expected[0, 0, -1] > 1.1) == (settings.get("attn_temperature_tuning") is None)
