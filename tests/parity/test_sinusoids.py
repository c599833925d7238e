"""Sinusoidal against the paper's and tensor2tensor's formulas in float64, and the models of transformers that use one of them."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import gelu
from transformers import MarianConfig, WhisperConfig
from transformers.models.ctrl.modeling_ctrl import positional_encoding
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianModel, MarianSinusoidalPositionalEmbedding
from transformers.models.musicgen.modeling_musicgen import MusicgenSinusoidalPositionalEmbedding
from transformers.models.whisper.modeling_whisper import WhisperEncoder, sinusoids

from ordinate import Sinusoidal
from ordinate.positions import from_padding_mask

HALF_ULP = 2.0**-24  # half a unit in the last place of a float32 just below 1


def paper(length, d_model):
    """Section 3.5 of the paper, entry by entry."""
    table = np.zeros((length, d_model))
    for position in range(length):
        for entry in range(d_model):
            angle = position / 10000 ** ((entry - entry % 2) / d_model)
            table[position, entry] = math.cos(angle) if entry % 2 else math.sin(angle)
    return table


def timing_signal(length, channels, min_timescale=1.0, max_timescale=1.0e4):
    """tensor2tensor's get_timing_signal_1d, in float64."""
    timescales = channels // 2
    increment = math.log(max_timescale / min_timescale) / max(timescales - 1, 1)
    inverse = min_timescale * np.exp(np.arange(timescales) * -increment)
    scaled = np.arange(length)[:, None] * inverse[None, :]
    return np.pad(np.concatenate([np.sin(scaled), np.cos(scaled)], axis=1), [[0, 0], [0, channels % 2]])


def float32_angle_bound(length):
    """Angles of the models below are float32 products of float32 frequencies: off by some 4 roundings of the angle, at most p."""
    return (4 * torch.arange(length)[:, None] + 2) * HALF_ULP


def other_forms(d_model, layout, spacing):
    forms = [("interleaved", "open"), ("sin_cos", "open"), ("sin_cos", "closed"), ("cos_sin", "closed"), ("cos_sin", "open")]
    forms.remove((layout, spacing))
    return [Sinusoidal(d_model=d_model, layout=layout, spacing=spacing) for layout, spacing in forms]


@pytest.mark.parametrize("d_model", [1, 2, 4, 5, 16, 63, 512])
def test_paper(d_model):
    ours = Sinusoidal(d_model=d_model).at(range(300)).double().numpy()
    assert np.abs(ours - paper(300, d_model)).max() <= 1.02 * HALF_ULP


@pytest.mark.parametrize("d_model", [2, 3, 4, 7, 16, 512])
def test_tensor2tensor(d_model):
    ours = Sinusoidal(d_model=d_model, layout="sin_cos", spacing="closed").at(range(300)).double().numpy()
    assert np.abs(ours - timing_signal(300, d_model)).max() <= 1.02 * HALF_ULP


@pytest.mark.parametrize("d_model", [4, 7, 16, 512])
def test_m2m100_is_fairseqs(d_model):
    theirs = M2M100SinusoidalPositionalEmbedding.get_embedding(1026, d_model)
    ours = Sinusoidal(d_model=d_model, layout="sin_cos", spacing="closed").at(range(1026))
    assert torch.all((ours - theirs).abs() <= float32_angle_bound(1026))


def test_m2m100_counts_from_the_padding_index_on():
    theirs = M2M100SinusoidalPositionalEmbedding(30, 16, padding_idx=1)
    tokens = torch.tensor([[1, 1, 7, 8, 9], [5, 6, 7, 8, 9]])
    real = tokens != 1
    ours = Sinusoidal(d_model=16, layout="sin_cos", spacing="closed").at(from_padding_mask(real) + 2)
    assert torch.all((ours - theirs(tokens))[real].abs() <= 4 * 7 * HALF_ULP)


@pytest.mark.parametrize("d_model", [4, 80, 384])
def test_whisper(d_model):
    ours = Sinusoidal(d_model=d_model, layout="sin_cos", spacing="closed").at(range(1500))
    assert torch.all((ours - sinusoids(1500, d_model)).abs() <= float32_angle_bound(1500))


def test_whispers_embeddings(watched, near):
    config = WhisperConfig(d_model=80, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=8, max_source_positions=150)
    model = WhisperEncoder(config).eval()
    frames = torch.randn(2, 80, 300, generator=torch.Generator().manual_seed(0))
    theirs = watched(model, model.layers[0], frames)["x"]
    with torch.no_grad():
        x = gelu(model.conv2(gelu(model.conv1(frames)))).transpose(1, 2)
    # float32 angles up to 150, as above, and the rounding of the sum
    bound = (4 * 150 + 2 + 4) * HALF_ULP
    near("Whisper, embeddings", Sinusoidal(d_model=80, layout="sin_cos", spacing="closed")(x, range(150)), theirs, bound)
    assert all((form(x, range(150)) - theirs).abs().max() > 0.1 for form in other_forms(80, "sin_cos", "closed"))


@pytest.mark.parametrize("d_model", [4, 7, 512])
def test_musicgen_puts_cosines_first(d_model):
    theirs = MusicgenSinusoidalPositionalEmbedding.get_embedding(1026, d_model)
    ours = Sinusoidal(d_model=d_model, layout="cos_sin", spacing="closed").at(range(1026))
    assert torch.all((ours - theirs).abs() <= float32_angle_bound(1026))


@pytest.mark.parametrize("d_model", [4, 16, 512])
def test_marian(d_model, near):
    theirs = MarianSinusoidalPositionalEmbedding(300, d_model).create_weight()
    # both rounded once from float64 angles: equal, or next to each other where an angle lies near a rounding border
    near(f"Marian, width {d_model}", Sinusoidal(d_model=d_model, layout="sin_cos").at(range(300)), theirs, 2 * HALF_ULP)


def test_marians_embeddings(watched, near):
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "scale_embedding": True, "pad_token_id": 63}
    config = MarianConfig(vocab_size=64, d_model=64, max_position_embeddings=150, decoder_start_token_id=63, **sizes, **heads)
    model = MarianModel(config).eval()
    tokens = torch.randint(3, 60, (2, 150), generator=torch.Generator().manual_seed(0))
    scheme = Sinusoidal(d_model=64, layout="sin_cos")
    x = model.shared(tokens).detach() * 8  # the square root of the width
    theirs = watched(model, model.encoder.layers[0], tokens, decoder_input_ids=tokens)["x"]
    # a table rounded once, added to numbers below 4
    near("Marian, the encoder's embeddings", scheme(x, range(150)), theirs, 6 * HALF_ULP)
    assert all((form(x, range(150)) - theirs).abs().max() > 0.1 for form in other_forms(64, "sin_cos", "open"))
    start = watched(model, model.decoder.layers[0], tokens, decoder_input_ids=tokens[:, :100], use_cache=True)
    step = {"decoder_input_ids": tokens[:, 100:101], "cache": start["result"].cache}
    theirs = watched(model, model.decoder.layers[0], tokens, **step)["x"]
    near("Marian, one decoded token after 100", scheme(x[:, 100:101], range(100, 101)), theirs, 6 * HALF_ULP)


@pytest.mark.parametrize("d_model", [4, 512])
def test_ctrl(d_model):
    theirs = positional_encoding(1026, d_model, torch.float32)
    ours = Sinusoidal(d_model=d_model, layout="sin_cos").at(range(1026))
    assert torch.all((ours - theirs).abs() <= float32_angle_bound(1026))


@pytest.mark.parametrize("d_model", [4, 512])
def test_distilbert_has_the_papers_form(d_model, near):
    theirs = create_sinusoidal_embeddings(300, d_model, torch.empty(300, d_model))
    near(f"DistilBERT, width {d_model}", Sinusoidal(d_model=d_model).at(range(300)), theirs, 2 * HALF_ULP)


def test_the_conventions_differ_at_position_one():
    forms = [("interleaved", "open"), ("sin_cos", "open"), ("sin_cos", "closed"), ("cos_sin", "closed"), ("cos_sin", "open")]
    rows = [Sinusoidal(d_model=6, layout=layout, spacing=spacing).at(range(1, 2)) for layout, spacing in forms]
    for i, one in enumerate(rows):
        assert all((one - other).abs().max() > 0.01 for other in rows[i + 1 :])
