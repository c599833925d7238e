"""Keys that turn when they are read, in every model type: where no length changes anything, a cache gives the model's own bits.

Dynamic NTK far below its original length is no rule at all, but keys go into the cache raw, and all of them turn at every step.
"""

import pytest
import torch
from reading_gemma4 import GEMMA4
from reading_models import IN_HALVES, MODELS, config_of, model_from, plan_of
from reading_speech import SPEECH
from reading_spy import TOKENS, lively
from test_attached_models import REFUSED as NEVER_ATTACHED
from test_attached_models import forbid

import ordinate
from ordinate.checkpoints.rotary_types import ROTARY_TYPES

FAR = ordinate.scaling.DynamicNTK(factor=2.0, original_length=100_000)
APART = "whose cache keeps a part of each head apart"
ALIKE = "whose function turns queries and keys alike"
REFUSED = {
    **dict.fromkeys((*IN_HALVES, "deepseek_v2", "minicpm3", "hy_v4"), APART),
    **dict.fromkeys(("gptj", "codegen", "gemma3n_text", "llama4_text", *GEMMA4), ALIKE),
    **dict.fromkeys(("hunyuan_v1_dense", "hunyuan_v1_moe", "nanochat"), "which norms keys after they turn"),
}
del REFUSED["mistral4"]  # takes no other rule at all
del REFUSED["embedding_gemma2_text"]  # an encoder: no cache
OWN_CACHE = ("unlimited_ocr_text",)  # keeps the first keys and a window of the last
NEVER = (*NEVER_ATTACHED, *SPEECH, "mistral4", *OWN_CACHE)
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
    tokens, cache, made = TOKENS[..., None] if model.config.model_type == "csm" else TOKENS, None, []
    for part in (slice(20), slice(20, 21), slice(21, 22), slice(22, 40)):
        with torch.no_grad():
            out = model(tokens[:, part], cache=cache, use_cache=True)
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
