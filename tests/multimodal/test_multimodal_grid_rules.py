"""The rules of blocks on a grid, against transformers' own get_rope_index, on random prompts."""

from __future__ import annotations

import random

import pytest
import torch
from prompts import draw_prompt, frame_by_frame, grids_tensor, oracle, require_equal, whole_item

from ordinate import multimodal

SEEDS = range(25)
KINDS = {"mixed": (0, 1, 2), "images": (0, 1), "videos": (0, 2), "text": (0,)}
QWEN2 = [("qwen2_vl", "Qwen2VLModel"), ("paddleocr_vl", "PaddleOCRVLModel")]
SAME_AS_QWEN3 = [
    ("cohere_compass", "CohereCompassModel"),
    ("cosmos3_omni", "Cosmos3OmniModel"),
    ("glm46v", "Glm46VModel"),
    ("glm4v", "Glm4vModel"),
    ("glm4v_moe", "Glm4vMoeModel"),
    ("glm_ocr", "GlmOcrModel"),
    ("qwen3_5", "Qwen3_5Model"),
    ("qwen3_5_moe", "Qwen3_5MoeModel"),
    ("qwen3_vl_moe", "Qwen3VLMoeModel"),
    ("qwen4_exp", "Qwen4ExpModel"),
]


def both_forms(prompt):
    """Grids as Python ints, and as tensors."""
    yield {"image_grids": prompt.images, "video_grids": prompt.videos}
    yield {"image_grids": grids_tensor(prompt.images), "video_grids": grids_tensor(prompt.videos)}


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(("model", "name"), QWEN2)
def test_qwen2_vl(model, name, kinds):
    for seed in SEEDS:
        prompt = draw_prompt(seed, whole_item(2), kinds=kinds)
        want = oracle(model, name, prompt, vision={"spatial_merge_size": 2})
        for grids in both_forms(prompt):
            require_equal(multimodal.qwen2_vl_positions(prompt.types, **grids, spatial_merge=2, mask=prompt.mask), want)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_qwen2_vl_without_a_mask(kinds):
    """Without a mask padding is text."""
    for seed in SEEDS:
        prompt = draw_prompt(seed, whole_item(3), kinds=kinds, merge=3)
        want = oracle("qwen2_vl", "Qwen2VLModel", prompt, vision={"spatial_merge_size": 3}, masked=False)
        for grids in both_forms(prompt):
            require_equal(multimodal.qwen2_vl_positions(prompt.types, **grids, spatial_merge=3), want)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("tokens_per_second", [2, 4, 25, 0.5])
def test_qwen2_5_vl(kinds, tokens_per_second):
    vision = {"spatial_merge_size": 2, "tokens_per_second": tokens_per_second}
    for seed in SEEDS:
        prompt = draw_prompt(seed, whole_item(2), kinds=kinds)
        draw = random.Random(seed)
        numbers = [draw.choice((0.5, 1.0, 0.1, 1 / 3, 0.7, 1.9999999, draw.uniform(0, 3))) for _ in prompt.videos]
        tensors = (torch.tensor(numbers, dtype=dtype) for dtype in (torch.float32, torch.float64))
        for seconds in (numbers, None, *tensors):
            want = oracle("qwen2_5_vl", "Qwen2_5_VLModel", prompt, vision=vision, second_per_grid_ts=seconds)
            for grids in both_forms(prompt):
                got = multimodal.qwen2_5_vl_positions(
                    prompt.types,
                    **grids,
                    seconds_per_grid=seconds,
                    tokens_per_second=tokens_per_second,
                    spatial_merge=2,
                    mask=prompt.mask,
                )
                require_equal(got, want)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(("model", "name"), [("cosmos3_edge", "Cosmos3EdgeModel"), ("qwen3_vl", "Qwen3VLModel")])
def test_qwen3_vl(model, name, kinds):
    check_qwen3_vl(model, name, kinds, SEEDS)


@pytest.mark.parametrize(("model", "name"), SAME_AS_QWEN3)
def test_models_with_the_body_of_qwen3_vl(model, name):
    check_qwen3_vl(model, name, KINDS["mixed"], range(5))


def check_qwen3_vl(model, name, kinds, seeds):
    for seed in seeds:
        prompt = draw_prompt(seed, frame_by_frame(2), kinds=kinds)
        want = oracle(model, name, prompt, vision={"spatial_merge_size": 2})
        for grids in both_forms(prompt):
            require_equal(multimodal.qwen3_vl_positions(prompt.types, **grids, spatial_merge=2, mask=prompt.mask), want)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_ernie4_5_vl(kinds):
    vision = {"spatial_merge_size": 2, "temporal_merge_size": 2}
    for seed in SEEDS:
        prompt = draw_prompt(seed, whole_item(2, temporal_merge=2), kinds=kinds, temporal_merge=2)
        want = oracle("ernie4_5_vl_moe", "Ernie4_5_VLMoeModel", prompt, vision=vision)
        for grids in both_forms(prompt):
            got = multimodal.ernie4_5_vl_positions(prompt.types, **grids, spatial_merge=2, temporal_merge=2, mask=prompt.mask)
            require_equal(got, want)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_hy_v4_vl(kinds):
    def runs(kind, grid):
        return [[kind] * (grid[0] * (grid[1] // 2) * (grid[2] // 2 + 1))]

    for seed in SEEDS:
        prompt = draw_prompt(seed, runs, kinds=kinds)
        want = oracle("hy_v4_vl", "HYV4VLModel", prompt, vision={"spatial_merge_size": 2})
        for grids in both_forms(prompt):
            require_equal(multimodal.hy_v4_vl_positions(prompt.types, **grids, spatial_merge=2, mask=prompt.mask), want)
