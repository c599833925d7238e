"""Keys that turn when they are read, in every model type: where no length changes anything, a cache gives the model's own bits.

Dynamic NTK far below its original length is no rule at all, but keys go into the cache raw, and all of them turn at every step.
"""

import pytest
import torch
from reading_gemma4 import GEMMA4
from reading_models import IN_HALVES, MODELS, config_of, model_from, plan_of
from reading_multimodal import AXES, WITHOUT_TOKENS
from reading_speech import SPEECH
from reading_spy import TOKENS, lively
from test_attached_models import REFUSED as NEVER_ATTACHED
from test_attached_models import forbid

import ordinate
from ordinate.checkpoints.rotary_types import ROTARY_TYPES

PLACES = torch.stack([(torch.arange(40) * factor + factor) % 97 for factor in (3, 4, 5)])[:, None]  # unlike on every axis
FAR = ordinate.scaling.DynamicNTK(factor=2.0, original_length=100_000)
APART = "whose cache keeps a part of each head apart"
ALIKE = "whose function turns queries and keys alike"
REFUSED = {
    **dict.fromkeys((*IN_HALVES, "deepseek_v2", "minicpm3", "hy_v4", "hy_v4_vl_text"), APART),
    **dict.fromkeys(("gptj", "codegen", "gemma3n_text", "llama4_text", *GEMMA4), ALIKE),
    **dict.fromkeys(("hunyuan_v1_dense", "hunyuan_v1_moe", "nanochat"), "which norms keys after they turn"),
}
del REFUSED["mistral4"]  # takes no other rule at all
del REFUSED["embedding_gemma2_text"]  # an encoder: no cache
OWN_CACHE = ("unlimited_ocr_text",)  # keeps the first keys and a window of the last
EVERY_TIME = ("qwen4_exp_text",)  # makes the angles of cached tokens anew at every step
NEVER = (*NEVER_ATTACHED, *SPEECH, "mistral4", *OWN_CACHE, *EVERY_TIME, "deepseek_ocr2_encoder", "qwen3_omni_moe_code2wav")
# Their own rule is not the default one, so that another in its place changes the numbers.
RULED = [
    name
    for name in MODELS
    if any(layer.scheme and layer.scheme.scaling for layer in plan_of({"model_type": name, **MODELS[name]}).layers)
]
CAUSAL = [name for name in MODELS if ROTARY_TYPES[name].causal and name not in (*REFUSED, *NEVER)]


def model_of(model_type):
    return lively(model_from(config_of({"model_type": model_type, **MODELS[model_type]}), "eager"))


def in_parts(model):
    """Outputs of a prompt and of three further parts, with the cache that the model makes itself."""
    kind, cache, made = model.config.model_type, None, []
    name, given = "input_ids", TOKENS[..., None] if kind == "csm" else TOKENS
    if kind in WITHOUT_TOKENS:
        name, given = "inputs_embeds", torch.randn(1, 40, model.config.hidden_size, generator=torch.Generator().manual_seed(0))
    for part in (slice(20), slice(20, 21), slice(21, 22), slice(22, 40)):
        places = {"position_ids": PLACES[: AXES[kind], :, part]} if kind in AXES else {}
        with torch.no_grad():
            out = model(**{name: given[:, part]}, **places, cache=cache, use_cache=True)
        cache = out.cache
        made.append(out[0])
    return made


@pytest.mark.parametrize("model_type", [name for name in CAUSAL if name not in RULED])
def test_turned_when_read(model_type, monkeypatch):
    model = model_of(model_type)
    before = in_parts(model)
    with ordinate.attach(model, scaling=FAR, on_switch="returned"):
        forbid(monkeypatch, model_type)
        during = in_parts(model)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(during, before, strict=True))


@pytest.mark.parametrize("model_type", [name for name in CAUSAL if name in RULED])
def test_turned_when_read_or_before(model_type):
    """The same two ways under a rule of ours."""
    model = model_of(model_type)
    with ordinate.attach(model, scaling=FAR, on_switch="pin"):
        before = in_parts(model)
    with ordinate.attach(model, scaling=FAR, on_switch="returned"):
        during = in_parts(model)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(during, before, strict=True))


@pytest.mark.parametrize(("model_type", "reason"), REFUSED.items())
def test_types_whose_keys_cannot_wait(model_type, reason):
    model = model_of(model_type)
    with pytest.raises(ValueError, match=reason):
        ordinate.attach(model, scaling=FAR)
    if ROTARY_TYPES[model_type].causal:
        with ordinate.attach(model, scaling=FAR, on_switch="pin"):
            in_parts(model)


@pytest.mark.parametrize("model_type", OWN_CACHE)
def test_caches_that_keep_keys_in_their_own_way(model_type):
    model = model_of(model_type)
    with ordinate.attach(model, scaling=FAR), pytest.raises(ValueError, match="needed a DynamicCache, or a StaticCache"):
        in_parts(model)


@pytest.mark.parametrize("model_type", EVERY_TIME)
@pytest.mark.parametrize("on_switch", ["returned", "pin", "error"])
def test_angles_of_cached_tokens_that_are_made_anew(model_type, on_switch):
    model = model_of(model_type)
    before = in_parts(model)
    with pytest.raises(ValueError, match="needed a rule that depends on no length, since angles of cached tokens are made anew"):
        ordinate.attach(model, scaling=FAR, on_switch=on_switch)
    with ordinate.attach(model):
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(in_parts(model), before, strict=True))
