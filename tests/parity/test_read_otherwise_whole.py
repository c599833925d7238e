"""Attention inside models of several stacks, run whole, against what their plans build.

Queries and keys are taken before the model file's own rotation; from there on everything is the plan's, and what comes out must be
what the model's eager attention gave.
"""

import contextlib
import dataclasses
import warnings
from unittest import mock

import pytest
import torch
from reading_models import config_of, file_of
from reading_speech import SPEECH
from reading_spy import heard_in, lively
from reading_stacked import FIXED_VALUES, LENGTH, STACKED_VALUES
from transformers import AutoModel, DynamicCache
from transformers.models.clvp.modeling_clvp import ClvpEncoder
from transformers.models.esm import modeling_esm
from transformers.models.evolla import modeling_evolla
from transformers.models.moonshine import modeling_moonshine
from transformers.models.moonshine_streaming import modeling_moonshine_streaming
from transformers.models.neucodec import modeling_neucodec
from transformers.models.seamless_m4t.modeling_seamless_m4t import SeamlessM4TConformerEncoder
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertEncoder
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import Wav2Vec2ConformerEncoder
from transformers.models.xcodec2 import modeling_xcodec2

from ordinate import checkpoints

VALUES = {name: {"model_type": name, **values} for name, values in {**STACKED_VALUES, **FIXED_VALUES}.items()}
# Float32 softmax attentions over 40 keys, summed in another order, with outputs of size 1 to 10: a few ulp.
BOUND, SHOWS = 1e-5, 1e-3
TOKENS = torch.randint(3, 60, (1, LENGTH), generator=torch.Generator().manual_seed(0))
PLACES = range(LENGTH)


def stack_of(model_type, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return checkpoints.read(VALUES[model_type]).stack(name)


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


class Gives(torch.nn.Module):
    """Stands for a part of a model: gives always the same."""

    def __init__(self, *found):
        super().__init__()
        self.found = found

    def forward(self, *_, **__):
        return self.found


@contextlib.contextmanager
def before_rotation(file):
    """Queries and keys that a model file's function is given to turn."""
    given, turn = [], file.apply_rotary_pos_emb

    def listen(q, k, *rest, **named):
        given.append((q, k))
        return turn(q, k, *rest, **named)

    with mock.patch.object(file, "apply_rotary_pos_emb", listen):
        yield given


def changed(stack, **changes):
    return dataclasses.replace(stack, layers=tuple(dataclasses.replace(layer, **changes) for layer in stack.layers))


def held(stack, vectors, *wrongs, near):
    """Compare a stack's layers with the model's, which wrong stacks must not equal; vectors: (q, k, v, out) of each layer."""
    near(f"{stack.name}, {len(stack.layers)} layers", *both(stack, vectors), BOUND)
    for wrong in wrongs:
        ours, theirs = both(wrong, vectors)
        assert (ours - theirs).abs().max() > SHOWS


def both(stack, vectors):
    built, length = stack.build(), vectors[0][0].shape[-2]
    assert len(vectors) == len(stack.layers)
    ours = [
        built.attend(layer, q, k, v, q_positions=range(length), k_positions=range(length))
        for layer, (q, k, v, _) in enumerate(vectors)
    ]
    return torch.cat(ours, dim=1), torch.cat([out for *_, out in vectors], dim=1)


def model_of(config, make=AutoModel.from_config):
    return lively(make(config, attn_implementation="spy"))


def turned(given, heard):
    return [(q, k, one.value, one.out) for (q, k), one in zip(given, heard, strict=True)]


def states_of(modules):
    """What attention modules are given, once the model has run."""
    states = []

    def keep(_, given, named):
        states.append(given[0] if given else named["hidden_states"])

    for module in modules:
        module.register_forward_pre_hook(keep, with_kwargs=True)
    return states


def test_moonshine(near):
    model = model_of(config_of(VALUES["moonshine"]))
    with before_rotation(modeling_moonshine) as given:
        heard = heard_in(model, input_values=drawn(1, 16000), decoder_input_ids=TOKENS, use_cache=False)
    encoder, decoder = (stack_of("moonshine", name) for name in ("encoder", "decoder"))
    held(encoder, turned(given[:8], heard[:8]), changed(encoder, scheme=None), near=near)
    held(decoder, turned(given[8:], heard[8::2]), dataclasses.replace(decoder, causal=False), near=near)
    assert {one.scale for one in heard[9::2]} == {decoder.cross_attention.softmax_scale}
    assert decoder.cross_attention.scheme is None
    assert len(given) == 16  # cross-attention does not turn


def test_moonshine_streaming(near):
    config = config_of(VALUES["moonshine_streaming"])
    model = model_of(config)
    model.encoder.embedder = Gives(drawn(1, LENGTH, 128), torch.ones(1, LENGTH, dtype=torch.int64))
    states = []
    model.decoder.proj.register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
    with before_rotation(modeling_moonshine_streaming) as given:
        heard = heard_in(model, input_values=drawn(1, 8), decoder_input_ids=TOKENS, use_cache=False)
    encoder, decoder = (stack_of("moonshine_streaming", name) for name in ("encoder", "decoder"))
    own = [(one.query, one.key, one.value, one.out) for one in heard[:8]]
    held(encoder, own, changed(encoder, window_ahead=None), changed(encoder, window=None), near=near)
    held(decoder, turned(given, heard[8::2]), changed(decoder, scheme=None), near=near)
    assert decoder.cross_attention.scheme is None
    assert {one.scale for one in heard[9::2]} == {decoder.cross_attention.softmax_scale}
    table = decoder.build().cross_input
    with torch.no_grad():
        table.weight.copy_(model.decoder.pos_emb.weight)
        assert model.decoder.pos_emb.weight.shape == (16384, 128)
        without = model.encoder(drawn(1, 8)).last_hidden_state
    assert torch.equal(without + table.at(PLACES), states[0])


def unscaled(vectors):
    """ESM's queries are multiplied by 1 / 8 before they turn, which is exact."""
    return [(q * 8, k, v, out) for q, k, v, out in vectors]


@pytest.mark.parametrize("causal", [False, True])
def test_esm(causal, near):
    values = {**VALUES["esm"], "is_decoder": causal}
    with before_rotation(modeling_esm) as given:
        heard = heard_in(model_of(config_of(values)), TOKENS)
    stack = checkpoints.read(values).stack()
    assert stack.layers[0].softmax_scale == 1 / 8
    held(
        stack, unscaled(turned(given, heard)), changed(stack, scheme=None), dataclasses.replace(stack, causal=not causal), near=near
    )


def test_esm_with_a_table(near):
    values = {**VALUES["esm"], "position_embedding_type": "absolute", "pad_token_id": 1}
    model, stack = model_of(config_of(values)), checkpoints.read(values).stack()
    tokens = torch.cat((TOKENS[:, :20], torch.ones(1, 4, dtype=torch.int64), TOKENS[:, 20:]), dim=1)
    table, given = stack.build().input, []
    model.encoder.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    heard = heard_in(model, tokens)
    with torch.no_grad():
        table.weight.copy_(model.embeddings.position_embeddings.weight)
    counted = torch.tensor([*range(20), 0, 0, 0, 0, *range(20, LENGTH)])
    real = tokens[0] != stack.position_ids.padding_token
    assert stack.position_ids.counted_from == "tokens"
    with torch.no_grad():
        ours = model.embeddings.word_embeddings(tokens) + table.at(counted)
    assert torch.equal(ours[0, real], given[0][0, real])
    vectors = [(one.query, one.key, one.value, one.out) for one in heard]
    held(stack, unscaled(vectors), changed(stack, softmax_scale=1.0), near=near)


def test_evollas_encoder_of_proteins(near):
    config = config_of(VALUES["evolla"]).protein_encoder_config
    model = model_of(config, modeling_evolla.EvollaSaProtProteinEncoder._from_config)
    with before_rotation(modeling_evolla) as given:
        heard = heard_in(model, TOKENS)
    stack = stack_of("evolla", "encoder")
    held(stack, unscaled(turned(given, heard)), changed(stack, scheme=None), near=near)


CODECS = {"xcodec2": modeling_xcodec2.Xcodec2Decoder, "neucodec": modeling_neucodec.NeuCodecDecoder}


@pytest.mark.parametrize("model_type", CODECS)
def test_codecs_that_turn_by_heads(model_type, near):
    config = config_of(VALUES[model_type])
    config._attn_implementation = "spy"
    model = lively(CODECS[model_type](config))
    model.fc, model.embed, model.head = (torch.nn.Identity() for _ in range(3))
    model.prior_net = model.post_net = torch.nn.ModuleList()
    modules = [layer.self_attn for layer in model.layers]
    states = states_of(modules)
    heard, stack = heard_in(model, drawn(1, LENGTH, 128)), stack_of(model_type, "decoder")
    raw = []
    for module, given, one in zip(modules, states, heard, strict=True):
        q, k = (project(given).view(1, LENGTH, 4, 32).transpose(1, 2) for project in (module.q_proj, module.k_proj))
        raw.append((q.detach(), k.detach(), one.value, one.out))
    held(stack, raw, changed(stack, softmax_scale=0.25), near=near)
    for (q, k, *_), one in zip(raw, heard, strict=True):
        turn = stack.build().layers[0]
        for still, theirs in ((q, one.query), (k, one.key)):
            assert torch.equal(turn.keys(still.transpose(1, 2), range(4)).transpose(1, 2), theirs)


CONFORMERS = {
    "wav2vec2-bert": Wav2Vec2BertEncoder,
    "wav2vec2-conformer": Wav2Vec2ConformerEncoder,
    "seamless_m4t": SeamlessM4TConformerEncoder,
}


@pytest.mark.parametrize("model_type", CONFORMERS)
def test_conformers_turn_states(model_type, near):
    config = config_of(VALUES[model_type])
    config._attn_implementation = "spy"
    model = lively(CONFORMERS[model_type](config))
    modules = [layer.self_attn for layer in model.layers]
    states = states_of(modules)
    heard = heard_in(model, drawn(1, LENGTH, config.hidden_size))
    stack = stack_of(model_type, "encoder")
    built, raw = stack.build(), []
    for layer, (module, given, one) in enumerate(zip(modules, states, heard, strict=True)):
        own = built.turned_states(layer, given, PLACES)
        assert not torch.equal(own, given)
        q, k = (project(own).view(1, LENGTH, 4, 48).transpose(1, 2).detach() for project in (module.linear_q, module.linear_k))
        assert torch.equal(q, one.query)
        assert torch.equal(k, one.key)
        assert torch.equal(one.value, module.linear_v(given).view(1, LENGTH, 4, 48).transpose(1, 2))
        raw.append((q, k, one.value, one.out))
    held(stack, raw, changed(stack, turned="queries and keys"), near=near)


@pytest.mark.parametrize("name", ["text", "speech"])
def test_clvps_encoders(name, near):
    """The speech encoder's layers do not turn."""
    config = getattr(config_of(VALUES["clvp"]), f"{name}_config")
    model, outs = lively(ClvpEncoder(config)), []
    modules = [layer.self_attn for layer in model.layers]
    states = states_of(modules)
    for module in modules:
        module.out_proj.register_forward_pre_hook(lambda _, given: outs.append(given[0]))
    with torch.no_grad():
        model(TOKENS)
        raw = [
            [
                x.view(1, LENGTH, 4, 64).transpose(1, 2)
                for x in (*(project(given) for project in (m.q_proj, m.k_proj, m.v_proj)), out)
            ]
            for m, given, out in zip(modules, states, outs, strict=True)
        ]
    stack = stack_of("clvp", name)
    wrong = changed(stack, turned="queries and keys") if name == "text" else changed(stack, softmax_scale=0.1)
    held(stack, raw, wrong, near=near)


def test_moshis_depth_decoder_does_not_turn():
    config = config_of(VALUES["moshi"]).depth_decoder_config
    model = model_of(config, file_of("moshi").MoshiDepthDecoder._from_config)
    assert all(layer.self_attn.rotary_emb is None for layer in model.layers)
    stack = stack_of("moshi", "depth")
    assert [layer.scheme for layer in stack.layers] == [None] * 3
    assert {layer.softmax_scale for layer in stack.layers} == {config.head_dim**-0.5}


@pytest.mark.parametrize("model_type", ["moshi", "kyutai_speech_to_text"])
def test_windows_of_a_cache(model_type, near):
    """Their masks look back without end, and their cache keeps a window: one token after another sees what the plan says."""
    values = {"model_type": model_type, **SPEECH[model_type], "sliding_window": 9}
    model, stack = model_of(config_of(values)), checkpoints.read(values).stack("decoder")
    assert {layer.window for layer in stack.layers} == {9}
    tokens = TOKENS if model_type == "moshi" else torch.cat((TOKENS[..., None], TOKENS[..., None].expand(1, LENGTH, 2) % 8), dim=-1)
    cache = DynamicCache(config=model.config)
    with before_rotation(file_of(model_type)) as given:
        steps = [heard_in(model, tokens[:, place : place + 1], cache=cache, use_cache=True) for place in PLACES]
    raw = []
    for layer in range(8):
        q, k = (torch.cat([one[part] for one in given[layer::8]], dim=2) for part in (0, 1))
        v, out = (torch.cat([getattr(step[layer], name)[:, :, -1:] for step in steps], dim=2) for name in ("value", "out"))
        raw.append((q, k, v, out))
    held(stack, raw, changed(stack, window=None), changed(stack, window=10), near=near)


def test_timesfm_counts_patches_that_are_there():
    """Patches of padding in front have positions before 0, and the first real one has 0."""
    config = config_of({"model_type": "timesfm2_5", **SPEECH["timesfm2_5"]})
    model, counted = model_of(config), []
    model.rotary_emb.register_forward_pre_hook(lambda _, given: counted.append(given[1]))
    padding = (torch.arange(LENGTH * 4) < 12).long()[None]
    with torch.no_grad():
        model(drawn(1, LENGTH * 4), past_values_padding=padding)
    assert counted[0].tolist() == [[place - 3 for place in PLACES]]
    ids = checkpoints.read({"model_type": "timesfm2_5", **SPEECH["timesfm2_5"]}).position_ids
    assert ids.counted_from == "mask"
