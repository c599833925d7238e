"""Wav2Vec2-BERT and MPNet as ``read`` plans them, whole layers built from the plan with the models' own weights."""

import pytest
import torch
from reading_models import config_of, plan_of
from reading_spy import lively
from reading_tables import counted, given_by, padded_batch
from transformers import AutoModel
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as w2v

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


def test_kinds_that_wav2vec2_bert_has_beside():
    with pytest.raises(ValueError, match="position_embeddings_type: needed one of"):
        plan_of({**SPEECH, "position_embeddings_type": "rotary"})


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
