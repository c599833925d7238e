"""Small encoders of transformers: what goes through their rotary module, the function that turns and the attention function."""

import functools
from dataclasses import dataclass, field

import torch
from encoders_of_images import ENCODERS_OF_IMAGES
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.modeling_utils import AttentionInterface


@dataclass
class Heard:
    """What a run showed.

    Attributes:
        made: arguments of the rotary module and what it made of them, one a call.
        turned: arguments of the function that turns and what it made of them, one a call.
        attended: queries, keys, values, scale and output of the attention function, one a call.
        windows: order of blocks of patches and limits of windows, where an encoder has windows.
        model: the encoder.
    """

    made: list = field(default_factory=list)
    turned: list = field(default_factory=list)
    attended: list = field(default_factory=list)
    windows: tuple | None = None
    model: torch.nn.Module | None = None


_now = Heard()


def _spy(_module, query, key, value, attention_mask, scaling=None, **_):
    grouped = query.shape[1] != key.shape[1]
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attention_mask, scale=scaling, enable_gqa=grouped)
    _now.attended.append((query, key, value, scaling, out))
    return out.transpose(1, 2).contiguous(), None


AttentionInterface.register("encoder_spy", _spy)
AttentionMaskInterface.register("encoder_spy", eager_mask)


def _kept(kept, function):
    @functools.wraps(function)
    def call(*inputs, **named):
        out = function(*inputs, **named)
        kept.append((inputs, named, out))
        return out

    return call


def rotary_of(case, config):
    return getattr(case.file, case.rotary)(config).eval()


def lively(model):
    """Weights that are far from 0."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * (weight.shape[-1] ** -0.5 if weight.ndim > 1 else 1.0))
    return model.eval()


def as_loaded(model, dtype):
    """Cast what a checkpoint holds; tables that the code makes stay as they are made."""
    for module in model.modules():
        held = [*module._parameters, *(set(module._buffers) - module._non_persistent_buffers_set)]
        for name in held:
            value = getattr(module, name)
            if value is not None and value.is_floating_point():
                value.data = value.data.to(dtype)


@functools.cache
def heard(model_type, dtype):
    """Run a case's encoder once."""
    global _now
    case = ENCODERS_OF_IMAGES[model_type]
    config, file, seen = case.config_with(), case.file, Heard()
    asked = file.requires_backends if case.unchecked else None
    if asked is not None:
        file.requires_backends = lambda *_: None
    config._attn_implementation, made = "encoder_spy", getattr(file, case.model)
    model = lively(made._from_config(config, attn_implementation="encoder_spy") if hasattr(made, "_from_config") else made(config))
    as_loaded(model, dtype)
    for module in model.modules():
        if type(module).__name__ == case.rotary:
            module.forward = _kept(seen.made, module.forward)
    turns = {name: getattr(file, name) for name in case.applied}
    window, windows = getattr(file, "get_vision_window_index", None), []
    for name, function in turns.items():
        setattr(file, name, _kept(seen.turned, function))
    if window is not None:
        file.get_vision_window_index = _kept(windows, window)
    _now = seen
    try:
        with torch.no_grad():
            case.run(model, case.images, dtype)
    finally:
        for name, function in turns.items():
            setattr(file, name, function)
        if window is not None:
            file.get_vision_window_index = window
    seen.windows, seen.model = windows[0][2] if windows else None, model
    return seen
