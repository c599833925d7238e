"""Rules that depend on the length, LongRoPE and dynamic NTK, against whole rotary modules of transformers, and where those err."""

import pytest
import torch
from scaled import MISTAKE, ORIGINAL, assert_another_shows, assert_same_module, config_of, rope_of
from transformers import LlamaConfig, Phi3Config, PhimoeConfig
from transformers.models.llama import modeling_llama as llama
from transformers.models.phi3 import modeling_phi3 as phi3
from transformers.models.phimoe import modeling_phimoe as phimoe

from ordinate.scaling import DynamicNTK, LongRoPE

SHORT, LONG = [1.0 + 0.01 * i for i in range(24)], [1.0 + 0.3 * i for i in range(24)]


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def dtype(request):
    return request.param


@pytest.mark.parametrize("last", [ORIGINAL - 1, ORIGINAL, 5000])
def test_phi3_bit_for_bit(last, dtype):
    longrope = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "partial_rotary_factor": 0.75}
    longrope |= {"original_max_position_embeddings": ORIGINAL, "factor": 32.0}
    config = config_of(Phi3Config, 10000.0, 64, longrope, original_max_position_embeddings=ORIGINAL)
    module = phi3.Phi3RotaryEmbedding(config)
    rope = rope_of(
        64, 10000.0, LongRoPE(short_factors=SHORT, long_factors=LONG, original_length=ORIGINAL, factor=32.0), rotary_dim=48
    )
    places = torch.arange(last + 1)[None]
    assert_same_module(rope.at_length(last + 1), module, phi3.apply_rotary_pos_emb, places, dtype)
    assert_another_shows(rope.at_length(5000 if last < ORIGINAL else 1), module, phi3.apply_rotary_pos_emb, places)
    # Theirs takes the largest position of the whole batch: a short row changes beside a long one. Ours takes one row's length.
    alone, beside = places[:, :10], torch.stack((torch.arange(10), torch.arange(last - 9, last + 1)))
    cos, _ = module(torch.zeros(1), alone)
    assert torch.equal(rope.at_length(10).at(alone).cos * rope.magnitude, cos[..., :24])
    moved = (module(torch.zeros(1), beside)[0][:1] - cos).abs().max()
    assert moved > MISTAKE if last >= ORIGINAL else moved == 0


def test_phimoe_bit_for_bit(dtype):
    longrope = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "short_mscale": 1.1, "long_mscale": 1.3}
    longrope |= {"original_max_position_embeddings": ORIGINAL, "factor": 32.0}
    module = phimoe.PhimoeRotaryEmbedding(config_of(PhimoeConfig, 10000.0, 48, longrope))
    settings = {"original_length": ORIGINAL, "factor": 32.0, "short_magnitude": 1.1, "long_magnitude": 1.3}
    rope = rope_of(48, 10000.0, LongRoPE(short_factors=SHORT, long_factors=LONG, **settings))
    short, long = torch.arange(ORIGINAL)[None], torch.arange(ORIGINAL + 1)[None]
    assert_same_module(rope.at_length(ORIGINAL), module, phimoe.apply_rotary_pos_emb, short, dtype)
    # Theirs changes only the magnitude of long sequences: the long factors are never read.
    unread = rope_of(48, 10000.0, LongRoPE(short_factors=SHORT, long_factors=SHORT, **settings), length=ORIGINAL + 1)
    assert_same_module(unread, module, phimoe.apply_rotary_pos_emb, long, dtype)
    assert_another_shows(rope.at_length(ORIGINAL + 1), module, phimoe.apply_rotary_pos_emb, long)


def dynamic(head_dim):
    config = config_of(LlamaConfig, 10000.0, head_dim, {"rope_type": "dynamic", "factor": 2.5}, max_length=ORIGINAL)
    return llama.LlamaRotaryEmbedding(config), rope_of(head_dim, 10000.0, DynamicNTK(factor=2.5, original_length=ORIGINAL))


@pytest.mark.parametrize("head_dim", [64, 80, 128])
@pytest.mark.parametrize("length", [10, ORIGINAL, ORIGINAL + 1, 100, 2000])
def test_fresh_dynamic(length, head_dim, dtype):
    module, rope = dynamic(head_dim)
    places = torch.arange(length)[None]
    if length <= ORIGINAL:
        assert_same_module(rope, module, llama.apply_rotary_pos_emb, places, dtype)
    cos, _ = module(torch.zeros(1), places)
    assert torch.equal(rope.at_length(length).at(places).cos, cos[..., : head_dim // 2])
    assert (rope.at_length(4 * length + 100).at(places).cos - cos[..., : head_dim // 2]).abs().max() > MISTAKE


def test_dynamic_remembers_and_ours_does_not():
    (module, rope), (fresh, _) = dynamic(64), dynamic(64)
    places = torch.arange(ORIGINAL)[None]
    before, _ = fresh(torch.zeros(1), places)
    module(torch.zeros(1), torch.arange(2000)[None])
    after, _ = module(torch.zeros(1), places)
    assert (after - before).abs().max() > MISTAKE
    rope.at_length(2000).at(range(2000))
    assert torch.equal(rope.at_length(ORIGINAL).at(places).cos, before[..., :32])
