"""T5Bias against transformers' MPNet: one two-way table for all layers, scaled scores; and its learned input positions."""

import pytest
import torch
from transformers import MPNetConfig
from transformers.models.mpnet import modeling_mpnet as mpnet

from ordinate import Learned, T5Bias, attend
from ordinate.positions import from_padding_mask

TOKENS = torch.randint(3, 60, (2, 150), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions over 150 keys with outputs of size 1 to 10: a few ulp.
BOUND = 5e-6


@pytest.fixture
def model(lively):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    # two rows more than positions, as mpnet-base has 514 for 512
    return lively(mpnet.MPNetModel(MPNetConfig(vocab_size=64, max_position_embeddings=162, **sizes)))


def scheme_of(encoder, bidirectional=True):
    scheme = T5Bias(n_heads=4, bidirectional=bidirectional)
    scheme.load_state_dict(encoder.relative_attention_bias.state_dict(), strict=True)
    return scheme


def ours(layer, x, scheme, places, **rest):
    q, k, v = (projection(x).unflatten(-1, (4, -1)).transpose(1, 2) for projection in (layer.q, layer.k, layer.v))
    out = attend(q, k, v, scheme=scheme, q_positions=places, k_positions=places, causal=False, **rest)
    return layer.o(out.transpose(1, 2).flatten(2))


@pytest.mark.parametrize(("n_buckets", "max_distance"), [(32, 128), (8, 20), (64, 256), (128, 1000), (320, 800)])
def test_buckets(n_buckets, max_distance):
    distance = torch.arange(-100000, 100001)
    theirs = mpnet.MPNetEncoder.relative_position_bucket(distance, num_buckets=n_buckets, max_distance=max_distance)
    scheme = T5Bias(n_heads=1, n_buckets=n_buckets, max_distance=max_distance, bidirectional=True)
    assert torch.equal(scheme.buckets(distance), theirs)


@pytest.mark.parametrize("length", [1, 9, 300])
def test_bias_bit_for_bit(model, length):
    scheme, x = scheme_of(model.encoder), torch.zeros(2, 4, length, 8)
    with torch.no_grad():
        theirs = model.encoder.compute_position_bias(torch.zeros(2, length, 32))
        assert torch.equal(scheme.bias(x, x, scheme.at(range(length), range(length))).expand(2, -1, -1, -1), theirs)


def test_bias_of_given_positions_bit_for_bit(model):
    scheme, places = scheme_of(model.encoder), torch.tensor([[5, 0, 3, 200, 41, 7]])
    x = torch.zeros(1, 4, 6, 8)
    with torch.no_grad():
        at = scheme.at(places, places)
        buckets = mpnet.MPNetEncoder.relative_position_bucket(places[:, None, :] - places[:, :, None])
        theirs = model.encoder.relative_attention_bias(buckets).permute(0, 3, 1, 2)
        assert torch.equal(scheme.bias(x, x, at), theirs)


def test_theirs_always_has_32_buckets(lively):
    # the configuration's number sizes the table; the rows that are read stay those of 32 buckets and distance 128
    config = MPNetConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, relative_attention_num_buckets=64)
    encoder = lively(mpnet.MPNetEncoder(config))
    scheme, x = T5Bias(n_heads=4, bidirectional=True), torch.zeros(1, 4, 300, 8)
    scheme.load_state_dict({"weight": encoder.relative_attention_bias.weight[:32]}, strict=True)
    with torch.no_grad():
        theirs = encoder.compute_position_bias(torch.zeros(1, 300, 32))
        assert torch.equal(scheme.bias(x, x, scheme.at(range(300), range(300))), theirs)


@pytest.mark.parametrize("index", [0, 1])
def test_attention(model, index, watched, near):
    layer = model.encoder.layer[index].attention.attn
    seen = watched(model, layer, TOKENS)
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(model.encoder), range(150))
        near(f"MPNet attention, layer {index}", out, seen["out"], BOUND)
        for wrong in (None, scheme_of(model.encoder, bidirectional=False)):
            assert (ours(layer, seen["x"], wrong, range(150)) - seen["out"]).abs().max() > 0.1
        unscaled = ours(layer, seen["x"], scheme_of(model.encoder), range(150), scale=1.0)
        assert (unscaled - seen["out"]).abs().max() > 0.1


def test_left_padded_attention(model, padded, watched, near):
    tokens, mask = padded
    layer, real = model.encoder.layer[1].attention.attn, mask.bool()
    seen = watched(model, layer, tokens, attention_mask=mask)
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(model.encoder), from_padding_mask(mask), mask=real[:, None, None, :])
        near("MPNet attention, left-padded", out[real], seen["out"][real], BOUND)
        bare = ours(layer, seen["x"], None, from_padding_mask(mask), mask=real[:, None, None, :])
        assert (bare - seen["out"])[real].abs().max() > 0.1


def test_embeddings_bit_for_bit(model, padded):
    tokens, mask = padded
    theirs, real = model.embeddings, mask.bool()
    scheme = Learned(max_length=160, d_model=32, padding_offset=2).eval()
    scheme.load_state_dict(theirs.position_embeddings.state_dict(), strict=True)
    with torch.no_grad():
        out = theirs.LayerNorm(scheme(theirs.word_embeddings(tokens), from_padding_mask(mask)))
        assert torch.equal(out[real], theirs(tokens)[real])
