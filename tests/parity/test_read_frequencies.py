"""What ``read`` builds against the rotary module of every model type, for every rule, in both spellings: bit for bit."""

import dataclasses

import pytest
import torch
from reading_compare import FAR, NEAR, compare_all
from reading_models import HELD_APART, MODELS, NO_OLD, PER_TYPE, SINUSOIDS, config_of, plan_of
from reading_multimodal import AXES, CUT, other_sections
from reading_rules import (
    FEWER,
    LENGTHS,
    NOT_ALL,
    RULES,
    SHARES,
    TRAINED,
    first_rule,
    new_spelling,
    old_spelling,
    plain_spelling,
    rules_of,
)

from ordinate.checkpoints.rotary_types import ROTARY_TYPES
from ordinate.checkpoints.scheme_plans import MultimodalRopePlan

LAST, NEXT = torch.tensor([TRAINED - 1]), torch.tensor([TRAINED])  # the longest trained sequence, and one token more
SPELLINGS = {"new": new_spelling, "old": old_spelling, "plain": plain_spelling}
CASES = [
    (model_type, name, spelling)
    for model_type in MODELS
    for name in rules_of(model_type)
    for spelling in SPELLINGS
    if (spelling != "plain" or name == first_rule(model_type)) and not (spelling == "old" and model_type in NO_OLD)
]


@pytest.mark.parametrize(("model_type", "name", "spelling"), CASES, ids=lambda value: str(value))
def test_bit_for_bit(model_type, name, spelling):
    values = SPELLINGS[spelling](model_type, name)
    places = (NEAR, LAST, NEXT, FAR[:1] if model_type in SINUSOIDS else FAR)
    assert compare_all(config_of(values), plan_of(values), places) >= 6


@pytest.mark.parametrize("model_type", SINUSOIDS)
def test_a_longer_table_of_sinusoids(model_type):
    values = {**plain_spelling(model_type, "default"), "n_positions": 40001}
    assert compare_all(config_of(values), plan_of(values), [torch.cat((NEAR, FAR[:2]))]) == 12


@pytest.mark.parametrize(
    ("model_type", "name"),
    [
        (model_type, name)
        for model_type, sizes in MODELS.items()
        for name in ("default", "linear")
        if "head_dim" in sizes and model_type != "longcat_flash" and not model_type.startswith("phi")
        if name in FEWER.get(model_type, (name,))
    ],
)
def test_heads_without_a_declared_width(model_type, name):
    """The type's default, or the width divided among the heads."""
    values = new_spelling(model_type, name)
    del values["head_dim"]
    if model_type in SHARES and model_type not in {*PER_TYPE, *AXES}:
        values["rope_parameters"]["partial_rotary_factor"] = 0.5
        values |= {"rotary_dim": 64} if model_type == "minimax_m3_vl_text" else {}
    if model_type in CUT:
        del values["rope_parameters"]["mrope_section"]  # the type's default, which fits any width
    assert compare_all(config_of(values), plan_of(values), [NEAR]) >= 6


# What a configuration may leave out, with sizes that the type's defaults fit; read under a rule that needs them.
LEFT_OUT = [(name, "dynamic", (LENGTHS.get(name, "max_position_embeddings"),), {}) for name in MODELS if name not in FEWER]
LEFT_OUT += [(model_type, "default", ("rotary_dim",), {"n_embd": 512}) for model_type in SINUSOIDS]
LEFT_OUT += [(model_type, "default", ("qk_rope_head_dim",), {}) for model_type in ("deepseek_v2", "deepseek_v3")]
LEFT_OUT += [(name, "longrope", ("original_max_position_embeddings",), {}) for name in ("phi3", "phi4_multimodal")]


@pytest.mark.parametrize(("model_type", "name", "keys", "sizes"), LEFT_OUT, ids=lambda value: str(value))
def test_sizes_that_are_left_out(model_type, name, keys, sizes):
    values = {**new_spelling(model_type, name), **sizes}
    for key in keys:
        del values[key]
        values.get("rope_parameters", {}).pop(key, None)
    places = [NEAR] if model_type in SINUSOIDS else [NEAR, torch.tensor([4095]), torch.tensor([4096]), FAR]
    assert compare_all(config_of(values), plan_of(values), places) >= 6


def test_phi3s_second_name_of_longrope():
    """The first, "su", transformers refuses: see test_read_where_transformers_errs."""
    values = old_spelling("phi3", "longrope")
    values["rope_scaling"]["type"] = "yarn"
    assert compare_all(config_of(values), plan_of(values), [LAST, NEXT]) == 12


def test_every_row_of_the_table_is_held():
    assert set(MODELS) | HELD_APART == set(ROTARY_TYPES)


def test_every_rule_is_there_for_every_type():
    counted = {model_type: {RULES[name]["rope_type"] for name in rules_of(model_type)} for model_type in MODELS}
    kinds = {rule["rope_type"] for rule in RULES.values()}
    assert kinds == {"default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}
    assert all(found == kinds for model_type, found in counted.items() if model_type not in NOT_ALL)


@pytest.mark.parametrize("model_type", FEWER)
def test_other_rules_are_refused(model_type):
    values = {**plain_spelling(model_type, "default"), "rope_scaling": {"type": "linear", "factor": 2.0}}
    with pytest.raises(ValueError, match="rope_scaling"):
        plan_of(values)


def changed(plan, **changes):
    """The plan with other numbers in every scheme."""
    layers = tuple(
        layer if layer.scheme is None else dataclasses.replace(layer, scheme=replaced(layer.scheme, changes))
        for layer in plan.layers
    )
    return dataclasses.replace(plan, stacks=(dataclasses.replace(plan.stack(), layers=layers),))


def replaced(scheme, changes):
    return dataclasses.replace(scheme, **{name: value(scheme) if callable(value) else value for name, value in changes.items()})


@pytest.mark.parametrize("model_type", MODELS)
def test_the_comparison_can_fail(model_type):
    values = new_spelling(model_type, first_rule(model_type))
    config, plan, places = config_of(values), plan_of(values), [torch.tensor([*range(41), 1000])]
    compare_all(config, plan, places)
    scheme = next(layer.scheme for layer in plan.layers if layer.scheme)
    narrower = {"rotary_dim": scheme.rotary_dim - 2}
    if isinstance(scheme, MultimodalRopePlan):
        narrower = {"sections": other_sections}
    for wrong in (changed(plan, base=scheme.base * (1.0 + 1e-6)), changed(plan, **narrower), changed(plan, phases="exact")):
        with pytest.raises(AssertionError):
            compare_all(config, wrong, places)
