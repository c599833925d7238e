"""Every model type of the table, run before and while ordinate's rotation is attached: the same logits, bit for bit."""

import copy
import functools
import itertools
import types

import pytest
import torch
from reading_models import BESIDE, COMPLEX, MODELS, OWN_ROTARY, SINUSOIDS, config_of, file_of, model_from
from reading_multimodal import AXES, ONE_AXIS
from reading_rules import PLAIN_ONLY, new_spelling
from reading_sizes import FULLY
from reading_speech import SPEECH, feed
from reading_spy import TOKENS, lively
from transformers import AutoConfig, AutoModel

import ordinate
from ordinate.attaching.classes import AttachedModule

# Far ones, each row in an order of its own; tables of GPT-J and CodeGen end at 1024.
PLACES = torch.stack([torch.randperm(1000, generator=torch.Generator().manual_seed(row))[:40] for row in range(2)])
# Complex products and torch.polar round otherwise than cos, sin and real products: a few roundings of the activations' dtype.
NEAR = {torch.float32: 3e-5, torch.bfloat16: 0.1}


# Types of MODELS that cannot be attached to, and why; test_attached_multimodal holds those whose tokens have several coordinates.
REFUSED = {
    **dict.fromkeys(BESIDE, "needed a model with one stack of layers, got .* with 2"),
    **dict.fromkeys((*OWN_ROTARY, "kyutai_speech_to_text"), "needed one module with rotary modules in a model of type .*, found"),
}


@functools.cache
def model_of(model_type, attention):
    return lively(model_from(config_of({"model_type": model_type, **MODELS[model_type]}), attention))


def in_dtype(model, dtype):
    """Cast as from_pretrained does, which leaves the angles alone; model.to(dtype) rounds the frequencies, too."""
    again = copy.deepcopy(model).to(dtype)
    for new, old in zip(again.modules(), model.modules(), strict=True):
        if type(old).__name__.endswith("RotaryEmbedding"):
            new.__dict__.update(copy.deepcopy(old).__dict__)
    return again


OWN_INPUTS = (*SPEECH, *ONE_AXIS, "deepseek_ocr2_encoder")  # take no tokens, or no positions


def outputs(model, places):
    if model.config.model_type in OWN_INPUTS:
        return sounds(model)
    tokens = TOKENS.expand(len(places), -1)
    tokens = tokens[..., None] if model.config.model_type == "csm" else tokens
    seen = torch.ones(len(places), 40, dtype=torch.int64)  # without a mask, a jump of positions is taken for a document's border
    with torch.no_grad():
        return model(tokens, position_ids=places, attention_mask=seen)[0]


def sounds(model):
    """What a model of sounds or images makes of its own sort of input, at its own positions."""
    dtype = next(model.parameters()).dtype
    given, named = feed(model.config, TOKENS)
    given = [part.to(dtype) if part.is_floating_point() else part for part in given]
    named = {name: part.to(dtype) if isinstance(part, torch.Tensor) else part for name, part in named.items()}
    with torch.no_grad():
        made = model(*given, **named)
    return made if isinstance(made, torch.Tensor) else made[0]


def forbidden(*_, **__):
    raise AssertionError("the model's own rotation was called")


def forbid(monkeypatch, model_type):
    """Make every function of the model's file that turns, and every rotary module, raise."""
    file = file_of(model_type)
    for name, value in list(vars(file).items()):
        if isinstance(value, types.FunctionType) and (name.startswith(("apply_rot", "rotate_", "_apply_rot"))):
            monkeypatch.setattr(file, name, forbidden)
        if isinstance(value, type) and name.endswith("RotaryEmbedding"):
            monkeypatch.setattr(value, "forward", forbidden)


# Types without sdpa attention.
EAGER_ONLY = ("gemma2", "vaultgemma", "gpt_oss", "flint", "granite_swa", "granitemoe_swa", "mimo_v2_flash", "hy_v4")
EAGER_ONLY += ("openai_privacy_filter", "gpt_neox_japanese")
CASES = [
    (model_type, dtype, attention)
    for model_type in MODELS
    for dtype, attention in itertools.product((torch.float32, torch.bfloat16), ("eager", "sdpa"))
    if model_type not in (*REFUSED, *AXES)
    and (attention == "eager" or model_type not in EAGER_ONLY)
    and (model_type in FULLY or (dtype == torch.float32) == (attention == "eager") or model_type in EAGER_ONLY)
]


@pytest.mark.parametrize(("model_type", "dtype", "attention"), CASES, ids=lambda value: str(value).removeprefix("torch."))
def test_the_same_bits(model_type, dtype, attention, monkeypatch):
    model = in_dtype(model_of(model_type, attention), dtype)
    before = outputs(model, PLACES)
    with ordinate.attach(model):
        forbid(monkeypatch, model_type)
        during = outputs(model, PLACES)
    monkeypatch.undo()
    assert before.dtype == during.dtype
    if model_type in COMPLEX:
        assert (before.double() - during.double()).abs().max() <= NEAR[dtype]
    else:
        assert torch.equal(before, during)
    assert torch.equal(outputs(model, PLACES), before)


# Their configurations keep a rope_theta of their own beside the one in rope_parameters, and read refuses the two.
TWO_BASES = ("bailing_hybrid", "cohere2_moe")
OWN_PLACES = ("csm_depth_decoder_model", *OWN_INPUTS)  # take no positions here
RULED = [name for name in MODELS if name not in (*SINUSOIDS, *PLAIN_ONLY, *REFUSED, *TWO_BASES, *AXES)]
RULES = {**dict.fromkeys(("phi3", "phi4_multimodal"), "longrope, attention factor"), "ministral3": "yarn, mscales"}


@pytest.mark.parametrize("model_type", RULED)
def test_the_same_bits_under_a_rule(model_type, monkeypatch):
    """A rule that changes frequencies and has a magnitude."""
    values = new_spelling(model_type, RULES.get(model_type, "yarn, attention factor"))
    model = lively(model_from(config_of(values), "eager"))
    places = PLACES % 500  # phi3 has other factors beyond 512
    before, plain = outputs(model, places), outputs(model, PLACES[:, :1].expand(-1, 40) * 0)
    with ordinate.attach(model):
        forbid(monkeypatch, model_type)
        during = outputs(model, places)
    if model_type in COMPLEX:
        assert (before.double() - during.double()).abs().max() <= NEAR[torch.float32]
    else:
        assert torch.equal(before, during)
    assert model_type in OWN_PLACES or (before - plain).abs().max() > 0.01


@pytest.mark.parametrize("model_type", [name for name in MODELS if name not in (*REFUSED, *AXES, "mistral4")])
def test_another_base_shows(model_type):
    """The comparison can fail: frequencies a little smaller change the outputs."""
    model = model_of(model_type, "eager")
    before = outputs(model, PLACES)
    with ordinate.attach(model, scaling=ordinate.scaling.Linear(factor=1.01)):
        assert (outputs(model, PLACES) - before).abs().max() > 0.001


def test_refused_types():
    for model_type, reason in REFUSED.items():
        with pytest.raises(ValueError, match=reason):
            ordinate.attach(model_of(model_type, "eager"))


def test_a_softmax_scale_that_stands_in_the_model():
    """Mistral 4's own rule changes it, and it cannot be taken back."""
    with pytest.raises(ValueError, match="leave the softmax scale alone"):
        ordinate.attach(model_of("mistral4", "eager"), scaling=ordinate.scaling.Linear(factor=1.01))


@pytest.mark.parametrize("model_type", TWO_BASES)
def test_two_bases_are_refused(model_type):
    model = model_from(config_of(new_spelling(model_type, "linear")), "eager")
    with pytest.raises(ValueError, match="disagree"):
        ordinate.attach(model)


NO_ROTATION = "needed layers that turn queries and keys, found no scheme"
TWO_STACKS = "needed a model with one stack of layers, got {} with 2"
OTHERS = {
    **dict.fromkeys(("bert", "deberta", "deberta-v2", "gpt2", "opt", "roberta"), NO_ROTATION),
    **dict.fromkeys(("bloom", "mpt"), "by one position or M-RoPE's coordinates, got alibi"),
    **dict.fromkeys(("bart", "t5", "umt5", "whisper", "t5gemma"), TWO_STACKS),
    **dict.fromkeys(("pixtral", "dinov3_vit"), "by one position or M-RoPE's coordinates, got axial_rope"),
    **dict.fromkeys(("roformer", "clip", "mamba"), "is not in the table"),
}


@pytest.mark.parametrize(("model_type", "reason"), OTHERS.items())
def test_models_that_cannot_be_attached(model_type, reason):
    with torch.device("meta"):
        model = AutoModel.from_config(AutoConfig.for_model(model_type))
    with pytest.raises(ValueError, match=reason.format(model_type)):
        ordinate.attach(model)
    assert not any(isinstance(module, AttachedModule) for module in model.modules())


VISION = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
VISION |= {"image_size": 28, "patch_size": 14}


@pytest.mark.parametrize(("whole", "text"), {"llava": "llama", "gemma3": "gemma3_text", "mistral3": "mistral"}.items())
def test_the_text_part_of_a_whole(whole, text, monkeypatch):
    """Mistral 3's pictures turn by a rotary module of their own, which stays as it is."""
    values = {"text_config": {"model_type": text, **MODELS[text]}, "vision_config": dict(VISION)}
    model = lively(AutoModel.from_config(AutoConfig.for_model(whole, **copy.deepcopy(values)), attn_implementation="eager"))
    before = outputs(model, PLACES)
    with ordinate.attach(model):
        forbid(monkeypatch, text)
        assert torch.equal(outputs(model, PLACES), before)
        own = {name for name, module in model.named_modules() if "otary" in type(module).__name__ and "vision" in name}
        assert own == ({"vision_tower.patch_positional_embedding"} if whole == "mistral3" else set())
        attached = [name for name, module in model.named_modules() if isinstance(module, AttachedModule)]
        assert all(name.startswith("language_model") for name in attached)
        assert len(attached) == 9
