"""T5Bias against transformers' T5: scores q . k without a scale, one table that a stack's first layer lends to all others."""

import pytest
import torch
from transformers import T5Config
from transformers.models.t5 import modeling_t5 as t5

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
    config = T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4, relative_attention_num_buckets=n_buckets
    )
    config.relative_attention_max_distance = max_distance
    return lively(t5.T5Model(config))


def scheme_of(stack, bidirectional):
    table = stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight
    max_distance = stack.config.relative_attention_max_distance
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


@pytest.mark.parametrize(("past", "queries", "keys"), [(0, 300, 300), (0, 3, 200), (199, 1, 200), (20, 30, 50)])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_bias_bit_for_bit(model, side, past, queries, keys):
    stack = getattr(model, side)
    scheme = scheme_of(stack, side == "encoder")
    with torch.no_grad():
        theirs = stack.block[0].layer[0].SelfAttention.compute_bias(queries, keys, past_seen_tokens=past)
        at = scheme.at(range(past, past + queries), range(keys))
        assert torch.equal(scheme.bias(torch.zeros(1, 4, queries, 8), torch.zeros(1, 4, keys, 8), at), theirs)


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_attention(model, side, index, watched, near):
    stack, causal = getattr(model, side), side == "decoder"
    layer = stack.block[index].layer[0].SelfAttention
    seen = watched(model, layer, input_ids=TOKENS, decoder_input_ids=TOKENS)
    places = {"q_positions": range(40), "k_positions": range(40), "causal": causal}
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(stack, not causal), **places)
        near(f"T5 {side}, layer {index}", out, seen["out"], BOUND)
        for wrong in (None, scheme_of(stack, causal)):
            assert (ours(layer, seen["x"], wrong, **places) - seen["out"]).abs().max() > 0.1
        scaled = ours(layer, seen["x"], scheme_of(stack, not causal), **places, scale=None)
        assert (scaled - seen["out"]).abs().max() > 0.1


def test_cross_attention_has_no_bias(model, watched, near):
    layer = model.decoder.block[1].layer[1].EncDecAttention
    seen = watched(model, layer, input_ids=TOKENS, decoder_input_ids=TOKENS[:, :7])
    source = seen["result"].encoder_last_hidden_state
    with torch.no_grad():
        near("T5 cross-attention", ours(layer, seen["x"], None, range(7), range(40), source), seen["out"], BOUND)
        biased = ours(layer, seen["x"], scheme_of(model.decoder, False), range(7), range(40), source)
        assert (biased - seen["out"]).abs().max() > 0.1


@pytest.mark.parametrize("index", [0, 1])
def test_decoding_with_a_cache(model, index, watched, near):
    layer, scheme = model.decoder.block[index].layer[0].SelfAttention, scheme_of(model.decoder, False)
    cache, x, steps, theirs = None, [], [], []
    for t in range(40):
        seen = watched(model, layer, input_ids=TOKENS, decoder_input_ids=TOKENS[:, t : t + 1], cache=cache, use_cache=True)
        cache = seen["result"].cache
        x.append(seen["x"])
        theirs.append(seen["out"])
        with torch.no_grad():
            steps.append(ours(layer, torch.cat(x, dim=1), scheme, range(t, t + 1), range(t + 1), causal=True))
    near(f"T5 decoding, layer {index}", torch.cat(steps, dim=1), torch.cat(theirs, dim=1), BOUND)
    with torch.no_grad():
        # the last query taken for the first token: with no mask, only its bias is wrong
        moved = ours(layer, torch.cat(x, dim=1), scheme, range(1), range(40))
        assert (moved - theirs[-1]).abs().max() > 0.1


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_left_padded_attention(model, side, padded, watched, near):
    tokens, mask = padded
    stack, real, places = getattr(model, side), mask.bool(), from_padding_mask(mask)
    layer = stack.block[1].layer[0].SelfAttention
    seen = watched(model, layer, tokens, attention_mask=mask, decoder_input_ids=tokens, decoder_attention_mask=mask)
    rest = {"causal": side == "decoder", "mask": real[:, None, None, :]}
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(stack, side == "encoder"), places, places, **rest)
        near(f"T5 {side}, left-padded", out[real], seen["out"][real], BOUND)
        assert (ours(layer, seen["x"], None, places, places, **rest) - seen["out"])[real].abs().max() > 0.1
        assert (ours(layer, seen["x"], None, places, places, **rest) - seen["out"])[real].abs().max() > 0.1


def test_whole_model(model, monkeypatch, near):
    def replace(layer, scheme, causal):
        def forward(x, key_value_states=None, **_):
            source = x if key_value_states is None else key_value_states
            places = {"q_positions": range(x.shape[1]), "k_positions": range(source.shape[1])}
            return ours(layer, x, scheme, **places, source=source, causal=causal), None, None

        monkeypatch.setattr(layer, "forward", forward)

    def result(right):
        for side, causal in (("encoder", False), ("decoder", True)):
            stack = getattr(model, side)
            for block in stack.block:
                replace(block.layer[0].SelfAttention, scheme_of(stack, causal != right), causal)
        for block in model.decoder.block:
            replace(block.layer[1].EncDecAttention, None, False)
        return model(**inputs).last_hidden_state

    inputs = {"input_ids": TOKENS, "decoder_input_ids": TOKENS[:, 5:30]}
    with torch.no_grad():
        theirs = model(**inputs).last_hidden_state
        # six attentions one after another
        near("T5, the whole model", result(right=True), theirs, 6 * BOUND)
        assert (result(right=False) - theirs).abs().max() > 0.1
