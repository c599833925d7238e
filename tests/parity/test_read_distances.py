"""Wav2Vec2-BERT, Wav2Vec2-Conformer and MPNet as ``read`` plans them, whole layers built from the plan, with their own weights."""

import pytest
import torch
from reading_models import config_of, plan_of
from reading_spy import lively
from reading_tables import counted, given_by, padded_batch
from transformers import AutoModel
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as w2v
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer

from ordinate import attend

BOUND = 1e-5  # two float32 softmax attentions with outputs of size 1 to 10: a few ulp
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
SPEECH = {"model_type": "wav2vec2-bert", **SIZES, "conv_depthwise_kernel_size": 3, "feature_projection_input_dim": 32}
WORDS = {"model_type": "mpnet", **SIZES, "vocab_size": 64, "max_position_embeddings": 162, "pad_token_id": 1}
FRAMES = torch.randn(2, 30, 32, generator=torch.Generator().manual_seed(0))
LIMITS = [(6, 2), (2, 6), (4, 4), (64, 8), (3, 0)]


def attention(stack, index, scheme, vectors):
    q, k, v = (x.unflatten(-1, (4, 8)).transpose(1, 2) for x in vectors)
    places = {"q_positions": range(q.shape[2]), "k_positions": range(k.shape[2])}
    out = attend(q, k, v, scheme=scheme, **places, causal=stack.causal, scale=stack.layers[index].softmax_scale)
    return out.transpose(1, 2).flatten(2)


def speech(**changes):
    values = {**SPEECH, **changes}
    config = config_of(values)
    config._attn_implementation = "eager"
    return lively(w2v.Wav2Vec2BertEncoder(config)), plan_of(values).stack()


@pytest.mark.parametrize(("past", "future"), LIMITS)
def test_wav2vec2_bert(past, future, watched, near):
    encoder, stack = speech(left_max_position_embeddings=past, right_max_position_embeddings=future)
    built = stack.build()
    for index, layer in enumerate(part.self_attn for part in encoder.layers):
        seen, scheme = watched(encoder, layer, FRAMES), built.layers[index]
        with torch.no_grad():
            vectors = [projection(seen["x"]) for projection in (layer.linear_q, layer.linear_k, layer.linear_v)]
            scheme.load_state_dict({"key_weight": layer.distance_embedding.weight}, strict=True)
            ours = layer.linear_out(attention(stack, index, scheme, vectors))
            near(f"Wav2Vec2-BERT -{past}..{future}, layer {index}", ours, seen["out"], BOUND)
            scheme.load_state_dict({"key_weight": layer.distance_embedding.weight.flip(0)}, strict=True)
            assert (layer.linear_out(attention(stack, index, scheme, vectors)) - seen["out"]).abs().max() > 0.1
    assert len(built.schemes) == 2  # tables of their own


@pytest.mark.parametrize("null", [True, False])
def test_wav2vec2_bert_without_positions(null, watched, near):
    """Null is a value here: transformers reads it as no scheme, an absent key as relative_key."""
    changes = {"position_embeddings_type": None} if null else {}
    encoder, stack = speech(**changes)
    layer = encoder.layers[1].self_attn
    assert hasattr(layer, "distance_embedding") != null
    assert (stack.layers[1].scheme is None) == null
    if null:
        seen = watched(encoder, layer, FRAMES)
        with torch.no_grad():
            vectors = [projection(seen["x"]) for projection in (layer.linear_q, layer.linear_k, layer.linear_v)]
            near("no scheme", layer.linear_out(attention(stack, 1, None, vectors)), seen["out"], BOUND)


def words(**changes):
    values = {**WORDS, **changes}
    return lively(AutoModel.from_config(config_of(values))), plan_of(values).stack()


@pytest.mark.parametrize("padding_token", [1, 5])
@pytest.mark.parametrize("padding", ["left", "right"])
def test_mpnets_table(padding, padding_token):
    """Rows are counted after token 1, whatever pad_token_id is."""
    model, stack = words(pad_token_id=padding_token)
    tokens, mask = padded_batch(padding)
    tokens = tokens.masked_fill(mask == 0, padding_token)
    rows, table = given_by(model, "embeddings.position_embeddings", tokens, mask)
    scheme = stack.build().input.eval()
    scheme.load_state_dict(table.state_dict(), strict=True)
    real = mask.bool()
    assert torch.equal(scheme.at(counted(stack.position_ids, tokens, mask))[real], rows[real])


def test_mpnets_bias_and_attention(watched, near):
    model, stack = words()
    built, tokens = stack.build(), torch.randint(3, 60, (2, 150), generator=torch.Generator().manual_seed(0))
    assert built.layers[0] is built.layers[1]
    built.layers[0].load_state_dict(model.encoder.relative_attention_bias.state_dict(), strict=True)
    nothing = torch.zeros(1, 4, 150, 8)
    with torch.no_grad():
        theirs = model.encoder.compute_position_bias(torch.zeros(1, 150, 32))
        assert torch.equal(built.layers[0].bias(nothing, nothing, built.layers[0].at(range(150), range(150))), theirs)
    for index in range(2):
        layer = model.encoder.layer[index].attention.attn
        seen = watched(model, layer, tokens)
        with torch.no_grad():
            vectors = [projection(seen["x"]) for projection in (layer.q, layer.k, layer.v)]
            ours = layer.o(attention(stack, index, built.layers[index], vectors))
            near(f"MPNet, layer {index}", ours, seen["out"], BOUND)


def test_mpnets_buckets_are_always_32():
    with pytest.raises(ValueError, match="relative_attention_num_buckets: cannot be honoured"):
        plan_of({**WORDS, "relative_attention_num_buckets": 64})


CONFORMER = {**SPEECH, "model_type": "wav2vec2-conformer", "conv_dim": (32,), "conv_stride": (2,), "conv_kernel": (3,)}
CONFORMERS = {
    "wav2vec2-conformer": (CONFORMER, conformer.Wav2Vec2ConformerEncoder),
    "wav2vec2-bert": (SPEECH, w2v.Wav2Vec2BertEncoder),
}


def relative(model_type, **changes):
    values, kind = CONFORMERS[model_type]
    values = {**values, "position_embeddings_type": "relative", **changes}
    config = config_of(values)
    config._attn_implementation = "eager"
    return lively(kind(config)), plan_of(values).stack()


def weights_of(layer):
    weights = {"content_bias": layer.pos_bias_u, "position_bias": layer.pos_bias_v, "projection": layer.linear_pos.weight}
    return {name: weight.detach() for name, weight in weights.items()}


@pytest.mark.parametrize("length", [1, 2, 30])
@pytest.mark.parametrize("model_type", CONFORMERS)
def test_projected_sinusoids(model_type, length, watched, near):
    """Whole layers, both ways in time; left and right padded rows are the caller's positions."""
    encoder, stack = relative(model_type)
    built = stack.build()
    for index, layer in enumerate(part.self_attn for part in encoder.layers):
        seen, scheme = watched(encoder, layer, FRAMES[:, :length]), built.layers[index]
        scheme.load_state_dict(weights_of(layer), strict=True)
        with torch.no_grad():
            vectors = [projection(seen["x"]) for projection in (layer.linear_q, layer.linear_k, layer.linear_v)]
            ours = layer.linear_out(attention(stack, index, scheme, vectors))
            near(f"{model_type}, {length} frames, layer {index}", ours, seen["out"], BOUND)
            if length < 3:
                continue
            for name, weight in weights_of(layer).items():
                scheme.load_state_dict({**weights_of(layer), name: weight.flip(0)}, strict=True)
                assert (layer.linear_out(attention(stack, index, scheme, vectors)) - seen["out"]).abs().max() > 0.05
    assert len(built.schemes) == 2


@pytest.mark.parametrize("model_type", CONFORMERS)
def test_bias_of_the_distance(model_type, near):
    """The term alone, 400 frames: their angles are float32, off by 400 x 2^-24 at most, ours exact."""
    encoder, stack = relative(model_type)
    layer, scheme = encoder.layers[0].self_attn, stack.build().layers[0]
    scheme.load_state_dict({**weights_of(layer), "content_bias": torch.zeros(4, 8)}, strict=True)
    q = torch.randn(1, 4, 400, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        table = encoder.embed_positions(torch.zeros(1, 400, 32))
        if model_type == "wav2vec2-bert":
            _, theirs = w2v._apply_relative_position_encoding(layer, q, q, table)
        else:
            layer.pos_bias_u.zero_()
            _, theirs = conformer._apply_relative_position_encoding(layer, q, q, table)
        near(f"{model_type}, 400 frames", scheme.bias(q, q, scheme.at(range(400), range(400))), theirs, 5e-5)


def test_the_convolution_of_positions_is_not_called():
    """Wav2Vec2-Conformer has one among its weights; its encoder's output does not depend on it."""
    encoder, _ = relative("wav2vec2-conformer")
    with torch.no_grad():
        first = encoder(FRAMES).last_hidden_state
        for weight in encoder.pos_conv_embed.parameters():
            weight.fill_(7.0)
        assert torch.equal(encoder(FRAMES).last_hidden_state, first)
