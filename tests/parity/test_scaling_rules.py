"""Scaled frequencies and magnitudes against the functions by which transformers makes them, bit for bit over a grid."""

import pytest
import torch
from transformers import HunYuanDenseV1Config, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.hunyuan_v1_dense.modeling_hunyuan_v1_dense import HunYuanDenseV1RotaryEmbedding

from ordinate import Rope
from ordinate.scaling import NTK, DynamicNTK, Linear, Llama3, LongRoPE, Proportional, YaRN

BASES = [10000, 150000.0, 500000.0, 123456.7]
HEAD_DIMS = [16, 64, 80, 96, 128]
# Another length, factor or magnitude must show: a relative difference far above an ulp of float32.
SHOWS = 1e-3

YARN = {
    "defaults": {},
    "not truncated": {"truncate": False},
    "betas": {"beta_fast": 20.0, "beta_slow": 2.0},
    "equal betas": {"beta_fast": 3.0, "beta_slow": 3.0, "truncate": False},
    "attention factor": {"attention_factor": 1.485203},
    "equal mscales": {"mscale": 0.707, "mscale_all_dim": 0.707},
    "two mscales": {"mscale": 1.0, "mscale_all_dim": 0.5},
    "mscale alone": {"mscale": 0.707},
}


def theirs(kind, head_dim, base, max_length, share=1.0, length=None, **parameters):
    """Inverse frequencies and magnitude; ``max_length`` is what the model may read, ``share`` the part of a head that turns."""
    if share != 1.0:
        parameters["partial_rotary_factor"] = share
    config = LlamaConfig(
        hidden_size=2 * head_dim,
        num_attention_heads=2,
        head_dim=head_dim,
        max_position_embeddings=max_length,
        rope_parameters={"rope_type": kind, "rope_theta": base, **parameters},
    )
    inverse_frequencies, magnitude = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
    return tuple(inverse_frequencies.tolist()), magnitude


def ours(rule, head_dim, base, share=1.0, length=None):
    width = int(head_dim * share)
    rope = Rope(head_dim=head_dim, rotary_dim=width, layout="half", base=base, scaling=rule, length=length, phases="float32")
    return rope.inverse_frequencies, rope.magnitude


def differs(one, other):
    """Whether a frequency or the magnitude differs by more than any rounding."""
    pairs = zip((*one[0], one[1]), (*other[0], other[1]), strict=True)
    return max(abs(a - b) / max(abs(a), abs(b), 1e-30) for a, b in pairs) > SHOWS


def factors(head_dim, step, share=1.0):
    return [1.0 + step * i for i in range(int(head_dim * share) // 2)]


pytestmark = [pytest.mark.parametrize("base", BASES), pytest.mark.parametrize("head_dim", HEAD_DIMS)]


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("factor", [3.7, 8.0])
def test_linear(head_dim, base, factor, share):
    expected = theirs("linear", head_dim, base, 4096, share, factor=factor)
    assert ours(Linear(factor=factor), head_dim, base, share) == expected
    assert differs(ours(Linear(factor=factor + 0.1), head_dim, base, share), expected)


@pytest.mark.parametrize("length", [None, 100, 4096, 4097, 8192, 100001])
def test_dynamic(head_dim, base, length):
    rule = DynamicNTK(factor=2.5, original_length=4096)
    # Its models give the length as a tensor, which rounds the new base to float32.
    asked = None if length is None else torch.tensor(length)
    expected = theirs("dynamic", head_dim, base, 4096, length=asked, factor=2.5)
    assert ours(rule, head_dim, base, length=length) == expected
    assert differs(ours(rule, head_dim, base, length=16384), expected)


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("factor", [4.0, 32.0, 40])
@pytest.mark.parametrize("settings", YARN.values(), ids=YARN.keys())
def test_yarn(head_dim, base, settings, factor, share):
    parameters = {"factor": factor, "original_max_position_embeddings": 4096, **settings}
    expected = theirs("yarn", head_dim, base, int(factor * 4096), share, **parameters)
    assert ours(YaRN(factor=factor, original_length=4096, **settings), head_dim, base, share) == expected
    assert differs(ours(YaRN(factor=factor * 1.1, original_length=4096, **settings), head_dim, base, share), expected)


@pytest.mark.parametrize("share", [1.0, 0.75])
@pytest.mark.parametrize("magnitude", [None, 1.2])
@pytest.mark.parametrize("length", [None, 100, 4096, 4097, 131072])
def test_longrope(head_dim, base, length, magnitude, share):
    short, long = factors(head_dim, 0.01, share), factors(head_dim, 0.3, share)
    parameters = {"factor": 32.0, "short_factor": short, "long_factor": long, "original_max_position_embeddings": 4096}
    if magnitude is not None:
        parameters["attention_factor"] = magnitude
    rule = LongRoPE(short_factors=short, long_factors=long, original_length=4096, factor=32.0, attention_factor=magnitude)
    expected = theirs("longrope", head_dim, base, 131072, share, length, **parameters)
    assert ours(rule, head_dim, base, share, length) == expected
    assert differs(ours(rule, head_dim, base, share, 4096 if length in (4097, 131072) else 4097), expected)


@pytest.mark.parametrize(("factor", "low", "high", "length"), [(8.0, 1.0, 4.0, 8192), (32, 1, 4, 8192), (3.3, 0.7, 5.1, 4096)])
def test_llama3(head_dim, base, factor, low, high, length):
    named = {"low_freq_factor": low, "high_freq_factor": high, "original_max_position_embeddings": length}
    expected = theirs("llama3", head_dim, base, 131072, factor=factor, **named)
    settings = {"low_frequency_factor": low, "high_frequency_factor": high, "original_length": length}
    assert ours(Llama3(factor=factor, **settings), head_dim, base) == expected
    assert differs(ours(Llama3(factor=factor * 1.1, **settings), head_dim, base), expected)


@pytest.mark.parametrize("factor", [1.0, 2.0])
@pytest.mark.parametrize("proportion", [0.25, 0.33, 0.5, 1.0])
def test_proportional(head_dim, base, proportion, factor):
    expected = theirs("proportional", head_dim, base, 4096, share=proportion, factor=factor)
    assert ours(Proportional(proportion=proportion, factor=factor), head_dim, base) == expected
    assert differs(ours(Proportional(proportion=0.75, factor=factor), head_dim, base), expected)


@pytest.mark.parametrize("alpha", [8.0, 1000.0])
def test_ntk_of_hunyuan(head_dim, base, alpha):
    config = HunYuanDenseV1Config(
        head_dim=head_dim, rope_parameters={"rope_type": "dynamic", "rope_theta": base, "alpha": alpha, "factor": 1.0}
    )
    inverse_frequencies, magnitude = HunYuanDenseV1RotaryEmbedding.compute_ntk_alpha_rope_parameters(config)
    assert ours(NTK(alpha=alpha), head_dim, base) == (tuple(inverse_frequencies.tolist()), magnitude)
    assert differs(ours(NTK(alpha=alpha * 1.1), head_dim, base), (tuple(inverse_frequencies.tolist()), magnitude))
