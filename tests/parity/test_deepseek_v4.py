"""DeepSeek-V4, as ``read`` plans it, against its own modules: keys that are values, outputs that turn back, keys of many tokens."""

import copy
import dataclasses

import pytest
import torch
from reading_models import config_of, file_of, plan_of
from reading_spy import LENGTH, TOKENS, heard_in, lively
from transformers import AutoModel

from ordinate import attend, checkpoints

SLIDING, SPARSE, HEAVY = "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"
KINDS = [SLIDING, SPARSE, HEAVY]
WIDTH, TURNS = 64, 24
VALUES = {"model_type": "deepseek_v4", "vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4}
VALUES |= {"head_dim": WIDTH, "partial_rotary_factor": TURNS / WIDTH, "layer_types": KINDS, "sliding_window": 9, "q_lora_rank": 16}
VALUES |= {"compress_rates": {SPARSE: 4, HEAVY: 8}, "moe_intermediate_size": 16, "n_routed_experts": 2, "num_experts_per_tok": 1}
VALUES |= {"o_groups": 2, "o_lora_rank": 8, "index_n_heads": 2, "index_head_dim": WIDTH, "index_topk": 64, "hc_mult": 2}
VALUES |= {"mlp_layer_types": ["moe"] * 3, "pad_token_id": 0, "max_position_embeddings": 16384}
YARN = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 512, "beta_fast": 32.0, "beta_slow": 1.0}
MAIN = {"rope_type": "default", "rope_theta": 1234.5, "partial_rotary_factor": TURNS / WIDTH}
NESTED = {"main": MAIN, "compress": {**YARN, "rope_theta": 54321.0, "partial_rotary_factor": TURNS / WIDTH}}
SPELLED = {
    "plain": {},
    "bases": {"rope_theta": 1234.5, "compress_rope_theta": 54321.0},
    "yarn": {"rope_parameters": YARN},
    "yarn, old": {"rope_scaling": {"type": "yarn", **{key: value for key, value in YARN.items() if key != "rope_type"}}},
    "yarn, attention factor": {"rope_parameters": {**YARN, "attention_factor": 1.37}, "compress_rope_theta": 54321.0},
    "linear": {"rope_parameters": {"rope_type": "linear", "factor": 4.0}},
    "nested": {"rope_parameters": NESTED},
    "width": {"partial_rotary_factor": None, "qk_rope_head_dim": 16},
    "an eighth": {"partial_rotary_factor": None},
    "numbers": {"layer_types": None, "compress_ratios": [4, 0, 128, 4]},
    "pattern": {"layer_types": None},
    "rates": {"compress_rate_csa": 2, "compress_rate_hca": 16},
}
PLACES = torch.tensor([*range(LENGTH - 3), 1000, 40000, 1000003])
# Two float32 softmax attentions over 40 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
BOUND = 1e-5


def values_of(case):
    return {key: value for key, value in {**copy.deepcopy(VALUES), **copy.deepcopy(SPELLED[case])}.items() if value is not None}


def label_of(kind):
    return "main" if kind == SLIDING else "compress"


@pytest.mark.parametrize("case", SPELLED)
def test_frequencies_cos_and_sin(case):
    values, config = values_of(case), config_of(values_of(case))
    plan, module = plan_of(values), file_of("deepseek_v4").DeepseekV4RotaryEmbedding(config)
    assert [layer.kind for layer in plan.layers] == config.layer_types
    assert [layer.compressed for layer in plan.layers] == [config.compress_rates.get(kind) for kind in config.layer_types]
    for layer, scheme in zip(plan.layers, plan.build().layers, strict=True):
        label = label_of(layer.kind)
        cos, sin = module(torch.zeros(1), PLACES[None], label)
        at = scheme.at(PLACES)
        assert list(scheme.inverse_frequencies) == getattr(module, f"{label}_inv_freq").tolist()
        assert scheme.magnitude == getattr(module, f"{label}_attention_scaling")
        assert torch.equal(at.cos * scheme.magnitude, cos[0])
        assert torch.equal(at.sin * scheme.magnitude, sin[0])
        assert scheme.rotary_start == WIDTH - 2 * cos.shape[-1]
    assert plan_of(config.to_dict()).stacks == plan.stacks


def resting(x, position_ids, **_):
    """Angles of 0."""
    return [fill(*position_ids.shape, TURNS // 2, dtype=x.dtype) for fill in (torch.ones, torch.zeros)]


def listen(module, states, made, places, monkeypatch):
    """What an attention module hands on, and what goes into its last projections; ``made`` None leaves all vectors as they are."""
    still, projected = made is None, []
    if still:
        made = dict.fromkeys(("main", "compress"), (torch.ones(1, LENGTH, TURNS // 2), torch.zeros(1, LENGTH, TURNS // 2)))
    handle = module.o_a_proj.register_forward_pre_hook(lambda _, given: projected.append(given[0]))
    with monkeypatch.context() as patch:
        if still and module.compressor is not None:
            patch.setattr(module.compressor.rotary_emb, "forward", resting)
        mask = torch.zeros(1, 1, LENGTH, LENGTH, dtype=states.dtype)
        heard = heard_in(module, hidden_states=states, position_embeddings=made, position_ids=places[None], attention_mask=mask)[0]
    handle.remove()
    return heard, projected[0].flatten(2).unflatten(-1, (4, WIDTH)).transpose(1, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("case", ["plain", "yarn, attention factor"])
@pytest.mark.parametrize("kind", KINDS)
def test_queries_keys_values_and_outputs(kind, case, dtype, monkeypatch):
    values, place = values_of(case), KINDS.index(kind)
    config, plan = config_of(values), plan_of(values)
    config._attn_implementation = "spy"
    module = lively(file_of("deepseek_v4").DeepseekV4Attention(config, place)).to(dtype)
    states = torch.randn(1, LENGTH, 64, generator=torch.Generator().manual_seed(1)).to(dtype)
    rotary = file_of("deepseek_v4").DeepseekV4RotaryEmbedding(config)
    if module.compressor is not None:
        module.compressor.rotary_emb = rotary  # its frequencies are float32 in a model of any dtype
    made = {label: rotary(states, PLACES[None], label) for label in ("main", "compress")}
    turned, projected = listen(module, states, made, PLACES, monkeypatch)
    still, _ = listen(module, states, None, PLACES, monkeypatch)
    layer, scheme = plan.layers[place], plan.build().layers[place]
    first = torch.arange(LENGTH // layer.compressed) * layer.compressed if layer.compressed else torch.arange(0)
    k_places = torch.cat((PLACES, first))  # of tokens, then of keys that are made of many
    assert turned.key.shape[2] == len(k_places)
    assert torch.equal(scheme.queries(still.query, PLACES), turned.query)
    assert torch.equal(scheme.keys(still.key, k_places), turned.key)
    assert layer.values_turn == torch.equal(turned.value, turned.key)
    assert torch.equal(scheme.queries(turned.out, -PLACES), projected)
    assert not torch.equal(turned.out, projected)
    other = plan.build(arithmetic="input").layers[place]
    assert dtype == torch.float32 or not torch.equal(other.keys(still.key, k_places), turned.key)
    assert layer.softmax_scale == turned.scale


def test_layers_inside_the_model():
    """Who sees whom among the tokens; at whose angles."""
    values = values_of("yarn")
    config, plan, given = config_of(values), plan_of(values), []
    model = lively(AutoModel.from_config(config, attn_implementation="spy"))
    for layer in model.layers:
        layer.self_attn.register_forward_pre_hook(lambda _, __, named: given.append(named["position_embeddings"]), with_kwargs=True)
    heard = heard_in(model, TOKENS, use_cache=False)
    nothing, ones = torch.zeros(1, 1, LENGTH, 8), torch.eye(LENGTH)[None, None]
    places = {"q_positions": range(LENGTH), "k_positions": range(LENGTH), "causal": plan.stack().causal}
    for layer, scheme, one, made in zip(plan.layers, plan.build().layers, heard, given, strict=True):
        seen = attend(nothing, nothing, ones, scheme=None, **places, window=layer.window)[0, 0] > 0
        assert torch.equal(seen, one.mask[0, 0, :, :LENGTH] == 0)
        at = scheme.at(range(LENGTH))
        assert torch.equal(at.cos, made[label_of(layer.kind)][0][0])
        assert torch.equal(at.sin, made[label_of(layer.kind)][1][0])


def test_attention_of_tokens_alone(monkeypatch, near):
    """Turned keys are values, what comes out is turned back: all by the plan, against what goes into the last projections."""
    values = values_of("bases")
    config, plan = config_of(values), plan_of(values)
    config._attn_implementation = "spy"
    module = lively(file_of("deepseek_v4").DeepseekV4Attention(config, 0))
    torch.nn.init.constant_(module.sinks, -1e9)
    states = torch.randn(1, LENGTH, 64, generator=torch.Generator().manual_seed(1))
    places = torch.arange(LENGTH)
    rotary = file_of("deepseek_v4").DeepseekV4RotaryEmbedding(config)
    _, projected = listen(
        module, states, {label: rotary(states, places[None], label) for label in ("main", "compress")}, places, monkeypatch
    )
    still, _ = listen(module, states, None, places, monkeypatch)
    layers = tuple(dataclasses.replace(layer, window=None) for layer in plan.layers)
    built = dataclasses.replace(plan.stack(), causal=False, layers=layers).build()  # the module was given no mask: all see all
    for positions in (places, range(LENGTH)):
        out = built.attend(0, still.query, still.key, still.value, q_positions=positions, k_positions=positions)
        near("DeepSeek-V4", out, projected, BOUND)


def test_layers_with_keys_of_many_tokens_are_not_attended_by_the_plan_alone():
    built, x = plan_of(values_of("plain")).build(), torch.zeros(1, 4, 5, WIDTH)
    with pytest.raises(
        ValueError, match=r"layer: needed one whose keys are tokens, got 1 .compressed_sparse_attention: one key more for each 4"
    ):
        built.attend(1, x, x[:, :1], x[:, :1], q_positions=range(5), k_positions=range(5))
    text = plan_of(values_of("plain")).explain()
    assert "values turn with the keys, outputs back; one key more for each 8 tokens, at the first one's position" in text


WRONG = [
    ({"rope_parameters": {**YARN, "rope_theta": 1e4}}, "rope_parameters: needed rope_theta and compress_rope_theta beside it"),
    ({"rope_parameters": {**NESTED, "main": {"rope_theta": 1e4}}}, "rope_parameters: needed partial_rotary_factor = 0.375 in main"),
    ({"qk_rope_head_dim": 16}, "qk_rope_head_dim: needed 24, as partial_rotary_factor says, got 16"),
    ({"partial_rotary_factor": 0.1}, "qk_rope_head_dim: needed an even number of entries to turn, got 6|got 7"),
    ({"layer_types": None, "compress_ratios": [0, 4, 7]}, "compress_ratios: needed 0, 4 or 128, got .7."),
    ({"layer_types": KINDS[:2]}, "layer_types: needed one a layer, 3, got 2 of them"),
    ({"compress_rates": 4}, "compress_rates: needed a dictionary or null, got 4"),
    ({"compress_rates": {SPARSE: 0}}, "compress_rates.compressed_sparse_attention: needed a whole number"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_honoured_is_refused(changes, message):
    if "partial_rotary_factor" in changes:
        changes = {"partial_rotary_factor": 7 / 64}
    with pytest.raises(ValueError, match=message):
        plan_of({**values_of("plain"), **changes})


def test_bases_beside_a_whole_dictionary_change_nothing():
    values = {**values_of("nested"), "rope_theta": 77.0, "compress_rope_theta": 54321.0}
    with pytest.warns(UserWarning, match="rope_theta: changes nothing beside the base of main, 1234.5") as caught:
        assert checkpoints.read(values).stacks == plan_of(values_of("nested")).stacks
    assert len(caught) == 1


@pytest.mark.parametrize("model_type", ["mistral_large4_text", "mistral_large4"])
def test_a_type_that_no_plan_says_exactly_is_refused_with_the_reason(model_type):
    with pytest.raises(ValueError, match=f"model_type '{model_type}' is not in the table, and nothing is guessed: .*learned"):
        checkpoints.read({"model_type": model_type})
