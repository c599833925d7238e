"""Frequencies with a learned factor (Mistral Large 4) and coordinates that count turns (DINOv3) against transformers."""

import math

import torch
from transformers import AutoConfig
from transformers.models.dinov3_vit.modeling_dinov3_vit import DINOv3ViTRopePositionEmbedding
from transformers.models.mistral_large4.modeling_mistral_large4 import MistralLarge4TextRotaryEmbedding

from ordinate import Rope
from ordinate.scaling import LearnedScale, Turns, YaRN

ULP = 2.0**-23


def test_learned_factors_of_mistral_large4():
    config = AutoConfig.for_model("mistral_large4_text", num_attention_heads=4, hidden_size=64)
    module = MistralLarge4TextRotaryEmbedding(config)
    learned = torch.linspace(-0.5, 0.7, len(module.inv_freq))
    module.alpha.data.copy_(learned)
    given = config.rope_parameters
    rule = YaRN(
        factor=given["factor"],
        original_length=given["original_max_position_embeddings"],
        beta_fast=given["beta_fast"],
        beta_slow=given["beta_slow"],
        attention_factor=given["attention_factor"],
    )
    width = 2 * len(learned)
    scaling = LearnedScale(logarithms=learned.tolist(), rule=rule)
    rope = Rope(head_dim=width, layout="half", base=given["rope_theta"], scaling=scaling, phases="float32")
    theirs = module.inv_freq.double() * learned.double().exp()
    # exp and the product are each rounded to float32
    assert ((torch.tensor(rope.inverse_frequencies, dtype=torch.float64) - theirs).abs() <= 1.5 * ULP * theirs).all()
    cos, sin = module(torch.zeros(1), torch.arange(50)[None])
    at = rope.at(range(50))
    for ours, other in ((at.cos, cos), (at.sin, sin)):
        assert (ours * rope.magnitude - other[0, :, : width // 2]).abs().max() < 50 * 3 * ULP
    without = Rope(head_dim=width, layout="half", base=given["rope_theta"], scaling=rule, phases="float32")
    assert (without.at(range(50)).sin - sin[0, :, : width // 2]).abs().max() > 0.1
    assert without.inverse_frequencies == tuple(module.inv_freq.tolist())


def test_normalised_coordinates_of_dinov3():
    """One scheme an axis, of half a head; the coordinates of patch centres run from -1 to 1, height before width."""
    config = AutoConfig.for_model("dinov3_vit", hidden_size=64, num_attention_heads=2, patch_size=4)
    cos, sin = DINOv3ViTRopePositionEmbedding(config).eval()(torch.zeros(1, 3, 12, 20))
    rope = Rope(head_dim=16, layout="half", base=config.rope_theta, scaling=Turns())
    centres = [torch.tensor([2 * (i + 0.5) / n - 1 for i in range(n)], dtype=torch.float64) for n in (3, 5)]
    height, width = torch.cartesian_prod(*centres).T
    quarters = cos.view(15, 2, 2, 8), sin.view(15, 2, 2, 8)  # twice the same: height, width
    for axis, places in enumerate((height, width)):
        at = rope.at(places)
        for ours, theirs in zip((at.cos, at.sin), quarters, strict=True):
            assert (ours - theirs[:, 0, axis]).abs().max() < 2 * math.pi * 3 * ULP
            assert torch.equal(theirs[:, 0], theirs[:, 1])
