"""Qwen2.5-Omni and Qwen3-Omni against transformers' own get_rope_index, on prompts laid out by its own processors' rules."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from omni_prompts import AUDIO_START, IDS, VISION_START, draw_omni_prompt
from prompts import grids_tensor, require_equal, transformers_class

from ordinate import multimodal

SEEDS = range(20)
KINDS = {"mixed": (0, 1, 2, 3), "images": (0, 1), "videos": (0, 2), "audio": (0, 3), "text": (0,)}
LATER_NAMES = ("Qwen3OmniMoePreTrainedModelForConditionalGeneration", "Qwen3OmniMoeTalkerForConditionalGeneration")


def chunked(seconds_per_chunk, rate):
    """The order of Qwen2.5-Omni's processor, by its own get_chunked_index."""
    from transformers.models.qwen2_5_omni.processing_qwen2_5_omni import Qwen2_5OmniProcessor

    def order(times, n_audio):
        size = int(rate * seconds_per_chunk)
        video = Qwen2_5OmniProcessor.get_chunked_index(None, times, size)
        audio = Qwen2_5OmniProcessor.get_chunked_index(None, torch.arange(n_audio).numpy(), size)
        types = []
        for chunk in range(max(len(video), len(audio))):
            for kind, chunks in ((2, video), (3, audio)):
                if chunk < len(chunks):
                    types += [kind] * (chunks[chunk][1] - chunks[chunk][0])
        return types

    return order


def merged_by_time(times, n_audio):
    """The order of Qwen3-Omni's processor: whichever is earlier, the frame first."""
    keys = [(time, 2) for time in times] + [(float(time), 3) for time in range(n_audio)]
    return [kind for _, kind in sorted(keys, key=lambda key: key[0])]


def model_of(owner, rate, seconds_per_chunk):
    """What the method asks of its model."""
    config = SimpleNamespace(
        image_token_id=IDS[1],
        video_token_id=IDS[2],
        audio_token_id=IDS[3],
        vision_start_token_id=VISION_START,
        audio_start_token_id=AUDIO_START,
        position_id_per_seconds=rate,
        seconds_per_chunk=seconds_per_chunk,
        audio_config=SimpleNamespace(n_window=50),
    )
    own = SimpleNamespace(config=config, spatial_merge_size=2)
    for name in ("get_llm_pos_ids_for_vision", "get_chunked_index"):
        if hasattr(owner, name):
            setattr(own, name, getattr(owner, name).__get__(own))
    return own


def asked(owner, prompt, *, rate, frames_of_audio, with_sound, seconds_per_chunk=2.0, masked=True):
    """transformers' answer, axes last."""
    positions, deltas = owner.get_rope_index(
        model_of(owner, rate, seconds_per_chunk),
        prompt.ids,
        grids_tensor(prompt.images),
        grids_tensor(prompt.videos),
        prompt.mask if masked else None,
        with_sound,
        torch.tensor([frames_of_audio(n) for n in prompt.audios]),
        torch.tensor(prompt.seconds),
    )
    return positions.permute(1, 2, 0), deltas[:, 0]


def qwen2_5_frames(n_tokens):
    """Frames of sound that become n tokens: two convolutions of stride 2."""
    return 4 * n_tokens


def qwen3_frames(n_tokens):
    from transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe import _get_feat_extract_output_lengths

    return next(n for n in range(1, 10000) if int(_get_feat_extract_output_lengths(torch.tensor(n))) == n_tokens)


def given(prompt, tensors):
    if not tensors:
        return {"image_grids": prompt.images, "video_grids": prompt.videos, "seconds_per_grid": prompt.seconds}
    grids = {"image_grids": grids_tensor(prompt.images), "video_grids": grids_tensor(prompt.videos)}
    return {**grids, "seconds_per_grid": torch.tensor(prompt.seconds)}


@pytest.mark.parametrize("tensors", [False, True], ids=["numbers", "tensors"])
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("seconds_per_chunk", [None, 0.2, 2.0])
def test_qwen2_5_omni(seconds_per_chunk, kinds, tensors):
    """Without sound in videos, and with it in chunks of several lengths."""
    owner = transformers_class("qwen2_5_omni", "Qwen2_5OmniPreTrainedModelForConditionalGeneration")
    order = chunked(seconds_per_chunk, 25) if seconds_per_chunk else None
    for seed in SEEDS:
        prompt = draw_omni_prompt(seed, order, rate=25, kinds=kinds)
        want = asked(
            owner,
            prompt,
            rate=25,
            frames_of_audio=qwen2_5_frames,
            with_sound=order is not None,
            seconds_per_chunk=seconds_per_chunk,
        )
        got = multimodal.qwen2_5_omni_positions(
            prompt.types, **given(prompt, tensors), steps_per_second=25, spatial_merge=2, mask=prompt.mask
        )
        require_equal(got, want)


@pytest.mark.parametrize("tensors", [False, True], ids=["numbers", "tensors"])
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("order", [None, merged_by_time], ids=["silent", "sound"])
@pytest.mark.parametrize("name", LATER_NAMES)
def test_qwen3_omni(name, order, kinds, tensors):
    owner = transformers_class("qwen3_omni_moe", name)
    for seed in SEEDS:
        prompt = draw_omni_prompt(seed, order, rate=13, kinds=kinds)
        want = asked(owner, prompt, rate=13, frames_of_audio=qwen3_frames, with_sound=order is not None)
        got = multimodal.qwen3_omni_positions(
            prompt.types,
            **given(prompt, tensors),
            n_audios=len(prompt.audios),
            steps_per_second=13,
            spatial_merge=2,
            mask=prompt.mask,
        )
        require_equal(got, want)
