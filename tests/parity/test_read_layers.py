"""What each layer of ``read``'s plans does against tiny models of every type: who turns, who sees whom, the softmax scale.

What a query sees is read off the mask that the model's attention module is given; ours is the set of values that reach the query
through ``attend``, driven by the plan alone.
"""

import dataclasses
import functools
import re
import warnings

import pytest
import torch
from reading_layers import settings
from reading_models import MODELS, config_of, main_part, plan_of
from reading_spy import LENGTH, listen, run, stillness

from ordinate import attend
from ordinate.checkpoints import read

SETTINGS = settings()
DIVIDING = (
    "gpt_neox_japanese",
    "falcon",
    "helium",
    "moshi",
    "kyutai_speech_to_text",
    "openai_privacy_filter",
    *(name for name in MODELS if re.match("mimi|pocket_tts_a", name)),
)  # 1 / root, not a power, or two fourth roots


def seen_in(mask):
    """Who sees whom in a model: mask added to the scores, or None if nothing is hidden."""
    return torch.ones(LENGTH, LENGTH, dtype=torch.bool) if mask is None else mask[0, 0] == 0


def seen_by(layer, causal):
    """The same from a plan: whose value reaches a query."""
    places = torch.arange(LENGTH)
    nothing, values = torch.zeros(1, 1, LENGTH, 8), torch.eye(LENGTH)[None, None]
    documents = None if layer.chunk is None else places // layer.chunk
    rest = {"causal": causal, "window": layer.window, "document_ids": documents}
    return attend(nothing, nothing, values, scheme=None, q_positions=places, k_positions=places, **rest)[0, 0] > 0


def turns(config, layer):
    """Whether the module hands on other keys at its angles than at angles of 0."""
    still = stillness(layer.inputs["position_embeddings"], config.model_type)
    return not torch.equal(listen(layer.module, **{**layer.inputs, "position_embeddings": still}).key, layer.heard.key)


@functools.cache
def model_of(name):
    return run(SETTINGS[name])


def compare(name, plan):
    config, layers = model_of(name)
    stack = plan.stack()
    for index, (layer, planned) in enumerate(zip(layers, stack.layers, strict=True)):
        assert planned.attends == (layer is not None), f"layer {index} attends"
        if layer is None:
            assert planned.scheme is None
            continue
        assert torch.equal(seen_by(planned, stack.causal), seen_in(layer.heard.mask)), f"layer {index} sees others"
        assert turns(config, layer) == (planned.scheme is not None), f"layer {index} turns"
        if config.model_type not in DIVIDING:
            assert planned.softmax_scale == layer.heard.scale, f"layer {index} has another scale"
        assert abs(planned.softmax_scale / layer.heard.scale - 1) <= 2**-52
        if layer.heard.window is not None:
            assert planned.window == layer.heard.window
    kinds = config.to_dict().get("layer_types")
    assert kinds is None or [planned.kind for planned in stack.layers] == [kind for kind in kinds if kind != "mlp"]


@pytest.mark.parametrize("name", SETTINGS)
def test_layers(name):
    compare(name, plan_of(SETTINGS[name]))


@pytest.mark.parametrize("name", SETTINGS)
def test_configuration_objects_say_the_same(name):
    """transformers' own object spells every default out, after its own reading."""
    config, _ = model_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert main_part(read(config)).stacks == plan_of(SETTINGS[name]).stacks


@pytest.mark.parametrize("name", SETTINGS)
def test_the_comparison_can_fail(name):
    """A window or chunk of one token more, a scale an ulp off, a layer that turns and should not."""
    plan = plan_of(SETTINGS[name])
    place = next(place for place, layer in enumerate(plan.layers) if layer.attends)
    first = plan.layers[place]
    wrongs = [{"softmax_scale": first.softmax_scale * (1 + 2**-48)}, {"window": 8 if first.window is None else first.window + 1}]
    wrongs += [{"attends": False}, {"chunk": 10 if first.chunk is None else first.chunk + 1}, {"scheme": None}]
    unseen = ({"scheme": first.scheme}, {"window": max(first.window or 0, LENGTH) + 1})  # no change, and windows that reach all
    wrongs = [changes for changes in wrongs if changes not in unseen]
    for changes in wrongs if name in MODELS else wrongs[:1]:
        layers = (*plan.layers[:place], dataclasses.replace(first, **changes), *plan.layers[place + 1 :])
        wrong = dataclasses.replace(plan, stacks=(dataclasses.replace(plan.stack(), layers=layers),))
        with pytest.raises(AssertionError):
            compare(name, wrong)


def test_zamba2s_own_list_of_layers():
    """It has 54 layers where no list says otherwise."""
    config = config_of({"model_type": "zamba2"})
    sizes = {key: getattr(config, key) for key in ("num_hidden_layers", "num_attention_heads", "hidden_size")}
    plan = plan_of({"model_type": "zamba2", **sizes})
    assert [layer.kind for layer in plan.layers] == config.layers_block_type
    assert {layer.scheme for layer in plan.layers} == {None}
    assert plan.layers[6].softmax_scale == 80**-0.5  # half of a head of 160
