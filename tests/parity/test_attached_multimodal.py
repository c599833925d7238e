"""Model types whose tokens have several coordinates, before and while ordinate's rotation is attached: the same bits."""

import itertools

import pytest
import torch
from reading_models import MODELS, config_of, model_from
from reading_multimodal import AXES, BY_LAYER_TYPE, WITHOUT_TOKENS
from reading_rules import PLAIN_ONLY, new_spelling
from reading_spy import TOKENS, lively
from test_attached_models import PLACES, forbid, in_dtype, model_of
from test_read_multimodal import quietly, whole_of
from transformers import AutoModel, Qwen2_5OmniForConditionalGeneration

import ordinate
from ordinate.attaching.classes import AttachedModule
from ordinate.checkpoints.wholes import WITH_COORDINATES
from ordinate.scaling import Linear

ROWS, LENGTH = PLACES.shape
FULLY = ("qwen2_vl_text", "qwen3_vl_text", "glm4v_text", "ernie4_5_vl_moe_text")
EAGER_ONLY = ("hy_v4_vl_text",)
FIRST_IS_TEXT = tuple(name for name in AXES if AXES[name] == 3)
CASES = [
    (model_type, dtype, attention)
    for model_type, dtype, attention in itertools.product(AXES, (torch.float32, torch.bfloat16), ("eager", "sdpa"))
    if (attention == "eager" or model_type not in EAGER_ONLY)
    and (model_type in FULLY or (dtype == torch.float32) == (attention == "eager") or model_type in EAGER_ONLY)
]


def coordinates(model_type):
    """[A, B, T], in an order of its own on every axis and in every row."""
    return torch.stack([(PLACES * (axis + 3) + 11 * axis) % 997 for axis in range(AXES[model_type])])


def places_of(model_type):
    """Positions in every shape that the model takes."""
    given = {"coordinates": coordinates(model_type), "text": PLACES, "counted": None}
    if model_type in FIRST_IS_TEXT:  # the mask is made from these, and nothing turns by them
        given["text first"] = torch.cat((torch.arange(LENGTH).expand(1, ROWS, -1), given["coordinates"]))
    return given


def output(model, places, **named):
    given = {"input_ids": TOKENS.expand(ROWS, -1)}
    if model.config.model_type in WITHOUT_TOKENS:
        drawn = torch.randn(ROWS, LENGTH, model.config.hidden_size, generator=torch.Generator().manual_seed(0))
        given = {"inputs_embeds": drawn.to(next(model.parameters()).dtype)}
    seen = torch.ones(ROWS, LENGTH, dtype=torch.int64)
    with torch.no_grad():
        return model(**given, position_ids=places, attention_mask=seen, **named)[0]


def outputs(model, model_type):
    return {name: output(model, places) for name, places in places_of(model_type).items()}


@pytest.mark.parametrize(("model_type", "dtype", "attention"), CASES, ids=lambda value: str(value).removeprefix("torch."))
def test_the_same_bits(model_type, dtype, attention, monkeypatch):
    model = in_dtype(model_of(model_type, attention), dtype)
    before = outputs(model, model_type)
    with ordinate.attach(model):
        forbid(monkeypatch, model_type)
        during = outputs(model, model_type)
    monkeypatch.undo()
    assert all(before[name].dtype == dtype and torch.equal(before[name], during[name]) for name in before)
    after = outputs(model, model_type)
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("model_type", AXES)
def test_every_axis_and_frequency_shows(model_type):
    """The comparison can fail: another coordinate on one axis changes the outputs, and so do frequencies a little smaller."""
    model, places = model_of(model_type, "eager"), coordinates(model_type)
    before = output(model, places)
    for axis in range(len(places)):
        moved = places.clone()
        moved[axis] = moved[axis].flip(-1)
        assert (output(model, moved) - before).abs().max() > 0.001
    with ordinate.attach(model, scaling=Linear(factor=1.01)):
        assert (output(model, places) - before).abs().max() > 0.001


# What indexers turn shows where they pass keys over.
FEW_KEYS = {"qwen4_exp_text": {"indexer_budget": 8}, "hy_v4_vl_text": {"index_topk": 8}}


def at_angles_of_0(_module, given, named):
    def still(part):
        return (torch.ones_like(part[0]), torch.zeros_like(part[1])) if isinstance(part, tuple) else part

    return tuple(map(still, given)), {name: still(part) for name, part in named.items()}


@pytest.mark.parametrize("model_type", FEW_KEYS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_indexers_choose_the_same_keys(model_type, dtype, monkeypatch):
    values = {"model_type": model_type, **MODELS[model_type], **FEW_KEYS[model_type]}
    model = in_dtype(lively(model_from(config_of(values), "eager")), dtype)
    before = outputs(model, model_type)
    with ordinate.attach(model):
        forbid(monkeypatch, model_type)
        during = outputs(model, model_type)
        monkeypatch.undo()
    assert all(torch.equal(before[name], during[name]) for name in before)
    for module in model.modules():
        if type(module).__name__.endswith("Indexer"):
            module.register_forward_pre_hook(at_angles_of_0, with_kwargs=True)
    assert not torch.equal(output(model, coordinates(model_type)), before["coordinates"])


@pytest.mark.parametrize("model_type", [name for name in AXES if name not in PLAIN_ONLY])
def test_the_same_bits_under_a_rule(model_type, monkeypatch):
    """Sections unlike the defaults, and a rule that changes frequencies and has a magnitude."""
    model = lively(model_from(config_of(new_spelling(model_type, "yarn, attention factor")), "eager"))
    before = outputs(model, model_type)
    with ordinate.attach(model):
        forbid(monkeypatch, model_type)
        during = outputs(model, model_type)
    monkeypatch.undo()
    assert all(torch.equal(before[name], during[name]) for name in before)
    with ordinate.attach(model, scaling=Linear(factor=1.0)):
        assert (before["coordinates"] - output(model, coordinates(model_type))).abs().max() > 0.001


@pytest.mark.parametrize("model_type", [name for name in AXES if name not in PLAIN_ONLY])
def test_a_rule_in_place_of_the_models_own(model_type):
    """As in a model of transformers that has the rule itself; layers with a window keep their own."""
    default, linear = (new_spelling(model_type, rule) for rule in ("default", "linear"))
    if model_type in BY_LAYER_TYPE:
        linear["rope_parameters"]["sliding_attention"] = default["rope_parameters"]["sliding_attention"]
    plain, scaled = (lively(model_from(config_of(values), "eager")) for values in (default, linear))
    scaled.load_state_dict(plain.state_dict())  # some weights are drawn anew in every model
    places = coordinates(model_type)
    before = output(plain, places)
    with ordinate.attach(plain, scaling=Linear(factor=4.0)):
        ours = output(plain, places)
    assert torch.equal(ours, output(scaled, places))
    assert not torch.equal(ours, before)


# Qwen3-Omni's talker stops with an error: its configuration has no size that its code reads.
# HunYuan-VL's text part turns every entry by an axis of its own.
WHOLES = [name for name in WITH_COORDINATES if name not in ("qwen3_omni_moe", "hunyuan_vl")]


@pytest.mark.parametrize("whole", WHOLES)
def test_wholes_by_their_text_part(whole):
    """Encoders of images and sounds keep their own rotation, and so does a second model that speaks."""
    config = config_of(whole_of(whole))
    make = Qwen2_5OmniForConditionalGeneration if whole == "qwen2_5_omni" else AutoModel.from_config
    with torch.device("meta"):
        model = make(config)
    turning = sum(layer.scheme is not None for layer in quietly(config).layers)
    text = "thinker.model.language_model." if whole == "qwen2_5_omni" else "language_model."
    with ordinate.attach(model):
        attached = [name for name, module in model.named_modules() if isinstance(module, AttachedModule)]
    assert f"{text}rotary_emb" in attached
    assert all(name.startswith(text) for name in attached)
    layers = {name.removeprefix(text).split(".")[1] for name in attached if name.startswith(f"{text}layers.")}
    assert len(layers) == turning


def test_entries_with_an_axis_each_are_refused():
    with torch.device("meta"):
        model = AutoModel.from_config(config_of(whole_of("hunyuan_vl")))
    with pytest.raises(ValueError, match="hunyuan_vl_text: needed layers that turn queries and keys by one position or M-RoPE"):
        ordinate.attach(model)
