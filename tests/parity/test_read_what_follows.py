"""What plans say in words of tokens after a prompt: DiffusionGemma's canvas turns alike, Unlimited-OCR sees all of its prompt."""

import pytest
import torch
from reading_gemma4 import GEMMA4
from reading_models import config_of, file_of, model_from, plan_of, rotary_of
from reading_spy import LENGTH, TOKENS, heard_in, listen, lively, stillness
from reading_text import TEXT
from transformers import DynamicCache

PROMPT, WINDOW = 20, 9


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_diffusion_gemmas_canvas_turns_alike(dtype):
    name = "diffusion_gemma_text"
    values = {"model_type": name, **GEMMA4[name]}
    config, built = config_of(values), plan_of(values).build()
    config._attn_implementation = "spy"
    positions = torch.tensor([*range(LENGTH - 3), 1000, 40000, 1000003])
    hidden = torch.randn(1, LENGTH, config.hidden_size, generator=torch.Generator().manual_seed(0)).to(dtype)
    for index in (0, 5):
        module = lively(file_of(name).DiffusionGemmaDecoderTextAttention(config, index)).to(dtype)
        made = rotary_of(config)(hidden, positions[None], config.layer_types[index])
        still, turned = (
            listen(module, hidden_states=hidden, position_embeddings=angles, attention_mask=None)
            for angles in (stillness(made, name), made)
        )
        assert torch.equal(built.layers[index].queries(still.query, positions), turned.query)
        assert torch.equal(built.layers[index].keys(still.key, positions), turned.key)
        assert not torch.equal(still.key, turned.key)


def test_unlimited_ocr_keeps_its_prompt_in_sight():
    """A token far behind the prompt sees all of it and itself with the eight before it."""
    name = "unlimited_ocr_text"
    values = {"model_type": name, **TEXT[name]}
    config, plan = config_of(values), plan_of(values)
    model, cache = lively(model_from(config, "spy")), DynamicCache(config=config)
    heard_in(model, TOKENS[:, :PROMPT], cache=cache, use_cache=True)
    for place in range(PROMPT, LENGTH):
        heard = heard_in(model, TOKENS[:, place : place + 1], cache=cache, use_cache=True)[0]
    seen = heard.key.shape[2] if heard.mask is None else (heard.mask[0, 0, 0] == 0).sum().item()
    assert seen == PROMPT + WINDOW
    assert {(layer.kind, layer.window) for layer in plan.layers} == {("reference_sliding_attention", None)}
    assert any(f"of what follows it the last {WINDOW}" in entry.became for entry in plan.entries)
