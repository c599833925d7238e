"""Encoders of images that transformers itself does not run, or runs otherwise than their configuration says."""

import warnings

import pytest
import torch
from encoder_cases import IMAGES, patches_of
from encoder_spy import rotary_of
from encoders_of_images import ENCODERS_OF_IMAGES

from ordinate.checkpoints import read


@pytest.mark.parametrize("model_type", ["glm4v_vision", "glm4v_moe_vision"])
def test_glm4v_takes_no_video_of_several_frames(model_type):
    """It looks up the sizes of images by the number of a frame."""
    case = ENCODERS_OF_IMAGES[model_type]
    model = getattr(case.file, case.model)(case.config_with())
    with torch.no_grad(), pytest.raises(IndexError):
        case.run(model, IMAGES, torch.float32)
    plan = read({"model_type": model_type, **case.values})
    places = [plan.stack().grid.positions(rows, columns, frames=frames) for frames, rows, columns in IMAGES]
    assert sum(found.shape[1] for found in places) == patches_of(IMAGES)


@pytest.mark.parametrize("model_type", ["dinov3_vit", "sapiens2", "eomt_dinov3"])
def test_a_frequency_too_many(model_type):
    """1 / (4 / 196) is above 49, so a head of 196 entries gets 50 frequencies a coordinate."""
    case = ENCODERS_OF_IMAGES[model_type]
    assert rotary_of(case, case.config_with(hidden_size=196, num_attention_heads=1)).inv_freq.numel() == 50
    with pytest.raises(ValueError, match="needed a power of two, got 196"):
        read({"model_type": model_type, **case.values, "hidden_size": 196, "num_attention_heads": 1})


def test_llama4s_angles_do_not_survive_a_cast():
    """A cast of the whole model drops the imaginary part of its complex table, and with it every rotation."""
    case = ENCODERS_OF_IMAGES["llama4_vision_model"]
    module = rotary_of(case, case.config_with())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        cast = module.to(torch.float32).freqs_ci
    assert not cast.is_complex()


def test_a_width_beside_the_heads_that_only_the_angles_read():
    """Qwen3-VL's angles are of head_dim, its attention divides the width among the heads."""
    case = ENCODERS_OF_IMAGES["qwen3_vl_vision"]
    model = getattr(case.file, case.model)(case.config_with(head_dim=32))
    with torch.no_grad(), pytest.raises(RuntimeError, match="must match the size"):
        case.run(model, IMAGES, torch.float32)
    with pytest.raises(ValueError, match="head_dim: needed 24, which the width leaves each of 2 heads, got 32"):
        read({"model_type": "qwen3_vl_vision", **case.values, "head_dim": 32})
    assert read({"model_type": "qwen3_vl_vision", **case.values, "head_dim": 24}).layers[0].scheme.head_dim == 24
