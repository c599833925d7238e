"""Whole models whose tokens have several coordinates: read by their text part, which is handed the coordinates unchanged."""

import pytest
import torch
from reading_models import MODELS, config_of, plan_of
from reading_multimodal import AXES
from torch import nn
from transformers import AutoModel

from ordinate.checkpoints import read
from ordinate.checkpoints.wholes import WITH_COORDINATES

LENGTH = 7
COORDINATES = torch.stack([torch.arange(LENGTH) // divisor + divisor for divisor in (1, 2, 3)])[:, None]


def whole_of(model_type):
    text = WITH_COORDINATES[model_type]
    return {"model_type": model_type, "text_config": {"model_type": text, **MODELS[text]}}


@pytest.mark.parametrize("model_type", WITH_COORDINATES)
def test_the_plan_is_the_text_models(model_type):
    text = WITH_COORDINATES[model_type]
    values = whole_of(model_type)
    plan, config = plan_of(values), config_of(values)
    assert config.get_text_config().model_type == plan.model_type == text
    assert plan.stacks == plan_of({"model_type": text, **MODELS[text]}).stacks
    assert read(config).stacks == plan.stacks
    assert plan.position_ids.axes == AXES[text]


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


@pytest.mark.parametrize("model_type", WITH_COORDINATES)
def test_coordinates_are_handed_on(model_type):
    assert torch.equal(handed_on(model_type, COORDINATES), COORDINATES)
    counted = handed_on(model_type, None)  # text alone: the text model counts
    assert counted is None or torch.equal(counted, torch.arange(LENGTH).expand_as(counted))
