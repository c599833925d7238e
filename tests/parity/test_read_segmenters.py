"""SAM 2, SAM 3 and EdgeTAM as ``read`` reads them, against their own attention to memory and their own windows: bit for bit."""

import copy

import pytest
import torch
from encoder_spy import heard
from segmenter_cases import LATENTS, MEMORIES, POINTERS, SEGMENTERS

from ordinate.checkpoints import read

OF_MEMORY = ["sam2_video", "sam3_tracker_video", "edgetam_video"]
DTYPES = [torch.float32, torch.bfloat16]


def plan_of(model_type, **changes):
    return read({"model_type": model_type, **copy.deepcopy(SEGMENTERS[model_type].values), **changes})


def grid_of(plan):
    return plan.grid.positions(*plan.grid.size)


def remembered(stack):
    """Coordinates of the keys of memory: every frame's grid, then object pointers."""
    grid = stack.cross_grid
    return torch.nn.functional.pad(grid.positions(*grid.size, frames=MEMORIES), (0, 0, 0, POINTERS))


@pytest.mark.parametrize("model_type", OF_MEMORY)
def test_coordinates(model_type):
    stack, seen = plan_of(model_type).stack(), heard(model_type, torch.float32)
    ours = [grid_of(stack)]
    if model_type == "edgetam_video":
        ours.append(stack.cross_grid.positions(*stack.cross_grid.size, prefix=0))
    assert len(seen.made) == len(ours)
    for places, (given, _, made) in zip(ours, seen.made, strict=True):
        assert torch.equal(places[0].flip(-1), given[-1])
        at = stack.build().layers[0].at(places)
        assert torch.equal(at.cos.repeat_interleave(2, dim=-1), made[0])
        assert torch.equal(at.sin.repeat_interleave(2, dim=-1), made[1])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("model_type", OF_MEMORY)
def test_queries_and_keys(model_type, dtype):
    """Each layer attends to the image, then to memory."""
    stack, seen = plan_of(model_type).stack(), heard(model_type, dtype)
    scheme, here = stack.build().layers[0], grid_of(stack)
    assert stack.cross_attention == stack.layers[0]
    assert len(seen.turned) == 2 * len(stack.layers)
    for number, ((q, k, *_), _, (turned_q, turned_k)) in enumerate(seen.turned):
        places = remembered(stack) if number % 2 else here
        assert torch.equal(scheme.queries(q, here), turned_q)
        assert torch.equal(scheme.keys(k, places), turned_k)
        assert turned_q.dtype == turned_k.dtype == dtype
        moved = (turned_k - k).abs().amax(dim=(0, 1, 3)) > 0
        still = (places == 0).all(-1)[0]
        assert torch.equal(moved, ~still)
    for query, _, _, scale, _ in seen.attended:
        assert scale == stack.layers[0].softmax_scale == query.shape[-1] ** -0.5


def test_keys_that_are_not_turned():
    assert (remembered(plan_of("sam2_video").stack()) == 0).all(-1).sum() == MEMORIES + POINTERS  # with the first patch of a frame
    assert (remembered(plan_of("edgetam_video").stack()) == 0).all(-1).sum() == MEMORIES * (1 + LATENTS) + POINTERS


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_windows_of_sam3(dtype):
    """Layers with windows number each window anew, the others stretch the whole grid to a window's size."""
    stack, seen = plan_of("sam3_vit_model").stack(), heard("sam3_vit_model", dtype)
    assert [layer.grid_window for layer in stack.layers] == [4, None]
    for number, layer in enumerate(stack.layers):
        grid, scheme = layer.grid or stack.grid, stack.build().layers[number]
        places = grid.positions(*grid.size)
        given, _, made = seen.made[number]
        assert torch.equal(places[0].flip(-1).float(), given[-1])
        at = scheme.at(places)
        assert torch.equal(at.cos.repeat_interleave(2, dim=-1), made[0])
        assert torch.equal(at.sin.repeat_interleave(2, dim=-1), made[1])
        (q, k), named, (turned_q, turned_k) = seen.turned[number]
        assert set(named) == {"cos", "sin"}
        assert q.shape[0] == (8 if layer.grid_window else 2)  # four windows of two images
        assert torch.equal(scheme.queries(q, places), turned_q)
        assert torch.equal(scheme.keys(k, places), turned_k)
        assert seen.attended[number][3] == layer.softmax_scale


@pytest.mark.parametrize(("sides", "times"), [((24, 72), 1 / 3), ((24, 64), 24 / 64), ((14, 14), 1.0)])
def test_stretched_grids_in_every_bit(sides, times):
    """The factor is rounded where the encoder's own is."""
    window, side = sides
    config = SEGMENTERS["sam3_vit_model"].config_with(image_size=2 * side, window_size=window)
    plan = plan_of("sam3_vit_model", image_size=2 * side, window_size=window)
    theirs = SEGMENTERS["sam3_vit_model"].file.Sam3ViTLayer.precompute_positions(config, 0)
    assert plan.stack().grid.times == times
    assert torch.equal(grid_of(plan.stack())[0].flip(-1).float(), theirs)


def test_other_grids_are_refused():
    stack = plan_of("sam2_video").stack()
    with pytest.raises(ValueError, match=r"needed \(3, 5\), the one grid of the model, got \(5, 3\)"):
        stack.grid.positions(5, 3)
    with pytest.raises(ValueError, match="memory_attention_rope_feat_sizes: cannot be honoured"):
        plan_of("sam3_tracker_video", memory_attention_rope_feat_sizes=[5, 3])
    assert SEGMENTERS["sam3_tracker_video"].config_with(
        memory_attention_rope_feat_sizes=[5, 3]
    ).memory_attention_rope_feat_sizes == [4, 4]


def test_the_patches_of_sam3s_own_encoder_make_the_grid():
    case = SEGMENTERS["sam3_tracker_video"]
    inner = {"model_type": "sam3_vision_model", "backbone_config": {"model_type": "sam3_vit_model", "patch_size": 7}}
    theirs = case.config_with(vision_config=copy.deepcopy(inner)).memory_attention_rope_feat_sizes
    assert list(plan_of("sam3_tracker_video", vision_config=inner).stack().grid.size) == theirs == [8, 8]
