"""Model types that are refused by name: that transformers does what the reason says."""

import pytest
import torch
from transformers import EsmFold2Config, LightGlueConfig, MusicFlamingoConfig
from transformers.models.esmfold2.modeling_esmfold2 import EsmFold2RotaryEmbedding
from transformers.models.lightglue.modeling_lightglue import LightGluePositionalEncoder
from transformers.models.musicflamingo.modeling_musicflamingo import (
    MusicFlamingoRotaryEmbedding,
    apply_rotary_time_emb,
    rotate_half,
)

from ordinate.checkpoints import read
from ordinate.checkpoints.left_out import LEFT_OUT
from ordinate.checkpoints.reading import MODEL_TYPES


@pytest.mark.parametrize("model_type", ["lightglue", "esmfold2", "musicflamingo"])
def test_they_are_refused_with_the_reason(model_type):
    assert model_type not in MODEL_TYPES
    with pytest.raises(
        ValueError, match=f"model_type '{model_type}' is not in the table, and nothing is guessed: {LEFT_OUT[model_type]}"
    ):
        read({"model_type": model_type, "hidden_size": 64})


def test_lightglues_angles_are_weights():
    encoder = LightGluePositionalEncoder(LightGlueConfig())
    assert [name for name, _ in encoder.named_parameters()] == ["projector.weight"]


def test_esmfold2s_axes_are_unequal():
    atoms = EsmFold2Config().atom_encoder
    module = EsmFold2RotaryEmbedding(atoms)
    assert module.num_uid_pairs != module.num_spatial_pairs_per_axis
    assert module.uid_rope_base_frequency != module.spatial_rope_base_frequency


def test_musicflamingo_turns_features_by_products():
    """Angles are (position x frequency) x time, so twice the time is another angle for the same position."""
    module = MusicFlamingoRotaryEmbedding(MusicFlamingoConfig())
    times = torch.arange(4.0)[None] + 1
    cos, sin = module(times, 4)
    wide = module(2 * times, 4)[0]
    assert not torch.equal(cos, wide)
    x = torch.randn(1, 4, cos.shape[-1], generator=torch.Generator().manual_seed(0))
    turned = apply_rotary_time_emb(x, cos, sin)
    assert turned.dtype == torch.float32
    assert torch.equal(turned, (x.double() * cos + rotate_half(x.double()) * sin).float())
    assert not torch.equal(turned, x * cos + rotate_half(x) * sin)
