"""A real checkpoint, SmolLM2-135M-Instruct, on real text: with ordinate's rotation attached it computes the same bits."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import argparse
import inspect

import pytest
import torch
from transformers import AutoTokenizer, LlamaForCausalLM
from transformers.models.llama import modeling_llama

import ordinate

pytest.importorskip("gguf")
FAR = 4096


@pytest.fixture(scope="module")
def loaded(smollm2_gguf):
    return LlamaForCausalLM.from_pretrained(smollm2_gguf.parent, gguf_file=smollm2_gguf.name, dtype=torch.float32).eval()


@pytest.fixture(scope="module", params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def model(request, loaded):
    """In bfloat16 as from_pretrained gives it, with frequencies in float32."""
    if request.param == torch.float32:
        return loaded
    again = LlamaForCausalLM._from_config(loaded.config, dtype=request.param)
    again.load_state_dict(loaded.state_dict())
    assert again.model.rotary_emb.inv_freq.dtype == torch.float32
    return again.eval()


@pytest.fixture(scope="module")
def tokens(smollm2_gguf):
    tokenizer = AutoTokenizer.from_pretrained(smollm2_gguf.parent, gguf_file=smollm2_gguf.name)
    return tokenizer(inspect.getsource(argparse), return_tensors="pt").input_ids[:, :512]


def logits(model, tokens, offset=0):
    places = torch.arange(offset, offset + tokens.shape[1])[None]
    with torch.no_grad():
        return model(tokens, position_ids=places).logits


def generated(model, tokens):
    return model.generate(
        tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=64, min_new_tokens=64, do_sample=False, use_cache=True
    )


def forbidden(*_, **__):
    raise AssertionError("the model's own rotation was called")


def graph(model):
    """Everything that a model's modules hold, by identity of the objects."""
    return [(name, type(module), {key: id(value) for key, value in vars(module).items()}) for name, module in model.named_modules()]


def test_logits_on_real_text_are_the_same_bits(model, tokens, monkeypatch):
    assert tokens.shape == (1, 512)
    before = [logits(model, tokens, offset) for offset in (0, FAR)]
    held = graph(model)
    with ordinate.attach(model, phases="float32"):
        monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", forbidden)
        monkeypatch.setattr(modeling_llama, "rotate_half", forbidden)
        monkeypatch.setattr(modeling_llama.LlamaRotaryEmbedding, "forward", forbidden)
        for offset, theirs in zip((0, FAR), before, strict=True):
            assert torch.equal(logits(model, tokens, offset), theirs)
        with pytest.raises(AssertionError, match="own rotation"):
            modeling_llama.apply_rotary_pos_emb()
        assert not torch.equal(before[0], before[1])  # the bits know the offset
    monkeypatch.undo()
    assert graph(model) == held
    assert torch.equal(logits(model, tokens), before[0])


def test_another_base_shows(model, tokens):
    """The comparison can fail: linear scaling by a little changes the logits."""
    tokens = tokens[:, :64]
    before = logits(model, tokens)
    with ordinate.attach(model, scaling=ordinate.scaling.Linear(factor=1.01)):
        assert (logits(model, tokens) - before).abs().max() > 0.01


def test_greedy_generation_with_a_cache_is_the_same(model, tokens):
    prompt = tokens[:, :40]
    before = generated(model, prompt)
    with ordinate.attach(model):
        assert torch.equal(generated(model, prompt), before)
    assert before.shape == (1, 104)


def test_exact_phases_change_little_and_lose_nothing_far_away(model, tokens):
    tokens = tokens[:, :128]
    near, far = logits(model, tokens), logits(model, tokens, 100_000)
    with ordinate.attach(model, phases="exact"):
        exact_near, exact_far = logits(model, tokens), logits(model, tokens, 100_000)
    if model.dtype == torch.float32:
        # a shift of all positions changes nothing but roundings, and float32 phases have many of them far away
        assert (exact_far - exact_near).abs().max() < 0.25 * (far - near).abs().max()
    assert not torch.equal(exact_near, near)
    assert (exact_near.argmax(-1) == near.argmax(-1)).float().mean() > 0.95


def test_transformers_was_not_changed(model, tokens):
    own = modeling_llama.LlamaAttention.forward, modeling_llama.LlamaRotaryEmbedding.forward
    before = dict(vars(modeling_llama))
    with ordinate.attach(model):
        logits(model, tokens[:, :8])
        assert dict(vars(modeling_llama)) == before
        assert (modeling_llama.LlamaAttention.forward, modeling_llama.LlamaRotaryEmbedding.forward) == own
