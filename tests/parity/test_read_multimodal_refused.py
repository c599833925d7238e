"""What ``read`` refuses of models whose tokens have several coordinates, held against what transformers' code does with it."""

import pytest
import torch
from reading_models import config_of, file_of, plan_of, rotary_of
from reading_multimodal import MULTIMODAL
from transformers.models.hunyuan_vl import modeling_hunyuan_vl as file

PLACES = torch.tensor([[3, 5, 9, 2], [1, 8, 4, 6], [7, 0, 2, 5], [2, 6, 3, 4]])
HUNYUAN = {"hidden_size": 128, "num_attention_heads": 4, "head_dim": 32, "num_hidden_layers": 2}
SECTIONS = {"rope_theta": 10000.0, "rope_type": "default", "mrope_section": [4, 4, 4, 4]}


def test_hunyuan_vl_without_sections_does_not_run():
    config = config_of({"model_type": "hunyuan_vl_text", **HUNYUAN})
    with pytest.raises(TypeError, match="NoneType"):
        file.HunYuanVLRotaryEmbedding(config)(torch.zeros(1), PLACES[:, None])
    with pytest.raises(ValueError, match="rope_parameters: needed, got nothing"):
        plan_of({"model_type": "hunyuan_vl_text", **HUNYUAN})


def cos_of(model_type, **rope):
    """Cos of a rotary module whose dictionary, or every one of its layer types', has these keys."""
    rope = {**SECTIONS, **rope}
    by_type = model_type == "cohere_compass_text"
    rope = dict.fromkeys(("full_attention", "sliding_attention"), rope) if by_type else rope
    module = rotary_of(config_of({"model_type": model_type, **MULTIMODAL[model_type], "rope_parameters": rope}))
    return module(torch.zeros(1), PLACES[:3, None], *(("full_attention",) if by_type else ()))[0]


def test_qwen3_vl_takes_turns_whatever_its_configuration_says():
    """A configuration that says otherwise would be read otherwise than it is meant: ``read`` refuses it."""
    said = [cos_of("qwen3_vl_text", mrope_section=[8, 4, 4], mrope_interleaved=flag) for flag in (True, False)]
    assert torch.equal(*said)


@pytest.mark.parametrize("model_type", ["qwen3_vl_text", "cohere_compass_text"])
def test_sections_that_do_not_add_up_give_the_rest_to_the_time(model_type):
    """Nothing there checks the sum, and the first number is never read: ``read`` refuses such sections."""
    assert torch.equal(cos_of(model_type, mrope_section=[8, 4, 4]), cos_of(model_type, mrope_section=[1000, 4, 4]))
    assert not torch.equal(cos_of(model_type, mrope_section=[8, 4, 4]), cos_of(model_type, mrope_section=[8, 3, 4]))


def test_default_sections_that_do_not_fit_stop_glm4v():
    """Its defaults turn whole heads of 128 entries, and share out 32 pairs."""
    values = {"model_type": "glm4v_text", **MULTIMODAL["glm4v_text"], "hidden_size": 512}
    with pytest.raises(RuntimeError, match="split"):
        rotary_of(config_of(values))(torch.zeros(1), PLACES[:3, None])
    with pytest.raises(ValueError, match=r"mrope_section: needed .* add up to 64 pairs"):
        plan_of(values)


def test_ernie_needs_as_many_rows_as_columns():
    values = {"model_type": "ernie4_5_vl_moe_text", **MULTIMODAL["ernie4_5_vl_moe_text"]}
    for sections in ([24, 20, 20], [32, 32, 0]):
        rope = {**SECTIONS, "mrope_section": sections}
        with pytest.raises(RuntimeError, match="size"):
            rotary_of(config_of({**values, "rope_parameters": rope}))(torch.zeros(1), PLACES[:3, None])
        with pytest.raises(ValueError, match="mrope_section"):
            plan_of({**values, "rope_parameters": rope})


def test_sliding_layers_of_the_code_predictor_have_no_mask():
    values = {**MULTIMODAL["qwen3_omni_moe_talker_code_predictor"], "sliding_window": 4, "max_window_layers": 1}
    config = config_of({"model_type": "qwen3_omni_moe_talker_code_predictor", **values})
    model = file_of("qwen3_omni_moe_talker_code_predictor").Qwen3OmniMoeTalkerCodePredictorModel._from_config(config)
    with pytest.raises(KeyError, match="sliding_attention"):
        model(inputs_embeds=torch.zeros(1, 5, config.hidden_size))
    with pytest.raises(ValueError, match="sliding_window: cannot be honoured"):
        plan_of({"model_type": "qwen3_omni_moe_talker_code_predictor", **values})
