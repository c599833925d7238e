"""What single model types' configurations say in ways of their own, against the models' own modules, bit for bit."""

import copy

import pytest
import torch
from reading_models import MODELS, config_of, cos_sin, file_of, plan_of, rotary_of
from reading_rules import new_spelling, plain_spelling
from reading_singular import MIXED
from reading_spy import LENGTH, TOKENS, heard_in, listen, lively, model_from, run, stillness

from ordinate import attend, checkpoints
from ordinate.checkpoints.built import query_factors
from ordinate.checkpoints.plan import PowerScale

FULL, SLIDING = "full_attention", "sliding_attention"
NEAR = torch.tensor([*range(LENGTH - 1), 100003])


# Beam


def test_beams_factors_of_queries():
    positions = torch.cat((torch.arange(5000), torch.tensor([131071, 1000003])))[None]
    expected = file_of("beam").compute_attention_scaling(positions)
    rule = next(layer.query_scale for layer in plan_of(plain_spelling("beam", "default")).layers if layer.scheme is None)
    assert rule == PowerScale(exponent=0.1, length=2048, first=1)
    found = query_factors(rule, positions)
    assert found.shape == expected.shape
    assert torch.equal(found, expected)
    exact = ((positions.double() + 1) / 2048 + 1) ** 0.1
    assert (found[0, 0, :, 0] / exact[0] - 1).abs().max() <= 2.0**-22
    assert not torch.equal(query_factors(PowerScale(exponent=0.1, length=2048, first=0), positions), expected)


def test_beams_turning_layers_are_not_scaled():
    plan = plan_of(plain_spelling("beam", "default"))
    assert {(layer.scheme is None, layer.query_scale is None) for layer in plan.layers} == {(True, False), (False, True)}
    assert "queries x ((p + 1) / 2048 + 1)^0.1" in plan.explain()


def test_beam_needs_an_entry_for_each_type():
    values = {**plain_spelling("beam", "default"), "rope_parameters": {SLIDING: {"rope_type": "default", "rope_theta": 1e4}}}
    with pytest.raises(KeyError, match=FULL):
        rotary_of(config_of(values))
    with pytest.raises(ValueError, match="rope_parameters: needed an entry for full_attention"):
        plan_of(values)


@pytest.mark.parametrize("model_type", ["beam", "lfm3", "zaya"])
def test_keys_beside_the_dictionary_are_refused(model_type):
    """Their code does not read them."""
    values = {**plain_spelling(model_type, "default"), "rope_theta": 1234.5}
    with pytest.raises(ValueError, match="rope_theta: cannot be honoured"):
        plan_of(values)
    plain = cos_sin(
        rotary_of(config_of(plain_spelling(model_type, "default"))), model_type, NEAR, SLIDING if model_type != "zaya" else "hybrid"
    )
    theirs = cos_sin(rotary_of(config_of(values)), model_type, NEAR, SLIDING if model_type != "zaya" else "hybrid")
    assert torch.equal(plain[0], theirs[0])


# ZAYA


def test_zayas_published_files_name_a_rule_beside_the_layer_types():
    values = new_spelling("zaya", "default")
    beside = {**values, "rope_parameters": {**values["rope_parameters"], "rope_type": "default"}}
    assert plan_of(beside).stacks == plan_of(values).stacks
    assert torch.equal(
        cos_sin(rotary_of(config_of(beside)), "zaya", NEAR, "hybrid")[0],
        cos_sin(rotary_of(config_of(values)), "zaya", NEAR, "hybrid")[0],
    )


def test_zaya_needs_its_window():
    values = {**plain_spelling("zaya", "default"), "sliding_window": None}
    with pytest.raises(ValueError, match="sliding_window: needed beside sliding layers"):
        plan_of(values)


# Molmo 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["linear", "yarn, attention factor", "llama3"])
def test_molmo2s_scaled_and_unscaled_layers(name, dtype):
    values = {**new_spelling("molmo2_text", name), "rope_scaling_layers": [1, 2, 6]}
    config, layers = run(values)
    plan, module_of = plan_of(values), file_of("molmo2_text").Molmo2RotaryEmbedding
    built = plan.build()
    assert len(built.schemes) == 2
    for index, layer in enumerate(layers):
        made = module_of(config, scaled=index in (1, 2, 6))(torch.zeros(1, dtype=dtype), NEAR[None])
        module, inputs = copy.deepcopy(layer.module).to(dtype), dict(layer.inputs)
        inputs |= {
            "hidden_states": inputs["hidden_states"].to(dtype),
            "attention_mask": torch.zeros(1, 1, LENGTH, LENGTH, dtype=dtype),
        }
        turned = listen(module, **{**inputs, "position_embeddings": made})
        still = listen(module, **{**inputs, "position_embeddings": stillness(made, "molmo2_text")})
        scheme = built.layers[index]
        assert (scheme.scaling is None) == (index not in (1, 2, 6))
        assert torch.equal(scheme.queries(still.query, NEAR), turned.query)
        assert torch.equal(scheme.keys(still.key, NEAR), turned.key)
        other = built.layers[1 if index != 1 and scheme.scaling is None else 0]
        assert scheme is other or not torch.equal(other.keys(still.key, NEAR), turned.key)


def test_molmo2s_model_gives_each_layer_its_own_angles():
    values = {**new_spelling("molmo2_text", "linear"), "rope_scaling_layers": [1, 2, 6]}
    _, layers = run(values)
    built = plan_of(values).build()
    for layer, scheme in zip(layers, built.layers, strict=True):
        cos = layer.inputs["position_embeddings"][0][0, :, :16]
        assert torch.equal(cos, scheme.at(torch.arange(LENGTH)).cos)


# MiniMax M3


def test_minimax_m3s_rotary_dim_is_ignored_and_ours_reads_it():
    values = {**plain_spelling("minimax_m3_vl_text", "default"), "rotary_dim": 24}
    assert plan_of(values).layers[0].scheme.rotary_dim == 24
    assert rotary_of(config_of(values)).inv_freq.numel() == 24  # 48 entries
    with pytest.raises(ValueError, match="rotary_dim: needed 12"):
        plan_of({**values, "partial_rotary_factor": 0.25})


# Step 3.7


def step(**changes):
    return {**plain_spelling("step3p5", "default"), **changes}


BASES = [7e3 if kind == SLIDING else 5e6 for kind in MIXED]
SHARES = [1.0 if kind == SLIDING else 0.5 for kind in MIXED]
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 2.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 32.0,
    "original_max_position_embeddings": 512,
}
LISTS = {
    "bases": {"rope_theta": BASES},
    "one base": {"rope_theta": 7e3},
    "shares": {"partial_rotary_factors": SHARES},
    "both": {"rope_theta": BASES, "partial_rotary_factors": SHARES},
    "both, longer": {
        "rope_theta": [*BASES, 7e3],
        "partial_rotary_factors": [*SHARES, 1.0],
        "layer_types": [*MIXED, SLIDING],
        "num_nextn_predict_layers": 1,
    },
    "a rule": {"rope_theta": BASES, "partial_rotary_factors": SHARES, "rope_scaling": LLAMA3},
}


@pytest.mark.parametrize("case", LISTS)
def test_steps_lists_with_one_value_a_layer(case):
    values = step(**LISTS[case])
    config, plan = config_of(values), plan_of(values)
    module, built = rotary_of(config), plan.build()
    for layer, scheme in zip(plan.layers, built.layers, strict=True):
        at = scheme.at(NEAR)
        for ours, theirs in zip((at.cos, at.sin), cos_sin(module, "step3p5", NEAR, layer.kind), strict=True):
            assert torch.equal(ours * scheme.magnitude, theirs)
    assert plan_of(config.to_dict()).stacks == plan.stacks
    assert plan.stacks != plan_of(step()).stacks


def test_steps_sight_in_both_directions():
    values = step(use_bidirectional_attention=True)
    model, stack = lively(model_from(config_of(values), "spy")), plan_of(values).stack()
    nothing, ones, places = torch.zeros(1, 1, LENGTH, 8), torch.eye(LENGTH)[None, None], range(LENGTH)
    for layer, given in zip(stack.layers, heard_in(model, TOKENS, use_cache=False), strict=True):
        rest = {"q_positions": places, "k_positions": places, "causal": stack.causal, "window": layer.window}
        seen = attend(nothing, nothing, ones, scheme=None, **rest)[0, 0] > 0
        assert torch.equal(seen, torch.ones_like(seen) if given.mask is None else given.mask[0, 0] == 0)
    assert not stack.causal


WRONG = [
    ({"rope_theta": [1e4] * 7}, "rope_theta: needed a list of 8 values, got 7 of them"),
    ({"rope_theta": [*BASES[:-1], 3.0]}, "rope_theta: cannot be honoured: needed one value for all layers of full_attention"),
    ({"rope_theta": [*BASES[:-1], "x"]}, "rope_theta: in the list: needed a finite number >= 1, got 'x'"),
    (
        {"rope_theta": 7e3, "rope_parameters": {FULL: {"rope_theta": 1e4}, SLIDING: {"rope_theta": 1e4}}},
        "cannot be honoured beside rope_param",
    ),
    ({"attention_other_setting": {"head_dim": 16}}, "attention_other_setting.head_dim: cannot be honoured: needed 32"),
    ({"sliding_window": None}, "sliding_window: needed beside sliding layers, got none"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=range(len(WRONG)))
def test_what_step_cannot_honour_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        plan_of(step(**changes))


def test_phi4s_other_models_are_not_read():
    plan = plan_of(plain_spelling("phi4_multimodal", "default"))
    said = {entry.key: entry.became for entry in plan.entries}
    assert {said["vision_config"], said["audio_config"]} == {"not read: the plan is of the text model"}


def test_doge_says_that_values_choose_keys():
    plan = checkpoints.read({"model_type": "doge", **MODELS["doge"], "keep_window_size": 77})
    assert any("of more keys than 77" in entry.became for entry in plan.entries)
