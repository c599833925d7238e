"""Models of several stacks: each stack is what its own configuration says, and what transformers' objects say."""

import copy
import dataclasses
import warnings

import pytest
import torch
from reading_models import config_of, file_of
from reading_spy import heard_in, lively
from reading_stacked import FIXED_VALUES, LENGTH, STACKED_VALUES
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from ordinate import checkpoints
from ordinate.checkpoints.stacked import READERS, STACKED

VALUES = {name: {"model_type": name, **values} for name, values in {**STACKED_VALUES, **FIXED_VALUES}.items()}
ABSENT = {  # what refuses a configuration of defaults: ESM needs a padding token, SeamlessM4T counts distances
    "esm": "pad_token_id: needed, got nothing",
    "seamless_m4t": "needed one of rotary, got 'relative'",
}


def read(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return checkpoints.read(copy.deepcopy(source) if isinstance(source, dict) else source)


def test_every_one_is_held():
    assert set(STACKED_VALUES) == set(STACKED)
    assert set(FIXED_VALUES) == set(READERS)


@pytest.mark.parametrize("model_type", VALUES)
def test_configuration_objects_say_the_same(model_type):
    """They spell every default out, and are of transformers' own reading."""
    plan = read(VALUES[model_type])
    assert read(config_of(VALUES[model_type])).stacks == plan.stacks
    assert plan.explain()
    for stack in plan.stacks:
        assert len(stack.build().layers) == len(stack.layers)


@pytest.mark.parametrize("model_type", VALUES)
def test_defaults(model_type):
    """All parts are there where nothing is declared; sizes of a whole must be declared."""
    config = CONFIG_MAPPING[model_type]()
    if model_type in ABSENT:
        with pytest.raises(ValueError, match=ABSENT[model_type]):
            read(config)
    elif model_type in STACKED and all(part.key for part in STACKED[model_type]):
        assert read({"model_type": model_type}).stacks == read(config).stacks
    else:
        assert read(config).stacks
        with pytest.raises(ValueError, match="needed, got nothing"):
            read({"model_type": model_type})


ALONE = [
    (model_type, part)
    for model_type, parts in STACKED.items()
    for part in parts
    if part.key and part.model_type in CONFIG_MAPPING and part.model_type not in ("moonshine_streaming_encoder", "moshi_depth")
]


@pytest.mark.parametrize(("model_type", "part"), ALONE, ids=lambda value: getattr(value, "name", value))
def test_a_part_alone_says_the_same(model_type, part):
    config = config_of(VALUES[model_type])
    for key in part.key.split("."):
        config = getattr(config, key)
    found = dataclasses.replace(read(VALUES[model_type]).stack(part.name), cross_attention=None, name="")
    assert found == dataclasses.replace(read(config).stack(), name="")


@pytest.mark.parametrize("model_type", ["mimi", "pocket_tts_audio_tokenizer"])
def test_half_a_codec(model_type):
    for half, other in (("encoder", "decoder"), ("decoder", "encoder")):
        values = {**VALUES[model_type], f"{half}_config": None}
        assert [stack.name for stack in read(values).stacks] == [other]
        assert read(config_of(values)).stacks == read(values).stacks
    with pytest.raises(ValueError, match="needed one of its halves"):
        read({**VALUES[model_type], "encoder_config": None, "decoder_config": None})
    with pytest.raises(ValueError, match="encoder_config: needed null or nothing"):
        read({**VALUES[model_type], "encoder_config": {"hidden_size": 64}})


WRONG = [
    ("dia", {"encoder_config": 5}, "encoder_config: needed a dictionary or null, got 5"),
    ("dia", {"encoder_config": {"model_type": "llama"}}, "encoder_config.model_type: needed dia_encoder, got 'llama'"),
    ("dia", {"decoder_config": {"rope_theta": "x"}}, "decoder_config.rope_theta: needed a finite number"),
    ("dia", {"decoder_config": {"is_causal": False}}, "decoder_config.is_causal: cannot be honoured"),
    ("dia", {"encoder_config": {"alibi": True}}, "encoder_config.alibi: cannot be honoured"),
    ("glmasr", {"text_config": {"model_type": "bloom"}}, "text_config.model_type: needed llama, got 'bloom'"),
    ("moonshine", {"encoder_num_attention_heads": 8}, "needed as many as decoder_num_attention_heads, 4, got 8"),
    ("xcodec2", {"num_key_value_heads": 2}, "needed as many as num_attention_heads, 4, got 2"),
    ("clvp", {"text_config": {**STACKED_VALUES["clvp"]["text_config"], "hidden_size": 96}}, "rotary width: needed"),
    ("esm", {"position_embedding_type": "relative_key"}, "needed one of absolute, rotary"),
    ("esm", {"rope_parameters": {"rope_theta": 5.0}}, "rope_parameters: cannot be honoured"),
    ("esm", {"add_cross_attention": True}, "add_cross_attention: cannot be honoured"),
    ("moonshine_streaming", {"encoder_config": {"sliding_windows": [[4, 16]] * 6}}, "needed two whole numbers"),
    ("moonshine_streaming", {"encoder_config": {"sliding_windows": [[16, 4]] * 5}}, "sliding_windows: needed"),
]


@pytest.mark.parametrize(("model_type", "changes", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_what_cannot_be_honoured(model_type, changes, message):
    with pytest.raises(ValueError, match=message):
        read({**VALUES[model_type], **changes})


def test_dias_cross_attention_does_not_turn():
    config = config_of(VALUES["dia"])
    model = lively(file_of("dia_decoder").DiaDecoder._from_config(config.decoder_config, attn_implementation="spy"))
    states, tokens = torch.randn(1, 5, 96, generator=torch.Generator().manual_seed(0)), torch.arange(LENGTH)[None, :, None] % 60
    inputs = []
    crossed = [layer.cross_attention for layer in model.layers]
    for module in crossed:
        module.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    heard = heard_in(model, tokens.expand(-1, -1, 2), encoder_hidden_states=states)
    plan = read(VALUES["dia"]).stack("decoder").cross_attention
    assert plan.scheme is None
    for module, given, found in zip(crossed, inputs, heard[1::2], strict=True):
        assert torch.equal(found.key, module.k_proj(states).view(1, 5, 2, 32).transpose(1, 2))
        assert torch.equal(found.query, module.q_proj(given).view(1, LENGTH, 2, 32).transpose(1, 2))
        assert found.scale == plan.softmax_scale


def test_models_inside_are_said_to_be_left_out():
    for model_type, key in (("moshi", "audio_encoder_config"), ("xcodec2", "semantic_model_config")):
        plan = read(config_of(VALUES[model_type]))
        assert [entry.became for entry in plan.entries if entry.key == key] == ["not read: the configuration of another model"]
