"""Every model type of the table, run before and while ordinate's rotation is attached: the same logits, bit for bit."""

import copy
import functools
import types

import pytest
import torch
from reading_models import COMPLEX, MODELS, config_of, file_of, model_from
from reading_spy import TOKENS, lively

import ordinate

# Far ones, each row in an order of its own; tables of GPT-J and CodeGen end at 1024.
PLACES = torch.stack([torch.randperm(1000, generator=torch.Generator().manual_seed(row))[:40] for row in range(2)])
# Complex products and torch.polar round otherwise than cos, sin and real products: a few roundings of the activations' dtype.
NEAR = {torch.float32: 3e-5, torch.bfloat16: 0.1}


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


def outputs(model, places):
    tokens = TOKENS.expand(len(places), -1)
    tokens = tokens[..., None] if model.config.model_type == "csm" else tokens
    with torch.no_grad():
        return model(tokens, position_ids=places)[0]


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


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("model_type", MODELS)
def test_the_same_bits(model_type, dtype, attention, monkeypatch):
    try:
        model = in_dtype(model_of(model_type, attention), dtype)
    except ValueError as error:
        pytest.skip(f"no {attention} attention: {error}")
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
