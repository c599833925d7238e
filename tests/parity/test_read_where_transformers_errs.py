"""Where transformers 5.24 departs from the configuration, or from itself: what ``read`` builds against plain float64 formulas."""

import json
import math
from pathlib import Path

import pytest
import torch
from reading_models import LABELS, MODELS, NEW_ONLY, PER_TYPE, config_of, cos_sin, frequencies, plan_of, rotary_of
from reading_rules import BASE, LOCAL_BASE, TRAINED, new_spelling, plain_spelling
from reading_spy import TOKENS, heard_in, listen, lively, run
from transformers import AutoModel
from transformers.models.falcon.modeling_falcon import build_alibi_tensor

from ordinate import checkpoints

CONFIGS = Path(__file__).parents[1] / "checkpoints" / "configs"
MISTAKE = 1e-3  # what theirs is off by, at least
EXACT = 1e-12  # float64 formulas in another order


def powers(base, width):
    """Inverse frequencies without a rule."""
    return [base ** (-2 * pair / width) for pair in range(width // 2)]


def off_by(found, expected):
    return max(abs(one / other - 1) for one, other in zip(found, expected, strict=True))


def exact(plan, length=1, kind=None):
    """Inverse frequencies of the first layer of a kind, not rounded to float32."""
    index = 0 if kind is None else [layer.kind for layer in plan.layers].index(kind)
    return plan.build(phases="exact").at_length(length).layers[index].inverse_frequencies


def yarn(base, width, factor, trained, *, truncate):
    """The ramp between kept and slowed frequencies."""
    low, high = (width * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base)) for turns in (32, 1))
    low, high = (math.floor(low), math.ceil(high)) if truncate else (low, high)
    slowed = [min(max((pair - max(low, 0)) / (min(high, width - 1) - max(low, 0)), 0), 1) for pair in range(width // 2)]
    return [kept * (1 - share) + kept / factor * share for kept, share in zip(powers(base, width), slowed, strict=True)]


@pytest.mark.parametrize("model_type", ["llama", "glm4", "falcon"])
def test_dynamic_ntk_remembers_earlier_calls_and_ours_does_not(model_type):
    values = new_spelling(model_type, "dynamic")
    config, plan = config_of(values), plan_of(values)
    module, width, length = rotary_of(config), plan.layers[0].scheme.rotary_dim, TRAINED + 88
    expected = powers(BASE * (2.5 * length / TRAINED - 1.5) ** (width / (width - 2)), width)
    for before in (length, 5000, length):
        cos_sin(module, model_type, torch.arange(before), None)
        assert off_by(exact(plan, before) if before == length else exact(plan, length), expected) < EXACT
    assert off_by(frequencies(module, model_type, None)[0].tolist(), expected) > MISTAKE


@pytest.mark.parametrize("kind", ["full_attention", "sliding_attention"])
@pytest.mark.parametrize("model_type", PER_TYPE)
def test_yarns_truncate_is_ignored_by_layer_type_and_ours_reads_it(model_type, kind):
    values = new_spelling(model_type, "yarn, not truncated")
    plan, module = plan_of(values), rotary_of(config_of(values))
    base = BASE if kind == "full_attention" else LOCAL_BASE
    kind = LABELS[model_type][base == LOCAL_BASE] if model_type in LABELS else kind
    width = next(layer.scheme.rotary_dim for layer in plan.layers if layer.scheme and layer.kind == kind)
    rest = (base, width, 32.0, TRAINED)
    assert off_by(exact(plan, kind=kind), yarn(*rest, truncate=False)) < EXACT
    theirs, _ = frequencies(module, model_type, kind)
    assert off_by(theirs.tolist(), yarn(*rest, truncate=True)) < 1e-5
    assert off_by(theirs.tolist(), yarn(*rest, truncate=False)) > MISTAKE


def test_olmo3_leaves_sliding_layers_at_its_default_base_and_ours_does_not():
    values = {**plain_spelling("olmo3", "default"), "rope_theta": 1234.5}
    plan, module = plan_of(values), rotary_of(config_of(values))
    for kind, theirs in (("full_attention", 1234.5), ("sliding_attention", 500000.0)):
        assert off_by(exact(plan, kind=kind), powers(1234.5, 32)) < EXACT
        assert off_by(frequencies(module, "olmo3", kind)[0].tolist(), powers(theirs, 32)) < 1e-6


@pytest.mark.parametrize("model_type", [name for name in PER_TYPE if name not in NEW_ONLY])
def test_a_rule_named_by_type_is_dropped_and_ours_reads_it(model_type):
    values = {**plain_spelling(model_type, "default"), "rope_scaling": {"type": "linear", "factor": 4.0}}
    plan, module = plan_of(values), rotary_of(config_of(values))
    scheme = next(layer.scheme for layer in plan.layers if layer.kind == "full_attention")
    plain = powers(scheme.base, scheme.rotary_dim)
    assert off_by(exact(plan, kind="full_attention"), [one / 4 for one in plain]) < EXACT
    assert off_by(frequencies(module, model_type, "full_attention")[0].tolist(), plain) < 1e-6


def test_gpt_neox_does_not_read_rope_theta_and_ours_does():
    values = {**plain_spelling("gpt_neox", "default"), "rope_theta": 1234.5}
    assert off_by(exact(plan_of(values)), powers(1234.5, 12)) < EXACT
    assert off_by(frequencies(rotary_of(config_of(values)), "gpt_neox", None)[0].tolist(), powers(10000.0, 12)) < 1e-6


def test_phi3_refuses_its_first_name_of_longrope_and_ours_reads_it():
    values = json.loads((CONFIGS / "omnigen_v1_phi3_su.json").read_text(encoding="utf-8"))
    with pytest.raises(KeyError, match="original_max_position_embeddings"):
        config_of(values)
    rope, width = values["rope_scaling"], values["hidden_size"] // values["num_attention_heads"]
    trained = values["original_max_position_embeddings"]
    for length, key in ((trained, "short_factor"), (trained + 1, "long_factor")):
        expected = [one / divisor for one, divisor in zip(powers(10000.0, width), rope[key], strict=True)]
        assert off_by(exact(plan_of(values), length), expected) < EXACT


def test_attn_factor_is_ignored_and_ours_reads_it():
    values = json.loads((CONFIGS / "deepseek_r1_0528_qwen3_8b.json").read_text(encoding="utf-8"))
    rope, own = values["rope_scaling"], 0.1 * math.log(values["rope_scaling"]["factor"]) + 1.0
    module, scheme = rotary_of(config_of(values)), plan_of(values).build().layers[0]
    assert math.isclose(scheme.magnitude, own * rope["attn_factor"], rel_tol=1e-12)
    assert math.isclose(module.attention_scaling, own, rel_tol=1e-12)
    assert abs(own / scheme.magnitude - 1) > 0.1
    assert list(scheme.inverse_frequencies) == module.inv_freq.tolist()


def test_llama4s_temperature_counts_tokens_and_ours_positions():
    """A row with three tokens of padding on the left: its real tokens are counted from 0."""
    _, layers = run(plain_spelling("llama4_text", "default"))
    module, inputs = layers[3].module, dict(layers[3].inputs)
    with torch.no_grad():
        module.q_proj.weight.fill_(0.0)[:, 0] = 1.0
    inputs["hidden_states"] = torch.ones(1, 40, 96)
    theirs = listen(module, **inputs).query[0, 0, :, 0]
    positions = torch.arange(40) - 3
    ours = plan_of(plain_spelling("llama4_text", "default")).build().scaled_queries(3, torch.ones(1, 1, 37, 32), positions[3:])
    expected = torch.tensor([0.1 * math.log1p((place + 1) // 8) + 1.0 for place in range(37)], dtype=torch.float64)
    assert (ours[0, 0, :, 0] / expected - 1).abs().max() <= 2.0**-23
    assert (theirs[3:] / expected - 1).abs().max() > MISTAKE


def alibi(model_type, **changes):
    if model_type == "mpt":
        return {"model_type": "mpt", "vocab_size": 64, "d_model": 48, "n_heads": 6, "n_layers": 1, "max_seq_len": 64, **changes}
    sizes = {"vocab_size": 64, "hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 6, "multi_query": False}
    return {"model_type": "falcon", **sizes, "bos_token_id": 1, "eos_token_id": 2, "alibi": True, **changes}


def test_falcons_products_are_rounded_to_bfloat16_and_ours_are_not():
    plan, length = plan_of(alibi("falcon")), 600
    scheme, scale = plan.build().layers[0], plan.layers[0].softmax_scale
    theirs = build_alibi_tensor(torch.ones(1, length, dtype=torch.int64), 6, torch.float32)[:, 0].double() * scale
    nothing, last = torch.zeros(1, 6, 1, 8), range(length - 1, length)
    ours = scheme.bias(nothing, nothing.expand(1, 6, length, 8), scheme.at(last, range(length)))[0, :, 0].double()
    exact = torch.tensor(plan.layers[0].scheme.slopes, dtype=torch.float64)[:, None] * (torch.arange(length) - length + 1)
    assert (ours - exact).abs().max() <= 2.0**-23 * exact.abs().max()
    assert ((theirs - theirs[:, -1:]) - exact).abs().max() > 0.05


def test_falcons_eager_attention_adds_alibi_twice():
    """So that the plan is held against what its attention gives with PyTorch's own function."""
    outputs = []
    for implementation in ("eager", "sdpa"):
        for changes in ({}, {"alibi": False}):
            model = lively(AutoModel.from_config(config_of(alibi("falcon", **changes)), attn_implementation=implementation))
            with torch.no_grad():
                outputs.append(model(TOKENS, use_cache=False).last_hidden_state)
    (eager, plain_eager), (whole, plain_whole) = outputs[:2], outputs[2:]
    assert (plain_eager - plain_whole).abs().max() < 1e-5
    assert (eager - whole).abs().max() > 0.1


def test_mpts_alibi_bias_max_is_ignored_and_ours_reads_it():
    values = alibi("mpt", attn_config={"alibi": True, "alibi_bias_max": 16})
    slopes = plan_of(values).layers[0].scheme.slopes
    expected = [2.0 ** (-16 * head / 4) for head in range(1, 5)] + [2.0 ** (-16 * head / 8) for head in (1, 3)]
    assert off_by(slopes, expected) < EXACT
    model, rows = lively(AutoModel.from_config(config_of(values))), []
    model.blocks[0].attn.register_forward_pre_hook(lambda _, __, named: rows.append(named["position_bias"]), with_kwargs=True)
    with torch.no_grad():
        model(TOKENS, use_cache=False)
    eight = [2.0 ** (-8 * head / 4) for head in range(1, 5)] + [2.0 ** (-8 * head / 8) for head in (1, 3)]
    assert off_by((-rows[0][:, 0, -2]).tolist(), eight) < 1e-6


@pytest.mark.parametrize("model_type", ["gptj", "codegen"])
def test_sinusoids_made_in_bfloat16_are_wrong_and_ours_have_no_dtype(model_type):
    values = {**plain_spelling(model_type, "default"), "n_positions": 1024}
    table = AutoModel.from_config(config_of(values), dtype=torch.bfloat16).rotary_emb.embed_positions.double()
    angles = torch.arange(1024, dtype=torch.float64)[:, None] * torch.tensor(powers(10000.0, 24), dtype=torch.float64)
    expected = torch.cat((angles.sin(), angles.cos()), dim=1)
    at = plan_of(values).build(phases="exact").layers[0].at(range(1024))
    assert (torch.cat((at.sin, at.cos), dim=1).double() - expected).abs().max() <= 2.0**-24
    assert (table - expected).abs().max() > 0.1


def test_gemma_contradicts_itself_and_is_refused():
    """The mask of eager attention looks back, whatever the flag says; PyTorch's attention without a mask follows it."""
    values = {"model_type": "gemma", **MODELS["gemma"], "use_bidirectional_attention": True}
    models = [lively(AutoModel.from_config(config_of(values), attn_implementation=kind)) for kind in ("spy", "sdpa")]
    heard = heard_in(models[0], TOKENS, use_cache=False)
    assert torch.equal(heard[0].mask[0, 0] == 0, torch.ones(40, 40, dtype=torch.bool).tril())
    changed = torch.cat((TOKENS[:, :-1], 63 - TOKENS[:, -1:]), dim=1)
    with torch.no_grad():
        moved = [model(TOKENS, use_cache=False)[0][0, 0] - model(changed, use_cache=False)[0][0, 0] for model in models]
    assert moved[0].abs().max() == 0  # the last token does not reach the first
    assert moved[1].abs().max() > 0.01
    for model_type in ("gemma", "gemma2"):
        with pytest.raises(ValueError, match="use_bidirectional_attention: cannot be honoured"):
            checkpoints.read({"model_type": model_type, **MODELS[model_type], "use_bidirectional_attention": True})


@pytest.mark.parametrize("model_type", ["deepseek_v2", "deepseek_v3"])
def test_deepseeks_softmax_factor_is_read_beside_yarn_alone(model_type):
    """Their code multiplies the softmax scale by it beside any rule, though only YaRN has such a number."""
    rope = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0, "mscale_all_dim": 1.0}
    with pytest.raises(ValueError, match="mscale_all_dim: cannot be honoured beside the rule linear"):
        checkpoints.read({"model_type": model_type, **MODELS[model_type], "rope_parameters": rope})
