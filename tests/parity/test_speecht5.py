"""Shaw against transformers' SpeechT5: one table of keys for all layers, 2 m rows ordered by query - key."""

import pytest
import torch
from transformers import SpeechT5Config
from transformers.models.speecht5 import modeling_speecht5 as speecht5

from ordinate import Shaw, attend
from ordinate.positions import from_padding_mask

# Two float32 softmax attentions over 30 keys with outputs of size 1 to 10: a few ulp.
BOUND = 5e-6


@pytest.fixture
def encoder(request, lively):
    sizes = {"hidden_size": 32, "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 32}
    return lively(speecht5.SpeechT5Encoder(SpeechT5Config(encoder_max_relative_position=request.param, **sizes)))


limits = pytest.mark.parametrize("encoder", [1, 5, 160], ids="max {}".format, indirect=True)


def scheme_of(encoder):
    """The table flipped; the distance -m has no row there and shares that of -m + 1."""
    table = encoder.embed_positions.pe_k.weight
    scheme = Shaw(head_dim=8, max_distance=encoder.embed_positions.max_length, values=False)
    scheme.load_state_dict({"key_weight": torch.cat((table[-1:], table.flip(0)))}, strict=True)
    return scheme


def frames(length):
    return torch.randn(2, length, 32, generator=torch.Generator().manual_seed(0))


def ours(layer, x, scheme, places, **rest):
    projections = (layer.q_proj, layer.k_proj, layer.v_proj)
    q, k, v = (projection(x).unflatten(-1, (4, 8)).transpose(1, 2) for projection in projections)
    out = attend(q, k, v, scheme=scheme, q_positions=places, k_positions=places, causal=False, **rest)
    return layer.out_proj(out.transpose(1, 2).flatten(2))


@limits
@pytest.mark.parametrize("length", [1, 9, 400])
def test_rows_bit_for_bit(encoder, length):
    distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
    scheme = scheme_of(encoder)
    with torch.no_grad():
        most = scheme.max_distance
        rows = scheme.key_weight[distance.clamp(-most, most) + most]
        assert torch.equal(rows, encoder.embed_positions(torch.zeros(1, length, 32)))


@limits
@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("length", [3, 30])
def test_attention(encoder, length, index, watched, near):
    layer = encoder.layers[index].attention
    seen = watched(encoder, layer, frames(length))
    scheme = scheme_of(encoder)
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme, range(length))
        near(f"SpeechT5 attention, max {scheme.max_distance}, length {length}", out, seen["out"], BOUND)
        # without the scheme, and with the table taken in the order of key - query
        for wrong, places in ((None, range(length)), (scheme, range(length, 0, -1))):
            assert (ours(layer, seen["x"], wrong, places) - seen["out"]).abs().max() > 0.1


@limits
def test_left_padded_attention(encoder, padded, watched, near):
    _, mask = padded
    layer, real, places = encoder.layers[1].attention, mask.bool(), from_padding_mask(mask)
    seen = watched(encoder, layer, frames(10), attention_mask=mask)
    visible = {"mask": real[:, None, None, :]}
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(encoder), places, **visible)
        near("SpeechT5 attention, left-padded", out[real], seen["out"][real], BOUND)
        assert (ours(layer, seen["x"], None, places, **visible) - seen["out"])[real].abs().max() > 0.1
        assert (ours(layer, seen["x"], scheme_of(encoder), places) - seen["out"])[real].abs().max() > 0.1
