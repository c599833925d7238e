"""Where models of speech in transformers 5.24 depart from their configurations or from themselves, and what ``read`` does."""

import copy
import warnings

import pytest
import torch
from reading_models import config_of
from reading_speech import SPEECH
from reading_spy import heard_in, lively
from reading_stacked import FIXED_VALUES, LENGTH, STACKED_VALUES
from transformers import AutoModel
from transformers.models.clvp.modeling_clvp import ClvpRotaryPositionalEmbedding
from transformers.models.moonshine.modeling_moonshine import MoonshineModel
from transformers.models.moonshine_streaming.modeling_moonshine_streaming import MoonshineStreamingEncoder
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertRotaryPositionalEmbedding

from ordinate import checkpoints

VALUES = {name: {"model_type": name, **values} for name, values in {**STACKED_VALUES, **FIXED_VALUES}.items()}
TOKENS = torch.randint(3, 60, (1, LENGTH), generator=torch.Generator().manual_seed(0))


def read(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return checkpoints.read(copy.deepcopy(values))


def test_moonshines_decoder_takes_the_encoders_heads_and_others_are_refused():
    """Building the encoder writes its number of heads over the decoder's, under another name of that key."""
    values = {**VALUES["moonshine"], "encoder_num_attention_heads": 8}
    model = MoonshineModel(config_of(values))
    assert config_of(values).decoder_num_attention_heads == 4
    assert model.config.decoder_num_attention_heads == 8
    assert {layer.self_attn.head_dim for layer in model.decoder.layers} == {160 // 8}
    with pytest.raises(ValueError, match="encoder_num_attention_heads: cannot be honoured: needed as many as"):
        read(values)


@pytest.mark.parametrize("model_type", ["moshi", "kyutai_speech_to_text"])
def test_windows_are_a_caches_alone_and_ours_are_everyones(model_type):
    """In one pass without a cache the model sees all the past; token by token it has the window that the configuration declares."""
    values = {"model_type": model_type, **SPEECH[model_type], "sliding_window": 9}
    model = lively(AutoModel.from_config(config_of(values), attn_implementation="spy"))
    tokens = TOKENS if model_type == "moshi" else torch.cat((TOKENS[..., None], TOKENS[..., None].expand(1, LENGTH, 2) % 8), dim=-1)
    heard = heard_in(model, tokens, use_cache=False)
    assert torch.equal(heard[0].mask[0, 0] == 0, torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril())
    assert {layer.window for layer in read(values).stack("decoder").layers} == {9}


@pytest.mark.parametrize("masked", [False, True])
def test_moonshine_streaming_drops_its_windows_without_a_mask_and_ours_does_not(masked):
    config = config_of(VALUES["moonshine_streaming"]).encoder_config
    model = lively(MoonshineStreamingEncoder._from_config(config, attn_implementation="spy"))
    states, mask = torch.randn(1, LENGTH, 128), torch.ones(1, LENGTH, dtype=torch.int64) if masked else None
    model.embedder.forward = lambda *_, **__: (states, mask)
    heard = heard_in(model, states)
    assert all((one.mask is None) is not masked for one in heard)
    layers = read(VALUES["moonshine_streaming"]).stack("encoder").layers
    assert [(layer.window, layer.window_ahead) for layer in layers] == [(16, 4), (16, 1), (9, 9), (5, 1)] * 2


def test_glmasr_drops_the_base_beside_a_dictionary_and_ours_reads_it():
    """Its default text configuration has a dictionary, which then counts."""
    values = {**VALUES["glmasr"], "text_config": {**SPEECH["lasr_encoder"], "model_type": "llama", "rope_theta": 777.5}}
    assert config_of(values).text_config.rope_parameters["rope_theta"] == 10000.0
    assert read(values).stack("decoder").layers[0].scheme.base == 777.5


BESIDE = [("nemotron3_5_transcribe_asr_audio", None), ("moonshine_streaming", "decoder")]


@pytest.mark.parametrize(("model_type", "stack"), BESIDE)
@pytest.mark.parametrize(("key", "value"), [("rope_theta", 777.5), ("partial_rotary_factor", 0.25)])
def test_a_key_beside_an_absent_dictionary_is_dropped_and_refused(model_type, stack, key, value):
    values = {"model_type": model_type, **(SPEECH.get(model_type) or STACKED_VALUES[model_type])}
    values.pop("rope_parameters", None)
    assert config_of({**values, key: value}).rope_parameters[key] != value
    with pytest.raises(ValueError, match=f"rope_parameters.{key} = .* and {key} = {value} disagree"):
        read({**values, key: value})
    assert read(values).stack(stack).layers[0].scheme.base == 10000.0


@pytest.mark.parametrize("model_type", ["wav2vec2-bert", "clvp_encoder"])
def test_frequencies_in_bfloat16_are_wrong_and_ours_have_no_dtype(model_type):
    config = config_of(VALUES[model_type])
    kind = Wav2Vec2BertRotaryPositionalEmbedding if model_type == "wav2vec2-bert" else ClvpRotaryPositionalEmbedding
    module, scheme = kind(config).to(torch.bfloat16), read(VALUES[model_type]).build().layers[0]
    at = scheme.at(range(600))
    made = module(torch.zeros(1, 600, config.hidden_size, dtype=torch.bfloat16)).double()
    sin = made[0].sin() if model_type == "clvp_encoder" else made[1][:, 0, 0]
    places = torch.arange(600, dtype=torch.float64)[:, None]
    base, width = (4321.0, 48) if model_type == "wav2vec2-bert" else (10000.0, 48)
    expected = (places * torch.tensor([base ** (-2 * pair / width) for pair in range(24)], dtype=torch.float64)).sin()
    assert (at.sin.double() - expected).abs().max() < 1e-4
    assert (sin[:, :24] - expected).abs().max() > 0.5
