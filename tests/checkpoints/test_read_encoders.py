"""Configurations of encoders of images: what is read, said and refused without any model."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from mutations import accepted, refused, small

from ordinate.checkpoints.axial_types import AXIAL_TYPES
from ordinate.checkpoints.explaining import as_values
from ordinate.checkpoints.grid_plan import GridPlan
from ordinate.checkpoints.patches import window_ids

WINDOWED = small("qwen2_5_vl_vision", window_size=112, patch_size=14, fullatt_block_indexes=[3])


@pytest.mark.parametrize("model_type", AXIAL_TYPES)
def test_what_the_plan_leaves_to_the_model_is_said(model_type: str) -> None:
    plan = accepted(small(model_type))
    stack = plan.stack()
    for text in stack.left_to_model:
        assert f"left to the model: {text}" in plan.explain()
    assert json.loads(json.dumps(as_values(plan)))["stacks"][0]["left_to_model"] == list(stack.left_to_model)
    assert not stack.causal
    assert stack.position_ids.axes == (3 if stack.grid is not None and stack.grid.frames else 2)


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (small("qwen3_vl_vision", hidden_size=66), ("hidden_size: needed a multiple of 4, for 4 heads, got 66",)),
        (small("qwen3_vl_vision", hidden_size=24), ("head: needed a multiple of 4, which all axes share, got 6",)),
        (small("qwen3_vl_vision", hidden_size=8), ("hidden_size: needed at least 4 entries a head, got 2",)),
        (small("qwen3_vl_vision", head_dim=32), ("head_dim: needed 16, which the width leaves each of 4 heads, got 32",)),
        (small("qwen3_vl_vision", rope_parameters={"rope_type": "yarn", "factor": 2.0}), ("rope_type: needed one of default",)),
        (small("qwen3_vl_vision", partial_rotary_factor=0.5), ("partial_rotary_factor: cannot be honoured",)),
        (small("qwen3_vl_vision", spatial_merge_size=0), ("spatial_merge_size: needed a whole number from 1",)),
        (small("qwen3_vl_vision", rope_teta=5.0), ("rope_teta: looks like a key of positions",)),
        (small("dinov3_vit", rope_parameters={"rope_theta": 50.0}), ("rope_parameters: cannot be honoured",)),
        (small("llama4_vision_model", rope_parameters={"rope_type": "axial"}), ("rope_type: needed one of default, got 'axial'",)),
        (small("llama4_vision_model", image_size=[448, 448]), ("image_size: needed a whole number",)),
        ({**WINDOWED, "window_size": 14}, ("window_size: needed at least 28, a block of patches, got 14",)),
        ({**WINDOWED, "fullatt_block_indexes": [-1]}, ("fullatt_block_indexes: in the list: needed a whole number from 0",)),
        (small("muse_spark_vision", layer_types=["full_attention"]), ("layer_types: needed a list of 4 values, got 1 of them",)),
        (small("lfm3_vl_vision", layer_types=["conv", "x", "conv", "conv"]), ("layer_types: in the list: needed one of",)),
        (small("dots3_note_vision_encoder", num_heads=2), ("num_attention_heads = 4 and num_heads = 2 disagree",)),
        (small("gemma4_vision", head_dim=66), ("head: needed a multiple of 4, which all axes share, got 66",)),
        (small("sam2_video", memory_attention_rope_feat_sizes=[64]), ("memory_attention_rope_feat_sizes: needed a list of 2",)),
        (
            small("sam2_video", rope_theta=5.0, memory_attention_rope_theta=6.0),
            ("rope_theta = 5.0 and memory_attention_rope_theta = 6.0 disagree",),
        ),
        (small("sam3_vit_model", window_size=0), ("window_size: needed a whole number from 1",)),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_refusals(config: dict[str, Any], parts: tuple[str, ...]) -> None:
    refused(config, *parts)


def test_windows_are_told_by_layer() -> None:
    plan = accepted(WINDOWED)
    assert [layer.grid_window for layer in plan.layers] == [8, 8, 8, None]
    assert "layers 0-2: axial_rope" in plan.explain()
    assert "windows of 8 x 8 patches" in plan.explain()
    assert [layer.grid_window for layer in accepted({**WINDOWED, "spatial_merge_size": 3}).layers] == [6, 6, 6, None]


def test_layers_without_attention_are_told() -> None:
    plan = accepted(small("lfm3_vl_vision"))
    assert [layer.attends for layer in plan.layers] == [False, False, True, False]
    assert "layers 0-1, 3: no attention, conv" in plan.explain()


def test_grids_of_layers_and_of_keys_are_told() -> None:
    assert "patches numbered size=(24, 24)" in accepted(small("sam3_vit_model", global_attn_indexes=[0])).explain()
    text = accepted(small("edgetam_video", perceiver_resampler_num_latents=5)).explain()
    assert "keys of cross-attention: numbered (prefix=5, size=(16, 16))" in text
    assert "memory_attention: 4 layers" in text


def test_numbers_in_place_of_the_plans() -> None:
    grid = GridPlan(prefix=2, first=1)
    assert grid.positions(1, 2, prefix=0, suffix=1)[0].tolist() == [[1, 1], [1, 2], [0, 0]]
    assert grid.positions(2, 2, prefix=3, merge=2, frames=2).shape == (1, 14, 2)
    assert GridPlan().positions(2, 4, merge=2)[0, :4].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    with pytest.raises(ValueError, match="merge: needed a number that divides"):
        grid.positions(3, 4, merge=2)


def test_windows_of_grids_that_start_at_one() -> None:
    places = GridPlan(first=1).positions(3, 4)
    ids = window_ids(places, 2, first=1)[0].reshape(3, 4)
    assert ids.unique(return_inverse=True)[1].tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3]]
    assert not torch.equal(ids, window_ids(places, 2)[0].reshape(3, 4))


def test_windows_hide_the_rest_of_the_grid() -> None:
    """A patch of another window changes nothing, one of the own window does."""
    built, plan = accepted(WINDOWED).build(), accepted(WINDOWED)
    places = plan.stack().grid.positions(8, 16)  # type: ignore[union-attr]
    x = torch.randn(2, 4, 128, 16, generator=torch.Generator().manual_seed(0))
    own = window_ids(places, 8)[0] == window_ids(places, 8)[0, 0]
    seen = [built.attend(0, x, x, v, q_positions=places, k_positions=places) for v in (x, x * own[:, None], x * ~own[:, None])]
    assert torch.equal(seen[0][:, :, 0], seen[1][:, :, 0])
    assert (seen[2][:, :, 0] == 0).all()
