"""Dots 3 Note's text and audio models, as ``read`` plans them, against their own modules, in float32 and bfloat16: bit for bit."""

import copy

import pytest
import torch
from reading_compare import compare_all
from reading_models import config_of, file_of, plan_of
from reading_rules import BASE, LLAMA3, LOCAL_BASE, YARN
from reading_sizes import COMMON, TRAINED
from reading_spy import LENGTH, TOKENS, heard_in, listen, lively
from transformers import AutoModel

from ordinate import attend

INDEXED, FULL, SLIDING = "indexed_attention", "full_attention", "sliding_attention"
MIXED = [INDEXED, SLIDING, INDEXED, SLIDING, SLIDING]
TEXT = {"model_type": "dots3_note_text", **COMMON, "hidden_size": 96, "num_hidden_layers": 5, "num_attention_heads": 4}
TEXT |= {"num_key_value_heads": 4, "qk_nope_head_dim": 16, "qk_rope_head_dim": 32, "head_dim": 64, "v_head_dim": 16}
TEXT |= {"kv_lora_rank": 96, "q_lora_rank": 96, "index_topk": 4096, "index_head_dim": 32, "index_n_heads": 4, "n_routed_experts": 2}
TEXT |= {"mlp_layer_types": ["dense"] * 5, "layer_types": MIXED, "sliding_window": 9, "max_position_embeddings": 32 * TRAINED}
TEXT |= {"swa_num_attention_heads": 2, "swa_num_key_value_heads": 2, "swa_q_lora_rank": 96, "swa_kv_lora_rank": 96}
TEXT |= {"swa_head_dim": 64, "swa_qk_nope_head_dim": 40, "swa_v_head_dim": 16}
AUDIO = {"model_type": "dots3_note_audio_encoder", "hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 4}
AUDIO |= {"intermediate_size": 16, "adapter_input_size": 192, "downsample_hidden_size": 4, "max_position_embeddings": 32 * TRAINED}
RULES = {
    "plain": None,
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.5},
    "yarn": YARN,
    "yarn, attention factor": {**YARN, "attention_factor": 1.37},
    "llama3": {**LLAMA3, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
}
NEAR, FAR = torch.arange(41), torch.tensor([1000, 40000, 1000003])
ENDS = (torch.tensor([TRAINED - 1]), torch.tensor([TRAINED]))
PLACES = torch.tensor([*range(LENGTH - 2), 1000, 1000003])
BOUND = 1e-5  # two float32 softmax attentions over 40 keys, summed in another order, with outputs of size 1 to 10


def text(name, **changes):
    values = {**copy.deepcopy(TEXT), **changes}
    if RULES[name] is not None:
        values["rope_parameters"] = {
            kind: {**RULES[name], "rope_theta": LOCAL_BASE if kind == SLIDING else BASE} for kind in set(values["layer_types"])
        }
    return {**values, "max_position_embeddings": TRAINED} if name == "dynamic" else values


def module_of(config):
    return file_of("dots3_note").Dots3NoteTextRotaryEmbedding(config)


@pytest.mark.parametrize("name", RULES)
def test_frequencies_cos_and_sin(name):
    values = text(name)
    built, plan = plan_of(values).build(), plan_of(values)
    for positions in (NEAR, *ENDS, FAR):
        module = module_of(config_of(values))  # anew each time, since theirs remember the longest
        longer = built.at_length(int(positions.max()) + 1)
        for kind in (INDEXED, SLIDING):
            scheme = longer.layers[MIXED.index(kind)]
            cos, sin = module(torch.zeros(1), positions[None], kind)
            at, pairs = scheme.at(positions), len(scheme.inverse_frequencies)
            assert torch.equal(at.cos * scheme.magnitude, cos[0, :, :pairs])
            assert torch.equal(at.sin * scheme.magnitude, sin[0, :, :pairs])
            assert list(scheme.inverse_frequencies) == getattr(module, f"{kind}_inv_freq").tolist()
    assert [layer.scheme.rotary_dim for layer in plan.layers] == [32, 24, 32, 24, 24]


def halves(x, start):
    """Their order after a rotation: the first entries of all pairs, then the second ones."""
    return torch.cat((x[..., :start], x[..., start::2], x[..., start + 1 :: 2]), dim=-1)


def pairs(x, start):
    first, second = x[..., start:].chunk(2, dim=-1)
    return torch.cat((x[..., :start], torch.stack((first, second), dim=-1).flatten(-2)), dim=-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["plain", "yarn, attention factor"])
@pytest.mark.parametrize("kind", [INDEXED, SLIDING, FULL])
def test_queries_and_keys(kind, name, dtype):
    changes = {"use_dsa": False, "layer_types": [FULL, SLIDING, FULL, SLIDING, SLIDING]} if kind == FULL else {}
    values = text(name, **changes)
    config, plan, place = config_of(values), plan_of(values), values["layer_types"].index(kind)
    config._attn_implementation = "spy"
    module = lively(file_of("dots3_note").Dots3NoteTextAttention(config, place)).to(dtype)
    states = torch.randn(1, LENGTH, 96, generator=torch.Generator().manual_seed(1)).to(dtype)
    # the model gives layers whose keys are chosen float32, whatever its dtype
    cos, sin = module_of(config)(states.float() if kind == INDEXED else states, PLACES[None], kind)
    mask = torch.zeros(1, 1, LENGTH, LENGTH, dtype=dtype)
    turned = listen(module, hidden_states=states, attention_mask=mask, position_embeddings=(cos, sin))
    still = listen(
        module, hidden_states=states, attention_mask=mask, position_embeddings=(torch.ones_like(cos), torch.zeros_like(sin))
    )
    scheme = plan.build().layers[place]
    for ours, before, after in ((scheme.queries, still.query, turned.query), (scheme.keys, still.key, turned.key)):
        found = halves(ours(pairs(before, scheme.rotary_start), PLACES), scheme.rotary_start)
        assert found.dtype == after.dtype == dtype
        assert torch.equal(found, after)
    other = plan.build(arithmetic="input" if kind == INDEXED else "float32").layers[place]
    wrong = halves(other.keys(pairs(still.key, scheme.rotary_start), PLACES), scheme.rotary_start)
    assert dtype == torch.float32 or not torch.equal(wrong, turned.key)


CHANGES = {
    "as listed": {},
    "pattern": {"layer_types": None},
    "no windows": {"layer_types": None, "use_sliding_window": False},
    "full layers": {"layer_types": None, "use_dsa": False},
    "old names": {"layer_types": [FULL, SLIDING, FULL, SLIDING, SLIDING]},
    "other names": {"layer_types": MIXED, "use_dsa": False},
    "wider windows": {"sliding_window": None, "sliding_window_size": 13},
    "declared width": {"swa_head_dim": 56, "swa_qk_rope_head_dim": 16},
}


@pytest.mark.parametrize("case", CHANGES)
def test_layers_inside_the_model(case, near):
    """Who sees whom, by what scale, at whose angles, and what comes out."""
    values = {key: value for key, value in text("plain", **CHANGES[case]).items() if value is not None}
    config, plan = config_of(values), plan_of(values)
    model, given = lively(AutoModel.from_config(config, attn_implementation="spy")), []
    for layer in model.layers:
        layer.self_attn.register_forward_pre_hook(lambda _, __, named: given.append(named["position_embeddings"]), with_kwargs=True)
    heard, built = heard_in(model, TOKENS, use_cache=False), plan.build()
    nothing, ones = torch.zeros(1, 1, LENGTH, 8), torch.eye(LENGTH)[None, None]
    places = {"q_positions": range(LENGTH), "k_positions": range(LENGTH), "causal": plan.stack().causal}
    assert [layer.kind for layer in plan.layers] == config.layer_types
    for layer, scheme, one, (cos, sin) in zip(plan.layers, built.layers, heard, given, strict=True):
        seen = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril() if one.mask is None else one.mask[0, 0] == 0
        assert torch.equal(attend(nothing, nothing, ones, scheme=None, **places, window=layer.window)[0, 0] > 0, seen)
        assert layer.softmax_scale == one.scale
        at, pairs_there = scheme.at(range(LENGTH)), len(scheme.inverse_frequencies)
        assert torch.equal(at.cos, cos[0, :, :pairs_there])
        assert torch.equal(at.sin, sin[0, :, :pairs_there])
        assert cos.shape[-1] == 2 * pairs_there
        out = attend(one.query, one.key, one.value, scheme=None, **places, window=layer.window, scale=layer.softmax_scale)
        near(case, out, one.out, BOUND)
    assert plan_of(config.to_dict()).stacks == plan.stacks


def test_defaults():
    config = config_of({"model_type": "dots3_note_text"})
    plan = plan_of({"model_type": "dots3_note_text", "num_hidden_layers": config.num_hidden_layers})
    assert plan.stacks == plan_of(config.to_dict()).stacks
    module = module_of(config)
    for kind in (INDEXED, SLIDING):
        scheme = plan.build().layers[config.layer_types.index(kind)]
        assert list(scheme.inverse_frequencies) == getattr(module, f"{kind}_inv_freq").tolist()


WRONG = [
    ({"rope_parameters": {"rope_theta": 1e4}}, "rope_parameters: needed one dictionary for each layer type"),
    ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling: cannot be honoured"),
    ({"swa_qk_rope_head_dim": 16}, "swa_head_dim: needed 56, those that stay and those that turn, got 64"),
    ({"swa_qk_nope_head_dim": 41}, "swa_head_dim: needed an even number of entries to turn, got 23"),
    (
        {"per_layer_config": {"1": {"qk_nope_head_dim": 8}}},
        "per_layer_config: cannot be honoured: needed heads alike in all layers of sliding",
    ),
    ({"per_layer_config": {"x": {}}}, "per_layer_config: needed dictionaries by layer number, got 'x'"),
    ({"per_layer_config": 3}, "per_layer_config: needed a dictionary or null, got 3"),
    ({"layer_types": [SLIDING] * 4}, "layer_types: needed a list of 5 values, got 4"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_honoured_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        plan_of(text("plain", **changes))


def audio(name):
    values = copy.deepcopy(AUDIO)
    values |= {} if RULES[name] is None else {"rope_parameters": {**RULES[name], "rope_theta": BASE, "partial_rotary_factor": 0.25}}
    return {**values, "max_position_embeddings": TRAINED} if name == "dynamic" else values


@pytest.mark.parametrize("name", RULES)
def test_audio_frequencies(name, monkeypatch):
    values = audio(name)
    module = file_of("dots3_note").Dots3NoteAudioRotaryEmbedding
    monkeypatch.setattr("reading_compare.rotary_of", module)
    assert compare_all(config_of(values), plan_of(values), (NEAR, *ENDS, FAR)) >= 6


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["plain", "yarn, attention factor"])
def test_audio_queries_and_keys(name, dtype, near):
    values = audio(name)
    config, stack = config_of(values), plan_of(values).stack()
    config._attn_implementation = "spy"
    module = lively(file_of("dots3_note").Dots3NoteAudioAttention(config)).to(dtype)
    states = torch.randn(1, LENGTH, 192, generator=torch.Generator().manual_seed(1)).to(dtype)
    cos, sin = file_of("dots3_note").Dots3NoteAudioRotaryEmbedding(config)(states, PLACES[None])
    turned = listen(module, hidden_states=states, position_embeddings=(cos, sin))
    still = listen(module, hidden_states=states, position_embeddings=(torch.ones_like(cos), torch.zeros_like(sin)))
    scheme, layer = stack.build().layers[0], stack.layers[0]
    assert torch.equal(scheme.queries(still.query, PLACES), turned.query)
    assert torch.equal(scheme.keys(still.key, PLACES), turned.key)
    assert layer.softmax_scale == turned.scale
    assert not torch.equal(turned.key, still.key)
    if dtype == torch.float32:
        places = {"q_positions": PLACES, "k_positions": PLACES, "causal": stack.causal}
        near(
            "audio",
            attend(still.query, still.key, still.value, scheme=scheme, **places, scale=layer.softmax_scale),
            turned.out,
            BOUND,
        )


def test_audio_sees_both_ways_inside_its_model():
    config, stack = config_of(AUDIO), plan_of(AUDIO).stack()
    model = lively(file_of("dots3_note").Dots3NoteAudioModel._from_config(config, attn_implementation="spy"))
    heard = heard_in(model, torch.randn(1, config.feature_size, 80), torch.tensor([12800]))
    assert len(heard) == len(stack.layers) == 2
    assert all(one.mask is None or (one.mask == 0).all() for one in heard)
    assert not stack.causal
    assert {layer.window for layer in stack.layers} == {None}
    assert plan_of(config.to_dict()).stacks == plan_of(AUDIO).stacks


def test_audio_refuses_whispers_dictionary():
    with pytest.raises(ValueError, match="whisper_config: cannot be honoured"):
        plan_of({**AUDIO, "whisper_config": {"d_model": 64}})
