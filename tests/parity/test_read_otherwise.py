"""Rotations of encoders and decoders that stand beside others, turn values or states, or turn by heads: bit for bit.

cos, sin and what is turned against the model files' own rotary modules and functions, in float32 and bfloat16.
"""

import copy
import warnings

import pytest
import torch
from reading_models import config_of
from reading_stacked import FIXED_VALUES, STACKED_VALUES
from transformers.models.clvp import modeling_clvp
from transformers.models.esm import modeling_esm
from transformers.models.evolla import modeling_evolla
from transformers.models.moonshine import modeling_moonshine
from transformers.models.moonshine_streaming import modeling_moonshine_streaming
from transformers.models.neucodec import modeling_neucodec
from transformers.models.seamless_m4t import modeling_seamless_m4t
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer
from transformers.models.xcodec2 import modeling_xcodec2

from ordinate import checkpoints
from ordinate.checkpoints.turning_otherwise import turned_by_heads

VALUES = {name: {"model_type": name, **values} for name, values in {**STACKED_VALUES, **FIXED_VALUES}.items()}
FAR = torch.tensor([*range(37), 1000, 40000, 1000003])
LENGTH = 3000  # modules that count positions themselves
DTYPES = (torch.float32, torch.bfloat16)
RULES = {
    "plain": {},
    "absent": {"rope_parameters": None},
    "default": {"rope_parameters": {"rope_type": "default", "rope_theta": 777.7}},
    "yarn": {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 777.7, "original_max_position_embeddings": 512}},
    "linear": {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 777.7, "partial_rotary_factor": 1.0}},
}


def with_rule(model_type, rule):
    """A configuration with a dictionary, which then says all that keys beside it said."""
    beside = ("rope_theta", "partial_rotary_factor", "rope_parameters") if RULES[rule] else ()
    return {**{key: value for key, value in VALUES[model_type].items() if key not in beside}, **RULES[rule]}


def plan_of(model_type, rule="plain"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return checkpoints.read(copy.deepcopy(with_rule(model_type, rule)))


def drawn(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape))).to(dtype)


def equal(ours, theirs, dtype):
    """Of the dtype, and bit for bit; what stands still was compared with something that moved."""
    assert ours.dtype == theirs.dtype == dtype
    assert torch.equal(ours, theirs)


TOKENS = {
    "moonshine encoder": (modeling_moonshine, "MoonshineRotaryEmbedding", "moonshine", "encoder"),
    "moonshine decoder": (modeling_moonshine, "MoonshineRotaryEmbedding", "moonshine", "decoder"),
    "moonshine_streaming": (modeling_moonshine_streaming, "MoonshineStreamingRotaryEmbedding", "moonshine_streaming", "decoder"),
    "esm": (modeling_esm, "EsmRotaryEmbedding", "esm", "encoder"),
    "evolla": (modeling_evolla, "EvollaSaProtRotaryEmbedding", "evolla", "encoder"),
}
BY_HEADS = {"xcodec2": (modeling_xcodec2, "Xcodec2RotaryEmbedding"), "neucodec": (modeling_neucodec, "NeuCodecRotaryEmbedding")}
TOKEN_CASES = [(name, rule) for name in TOKENS for rule in RULES if rule == "plain" or name.startswith("moonshine")]


def theirs_of(name, rule):
    file, rotary, model_type, stack = TOKENS[name]
    config = config_of(with_rule(model_type, rule))
    config = config.protein_encoder_config if name == "evolla" else config
    scheme = plan_of(model_type, rule).stack(stack).build().layers[-1]
    return file, getattr(file, rotary)(config), scheme


@pytest.mark.parametrize(("name", "rule"), TOKEN_CASES)
def test_cos_and_sin(name, rule):
    _, rotary, scheme = theirs_of(name, rule)
    cos, sin = rotary(torch.zeros(1), FAR[None])
    at, pairs = scheme.at(FAR), len(scheme.inverse_frequencies)
    assert pairs >= 6
    assert list(scheme.inverse_frequencies) == rotary.inv_freq.tolist()
    assert scheme.magnitude == rotary.attention_scaling
    assert torch.equal(at.cos * scheme.magnitude, cos[0, :, :pairs])
    assert torch.equal(at.sin * scheme.magnitude, sin[0, :, :pairs])
    assert cos.shape[-1] == 2 * pairs


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "rule"), TOKEN_CASES)
def test_queries_and_keys(name, rule, dtype):
    file, rotary, scheme = theirs_of(name, rule)
    q, k = drawn(1, 4, 40, scheme.head_dim, dtype=dtype), drawn(1, 2, 40, scheme.head_dim, dtype=dtype) + 1
    turned = file.apply_rotary_pos_emb(q, k, *rotary(q, FAR[None]))
    equal(scheme.queries(q, FAR), turned[0], dtype)
    equal(scheme.keys(k, FAR), turned[1], dtype)
    assert not torch.equal(turned[0], q)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model_type", BY_HEADS)
def test_heads_are_the_positions(model_type, rule, dtype):
    """As their decoder hands it: positions 0 to heads - 1, and cos and sin of a head for all its tokens."""
    file, rotary = BY_HEADS[model_type]
    rotary = getattr(file, rotary)(config_of(with_rule(model_type, rule)))
    stack = plan_of(model_type, rule).stack()
    assert stack.position_ids.counted_from == "heads"
    q, k = drawn(2, 4, 9, 32, dtype=dtype), drawn(2, 4, 9, 32, dtype=dtype) + 1
    cos, sin = rotary(q, torch.arange(4)[None])
    turned = file.apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=2)
    for ours, theirs, still in zip(turned_by_heads(stack.build().layers[0], q, k), turned, (q, k), strict=True):
        equal(ours, theirs, dtype)
        assert torch.equal(theirs[:, 0] != still[:, 0], torch.zeros(2, 9, 32, dtype=torch.bool)) == (rule != "yarn")
        assert not torch.equal(theirs[:, 1], still[:, 1])


CONFORMERS = {
    "wav2vec2-bert": (modeling_wav2vec2_bert, "Wav2Vec2Bert"),
    "wav2vec2-conformer": (modeling_wav2vec2_conformer, "Wav2Vec2Conformer"),
    "seamless_m4t": (modeling_seamless_m4t, "SeamlessM4TConformer"),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model_type", CONFORMERS)
def test_states_are_turned(model_type, dtype):
    file, name = CONFORMERS[model_type]
    config = config_of(VALUES[model_type])
    rotary = getattr(file, f"{name}RotaryPositionalEmbedding")(config)
    attention = getattr(file, f"{name}SelfAttention")(config)
    built = plan_of(model_type).build()
    states = drawn(2, LENGTH, config.hidden_size, dtype=dtype)
    made, at = rotary(states), built.layers[0].at(range(LENGTH))
    assert list(built.layers[0].inverse_frequencies) == rotary.inv_freq.tolist()
    for ours, theirs in ((at.cos, made[0]), (at.sin, made[1])):
        equal(torch.cat((ours, ours), dim=-1).to(dtype), theirs[:, 0, 0], dtype)
    turned = attention._apply_rotary_embedding(states, made)
    equal(built.turned_states(0, states, range(LENGTH)), turned, dtype)
    assert not torch.equal(turned, states)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", ["clvp_encoder", "text"])
def test_clvp_turns_values_too(part, dtype):
    whole = part == "text"
    config = config_of(VALUES["clvp"]).text_config if whole else config_of(VALUES["clvp_encoder"])
    stack = plan_of("clvp").stack("text") if whole else plan_of("clvp_encoder").stack()
    scheme, rotary = stack.build().layers[0], modeling_clvp.ClvpRotaryPositionalEmbedding(config)
    assert stack.layers[0].turned == "queries, keys and values"
    assert scheme.rotary_dim == 48
    angles, at = rotary(torch.zeros(1, LENGTH, 1))[0], scheme.at(range(LENGTH))
    assert list(scheme.inverse_frequencies) == rotary.inv_freq.tolist()
    assert torch.equal(torch.cat((at.cos, at.cos), dim=-1), angles.cos())
    assert torch.equal(torch.cat((at.sin, at.sin), dim=-1), angles.sin())
    vectors = [drawn(1, 4, LENGTH, 64, dtype=dtype) + shift for shift in range(3)]
    moving = [x[..., :48] for x in vectors]
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    turned = modeling_clvp.apply_rotary_pos_emb(*moving, cos, sin, torch.arange(LENGTH)[None])
    for x, theirs in zip(vectors, turned, strict=True):
        ours = scheme.keys(x, range(LENGTH))
        equal(ours[..., :48], theirs, dtype)
        assert torch.equal(ours[..., 48:], x[..., 48:])
