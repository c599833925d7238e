"""Sinusoidal against the paper's and tensor2tensor's formulas in float64, and the models of transformers that use one of them."""

import math

import numpy as np
import pytest
import torch
from transformers.models.ctrl.modeling_ctrl import positional_encoding
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.musicgen.modeling_musicgen import MusicgenSinusoidalPositionalEmbedding
from transformers.models.whisper.modeling_whisper import sinusoids

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
