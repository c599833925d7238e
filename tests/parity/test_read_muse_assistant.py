"""Muse Glimmer's assistant, as ``read`` plans it, against its modules: keys of context and block, queries of the block alone."""

import copy

import pytest
import torch
from reading_compare import compare_all
from reading_models import config_of, plan_of
from reading_rules import BASE, LLAMA3, YARN
from reading_sizes import DECLARED, TRAINED
from reading_spy import heard_in, listen, lively
from transformers.models.muse_glimmer_assistant.modeling_muse_glimmer_assistant import (
    MuseGlimmerAssistantAttention,
    MuseGlimmerAssistantModel,
    MuseGlimmerAssistantRotaryEmbedding,
)

from ordinate import attend

FULL, SLIDING = "full_attention", "sliding_attention"
VALUES = {"model_type": "muse_glimmer_assistant", **DECLARED, "num_hidden_layers": 2, "target_layer_ids": [0, 1]}
VALUES |= {"layer_types": [FULL, SLIDING], "sliding_window": 5}
RULES = {
    "plain": None,
    "base": {"rope_type": "default", "rope_theta": BASE},
    "linear": {"rope_type": "linear", "factor": 4.0, "rope_theta": BASE},
    "dynamic": {"rope_type": "dynamic", "factor": 2.5, "rope_theta": BASE},
    "yarn": {**YARN, "rope_theta": BASE},
    "yarn, attention factor": {**YARN, "rope_theta": BASE, "attention_factor": 1.37},
    "llama3": {**LLAMA3, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": BASE},
    "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": BASE},
}
NEAR, FAR = torch.arange(41), torch.tensor([1000, 40000, 1000003])
CONTEXT, BLOCK = 20, 4
PLACES = torch.tensor([*range(CONTEXT - 1), 1000, *range(40000, 40000 + BLOCK)])
# Two float32 softmax attentions over 24 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
BOUND = 1e-5


def values_of(name):
    values = copy.deepcopy(VALUES)
    values |= {} if RULES[name] is None else {"rope_parameters": dict(RULES[name])}
    return {**values, "max_position_embeddings": TRAINED} if name == "dynamic" else values


@pytest.mark.parametrize("name", RULES)
def test_frequencies_cos_and_sin(name):
    values = values_of(name)
    assert compare_all(config_of(values), plan_of(values), (NEAR, torch.tensor([TRAINED - 1]), torch.tensor([TRAINED]), FAR)) >= 16


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["plain", "yarn, attention factor"])
def test_queries_have_the_last_positions(name, dtype):
    values, config = values_of(name), config_of(values_of(name))
    config._attn_implementation = "spy"
    module = lively(MuseGlimmerAssistantAttention(config, 0)).to(dtype)
    generator = torch.Generator().manual_seed(1)
    block, context = (torch.randn(1, length, 96, generator=generator).to(dtype) for length in (BLOCK, CONTEXT))
    cos, sin = MuseGlimmerAssistantRotaryEmbedding(config)(block, PLACES[None])
    states = {"hidden_states": block, "context_hidden_states": context}
    turned = listen(module, **states, position_embeddings=(cos, sin))
    still = listen(module, **states, position_embeddings=(torch.ones_like(cos), torch.zeros_like(sin)))
    scheme = plan_of(values).build().layers[0]
    assert torch.equal(scheme.queries(still.query, PLACES[-BLOCK:]), turned.query)
    assert torch.equal(scheme.keys(still.key, PLACES), turned.key)
    assert not torch.equal(scheme.queries(still.query, PLACES[:BLOCK]), turned.query)


def heard(mask=None, **changes):
    config = config_of({**VALUES, **changes})
    model = lively(MuseGlimmerAssistantModel._from_config(config, attn_implementation="spy"))
    generator = torch.Generator().manual_seed(2)
    block, context = torch.randn(1, BLOCK, 96, generator=generator), torch.randn(1, CONTEXT, 192, generator=generator)
    return heard_in(model, block, context, attention_mask=mask)


def test_attention_inside_the_model(near):
    """Layers that see everything; queries and keys are turned already."""
    stack = plan_of({**VALUES, "layer_types": [FULL, FULL]}).stack()
    for layer, given in zip(stack.layers, heard(layer_types=[FULL, FULL]), strict=True):
        places = {"q_positions": range(CONTEXT, CONTEXT + BLOCK), "k_positions": range(CONTEXT + BLOCK)}
        out = attend(given.query, given.key, given.value, scheme=None, **places, causal=stack.causal, scale=layer.softmax_scale)
        assert layer.softmax_scale == given.scale
        assert given.mask is None
        near("Muse Glimmer's assistant", out, given.out, BOUND)


def test_windows_hold_the_farthest_key_and_are_counted_from_the_wrong_end_in_theirs():
    """Its mask takes queries for the first of the keys; the plan's window is as wide, and goes by positions."""
    layers, plan = heard(torch.ones(1, CONTEXT + BLOCK)), plan_of(VALUES)
    assert layers[0].mask is None
    assert plan.layers[0].window is None
    nothing, ones = torch.zeros(1, 1, CONTEXT + BLOCK, 8), torch.eye(CONTEXT + BLOCK)[None, None]

    def seen(first):
        places = {"q_positions": range(first, first + BLOCK), "k_positions": range(CONTEXT + BLOCK)}
        window = plan.layers[1].window
        return attend(nothing[:, :, :BLOCK], nothing, ones, scheme=None, **places, causal=False, window=window)[0, 0] > 0

    theirs = layers[1].mask[0, 0] == 0
    assert torch.equal(seen(0), theirs)
    assert not torch.equal(seen(CONTEXT), theirs)
    assert not theirs[:, CONTEXT:].any()  # a block's tokens do not see their block


def test_defaults():
    config = config_of({"model_type": "muse_glimmer_assistant"})
    sizes = {key: getattr(config, key) for key in ("num_hidden_layers", "num_attention_heads", "hidden_size")}
    plan = plan_of({"model_type": "muse_glimmer_assistant", **sizes})
    assert plan.stacks == plan_of(config.to_dict()).stacks
    assert {(layer.kind, layer.window) for layer in plan.layers} == {(SLIDING, config.sliding_window + 1)}
    assert plan.layers[0].scheme.base == config.rope_parameters["rope_theta"]
    assert not plan.stack().causal
