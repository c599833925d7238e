"""T5Gemma and T5Gemma 2: both stacks that ``read`` gives against tiny models of transformers, frequencies to whole attention."""

import dataclasses
import functools
import warnings

import pytest
import torch
from reading_compare import FAR, NEAR, compare
from reading_models import config_of, file_of, plan_of
from reading_rules import BASE, LOCAL_BASE, RULES, SAMPLE
from reading_sizes import DECLARED, TRAINED
from reading_spy import LENGTH, TOKENS, attentions_of, heard_in, listen, lively, stillness

from ordinate.checkpoints import read

BOUND = 1e-5  # two float32 softmax attentions, summed in another order
PLACES = torch.arange(LENGTH)
FULL, SLIDING = "full_attention", "sliding_attention"
MIXED = [SLIDING, FULL, FULL, SLIDING, FULL, SLIDING, SLIDING, FULL]
SMALL = {**DECLARED, "sliding_window": 9, "query_pre_attn_scalar": 24, "attn_logit_softcapping": None, "vocab_size": 64}
VISION = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "image_size": 28}
SPECIAL = {"boi_token_index": 61, "eoi_token_index": 62, "image_token_index": 63}
STACKS = [(model_type, name) for model_type in ("t5gemma", "t5gemma2") for name in ("encoder", "decoder")]
LIKE = {"t5gemma": "gemma2", "t5gemma2": "gemma3_text"}  # whose rotary module is spelled alike


def whole(model_type, **changes):
    inner = {**SMALL, **changes}
    if model_type == "t5gemma":
        return {"model_type": model_type, "encoder": inner, "decoder": dict(inner), "vocab_size": 64}
    encoder = {"text_config": inner, "vision_config": {"model_type": "siglip_vision_model", **VISION}, **SPECIAL}
    return {"model_type": model_type, "encoder": encoder, "decoder": dict(inner), "image_token_index": 63, "eoi_token_index": 62}


def inner_config(config, name):
    inner = getattr(config, name)
    return getattr(inner, "text_config", inner)


def rotary(model_type, config, name):
    folder = {"t5gemma": "T5Gemma", "t5gemma2": "T5Gemma2"}[model_type]
    return getattr(file_of(model_type), f"{folder}RotaryEmbedding")(inner_config(config, name))


def ruled(model_type, name):
    rule = {"rope_theta": BASE, **RULES[name]}
    if "short_factor" in rule:
        rule |= {"short_factor": [1.0 + 0.01 * i for i in range(16)], "long_factor": [1.0 + 0.3 * i for i in range(16)]}
    by_type = {FULL: rule, SLIDING: {**rule, "rope_theta": LOCAL_BASE}}
    sizes = {"max_position_embeddings": TRAINED} if name == "dynamic" else {}
    return whole(model_type, rope_parameters=by_type if model_type == "t5gemma2" else rule, **sizes)


@pytest.mark.parametrize("rule", [*SAMPLE, None])
@pytest.mark.parametrize(("model_type", "name"), STACKS)
def test_frequencies_bit_for_bit(model_type, name, rule):
    values = whole(model_type) if rule is None else ruled(model_type, rule)
    config, stack = config_of(values), plan_of(values).stack(name)
    built = stack.build()
    for positions in (NEAR, torch.tensor([TRAINED - 1]), torch.tensor([TRAINED]), FAR):
        longer = built.at_length(int(positions.max()) + 1)
        assert compare(LIKE[model_type], rotary(model_type, config, name), stack, longer, positions) >= 16


@functools.cache
def model_of(model_type, **changes):
    """A tiny model, and what its attention modules were called with, by stack and layer."""
    config = config_of(whole(model_type, **changes))
    file = file_of(model_type)
    model = lively(
        getattr(file, {"t5gemma": "T5GemmaModel", "t5gemma2": "T5Gemma2Model"}[model_type])._from_config(
            config, attn_implementation="spy"
        )
    )
    stacks = {"encoder": getattr(model.encoder, "text_model", model.encoder), "decoder": model.decoder}
    modules = {(name, number): module for name, stack in stacks.items() for number, module in attentions_of(stack).items()}
    inputs = {}
    for place, module in modules.items():
        module.register_forward_pre_hook(functools.partial(keep, inputs, place), with_kwargs=True)
    heard = heard_in(model, input_ids=TOKENS, decoder_input_ids=TOKENS.flip(1), use_cache=False)
    return config, modules, inputs, heard


def keep(inputs, place, _module, positional, named):
    inputs[place] = {key: value for key, value in {"hidden_states": (*positional, None)[0], **named}.items() if key != "cache"}


def vectors(model_type, name, index, positions=None, dtype=torch.float32):
    """What a module hands on at angles of 0, and at its own."""
    config, modules, inputs, _ = model_of(model_type)
    module, given = modules[name, index].to(dtype), dict(inputs[name, index])
    given = {
        key: value.to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value for key, value in given.items()
    }
    label = (inner_config(config, name).layer_types[index],) if model_type == "t5gemma2" else ()
    places = PLACES if positions is None else positions
    made = rotary(model_type, config, name)(torch.zeros(1, dtype=dtype), places[None], *label)
    found = [listen(module, **{**given, "position_embeddings": angles}) for angles in (stillness(made, LIKE[model_type]), made)]
    module.to(torch.float32)
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("model_type", "name"), STACKS)
def test_rotation_bit_for_bit(model_type, name, dtype):
    positions = torch.tensor([*range(LENGTH - 3), 1000, 40000, 1000003])
    stack = plan_of(whole(model_type)).stack(name)
    built = stack.build()
    for index in (0, 5):
        still, turned = vectors(model_type, name, index, positions, dtype)
        scheme = built.layers[index]
        assert torch.equal(scheme.queries(still.query, positions), turned.query)
        own = slice(0, LENGTH)  # T5Gemma 2's decoder hands on the encoder's keys after its own
        assert torch.equal(scheme.keys(still.key[:, :, own], positions), turned.key[:, :, own])
        assert torch.equal(still.key[:, :, LENGTH:], turned.key[:, :, LENGTH:])
        assert not torch.equal(still.key, turned.key)


@pytest.mark.parametrize("changes", [{}, {"sliding_window": 8}, {"sliding_window": 1}, {"layer_types": MIXED}], ids=str)
@pytest.mark.parametrize(("model_type", "name"), STACKS)
def test_who_sees_whom_and_the_scale(model_type, name, changes):
    config = config_of(whole(model_type, **changes))
    stack = plan_of(whole(model_type, **changes)).stack(name)
    _, modules, inputs, _ = model_of.__wrapped__(model_type, **changes)
    assert [layer.kind for layer in stack.layers] == inner_config(config, name).layer_types
    built, eye = stack.build(), torch.eye(LENGTH)[None, None].expand(1, 4, -1, -1)
    for index, layer in enumerate(stack.layers):
        heard = listen(modules[name, index], **inputs[name, index])
        nothing = torch.zeros(1, 4, LENGTH, 32)
        seen = built.attend(index, nothing, nothing, eye, q_positions=PLACES, k_positions=PLACES)[0, 0] > 0
        theirs = torch.ones(LENGTH, LENGTH, dtype=torch.bool) if heard.mask is None else heard.mask[0, 0, :, :LENGTH] == 0
        assert torch.equal(seen, theirs), index
        assert layer.softmax_scale == heard.scale


@pytest.mark.parametrize(("model_type", "name"), [stack for stack in STACKS if stack != ("t5gemma2", "decoder")])
def test_attention(model_type, name, near):
    stack = plan_of(whole(model_type)).stack(name)
    built, ours, theirs = stack.build(), [], []
    for index in range(len(stack.layers)):
        still, turned = vectors(model_type, name, index)
        ours.append(built.attend(index, still.query, still.key, still.value, q_positions=PLACES, k_positions=PLACES))
        theirs.append(turned.out)
    near(f"{model_type}, {name}", torch.stack(ours), torch.stack(theirs), BOUND)


def test_attention_to_the_encoder_has_the_same_scale_and_does_not_turn():
    """T5Gemma's own module for it is given no angles at all."""
    stack = plan_of(whole("t5gemma")).stack("decoder")
    heard = [one for one in model_of("t5gemma")[3] if one.window is None and one.mask is None]
    assert stack.cross_attention.scheme is None
    assert {one.scale for one in heard} == {stack.cross_attention.softmax_scale}


def test_a_float_mask_keeps_its_numbers_beside_the_narrower_side():
    stack = plan_of(whole("t5gemma2", sliding_window=8)).stack("encoder")
    built, vectors = stack.build(), [torch.randn(2, 4, LENGTH, 32) for _ in range(3)]
    allowed = torch.rand(2, 1, LENGTH, LENGTH) > 0.2
    allowed |= torch.eye(LENGTH, dtype=torch.bool)
    rest = {"q_positions": PLACES, "k_positions": PLACES.expand(2, -1)}
    one = built.attend(0, *vectors, mask=allowed, **rest)
    other = built.attend(0, *vectors, mask=torch.zeros(2, 1, LENGTH, LENGTH).masked_fill(~allowed, -torch.inf), **rest)
    assert (one - other).abs().max() < 1e-6
    plain = built.attend(0, *vectors, **rest)
    assert (one - plain).abs().max() > 0.1


@pytest.mark.parametrize("model_type", ["t5gemma", "t5gemma2"])
def test_configuration_objects_and_parts_left_out(model_type):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        values = whole(model_type)
        assert read(config_of(values)).stacks == plan_of(values).stacks
        empty = {"encoder": {"text_config": {}} if model_type == "t5gemma2" else {}, "decoder": {}}
        assert read(config_of({"model_type": model_type})).stacks == plan_of({"model_type": model_type, **empty}).stacks


@pytest.mark.parametrize(("model_type", "name"), STACKS)
def test_the_comparison_can_fail(model_type, name):
    stack = plan_of(whole(model_type)).stack(name)
    still, turned = vectors(model_type, name, 0)
    for wrong in ({"base": 123.0}, {"rotary_dim": 30}, {"layout": "interleaved"}):
        layers = tuple(dataclasses.replace(layer, scheme=dataclasses.replace(layer.scheme, **wrong)) for layer in stack.layers)
        scheme = dataclasses.replace(stack, layers=layers).build().layers[0]
        assert not torch.equal(scheme.queries(still.query, PLACES), turned.query)


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"decoder": None}, "decoder: needed, got nothing"),
        ({"encoder": {}}, "encoder.text_config: needed, got nothing"),
        ({"encoder": 3}, "encoder: needed a dictionary, got 3"),
        ({"encoder": {"text_config": []}}, "encoder.text_config: needed a dictionary"),
        ({"decoder": {"head_dim": "x"}}, "decoder.head_dim: needed a whole number"),
        ({"encoder": {"alibi": True}}, "encoder.alibi: cannot be honoured"),
        ({"decoder": {"rope_teta": 3.0}}, "decoder.rope_teta: looks like a key of positions"),
        ({"rope_theta": 3.0}, "rope_theta: cannot be honoured"),
    ],
)
def test_faults_are_named_with_their_place(values, fault):
    with pytest.raises(ValueError, match=fault):
        read({"model_type": "t5gemma2", "encoder": {"text_config": {}}, "decoder": {}, **values})
