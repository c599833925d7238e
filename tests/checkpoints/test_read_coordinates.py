"""Keys that share pairs out among the coordinates of a token: what is honoured, what is refused by name, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from mutations import accepted, refused, small

from ordinate.checkpoints.plan import PositionPlan
from ordinate.checkpoints.scheme_plans import MultimodalRopePlan

QWEN2, QWEN3, ERNIE = "qwen2_vl_text", "qwen3_vl_text", "ernie4_5_vl_moe_text"
BASE = {"rope_type": "default", "rope_theta": 10000.0}


def scheme_of(plan: PositionPlan) -> MultimodalRopePlan:
    scheme = next(layer.scheme for layer in plan.layers if layer.scheme)
    assert isinstance(scheme, MultimodalRopePlan)
    return scheme


def roped(model_type: str, **rope: Any) -> dict[str, Any]:
    return small(model_type, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, **rope})


@pytest.mark.parametrize("key", ["type", "rope_type"])
@pytest.mark.parametrize("model_type", ["qwen2_vl", "qwen2_5_vl"])
def test_mrope_is_a_name_of_the_usual_rule(model_type: str, key: str) -> None:
    scaling = {key: "mrope", "mrope_section": [12, 26, 26]}
    scheme = scheme_of(accepted(small(model_type, rope_scaling=scaling)))
    assert (scheme.scaling, scheme.sections, scheme.order) == (None, (12, 26, 26), "contiguous")
    both = {"type": "mrope", "rope_type": "default", "mrope_section": [12, 26, 26]}
    assert scheme_of(accepted(small(model_type, rope_scaling=both))) == scheme


def test_a_rule_beside_sections() -> None:
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "mrope_section": [16, 24, 24]}
    scheme = scheme_of(accepted(small("qwen2_5_vl", rope_scaling=scaling)))
    assert scheme.scaling is not None
    assert scheme.sections == (16, 24, 24)


@pytest.mark.parametrize("model_type", ["paddleocr_vl", "glm4v", QWEN3, "llama", "qwen3"])
def test_others_have_no_such_name(model_type: str) -> None:
    refused(small(model_type, rope_scaling={"type": "mrope"}), "rope_scaling.type: needed one of", "'mrope'")


@pytest.mark.parametrize("key", ["mrope_interleaved", "interleaved"])
def test_whether_axes_take_turns_is_the_types_to_say(key: str) -> None:
    assert scheme_of(accepted(roped(QWEN3, **{key: True}))).order == "interleaved"
    assert scheme_of(accepted(roped(QWEN2, **{key: False}))).order == "contiguous"
    for model_type, value in ((QWEN3, False), (QWEN2, True), (QWEN3, 1), (QWEN2, "no"), (ERNIE, True)):
        refused(roped(model_type, **{key: value}), f"rope_parameters.{key}: cannot be honoured: needed")


WRONG = {
    "a sum that does not fit": (QWEN2, [16, 24, 25], "add up to 64 pairs"),
    "a sum that does not fit, in turns": (QWEN3, [24, 20, 19], "add up to 64 pairs"),
    "two axes": (QWEN2, [32, 32], "needed a list of 3 values"),
    "six sections": (QWEN2, [8, 12, 12, 8, 12, 12], "needed a list of 3 values"),
    "no room for turns": (QWEN3, [20, 24, 20], "needed room for the turns"),
    "unequal rows and columns": (ERNIE, [20, 24, 20], "needed equal ones after the first"),
    "no time": (ERNIE, [32, 32, 0], "needs pairs for the time"),
    "a fraction": (QWEN2, [16.5, 23.5, 24], "in the list"),
    "words": (QWEN2, "16, 24, 24", "needed a list"),
}


@pytest.mark.parametrize("case", WRONG)
def test_sections_that_do_not_fit(case: str) -> None:
    model_type, sections, said = WRONG[case]
    refused(roped(model_type, mrope_section=sections), "rope_parameters.mrope_section", said)


def test_sections_stand_in_the_types_order() -> None:
    scheme = scheme_of(accepted(roped(ERNIE, mrope_section=[20, 20, 24])))  # rows, columns, times
    assert (scheme.sections, scheme.order) == ((24, 20, 20), "space_first")


@pytest.mark.parametrize("key", ["mrope_section", "xdrope_section", "mrope_interleaved", "interleaved"])
def test_types_with_one_coordinate_read_no_sections(key: str) -> None:
    for model_type in ("llama", "qwen3", "qwen3_omni_moe_talker_code_predictor"):
        refused(roped(model_type, **{key: [4, 2, 2]}), f"rope_parameters.{key}: cannot be honoured: {model_type} reads no such key")


def test_sections_of_another_model() -> None:
    refused(roped(QWEN2, xdrope_section=[16, 16, 16, 16]), "xdrope_section: cannot be honoured")
    entry = {**BASE, "mrope_section": [4, 4]}
    refused(small("neomme", rope_parameters={"full_attention": entry}), "full_attention.mrope_section: cannot be honoured")


@pytest.mark.parametrize("model_type", ["cohere_compass_text", "neomme"])
def test_dictionaries_by_layer_type_alone(model_type: str) -> None:
    refused(small(model_type, rope_parameters=BASE), "rope_parameters: needed one dictionary for each layer type")
    config = {key: value for key, value in small(model_type).items() if key != "rope_parameters"}
    nested = {"full_attention": BASE}
    refused({**config, "rope_scaling": nested}, f"rope_scaling: cannot be honoured: {model_type} reads rope_parameters alone")
    refused({**config, "rope_scaling": BASE}, "rope_scaling: needed one dictionary for each layer type")


def test_cohere_compass_declares_every_base() -> None:
    config = small("cohere_compass_text", sliding_window=8, layer_types=["full_attention", "sliding_attention"] * 2)
    refused(config, "rope_parameters.sliding_attention.rope_theta: needed, got nothing")
    refused(
        {**config, "rope_parameters": {"full_attention": {"rope_type": "default"}, "sliding_attention": BASE}, "rope_theta": 1e4},
        "rope_parameters.full_attention.rope_theta: needed, got nothing",
    )
    plan = accepted({**config, "rope_parameters": {"full_attention": None, "sliding_attention": BASE}})
    assert [layer.scheme is None for layer in plan.layers] == [True, False, True, False]
    assert "full attention do not turn" in plan.explain()


def test_windows_of_neomme() -> None:
    refused(small("neomme", sliding_window=None), "sliding_window: needed for sliding layers")
    refused(small("neomme", per_layer_config={"4": {"sliding_window": 8}}), "per_layer_config: needed sliding_window by the number")
    refused(small("neomme", per_layer_config={"0": {"head_dim": 8}}), "per_layer_config: needed sliding_window by the number")
    refused(small("neomme", per_layer_config={"0": {"sliding_window": None}}), "sliding_window: needed for sliding layers")
    refused(small("neomme", per_layer_config={"0": {"sliding_window": 0}}), "per_layer_config.0.sliding_window: needed a whole")
    refused(small("neomme", layer_types=["sliding_attention"] * 4), "layer_types: needed a layer of full_attention")
    refused(small("neomme", head_dim=24), "rotary width: needed as many pairs of row, column, got 3 in all")
    refused(small("neomme", partial_rotary_factor=0.5), "partial_rotary_factor: cannot be honoured")


SAID = {
    QWEN2: "pairs 0-15 by time, 16-39 by row and 40-63 by column",
    QWEN3: "pairs by time, row and column in turns: 24, 20 and 20 of them",
    ERNIE: "pairs 0-43 by row and column in turns, 44-63 by time",
    "neomme": "pairs by row and column in turns: 4 and 4 of them",
}


@pytest.mark.parametrize("model_type", SAID)
def test_coordinates_are_explained(model_type: str) -> None:
    plan = accepted(small(model_type))
    text = plan.explain()
    assert SAID[model_type] in text
    axes = "a row and a column: [B, T, 2]" if model_type == "neomme" else "a time, a row and a column: [B, T, 3]"
    assert f"a token of an image has {axes}" in text
    assert "a token of an image" not in accepted(small("llama")).explain()


def test_models_around_the_text_are_named() -> None:
    text = small("qwen2_5_omni_text")
    config = {
        "model_type": "qwen2_5_omni",
        "thinker_config": {"text_config": text, "audio_config": {"d_model": 8}, "position_id_per_seconds": 25},
        "talker_config": {"rope_theta": 1e6},
    }
    plan = accepted(config)
    assert plan.model_type == "qwen2_5_omni_text"
    assert {entry.key for entry in plan.entries} >= {"thinker_config.text_config.hidden_size", "audio_config", "talker_config"}
    refused({**config, "thinker_config": 3}, "thinker_config: needed a dictionary, got 3")
    refused({**config, "thinker_config": {"text_config": 3}}, "thinker_config.text_config: needed a dictionary, got 3")
    wrong = {"text_config": {**text, "model_type": "resnet"}}
    refused({**config, "thinker_config": wrong}, "thinker_config.text_config.model_type 'resnet' is not in the table")
    wrong = {"text_config": {**text, "rope_theta": 1e6}, "rope_theta": 5.0}
    refused({**config, "thinker_config": wrong}, "rope_theta = 5.0", "disagree")
