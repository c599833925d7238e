"""Whole models whose tokens have several coordinates: read by their text part, which is handed the coordinates unchanged."""

import warnings

import pytest
import torch
from reading_entrywise import HUNYUAN
from reading_models import MODELS, config_of, plan_of
from reading_multimodal import AXES, MULTIMODAL
from torch import nn
from transformers import AutoModel

from ordinate.checkpoints import read
from ordinate.checkpoints.wholes import PLACES, WITH_COORDINATES

LENGTH = 7
TEXTS = {**MODELS, "hunyuan_vl_text": HUNYUAN}
AXES_OF = {**AXES, "hunyuan_vl_text": 3}
COORDINATES = torch.stack([torch.arange(LENGTH) // divisor + divisor for divisor in (1, 2, 3)])[:, None]


def whole_of(model_type, inner=None):
    text = WITH_COORDINATES[model_type]
    inner = inner or {"model_type": text, **TEXTS[text]}
    for key in reversed(PLACES.get(model_type, ("text_config",))):
        inner = {key: inner}
    return {"model_type": model_type, **inner}


@pytest.mark.parametrize("model_type", WITH_COORDINATES)
def test_the_plan_is_the_text_models(model_type):
    text = WITH_COORDINATES[model_type]
    values = whole_of(model_type)
    plan, config = plan_of(values), config_of(values)
    assert config.get_text_config().model_type == plan.model_type == text
    assert plan.stacks == plan_of({"model_type": text, **TEXTS[text]}).stacks
    assert quietly(config).stacks == plan.stacks
    assert plan.position_ids.axes == AXES_OF[text]


# What default sizes need beside them.
HALF = {"rope_parameters": {"partial_rotary_factor": 0.5}}
NEEDED = {"glm4v": HALF, "glm46v": HALF, "glm_image": HALF}
NEEDED |= {"hunyuan_vl": {key: HUNYUAN[key] for key in ("head_dim", "rope_parameters")}}
NEEDED |= {"glm4v_moe": {"head_dim": 128}, "glm_ocr": {"head_dim": 64}}
NEEDED |= {"qwen3_omni_moe": {"head_dim": 128}, "qwen3_omni_moe_thinker": {"head_dim": 128}}
NEEDED |= {"cohere_compass": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1000.0}}}}


@pytest.mark.parametrize("model_type", WITH_COORDINATES)
def test_text_parts_that_leave_their_sizes_out(model_type):
    text = {"model_type": WITH_COORDINATES[model_type], "max_position_embeddings": 4321, **NEEDED.get(model_type, {})}
    values = whole_of(model_type, text)
    plan = plan_of(values)
    assert plan.stacks == quietly(config_of(values)).stacks
    assert plan.stack().max_length == 4321


WINDOWED = ("qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "qwen2_5_omni_talker")


@pytest.mark.parametrize("layers", [{}, {"max_window_layers": 3}, {"num_hidden_layers": 90}])
@pytest.mark.parametrize("model_type", WINDOWED)
def test_default_windows_and_borders(model_type, layers):
    sizes = {key: value for key, value in MODELS[model_type].items() if key not in ("sliding_window", "max_window_layers")}
    values = {"model_type": model_type, **sizes, **layers}
    plan, config = plan_of(values), config_of(values)
    assert [layer.kind for layer in plan.layers] == config.layer_types
    assert {layer.window for layer in plan.layers} <= {None, config.sliding_window}
    assert any(layer.window for layer in plan.layers) == bool(layers)


@pytest.mark.parametrize("model_type", MULTIMODAL)
def test_default_lengths(model_type):
    sizes = {key: value for key, value in MODELS[model_type].items() if key != "max_position_embeddings"}
    values = {"model_type": model_type, **sizes}
    assert plan_of(values).stack().max_length == config_of(values).max_position_embeddings


def quietly(config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read(config)


class HeardError(Exception):
    pass


class Listening(nn.Module):
    """Stands in for the text model."""

    def forward(self, **given):
        raise HeardError(given["position_ids"])


def handed_on(model_type, position_ids):
    """What a whole model gives its text model as positions."""
    config = config_of(whole_of(model_type))
    with torch.device("meta"):
        model = AutoModel.from_config(config)
    model.language_model = Listening()
    with pytest.raises(HeardError) as heard:
        model(inputs_embeds=torch.zeros(1, LENGTH, config.get_text_config().hidden_size), position_ids=position_ids)
    return heard.value.args[0]


@pytest.mark.parametrize("model_type", [name for name in WITH_COORDINATES if name not in PLACES])
def test_coordinates_are_handed_on(model_type):
    assert torch.equal(handed_on(model_type, COORDINATES), COORDINATES)
    counted = handed_on(model_type, None)  # text alone: the text model counts
    assert counted is None or torch.equal(counted, torch.arange(LENGTH).expand_as(counted))
