"""The Byte Latent Transformer's four stacks, as ``read`` plans them, against a tiny model's own modules: bit for bit."""

import copy
import functools

import pytest
import reading_spy
import torch
from reading_models import config_of, file_of, plan_of
from reading_rules import BASE, LLAMA3, YARN
from reading_sizes import TRAINED
from reading_spy import LENGTH, heard_in, listen, lively
from transformers import AutoModel

from ordinate import attend

PART = {"hidden_size": 96, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 32, "vocab_size": 64}
PART |= {"max_position_embeddings": 4096}
RULE = {"rope_type": "linear", "factor": 4.0, "rope_theta": BASE}
VALUES = {
    "model_type": "blt",
    "vocab_size": 64,
    "local_attention_window_len": 9,
    "encoder_hash_byte_group_vocab": 50,
    "patching_threshold": 3.4,
    "patcher_config": {**PART, "sliding_window": 7},
    "encoder_config": {**PART, "hidden_size_global": 128},
    "global_config": {**PART, "hidden_size": 128, "num_attention_heads": 2},
    "decoder_config": {**PART, "hidden_size_global": 128},
}
PARTS = {"patcher": "patcher", "encoder": "local_encoder", "global": "global_transformer", "decoder": "local_decoder"}
RULES = {
    "default": None,
    "base": {"rope_type": "default", "rope_theta": BASE},
    "linear": RULE,
    "yarn": {**YARN, "rope_theta": BASE},
    "llama3": {**LLAMA3, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": BASE},
    "dynamic": {"rope_type": "dynamic", "factor": 2.5, "rope_theta": BASE},
}
NEAR, FAR = torch.arange(41), torch.tensor([1000, 40000, 1000003])
LAST = [torch.tensor([TRAINED - 1]), torch.tensor([TRAINED])]
TOKENS = torch.randint(3, 60, (1, LENGTH), generator=torch.Generator().manual_seed(0))


def values_of(rule=None, **changes):
    values = {**copy.deepcopy(VALUES), **changes}
    for name in PARTS:
        part = values[f"{name}_config"]
        part |= {} if rule is None else {"rope_parameters": dict(rule)}
        part |= {"max_position_embeddings": TRAINED} if rule and rule["rope_type"] == "dynamic" else {}
    return values


def model_of(values):
    return lively(AutoModel.from_config(config_of(values), attn_implementation="spy"))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", PARTS)
def test_frequencies_cos_and_sin(name, rule):
    values = values_of(RULES[rule])
    config = getattr(config_of(values), f"{name}_config")
    built = plan_of(values).stack(name).build()
    for positions in (NEAR, *LAST, FAR):
        module = file_of("blt").BltRotaryEmbedding(config)  # anew each time, since theirs remember the longest
        scheme = built.at_length(int(positions.max()) + 1).layers[0]
        cos, sin = module(torch.zeros(1), positions[None])
        at = scheme.at(positions)
        assert torch.equal(at.cos * scheme.magnitude, cos[0, :, 0::2])
        assert torch.equal(at.sin * scheme.magnitude, sin[0, :, 1::2])
        assert list(scheme.inverse_frequencies) == module.inv_freq.tolist()
        assert scheme.magnitude == module.attention_scaling
    assert len(scheme.inverse_frequencies) >= 12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", PARTS)
def test_queries_and_keys(name, dtype):
    values = values_of(RULES["yarn"])
    config, stack = getattr(config_of(values), f"{name}_config"), plan_of(values).stack(name)
    config._attn_implementation = "spy"
    module = lively(file_of("blt").BltSelfAttention(config, 0)).to(dtype)
    states = torch.randn(1, 44, config.hidden_size, generator=torch.Generator().manual_seed(1)).to(dtype)
    places = torch.cat((NEAR, FAR))
    cos, sin = file_of("blt").BltRotaryEmbedding(config)(states, places[None])
    turned = listen(module, hidden_states=states, attention_mask=None, position_embeddings=(cos, sin))
    still = listen(
        module, hidden_states=states, attention_mask=None, position_embeddings=(torch.ones_like(cos), torch.zeros_like(sin))
    )
    scheme = stack.build().layers[0]
    assert torch.equal(scheme.queries(still.query, places), turned.query)
    assert torch.equal(scheme.keys(still.key, places), turned.key)
    other = copy.deepcopy(stack.build(arithmetic="float32")).layers[0]
    assert dtype == torch.float32 or not torch.equal(other.keys(still.key, places), turned.key)


def seen_by(layer, length):
    nothing, ones = torch.zeros(1, 1, length, 8), torch.eye(length)[None, None]
    return (
        attend(
            nothing,
            nothing,
            ones,
            scheme=None,
            q_positions=range(length),
            k_positions=range(length),
            causal=True,
            window=layer.window,
        )[0, 0]
        > 0
    )


def attentions_of(model):
    """Each attention module with the name of its stack, and whether it looks across."""
    for name, attribute in PARTS.items():
        for module in getattr(model, attribute).modules() if getattr(model, attribute) is not None else ():
            if type(module).__name__ in ("BltSelfAttention", "BltCrossAttention"):
                yield name, type(module).__name__ == "BltCrossAttention", module


@pytest.mark.parametrize("changes", [{}, {"local_attention_window_len": None}, {"patch_in_forward": False}], ids=str)
def test_the_whole_model(changes, near):
    """Who sees whom in each stack and what comes out; bytes and patches see each other without a rotation."""
    values = values_of(RULES["linear"], **changes)
    model, plan, places = model_of(values), plan_of(values), []
    for name, across, module in attentions_of(model):
        module.register_forward_hook(
            lambda *_, name=name, across=across: places.append((name, across, len(reading_spy._heard) - 1))
        )
    layers = heard_in(model, TOKENS, use_cache=False)
    counted = {name: sum(found == name and not across for found, across, _ in places) for name in PARTS}
    assert {name: count for name, count in counted.items() if count} == {stack.name: len(stack.layers) for stack in plan.stacks}
    assert len(places) == len(layers)
    for name, across, place in places:
        given, stack = layers[place], plan.stack(name)
        layer = stack.cross_attention if across else stack.layers[0]
        assert layer.softmax_scale == given.scale
        if across:
            assert layer.scheme is None
            continue
        length = given.query.shape[2]
        seen = torch.ones(length, length, dtype=torch.bool).tril() if given.mask is None else given.mask[0, 0] == 0
        assert torch.equal(seen_by(layer, length), seen), name
        rest = {"q_positions": range(length), "k_positions": range(length), "causal": True, "window": layer.window}
        near(name, attend(given.query, given.key, given.value, scheme=None, **rest, scale=layer.softmax_scale), given.out, 1e-5)


def keep(given, name, _, __, named):
    given[name] = named["position_embeddings"]


def test_each_stack_turns_by_its_own_base_inside_the_model():
    values = values_of()
    for place, name in enumerate(PARTS):
        values[f"{name}_config"]["rope_parameters"] = {"rope_type": "default", "rope_theta": 1000.0 * (place + 2)}
    model, plan, given = model_of(values), plan_of(values), {}
    for name, across, module in attentions_of(model):
        if not across:
            module.register_forward_pre_hook(functools.partial(keep, given, name), with_kwargs=True)
    heard_in(model, TOKENS, use_cache=False)
    for name, (cos, sin) in given.items():
        at = plan.stack(name).build().layers[0].at(range(cos.shape[1]))
        assert torch.equal(at.cos, cos[0, :, 0::2])
        assert torch.equal(at.sin, sin[0, :, 0::2])
    assert set(given) == set(PARTS)
    assert {plan.stack(name).layers[0].scheme.base for name in PARTS} == {2000.0, 3000.0, 4000.0, 5000.0}


def test_defaults():
    config = config_of({"model_type": "blt"})
    assert plan_of({"model_type": "blt"}).stacks == plan_of(config.to_dict()).stacks
    for name in PARTS:
        part, stack = getattr(config, f"{name}_config"), plan_of({"model_type": "blt"}).stack(name)
        assert (len(stack.layers), stack.max_length) == (part.num_hidden_layers, part.max_position_embeddings)
        assert stack.layers[0].scheme.head_dim == part.hidden_size // part.num_attention_heads
        assert stack.layers[0].scheme.base == part.rope_parameters["rope_theta"]
        assert stack.layers[0].window == {"patcher": 512, "global": None}.get(name, 512)


WRONG = [
    ({"encoder_config": 3}, "encoder_config: needed a dictionary or null, got 3"),
    ({"global_config": {**PART, "alibi": True}}, "global_config.alibi: cannot be honoured"),
    ({"decoder_config": {**PART, "head_dim": 16}}, "decoder_config.head_dim: needed 24, got 16"),
    ({"encoder_config": {**PART, "sliding_window": 8}}, "encoder_config.sliding_window: cannot be honoured: needed 9"),
    ({"patcher_config": {**PART, "rope_theta": 0.0}}, "patcher_config.rope_theta: needed a finite number >= 1"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_honoured_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        plan_of(values_of() | changes)
