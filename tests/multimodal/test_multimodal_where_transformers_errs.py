"""Where transformers 5.24 stops, or gives other positions than its own rule says, and what is given here instead."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from omni_prompts import AUDIO_END, AUDIO_START, IDS, VISION_END, VISION_START
from prompts import Prompt, oracle, transformers_class
from test_multimodal_omni import model_of

from ordinate import multimodal

QWEN2 = ("qwen2_vl", "Qwen2VLModel")
VISION = {"spatial_merge_size": 1}
ONE_MODEL = "Qwen2_5OmniPreTrainedModelForConditionalGeneration"


def prompt_of(types, mask=None, images=(), videos=()):
    types = torch.tensor(types)
    return Prompt(types, torch.ones_like(types) if mask is None else torch.tensor(mask), list(images), list(videos))


def test_images_side_by_side_stop_it():
    """One run of image tokens is one image to it. Here the grids say where the second begins."""
    prompt = prompt_of([[1, 1, 1, 1, 1, 0]], images=[(1, 1, 2), (1, 3, 1)])
    with pytest.raises(RuntimeError, match="shape mismatch"):
        oracle(*QWEN2, prompt, vision=VISION)
    positions, _ = multimodal.qwen2_vl_positions(prompt.types, image_grids=prompt.images, spatial_merge=1)
    assert positions[0].T.tolist() == [[0, 0, 2, 2, 2, 5], [0, 0, 2, 3, 4, 5], [0, 1, 2, 2, 2, 5]]


def test_frames_side_by_side_stop_it():
    """Frames without a time stamp between them: one run, of which it takes the first frame only."""
    prompt = prompt_of([[2, 2, 2, 2, 0]], videos=[(2, 1, 2)])
    with pytest.raises(RuntimeError, match="shape mismatch"):
        oracle("qwen3_vl", "Qwen3VLModel", prompt, vision=VISION)
    positions, _ = multimodal.qwen3_vl_positions(prompt.types, video_grids=prompt.videos, spatial_merge=1)
    assert positions[0].T.tolist() == [[0, 0, 2, 2, 4], [0, 0, 2, 2, 4], [0, 1, 2, 3, 4]]


def test_a_row_of_padding_stops_it():
    prompt = prompt_of([[0, 0], [0, 0]], mask=[[1, 1], [0, 0]])
    with pytest.raises(ValueError, match="non-empty list"):
        oracle(*QWEN2, prompt, vision=VISION)
    positions, deltas = multimodal.qwen2_vl_positions(prompt.types, spatial_merge=1, mask=prompt.mask)
    assert (positions[..., 0].tolist(), deltas.tolist()) == ([[0, 1], [0, 0]], [0, 0])


def test_grids_too_many_pass_it_unseen():
    """It takes the first of two grids for the only image, though the second may have been meant. Here that is an error."""
    prompt = prompt_of([[1, 1, 0]], images=[(1, 1, 2), (1, 2, 1)])
    assert oracle(*QWEN2, prompt, vision=VISION)[0][0, :, 2].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"image_grids: needed as many tokens as token_types has of images \(2\), got \[2, 2\]"):
        multimodal.qwen2_vl_positions(prompt.types, image_grids=prompt.images, spatial_merge=1)


def test_decoding_after_a_long_video_is_not_the_full_forward():
    """A video of more frames than its longer side: text after it goes on at 2, decoding behind its last frame, at 6; kept so."""
    prompt = prompt_of([[0, 2, 2, 2, 2, 2, 0]], videos=[(5, 1, 1)])
    longer = prompt_of([[0, 2, 2, 2, 2, 2, 0, 0]], videos=[(5, 1, 1)])
    whole, _ = oracle(*QWEN2, longer, vision=VISION)
    assert whole[0, -2:].tolist() == [[2] * 3, [3] * 3]
    _, their_deltas = oracle(*QWEN2, prompt, vision=VISION)
    _, deltas = multimodal.qwen2_vl_positions(prompt.types, video_grids=prompt.videos, spatial_merge=1)
    assert torch.equal(deltas, their_deltas)
    assert multimodal.continued(deltas, 7, 1).tolist() == [[[6] * 3]]


def test_seconds_as_numbers_and_as_a_tensor_differ():
    """The tenth frame at 0.9 seconds and 3 steps a second: 27 from Python numbers, 26 from a float32 tensor. Both are kept."""
    prompt = prompt_of([[2] * 11], videos=[(11, 1, 1)])
    vision = {"spatial_merge_size": 1, "tokens_per_second": 3}
    for seconds, tenth in (([0.9], 27), (torch.tensor([0.9]), 26)):
        theirs, _ = oracle("qwen2_5_vl", "Qwen2_5_VLModel", prompt, vision=vision, second_per_grid_ts=seconds)
        settings = {"seconds_per_grid": seconds, "tokens_per_second": 3, "spatial_merge": 1}
        ours, _ = multimodal.qwen2_5_vl_positions(prompt.types, video_grids=prompt.videos, **settings)
        assert theirs[0, 10, 0] == ours[0, 10, 0] == tenth


def test_omni_counts_its_padding_after_one_token():
    """In a batch of text alone the pad slots' 1 is taken for a position: one real token, and decoding skips a step."""
    owner = transformers_class("qwen2_5_omni", ONE_MODEL)
    mask = torch.tensor([[0, 0, 1], [1, 1, 1]])
    _, theirs = owner.get_rope_index(model_of(owner, 25, 2.0), torch.full((2, 3), 5), attention_mask=mask)
    _, ours = multimodal.qwen2_5_omni_positions(
        torch.zeros(2, 3, dtype=torch.int64), steps_per_second=25, spatial_merge=1, mask=mask
    )
    assert theirs[:, 0].tolist() == [1, 0]
    assert ours.tolist() == [0, 0]


def test_omni_stops_without_a_mask():
    """Text alone without a mask in Qwen2.5-Omni, anything without one in Qwen3-Omni."""
    owner = transformers_class("qwen2_5_omni", ONE_MODEL)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'long'"):
        owner.get_rope_index(model_of(owner, 25, 2.0), torch.full((1, 3), 5))
    later = transformers_class("qwen3_omni_moe", "Qwen3OmniMoePreTrainedModelForConditionalGeneration")
    ids = torch.tensor([[5, VISION_START, IDS[1], VISION_END]])
    with pytest.raises(TypeError, match="'NoneType' object is not subscriptable"):
        later.get_rope_index(model_of(later, 13, 2.0), ids, torch.tensor([[1, 2, 2]]))
    settings = {"n_audios": 0, "steps_per_second": 13, "spatial_merge": 2}
    positions, _ = multimodal.qwen3_omni_positions(torch.tensor([[0, 0, 1, 0]]), image_grids=[(1, 2, 2)], **settings)
    assert positions[0, :, 0].tolist() == [0, 1, 2, 3]


def test_omni_takes_a_silent_video_for_one_with_sound():
    """Its flag is one for the batch, so a video without sound eats the other's sound. Here the tokens say which is which."""
    owner = transformers_class("qwen2_5_omni", ONE_MODEL)
    silent = [VISION_START, IDS[2], IDS[2], VISION_END]
    heard = [VISION_START, AUDIO_START, IDS[2], IDS[3], AUDIO_END, VISION_END]
    ids, grids = torch.tensor([[5, *silent, *heard]]), torch.tensor([[2, 2, 2], [1, 2, 2]])
    mask, seconds = torch.ones_like(ids), torch.tensor([0.04, 0.04])
    theirs, _ = owner.get_rope_index(model_of(owner, 25, 2.0), ids, None, grids, mask, True, torch.tensor([4]), seconds)
    assert theirs[0, 0].tolist() == [0, 0, 1, 2, 1, 2, 2, 3, 4, 5, 6]
    types = torch.tensor([[0, 0, 2, 2, 0, 0, 0, 2, 3, 0, 0]])
    settings = {"seconds_per_grid": seconds, "steps_per_second": 25, "spatial_merge": 2}
    positions, _ = multimodal.qwen2_5_omni_positions(types, video_grids=grids, **settings)
    assert positions[0, :, 0].tolist() == [0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7]


def test_glm_image_decodes_text_behind_its_padding():
    """Without grids it goes on at the cache's length, which counts the padding: after a prompt that ends at 2 comes 5."""
    owner = transformers_class("glm_image", "GlmImageModel")
    own = SimpleNamespace(rope_deltas=torch.zeros(1, 1), _cached_decode_position_ids=None)
    cache, embeds = SimpleNamespace(get_seq_length=lambda: 5), torch.zeros(1, 1, 2)
    theirs = owner.compute_3d_position_ids(own, None, None, None, embeds, None, cache)
    assert theirs.flatten().tolist() == [5, 5, 5]
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    positions, deltas = multimodal.glm_image_positions(torch.zeros_like(mask), mask=mask)
    assert positions[0, -1].tolist() == [2, 2, 2]
    assert multimodal.continued(deltas, mask.sum(1), 1).tolist() == [[[3, 3, 3]]]
