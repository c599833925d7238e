"""Configurations of several models in one: the plan is of the text model, which must be handed its positions unchanged."""

import importlib
import inspect
import re
import warnings

import pytest
from reading_models import config_of, plan_of
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from ordinate.checkpoints import read
from ordinate.checkpoints.wholes import WHOLES, WITH_COORDINATES

IN_ORDER = [model_type for model_type in WHOLES if model_type not in WITH_COORDINATES]

# Code that makes positions of its own for the text model.
OWN = re.compile(
    r"get_rope_index|position_ids\[|(?<!\w)position_ids=(?!position_ids)"
    r"|(?<![\w.])position_ids = (?!torch.arange\(|position_ids.unsqueeze\(0\)\n)"  # but for 0, 1, 2, ... after the cache
)


def quietly(config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read(config)


@pytest.mark.parametrize("model_type", IN_ORDER)
def test_the_text_models_type_and_plan(model_type):
    config = CONFIG_MAPPING[model_type]()
    assert config.get_text_config().model_type == WHOLES[model_type]
    assert quietly(config).stacks == quietly(config.text_config).stacks


@pytest.mark.parametrize("model_type", IN_ORDER)
def test_text_parts_that_leave_their_sizes_out(model_type):
    values = {"model_type": model_type, "text_config": {"model_type": WHOLES[model_type], "max_position_embeddings": 4321}}
    plan = plan_of(values)
    assert plan.stacks == quietly(config_of(values)).stacks
    assert plan.stack().max_length == 4321


@pytest.mark.parametrize("model_type", IN_ORDER)
def test_positions_are_handed_on(model_type):
    """The whole model's forward gives its text model the positions that it was given."""
    name = MODEL_MAPPING_NAMES[model_type]
    home = importlib.import_module(CONFIG_MAPPING[model_type].__module__.replace("configuration_", "modeling_"))
    source = inspect.getsource(getattr(home, name).forward)
    assert OWN.search(source) is None, OWN.search(source)


@pytest.mark.parametrize("model_type", ["qwen2_vl", "paligemma", "glm4v"])
def test_the_search_can_fail(model_type):
    name = MODEL_MAPPING_NAMES[model_type]
    home = importlib.import_module(CONFIG_MAPPING[model_type].__module__.replace("configuration_", "modeling_"))
    assert OWN.search(inspect.getsource(getattr(home, name).forward)) is not None
