"""Whole models whose tokens have several coordinates: a prompt with an image, generated from with a cache, exact phases, graphs."""

import copy

import mpmath
import numpy as np
import pytest
import torch
from test_attach_running import SIZES, lively
from torch._dynamo.testing import CompileCounter
from transformers.models.qwen2_vl import Qwen2VLConfig, Qwen2VLForConditionalGeneration, modeling_qwen2_vl
from transformers.models.qwen3_vl import Qwen3VLConfig, Qwen3VLForConditionalGeneration, modeling_qwen3_vl

import ordinate
from ordinate.attaching.classes import AttachedModule

BEGIN, END, IMAGE, VIDEO = 60, 61, 62, 63
NUMBERS = {"vision_start_token_id": BEGIN, "vision_end_token_id": END, "image_token_id": IMAGE, "video_token_id": VIDEO}
PATCHES = {"patch_size": 4, "temporal_patch_size": 2, "spatial_merge_size": 2, "in_channels": 3, "num_heads": 2}
GRIDS = torch.tensor([[1, 4, 6], [1, 6, 4]])  # 2 x 3 and 3 x 2 tokens
ULPS = 0.51


def text_of(**changes):
    return {**SIZES, "hidden_size": 64, "head_dim": 16, **changes}


def qwen2_vl(sections=(2, 3, 3), rule=None):
    text = text_of(rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [*sections], **(rule or {})})
    vision = {**PATCHES, "depth": 2, "embed_dim": 32, "hidden_size": 64, "mlp_ratio": 2}
    config = Qwen2VLConfig(text_config=text, vision_config=vision, **NUMBERS)
    return lively(Qwen2VLForConditionalGeneration(config))


def qwen3_vl(sections=(4, 2, 2), rule=None):
    text = text_of(rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [*sections], **(rule or {})})
    vision = {**PATCHES, "depth": 2, "hidden_size": 32, "intermediate_size": 32, "out_hidden_size": 64}
    vision |= {"num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
    config = Qwen3VLConfig(text_config=text, vision_config=vision, **NUMBERS)
    return lively(Qwen3VLForConditionalGeneration(config))


MODELS = {"qwen2_vl": (qwen2_vl, modeling_qwen2_vl), "qwen3_vl": (qwen3_vl, modeling_qwen3_vl)}
ROTARY = {"qwen2_vl": "Qwen2VLRotaryEmbedding", "qwen3_vl": "Qwen3VLTextRotaryEmbedding"}


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def prompt(dtype=torch.float32):
    """Two rows with an image each, of another form; the first row is shorter and filled up on the left."""
    rows = [[0, 0, 5, BEGIN, *6 * [IMAGE], END, 7, 8], [9, 10, 11, 12, BEGIN, *6 * [IMAGE], END, 13]]
    tokens = torch.tensor(rows)
    pixels = torch.randn(int(GRIDS.prod(dim=1).sum()), 3 * 2 * 4 * 4, generator=torch.Generator().manual_seed(1))
    return {
        "input_ids": tokens,
        "attention_mask": tokens.ne(0).long(),
        "mm_token_type_ids": tokens.eq(IMAGE).int(),
        "pixel_values": pixels.to(dtype),
        "image_grid_thw": GRIDS,
    }


def generated(model):
    made = model.generate(
        **prompt(model.dtype),
        max_new_tokens=12,
        min_new_tokens=12,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    return made.sequences, torch.stack(made.logits)


def forbidden(*_, **__):
    raise AssertionError("the model's own rotation was called")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_image_and_what_is_generated_from_it(name, dtype, monkeypatch):
    make, file = MODELS[name]
    model = make()
    text = model.model.language_model.rotary_emb
    frequencies = text.inv_freq.clone()
    model.to(dtype)
    text.inv_freq = text.original_inv_freq = frequencies  # as from_pretrained leaves them
    tokens, logits = generated(model)
    images = []
    own = file.apply_rotary_pos_emb_vision
    with ordinate.attach(model), monkeypatch.context() as patch:
        patch.setattr(file, "apply_rotary_pos_emb", forbidden)
        patch.setattr(getattr(file, ROTARY[name]), "forward", forbidden)
        patch.setattr(file, "apply_rotary_pos_emb_vision", lambda *given: images.append(given) or own(*given))
        again, same = generated(model)
        attached = {part for part, module in model.named_modules() if isinstance(module, AttachedModule)}
    assert torch.equal(tokens, again)
    assert torch.equal(logits, same)
    assert len(images) == 2  # the encoder of images keeps its own rotation, in each of its two layers
    inside = "model.language_model."
    assert attached == {inside + part for part in ("rotary_emb", "layers.0.self_attn", "layers.1.self_attn")}
    assert torch.equal(generated(model)[1], logits)


def test_the_image_has_coordinates_of_its_own(name, monkeypatch):
    """What the test above compares: rows and columns change the logits."""
    model = MODELS[name][0]()
    logits = generated(model)[1]
    rotary, heard = type(model.model.language_model.rotary_emb), []
    own = rotary.forward

    def by_time_alone(self, x, places):
        heard.append(places)
        return own(self, x, places[:1])

    monkeypatch.setattr(rotary, "forward", by_time_alone)
    assert (generated(model)[1] - logits).abs().max() > 0.01
    assert heard[0].shape == (3, 2, 13)
    assert not torch.equal(heard[0][1], heard[0][2])


def test_text_alone(name):
    model = MODELS[name][0]()
    tokens = torch.randint(3, 60, (2, 20), generator=torch.Generator().manual_seed(2))
    before = model.generate(tokens, max_new_tokens=8, do_sample=False)
    with ordinate.attach(model):
        assert torch.equal(model.generate(tokens, max_new_tokens=8, do_sample=False), before)


def test_a_rule_for_longer_texts(name):
    """As a model that has the rule in its configuration."""
    make = MODELS[name][0]
    model, scaled = make(), make(rule={"rope_type": "linear", "factor": 4.0})
    with ordinate.attach(model, scaling=ordinate.scaling.Linear(factor=4.0)):
        tokens, logits = generated(model)
    right, theirs = generated(scaled)
    assert torch.equal(tokens, right)
    assert torch.equal(logits, theirs)
    assert not torch.equal(logits, generated(model)[1])


def test_a_deep_copy_and_a_handle(name):
    model = MODELS[name][0]()
    logits = generated(model)[1]
    with ordinate.attach(model) as attached:
        assert repr(attached).startswith(f"Attached({name}_text, ")
        again = copy.deepcopy(model)
    assert torch.equal(generated(again)[1], logits)
    assert any(isinstance(module, AttachedModule) for module in again.modules())


def test_half_an_ulp_on_every_axis(name):
    model = MODELS[name][0]()
    rotary = model.model.language_model.rotary_emb
    sections = rotary.mrope_section
    axes = {
        "qwen2_vl": [axis for axis in range(3) for _ in range(sections[axis])],
        "qwen3_vl": [pair % 3 if pair < 3 * min(sections[1:]) else 0 for pair in range(8)],
    }[name]
    places = torch.tensor([[[131_071, 999_983]], [[10_000_019, 70_001]], [[2**31 - 1, 5]]])
    with ordinate.attach(model, phases="exact"):
        made = rotary(torch.zeros(1), places)
    worst = 0.0
    with mpmath.workdps(60):
        for pair, frequency in enumerate(rotary.inv_freq.tolist()):
            for token in range(2):
                angle = mpmath.mpf(places[axes[pair], 0, token].item()) * mpmath.mpf(frequency)
                for table, right in zip(made, (mpmath.cos(angle), mpmath.sin(angle)), strict=True):
                    unit = mpmath.mpf(float(np.spacing(np.float32(abs(right)))))
                    worst = max(worst, float(abs(mpmath.mpf(table[0, token, pair].item()) - right) / unit))
    assert worst <= ULPS


def test_a_whole_graph(name):
    model = MODELS[name][0]().model.language_model
    tokens = torch.randint(3, 60, (2, 20), generator=torch.Generator().manual_seed(2))
    places = torch.stack([torch.arange(20) // divisor for divisor in (1, 2, 3)])[:, None].expand(3, 2, 20)
    given = {"input_ids": tokens, "position_ids": places, "use_cache": False}
    with torch.no_grad():
        before = model(**given)[0]
        with ordinate.attach(model):
            torch._dynamo.reset()
            counter = CompileCounter()
            assert torch.equal(torch.compile(model, fullgraph=True, backend=counter)(**given)[0], before)
            torch._dynamo.reset()
    assert counter.frame_count == 1
