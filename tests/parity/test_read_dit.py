"""The diffusion transformer of Qwen2.5-Omni's voice, as ``read`` plans it, against its own modules and masks: bit for bit."""

import dataclasses
import functools

import pytest
import torch
from reading_models import plan_of
from reading_rules import BASE, RULES
from reading_sizes import LONGEST, TRAINED
from transformers.models.qwen2_5_omni import modeling_qwen2_5_omni as file
from transformers.models.qwen2_5_omni.configuration_qwen2_5_omni import Qwen2_5OmniDiTConfig

from ordinate.checkpoints import read

VALUES = {"hidden_size": 64, "num_hidden_layers": 5, "num_attention_heads": 4, "head_dim": 32, "max_position_embeddings": LONGEST}
VALUES |= {"block_size": 6, "look_ahead_layers": [1, 3], "look_backward_layers": [0, 3], "enc_dim": 8, "enc_emb_dim": 8}
VALUES |= {"emb_dim": 8, "mel_dim": 8, "num_embeds": 8, "enc_channels": [8] * 5, "enc_se_channels": 8, "enc_attention_channels": 8}
VALUES |= {"enc_res2net_scale": 2, "dropout": 0.0}
LENGTH = 40
PLACES = torch.tensor([*range(LENGTH - 3), 1000, 40000, 1000003])
NEAR, FAR = torch.arange(41), torch.tensor([1000, 40000, 1000003])
BOUND = 1e-5  # two float32 softmax attentions, summed in another order
heard = []


def spy(_, query, key, value, attention_mask=None, scaling=None, **rest):
    assert not rest.get("is_causal")
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attention_mask, scale=scaling)
    heard.append((query, key, value, attention_mask, scaling, out))
    return out.transpose(1, 2), None


file.ALL_ATTENTION_FUNCTIONS.register("dit_spy", spy)


def values_of(rule=None, **changes):
    values = {"model_type": "qwen2_5_omni_dit", **VALUES, **changes}
    if rule is not None:
        rope = {"rope_theta": BASE, **RULES[rule]}
        if "short_factor" in rope:
            rope |= {"short_factor": [1.0 + 0.01 * i for i in range(16)], "long_factor": [1.0 + 0.3 * i for i in range(16)]}
        values |= {"rope_parameters": rope} | ({"max_position_embeddings": TRAINED} if rule == "dynamic" else {})
    return values


def config_from(values):
    config = Qwen2_5OmniDiTConfig(**{key: value for key, value in values.items() if key != "model_type"})
    config._attn_implementation = "dit_spy"
    return config


@pytest.mark.parametrize("rule", [None, *RULES])
def test_frequencies_cos_and_sin(rule):
    values = values_of(rule)
    for places in (NEAR, torch.tensor([TRAINED - 1]), torch.tensor([TRAINED]), FAR):
        module = file.Qwen2_5OmniDiTRotaryEmbedding(config_from(values))  # anew, since theirs remembers the longest
        scheme = plan_of(values).build().at_length(int(places.max()) + 1).layers[0]
        cos, sin = module(torch.zeros(1), places[None])
        at = scheme.at(places)
        assert torch.equal(at.cos * scheme.magnitude, cos[0, :, :16])
        assert torch.equal(at.sin * scheme.magnitude, sin[0, :, :16])
        assert list(scheme.inverse_frequencies) == module.inv_freq.tolist()


def turned(rule, dtype, places):
    """What its attention hands on, at angles of 0 and at its own."""
    config = config_from(values_of(rule))
    attention = file.DiTAttention(config).to(dtype)
    states = torch.randn(2, LENGTH, 64, generator=torch.Generator().manual_seed(0)).to(dtype)
    cos, sin = file.Qwen2_5OmniDiTRotaryEmbedding(config)(states, places[None])
    heard.clear()
    with torch.no_grad():
        for angles in ((torch.ones_like(cos), torch.zeros_like(sin)), (cos, sin)):
            attention(states, position_embeddings=angles)
    return heard


def neighbours(x):
    """The first head's order before a rotation; after it, first entries come before second ones."""
    return torch.cat((torch.stack(x[:, :1].chunk(2, dim=-1), dim=-1).flatten(-2), x[:, 1:]), dim=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rule", [None, "yarn, attention factor"])
def test_queries_and_keys(rule, dtype):
    still, own = turned(rule, dtype, PLACES)
    scheme, heads = plan_of(values_of(rule)).build().layers[0], plan_of(values_of(rule)).layers[0].heads_turned
    for before, after, turn in zip(still[:2], own[:2], (scheme.queries, scheme.keys), strict=True):
        before, after = neighbours(before), neighbours(after)
        assert after.dtype == dtype
        assert torch.equal(turn(before[:, :heads], PLACES), after[:, :heads])
        assert torch.equal(before[:, heads:], after[:, heads:])
        assert not torch.equal(before[:, :heads], after[:, :heads])
        assert not torch.equal(turn(before, PLACES), after)


def test_attention(near):
    """Every head of what comes out of its attention, where all tokens see each other."""
    values = values_of(block_size=2 * LENGTH)
    still, own = turned(None, torch.float32, torch.arange(LENGTH))
    q, k, v = (neighbours(x) if place < 2 else x for place, x in enumerate(still[:3]))
    places = {"q_positions": range(LENGTH), "k_positions": range(LENGTH)}
    plan = plan_of(values)
    built = plan.build()
    found = built.attend(2, q, k, v, **places)
    near("dit", found, own[5], BOUND)
    assert torch.equal(built.attend(2, q, k, v, at=built.at(range(LENGTH), range(LENGTH)), **places), found)
    assert plan.layers[2].softmax_scale == 32**-0.5
    assert own[4] is None  # then its attention divides by the root of the head's width
    for heads in (None, 2):
        other = dataclasses.replace(plan.stack(), layers=(dataclasses.replace(plan.layers[0], heads_turned=heads),)).build()
        assert (other.attend(0, q, k, v, **places) - own[5]).abs().max() > 0.1


@functools.cache
def masks():
    """Who sees whom in each layer of a small model."""
    model = file.Qwen2_5OmniToken2WavDiTModel._from_config(config_from(values_of()), attn_implementation="dit_spy").eval()
    model.input_embed.forward = lambda hidden_states, *_, **__: hidden_states
    heard.clear()
    with torch.no_grad():
        codes = torch.zeros(1, LENGTH // 2, dtype=torch.int64)
        model(torch.randn(1, LENGTH, 64), None, None, codes, torch.tensor(0.5), apply_cfg=False)
    return [one[3] for one in heard]


def seen(built, layer):
    still, eye = torch.zeros(1, 4, LENGTH, 32), torch.eye(LENGTH)[None, None].expand(1, 4, -1, -1)
    return built.attend(layer, still, still, eye, q_positions=range(LENGTH), k_positions=range(LENGTH)) > 0


def test_who_sees_whom():
    plan = plan_of(values_of())
    assert [(layer.chunk, layer.chunks_back, layer.chunks_ahead) for layer in plan.layers] == [
        (6, 1, 0),
        (6, 0, 1),
        (6, 0, 0),
        (6, 1, 1),
        (6, 0, 0),
    ]
    assert len(masks()) == 5
    for layer, theirs in enumerate(masks()):
        assert torch.equal(seen(plan.build(), layer), theirs)
    other = tuple(
        dataclasses.replace(layer, chunks_back=layer.chunks_ahead, chunks_ahead=layer.chunks_back) for layer in plan.layers
    )
    turned_round = dataclasses.replace(plan.stack(), layers=other).build()
    assert [torch.equal(seen(turned_round, layer), theirs) for layer, theirs in enumerate(masks())] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_documents_beside_blocks():
    built, rows = plan_of(values_of()).build(), torch.arange(LENGTH)
    still, eye = torch.zeros(1, 4, LENGTH, 32), torch.eye(LENGTH)[None, None].expand(1, 4, -1, -1)
    ids = torch.arange(LENGTH) // 15
    for layer, theirs in enumerate(masks()):
        out = built.attend(layer, still, still, eye, q_positions=rows, k_positions=rows, document_ids=ids[None])
        assert torch.equal(out > 0, theirs & (ids[:, None] == ids))


def test_the_configurations_defaults():
    """The object spells every default out."""
    plan = read(Qwen2_5OmniDiTConfig())
    assert plan.stacks == read({"model_type": "qwen2_5_omni_dit", "num_hidden_layers": 22}).stacks
    assert {layer: plan.layers[layer].chunks_back for layer in (0, 1, 10, 20)} == {0: 1, 1: 0, 10: 0, 20: 1}
    assert [layer for layer, one in enumerate(plan.layers) if one.chunks_ahead] == [10]
    text = plan.explain()
    assert "chunks of 24, its own and 1 before; the first head alone turns" in text
    assert "chunks of 24, its own and 1 after" in text


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"block_size": 0}, "block_size: needed a whole number"),
        ({"look_ahead_layers": 3}, "look_ahead_layers: needed a list"),
        ({"head_dim": None}, "head_dim: needed a whole number, got None"),
        ({"head_dim": 15}, "rotary width: needed an even number"),
        ({"sliding_window_pattern": 3, "layer_types": ["full_attention"]}, "layer_types"),
    ],
)
def test_faults(changes, fault):
    with pytest.raises(ValueError, match=fault):
        read({**values_of(), **changes})


def test_layers_beyond_the_last_change_nothing():
    with pytest.warns(UserWarning, match="look_backward_layers: 20 changes nothing: there are 5 layers"):
        read(values_of(look_backward_layers=[0, 20]))
