"""Decoders without positions, as ``read`` plans them, against tiny models: who attends, sees whom, by what scale; nothing turns."""

import copy

import pytest
import torch
from reading_models import config_of, file_of, plan_of
from reading_sizes import COMMON
from reading_spy import LENGTH, TOKENS, heard_in, lively
from transformers import AutoModel

from ordinate import attend, checkpoints

SIZES = {**COMMON, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
JAMBA = {"model_type": "jamba", **SIZES, "num_hidden_layers": 6, "attn_layer_period": 3, "attn_layer_offset": 1}
JAMBA |= {"num_experts": 2, "num_experts_per_tok": 1, "mamba_d_state": 8, "mamba_dt_rank": 4}
KINDS = ["linear_attention", "full_attention", "mlp", "moe", "full_attention", "full_attention"]
NEMOTRON = {"model_type": "nemotron_h", **SIZES, "head_dim": 32, "layers_block_type": KINDS, "n_groups": 2}
NEMOTRON |= {"mamba_num_heads": 4, "mamba_head_dim": 32, "ssm_state_size": 8, "moe_intermediate_size": 16, "n_routed_experts": 2}
NEMOTRON |= {"moe_shared_expert_intermediate_size": 16, "num_experts_per_tok": 1}
OLD_NAMES = {"linear_attention": "mamba", "full_attention": "attention"}
CASES = {
    "jamba": JAMBA,
    "jamba, heads of 32": {**JAMBA, "head_dim": 32},
    "jamba, period 2": {**JAMBA, "attn_layer_period": 2},
    "nemotron_h": NEMOTRON,
    "nemotron_h, heads of 16": {**NEMOTRON, "head_dim": 16},
    "nemotron_h, window": {**NEMOTRON, "sliding_window": 5},
    "nemotron_h, base": {**NEMOTRON, "rope_theta": 10000.0, "partial_rotary_factor": 1.0},
    "nemotron_h, letters": {key: value for key, value in NEMOTRON.items() if key != "layers_block_type"}
    | {"hybrid_override_pattern": "M*-E**", "num_hidden_layers": 6},
    "nemotron_h, old names": {**NEMOTRON, "layers_block_type": [OLD_NAMES.get(kind, kind) for kind in KINDS]},
}
DEFAULTS = {"jamba": {"model_type": "jamba"}, "nemotron_h": {"model_type": "nemotron_h", "layers_block_type": KINDS}}
# Two float32 softmax attentions over 40 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
BOUND = 1e-5


def heard(values, monkeypatch):
    """What the attention modules hand on; a call of the rotary functions of their file would stop the run."""
    config = config_of(values)
    file = file_of(config.model_type)
    for name in ("apply_rotary_pos_emb", "rotate_half"):
        monkeypatch.setattr(file, name, lambda *_, **__: pytest.fail("a rotary function was called"))
    model = lively(AutoModel.from_config(config, attn_implementation="spy"))
    return config, model, heard_in(model, TOKENS, use_cache=False)


@pytest.mark.parametrize("case", CASES)
def test_attention_without_positions(case, monkeypatch, near):
    config, _, layers = heard(CASES[case], monkeypatch)
    plan = plan_of(CASES[case])
    attending = [layer for layer in plan.layers if layer.attends]
    assert [layer.kind for layer in plan.layers] == list(config.layer_types)
    assert len(attending) == len(layers) > 0
    assert plan.stack().causal
    for planned, given in zip(attending, layers, strict=True):
        assert planned.scheme is planned.window is planned.chunk is planned.query_scale is None
        assert planned.softmax_scale == given.scale
        assert torch.equal(given.mask[0, 0] == 0, torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril())
        places = {"q_positions": range(LENGTH), "k_positions": range(LENGTH)}
        out = attend(given.query, given.key, given.value, scheme=None, **places, causal=True, scale=planned.softmax_scale)
        near(case, out, given.out, BOUND)


@pytest.mark.parametrize("case", ["jamba", "nemotron_h"])
def test_positions_change_nothing(case, monkeypatch):
    """Wherever the first token is: its file defines rotary functions, and no module reaches them."""
    _, model, before = heard(CASES[case], monkeypatch)
    after = heard_in(model, TOKENS, use_cache=False, position_ids=torch.arange(LENGTH)[None] + 1000)
    assert all(
        torch.equal(one.query, other.query) and torch.equal(one.key, other.key) for one, other in zip(before, after, strict=True)
    )


def test_the_watch_over_rotary_functions_can_fail(monkeypatch):
    file = file_of("llama")
    monkeypatch.setattr(file, "rotate_half", lambda *_, **__: pytest.fail("a rotary function was called"))
    sizes = {**SIZES, "model_type": "llama", "num_hidden_layers": 1}
    model = AutoModel.from_config(config_of(sizes), attn_implementation="spy")
    with pytest.raises(pytest.fail.Exception, match="a rotary function was called"):
        heard_in(model, TOKENS, use_cache=False)


@pytest.mark.parametrize("case", ["jamba", "nemotron_h"])
def test_defaults(case):
    config = config_of(DEFAULTS[case])
    sizes = {key: getattr(config, key) for key in ("num_hidden_layers", "num_attention_heads", "hidden_size")}
    plan = plan_of({**DEFAULTS[case], **sizes})
    assert plan.stacks == plan_of(config.to_dict()).stacks
    assert [layer.kind for layer in plan.layers] == list(config.layer_types)
    assert plan.stack().max_length == config.max_position_embeddings
    module = getattr(file_of(case), {"jamba": "JambaAttention", "nemotron_h": "NemotronHAttention"}[case])
    with torch.device("meta"):
        assert all(layer.softmax_scale == module(config, 1).scaling for layer in plan.layers)


WRONG = [
    ({**JAMBA, "attn_layer_offset": 3}, "attn_layer_offset: needed less than attn_layer_period = 3, got 3"),
    ({**JAMBA, "layer_types": ["full_attention"] * 6}, "layer_types: cannot be honoured"),
    ({**NEMOTRON, "num_hidden_layers": 5}, "num_hidden_layers: needed 6, as many as layers are listed, got 5"),
    ({**NEMOTRON, "layers_block_type": None}, "layers_block_type: needed, got nothing"),
    (
        {**NEMOTRON, "layers_block_type": None, "hybrid_override_pattern": "M?"},
        "needed 1 to 10000 letters of M E \\* -, got 'M\\?'",
    ),
    (
        {**NEMOTRON, "layers_block_type": ["full"]},
        "layers_block_type: needed full_attention, linear_attention, moe, mlp, got 'full'",
    ),
    ({**NEMOTRON, "layers_block_type": []}, "layers_block_type: needed a list of 1 to 10000 layer types"),
    ({**NEMOTRON, "layers_block_type": [None]}, "layers_block_type: needed full_attention"),
]


@pytest.mark.parametrize(("values", "message"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_honoured_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        plan_of(values)


def test_settings_of_rotations_are_warned_of():
    with pytest.warns(UserWarning, match="rope_theta: changes nothing: no layer of nemotron_h turns"):
        checkpoints.read({**copy.deepcopy(NEMOTRON), "rope_theta": 10000.0})
