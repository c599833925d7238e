"""T5Bias against transformers' UMT5: T5's attention, but every layer has a table of its own."""

import pytest
import torch
from transformers import UMT5Config
from transformers.models.umt5 import modeling_umt5 as umt5

from ordinate import T5Bias, attend
from ordinate.positions import from_padding_mask

TOKENS = torch.randint(3, 60, (2, 40), generator=torch.Generator().manual_seed(0))
# Two float32 softmax attentions with outputs of size 1 to 10. Scores without a scale reach 20 to 40, so one rounding of theirs
# moves a weight, and with it the output, by 40 * 2^-24 of itself: some ulp more than with a scale.
BOUND = 2e-5
SIZES = {"8 buckets, 20": (8, 20), "32 buckets, 128": (32, 128)}


@pytest.fixture(params=SIZES.values(), ids=SIZES.keys())
def model(request, lively):
    n_buckets, max_distance = request.param
    sizes = {"relative_attention_num_buckets": n_buckets, "relative_attention_max_distance": max_distance}
    config = UMT5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4, **sizes)
    return lively(umt5.UMT5Model(config))


def scheme_of(layer, bidirectional):
    table, max_distance = layer.relative_attention_bias.weight, layer.relative_attention_max_distance
    scheme = T5Bias(n_heads=4, n_buckets=len(table), max_distance=max_distance, bidirectional=bidirectional)
    scheme.load_state_dict({"weight": table}, strict=True)
    return scheme


def ours(layer, x, scheme, q_positions, k_positions, source=None, causal=False, scale=1.0, mask=None):
    """The module with its own projections; x may hold more tokens than there are queries, as with a cache."""
    source = x if source is None else source
    q, k, v = (
        projection(vectors).unflatten(-1, (4, -1)).transpose(1, 2)
        for projection, vectors in ((layer.q, x), (layer.k, source), (layer.v, source))
    )
    q = q[:, :, -len(q_positions) :] if isinstance(q_positions, range) else q
    places = {"q_positions": q_positions, "k_positions": k_positions}
    return layer.o(attend(q, k, v, scheme=scheme, **places, causal=causal, scale=scale, mask=mask).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize(("n_buckets", "max_distance"), [(32, 128), (8, 20), (64, 256), (128, 1000), (320, 800)])
def test_buckets(n_buckets, max_distance, side):
    sizes = {"relative_attention_num_buckets": n_buckets, "relative_attention_max_distance": max_distance}
    config = UMT5Config(d_model=4, d_kv=2, num_heads=2, is_decoder=side == "decoder", **sizes)
    theirs = umt5.UMT5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    distance = torch.arange(-100000, 100001)
    scheme = T5Bias(n_heads=1, n_buckets=n_buckets, max_distance=max_distance, bidirectional=side == "encoder")
    assert torch.equal(scheme.buckets(distance), theirs._relative_position_bucket(distance))


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_attention(model, side, index, watched, near):
    layers, causal = [block.layer[0].SelfAttention for block in getattr(model, side).block], side == "decoder"
    layer, other = layers[index], layers[1 - index]
    seen = watched(model, layer, input_ids=TOKENS, decoder_input_ids=TOKENS)
    places = {"q_positions": range(40), "k_positions": range(40), "causal": causal}
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(layer, not causal), **places)
        near(f"UMT5 {side}, layer {index}", out, seen["out"], BOUND)
        for wrong in (None, scheme_of(layer, causal), scheme_of(other, not causal)):
            assert (ours(layer, seen["x"], wrong, **places) - seen["out"]).abs().max() > 0.1
        scaled = ours(layer, seen["x"], scheme_of(layer, not causal), **places, scale=None)
        assert (scaled - seen["out"]).abs().max() > 0.1


@pytest.mark.parametrize("index", [0, 1])
def test_cross_attention_has_no_bias(model, index, watched, near):
    block = model.decoder.block[index]
    layer, scheme = block.layer[1].EncDecAttention, scheme_of(block.layer[0].SelfAttention, False)
    seen = watched(model, layer, input_ids=TOKENS, decoder_input_ids=TOKENS[:, :7])
    source = seen["result"].encoder_last_hidden_state
    with torch.no_grad():
        near(f"UMT5 cross, layer {index}", ours(layer, seen["x"], None, range(7), range(40), source), seen["out"], BOUND)
        assert (ours(layer, seen["x"], scheme, range(7), range(40), source) - seen["out"]).abs().max() > 0.1


@pytest.mark.parametrize("index", [0, 1])
def test_decoding_with_a_cache(model, index, watched, near):
    layer = model.decoder.block[index].layer[0].SelfAttention
    scheme = scheme_of(layer, False)
    cache, x, steps, theirs = None, [], [], []
    for t in range(40):
        seen = watched(model, layer, input_ids=TOKENS, decoder_input_ids=TOKENS[:, t : t + 1], cache=cache, use_cache=True)
        cache = seen["result"].cache
        x.append(seen["x"])
        theirs.append(seen["out"])
        with torch.no_grad():
            steps.append(ours(layer, torch.cat(x, dim=1), scheme, range(t, t + 1), range(t + 1), causal=True))
    near(f"UMT5 decoding, layer {index}", torch.cat(steps, dim=1), torch.cat(theirs, dim=1), BOUND)
    with torch.no_grad():
        # the last query taken for the first token: with no mask, only its bias is wrong
        moved = ours(layer, torch.cat(x, dim=1), scheme, range(1), range(40))
        assert (moved - theirs[-1]).abs().max() > 0.1


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_left_padded_attention(model, side, padded, watched, near):
    tokens, mask = padded
    real, places = mask.bool(), from_padding_mask(mask)
    layer = getattr(model, side).block[1].layer[0].SelfAttention
    seen = watched(model, layer, tokens, attention_mask=mask, decoder_input_ids=tokens, decoder_attention_mask=mask)
    rest = {"causal": side == "decoder", "mask": real[:, None, None, :]}
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(layer, side == "encoder"), places, places, **rest)
        near(f"UMT5 {side}, left-padded", out[real], seen["out"][real], BOUND)
        assert (ours(layer, seen["x"], None, places, places, **rest) - seen["out"])[real].abs().max() > 0.1
