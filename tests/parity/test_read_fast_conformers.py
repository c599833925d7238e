"""Parakeet's encoder and Nemotron's streaming one, as ``read`` plans them, whole layers with their own weights; nothing turns."""

import dataclasses
import functools
import importlib
import inspect
import warnings

import pytest
import torch
from reading_models import config_of, plan_of
from reading_spy import lively
from transformers import AutoModel

from ordinate.checkpoints import read

BOUND = 1e-5  # two float32 softmax attentions with outputs of size 1 to 10, theirs at float32 angles
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32, "num_mel_bins": 16}
SIZES |= {"subsampling_conv_channels": 8, "conv_kernel_size": 3}
CASES = {
    "parakeet": {"model_type": "parakeet_encoder", **SIZES},
    "parakeet, not scaled": {"model_type": "parakeet_encoder", **SIZES, "scale_input": False},
    "nemotron_asr_streaming": {"model_type": "nemotron_asr_streaming_encoder", **SIZES},
    "chunks of 4": {
        "model_type": "nemotron_asr_streaming_encoder",
        **SIZES,
        "sliding_window": 11,
        "default_num_lookahead_tokens": 3,
    },
    "no look-ahead": {
        "model_type": "nemotron_asr_streaming_encoder",
        **SIZES,
        "sliding_window": 6,
        "default_num_lookahead_tokens": 0,
    },
    "own chunk alone": {
        "model_type": "nemotron_asr_streaming_encoder",
        **SIZES,
        "sliding_window": 5,
        "default_num_lookahead_tokens": 5,
    },
}
SEEN = {"parakeet": (None, 0), "nemotron_asr_streaming": (14, 5), "chunks of 4": (4, 2), "no look-ahead": (1, 5)}
SEEN |= {"own chunk alone": (6, 0)}
FEATURES = torch.randn(2, 800, 16, generator=torch.Generator().manual_seed(0))
WHOLES = {
    "parakeet_ctc": "parakeet",
    "parakeet_rnnt": "parakeet",
    "parakeet_tdt": "parakeet",
    "nemotron_asr_streaming": "chunks of 4",
}


@functools.cache
def model_of(case):
    return lively(AutoModel.from_config(config_of(CASES[case]), attn_implementation="sdpa"))


def seen_by(model, layer):
    """What goes into a layer's attention, and what comes out."""
    seen = {}
    handle = layer.register_forward_hook(functools.partial(kept, seen), with_kwargs=True)
    with torch.no_grad():
        model(FEATURES)
    handle.remove()
    return seen


def kept(seen, _module, _positional, named, out):
    seen |= {"x": named["hidden_states"], "out": out[0]}


def weights_of(layer):
    weights = {"content_bias": layer.bias_u, "position_bias": layer.bias_v, "projection": layer.relative_k_proj.weight}
    return {name: weight.detach() for name, weight in weights.items()}


def attended(built, index, layer, seen):
    q, k, v = (projection(seen).unflatten(-1, (4, 8)).transpose(1, 2) for projection in (layer.q_proj, layer.k_proj, layer.v_proj))
    places = range(seen.shape[1])
    return layer.o_proj(built.attend(index, q, k, v, q_positions=places, k_positions=places).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("case", CASES)
def test_layers(case, near):
    model, plan = model_of(case), plan_of(CASES[case])
    built = plan.build()
    for index, layer in enumerate(block.self_attn for block in model.layers):
        seen = seen_by(model, layer)
        assert seen["x"].shape[1] in (100, 101)  # more than six chunks of 14
        built.layers[index].load_state_dict(weights_of(layer), strict=True)
        assert plan.layers[index].softmax_scale == layer.scaling
        with torch.no_grad():
            near(f"{case}, layer {index}", attended(built, index, layer, seen["x"]), seen["out"], BOUND)
            for name, weight in weights_of(layer).items():
                built.layers[index].load_state_dict({**weights_of(layer), name: weight.flip(0)}, strict=True)
                assert (attended(built, index, layer, seen["x"]) - seen["out"]).abs().max() > 0.01
            built.layers[index].load_state_dict(weights_of(layer), strict=True)
    assert len(built.schemes) == 2


@pytest.mark.parametrize("case", SEEN)
def test_chunks(case):
    """A chunk more or fewer, or of another size, shows."""
    stack = plan_of(CASES[case]).stack()
    assert {(layer.chunk, layer.chunks_back, layer.chunks_ahead) for layer in stack.layers} == {(*SEEN[case], 0)}
    model, (chunk, back) = model_of(case), SEEN[case]
    layer = model.layers[0].self_attn
    seen = seen_by(model, layer)
    wrongs = [{"chunk": 7}, {"chunk": 7, "chunks_back": 1}]
    if chunk is not None and chunk * (back + 1) < 100:
        wrongs += [{"chunks_back": back + 1}, {"chunk": chunk + 1}, {"chunks_ahead": 1}]
    for wrong in wrongs:
        other = dataclasses.replace(stack, layers=(dataclasses.replace(stack.layers[0], **wrong),)).build()
        other.layers[0].load_state_dict(weights_of(layer), strict=True)
        with torch.no_grad():
            assert (attended(other, 0, layer, seen["x"]) - seen["out"]).abs().max() > 0.01


@pytest.mark.parametrize("directory", ["parakeet", "nemotron_asr_streaming"])
def test_functions_that_nothing_calls(directory, monkeypatch):
    """What would turn queries and keys is defined, and never called."""
    file = importlib.import_module(f"transformers.models.{directory}.modeling_{directory}")
    assert inspect.getsource(file).count("apply_rotary_pos_emb(") == 1
    for name in ("apply_rotary_pos_emb", "rotate_half"):
        monkeypatch.setattr(file, name, lambda *_, **__: pytest.fail("a rotary function was called"))
    model = model_of(directory)
    seen_by(model, model.layers[0].self_attn)


@pytest.mark.parametrize("model_type", WHOLES)
def test_recognisers_have_the_encoder_inside(model_type):
    inner = CASES[WHOLES[model_type]]
    values = {"model_type": model_type, "encoder_config": inner}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert plan_of(values).stacks == plan_of(inner).stacks == read(config_of(values)).stacks
        assert read(config_of({"model_type": model_type})).stacks == read({"model_type": model_type}).stacks


@pytest.mark.parametrize("model_type", ["parakeet_encoder", "nemotron_asr_streaming_encoder"])
def test_defaults_and_faults(model_type):
    sizes = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 8}
    assert read(config_of({"model_type": model_type})).stacks == read({"model_type": model_type, **sizes}).stacks
    with pytest.raises(ValueError, match="hidden_size: needed an even width for sinusoids, got 33"):
        read({"model_type": model_type, **SIZES, "hidden_size": 33})
    with pytest.raises(ValueError, match="encoder_config: needed a dictionary or null, got 3"):
        read({"model_type": "parakeet_ctc", "encoder_config": 3})
