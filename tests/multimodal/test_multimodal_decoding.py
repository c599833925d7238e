"""Decoding: the next positions, against transformers' own compute_3d_position_ids."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from prompts import draw_prompt, transformers_class, whole_item

from ordinate import MultimodalRope, multimodal

MODELS = [
    ("qwen2_vl", "Qwen2VLModel"),
    ("qwen2_5_vl", "Qwen2_5_VLModel"),
    ("qwen3_vl", "Qwen3VLModel"),
    ("glm4v", "Glm4vModel"),
    ("ernie4_5_vl_moe", "Ernie4_5_VLMoeModel"),
    ("hy_v4_vl", "HYV4VLModel"),
    ("minicpmv4_7", "MiniCPMV4_7Model"),
    ("qwen2_5_omni", "Qwen2_5OmniThinkerModel"),
    ("qwen3_omni_moe", "Qwen3OmniMoeThinkerModel"),
]
UNUSED = ("input_ids", "image_grid_thw", "video_grid_thw")


def asked(model, name, deltas, cache_length, n, mask):
    owner = transformers_class(model, name)
    inputs = dict.fromkeys(UNUSED if model != "minicpmv4_7" else ("input_ids",))
    own = SimpleNamespace(rope_deltas=deltas[:, None])
    cache = SimpleNamespace(get_seq_length=lambda: cache_length)
    inputs_embeds = torch.zeros(len(deltas) if mask is None else len(mask), n, 2)
    positions = owner.compute_3d_position_ids(own, **inputs, inputs_embeds=inputs_embeds, attention_mask=mask, cache=cache)
    return positions.permute(1, 2, 0)


@pytest.mark.parametrize(("model", "name"), MODELS)
def test_next_tokens(model, name):
    for seed in range(20):
        prompt = draw_prompt(seed, whole_item(2))
        _, deltas = multimodal.qwen2_vl_positions(
            prompt.types, image_grids=prompt.images, video_grids=prompt.videos, spatial_merge=2, mask=prompt.mask
        )
        seen, n = prompt.mask.sum(1), 1 + seed % 3
        longer = torch.cat((prompt.mask, torch.ones(len(seen), n, dtype=torch.int64)), dim=1)
        # With a mask transformers gives every token of the mask a position; the last n are the new ones.
        if not (prompt.mask[:, -1] == 0).any():
            want = asked(model, name, deltas, prompt.types.shape[1], n, longer)[:, -n:]
            assert torch.equal(multimodal.continued(deltas, seen, n), want)
        want = asked(model, name, deltas, 11, n, None)
        assert torch.equal(multimodal.continued(deltas, 11, n), want)


def test_decoding_is_the_full_forward():
    """Three more tokens of text: positions of the longer prompt, for prompts without long videos."""
    for seed in range(20):
        prompt = draw_prompt(seed, whole_item(2), kinds=(0, 1))
        more = (0, 3)
        types, mask = (
            torch.nn.functional.pad(tensor, more, value=value) for tensor, value in ((prompt.types, 0), (prompt.mask, 1))
        )
        settings = {"image_grids": prompt.images, "spatial_merge": 2}
        _, deltas = multimodal.qwen2_vl_positions(prompt.types, **settings, mask=prompt.mask)
        whole, _ = multimodal.qwen2_vl_positions(types, **settings, mask=mask)
        assert torch.equal(multimodal.continued(deltas, prompt.mask.sum(1), 3), whole[:, -3:])


def test_positions_are_taken_by_the_rotation():
    """Whole ones and the fractions of Qwen3-Omni, and the next token's."""
    rope = MultimodalRope(head_dim=8, layout="half", sections=(2, 1, 1), order="interleaved")
    settings = {"seconds_per_grid": [0.1], "n_audios": 0, "steps_per_second": 13, "spatial_merge": 1}
    types = torch.tensor([[0, 2, 2, 0]])
    positions, deltas = multimodal.qwen3_omni_positions(types, video_grids=[(2, 1, 1)], **settings)
    for places in (positions, multimodal.continued(deltas, 4, 1), positions.long()):
        angles = places[0, :, [0, 1, 2, 0]].double() * torch.tensor([1.0, 0.1, 0.01, 0.001])
        assert (rope.at(places).sin[0].double() - angles.sin()).abs().max() < 1e-6


def test_each_row_of_a_beam_continues_its_prompt():
    """transformers repeats the deltas when the batch has grown; here the caller does."""
    deltas = torch.tensor([-2, 5])
    mask = torch.ones(4, 8, dtype=torch.int64)
    want = asked("qwen2_vl", "Qwen2VLModel", deltas, 7, 1, mask)[:, -1:]
    assert torch.equal(multimodal.continued(deltas.repeat_interleave(2), 7 + 1 - 1, 1), want)


@pytest.mark.parametrize("past", [1, 6])
def test_talker_counts_cached_padding(past):
    """Qwen3-Omni's talker takes the padding off its deltas and adds the cache's length; that is the number of real tokens."""
    owner = transformers_class("qwen3_omni_moe", "Qwen3OmniMoeTalkerForConditionalGeneration")
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    own = SimpleNamespace(rope_deltas=None)
    owner.compute_3d_position_ids(own, torch.zeros(2, 5, 2), attention_mask=mask)
    cache = SimpleNamespace(get_seq_length=lambda: 4 + past)
    want = owner.compute_3d_position_ids(own, torch.zeros(2, 1, 2), cache=cache).permute(1, 2, 0)
    deltas = multimodal.qwen3_omni_positions(
        torch.zeros_like(mask), n_audios=0, steps_per_second=13, spatial_merge=2, mask=mask
    ).deltas
    assert torch.equal(multimodal.continued(deltas.long(), mask.sum(1) + past - 1, 1), want)


def test_axes_and_fractions():
    assert multimodal.continued(torch.tensor([0, 1]), torch.tensor([3, 4]), 2, axes=4).tolist() == [
        [[3] * 4, [4] * 4],
        [[5] * 4, [6] * 4],
    ]
    fractions = multimodal.continued(torch.tensor([-1.5]), 4, 1)
    assert (fractions.dtype, fractions.tolist()) == (torch.float32, [[[2.5, 2.5, 2.5]]])
