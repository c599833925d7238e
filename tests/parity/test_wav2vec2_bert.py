"""Shaw against transformers' Wav2Vec2-BERT, whose table of keys clips past and future at different distances."""

import pytest
import torch
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as w2v

from ordinate import Shaw, attend
from ordinate.positions import from_padding_mask

# Two float32 softmax attentions over 30 keys with outputs of size 1 to 10: a few ulp.
BOUND = 5e-6


@pytest.fixture
def encoder(request, lively):
    left, right = request.param
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    limits = {"left_max_position_embeddings": left, "right_max_position_embeddings": right}
    config = Wav2Vec2BertConfig(conv_depthwise_kernel_size=3, **sizes, **limits)
    # without it an encoder outside its model gets no attention mask
    config._attn_implementation = "eager"
    return lively(w2v.Wav2Vec2BertEncoder(config))


limits = pytest.mark.parametrize(
    "encoder", [(6, 2), (2, 6), (4, 4), (64, 8)], ids=lambda limit: "-{}..{}".format(*limit), indirect=True
)


def scheme_of(layer):
    """The shorter side's last row is repeated: farther tokens share it anyway."""
    left, right, table = layer.left_max_position_embeddings, layer.right_max_position_embeddings, layer.distance_embedding.weight
    most = max(left, right)
    rows = torch.cat((table[:1].expand(most - left, -1), table, table[-1:].expand(most - right, -1)))
    scheme = Shaw(head_dim=8, max_distance=most, values=False)
    scheme.load_state_dict({"key_weight": rows}, strict=True)
    return scheme


def frames(length):
    return torch.randn(2, length, 32, generator=torch.Generator().manual_seed(0))


def ours(layer, x, scheme, q_positions, k_positions, **rest):
    projections = (layer.linear_q, layer.linear_k, layer.linear_v)
    q, k, v = (projection(x).unflatten(-1, (4, 8)).transpose(1, 2) for projection in projections)
    out = attend(q, k, v, scheme=scheme, q_positions=q_positions, k_positions=k_positions, causal=False, **rest)
    return layer.linear_out(out.transpose(1, 2).flatten(2))


@limits
@pytest.mark.parametrize("length", [1, 5, 100])
def test_bias(encoder, length, near):
    layer = encoder.layers[0].self_attn
    scheme, q = scheme_of(layer), torch.randn(2, 4, length, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        _, theirs = w2v._apply_relative_key_position_encoding(layer, q, q)
        out = scheme.bias(q, q, scheme.at(range(length), range(length)))
        # dot products of 8 numbers, of size 1 to 10, scaled after the sum there and before it here
        near(f"Wav2Vec2-BERT bias, length {length}", out, theirs, 2e-6)


@limits
@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("length", [3, 30])
def test_attention(encoder, length, index, watched, near):
    layer = encoder.layers[index].self_attn
    seen = watched(encoder, layer, frames(length))
    scheme, places = scheme_of(layer), range(length)
    with torch.no_grad():
        near(f"Wav2Vec2-BERT attention, length {length}", ours(layer, seen["x"], scheme, places, places), seen["out"], BOUND)
        backwards, others = range(length, 0, -1), scheme_of(encoder.layers[1 - index].self_attn)
        for wrong in ((None, places, places), (scheme, backwards, backwards), (others, places, places)):
            assert (ours(layer, seen["x"], *wrong) - seen["out"]).abs().max() > 0.1


@limits
def test_left_padded_attention(encoder, padded, watched, near):
    _, mask = padded
    layer, real, places = encoder.layers[1].self_attn, mask.bool(), from_padding_mask(mask)
    seen = watched(encoder, layer, frames(10), attention_mask=mask)
    visible = {"mask": real[:, None, None, :]}
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(layer), places, places, **visible)
        near("Wav2Vec2-BERT attention, left-padded", out[real], seen["out"][real], BOUND)
        assert (ours(layer, seen["x"], None, places, places, **visible) - seen["out"])[real].abs().max() > 0.1
        assert (ours(layer, seen["x"], scheme_of(layer), places, places) - seen["out"])[real].abs().max() > 0.1
