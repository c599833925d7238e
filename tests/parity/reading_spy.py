"""Tiny models of transformers with an attention function that writes down what it is given, then calls the model file's own."""

import functools
import inspect
import math
import re
import sys
from typing import NamedTuple

import torch
from reading_models import COMPLEX, OWN_ROTARY, PER_TYPE, SINUSOIDS, config_of, file_of, model_from, rotary_of
from reading_multimodal import theirs
from reading_speech import feed, handed_angles, without_norms
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.modeling_utils import AttentionInterface

from ordinate.checkpoints.rotary_types import ROTARY_TYPES

LENGTH = 40
TOKENS = torch.randint(3, 60, (1, LENGTH), generator=torch.Generator().manual_seed(0))


class Heard(NamedTuple):
    """What one attention module gave to its attention function, and what came out of that."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None
    scale: float
    window: int | None
    out: torch.Tensor | None


class Layer(NamedTuple):
    """An attention module, what it was called with inside the model, and what it gave to its attention function."""

    module: torch.nn.Module
    inputs: dict
    heard: Heard


_heard: list[Heard] = []


def _spy(module, query, key, value, attention_mask, scaling, sliding_window=None, **rest):
    eager = sys.modules[type(module).__module__].eager_attention_forward
    scaling = getattr(module, "kept_scale", scaling)
    out, weights = eager(module, query, key, value, attention_mask, scaling=scaling, sliding_window=sliding_window, **rest)
    if type(module).__name__ == "DogeAttention":  # adds to the scores what the values say; what is hidden has the least number
        attention_mask = attention_mask.masked_fill(attention_mask > -1e30, 0.0)
    _heard.append(Heard(query, key, value, attention_mask, scaling, sliding_window, out.transpose(1, 2)))
    return out, weights


AttentionInterface.register("spy", _spy)
AttentionMaskInterface.register("spy", eager_mask)


def listen(module, **inputs):
    """Call an attention module and give what it hands on to its attention function."""
    if type(module).__name__ == "FalconAttention":
        return _listen_to_falcon(module, **inputs)
    if isinstance(getattr(module, "rotary_emb", None), Handed):
        module.rotary_emb.made = inputs.pop("position_embeddings")
    if type(module).__name__ == "GPTNeoXJapaneseAttention":
        return _listen_to_japanese(module, **inputs)
    _heard.clear()
    with torch.no_grad():
        module(**inputs)
    return _heard[0]


class Handed(torch.nn.Module):
    """In place of an attention's own rotary module: hands it what it was given."""

    def __init__(self, own):
        super().__init__()
        self.own, self.made = own, None

    def forward(self, x, position_ids):
        return self.own(x, position_ids) if self.made is None else self.made


def _listen_to_falcon(module, **inputs):
    """Its attention is written out in the module: between its rotation and its last projection."""
    file, turned, outs = file_of("falcon"), [], []
    turn = file.apply_rotary_pos_emb
    file.apply_rotary_pos_emb = lambda *vectors: turned.extend(turn(*vectors)) or turned
    handle = module.dense.register_forward_pre_hook(lambda _, given: outs.append(given[0]))
    try:
        with torch.no_grad():
            module(**inputs)
            value = module._split_heads(module.query_key_value(inputs["hidden_states"]))[2].transpose(1, 2)
    finally:
        file.apply_rotary_pos_emb = turn
        handle.remove()
    out = outs[0].unflatten(-1, (module.num_heads, module.head_dim)).transpose(1, 2)
    return Heard(*turned, value, inputs["attention_mask"], 1.0 / math.sqrt(module.head_dim), None, out)


def _listen_to_japanese(module, **inputs):
    """Its attention is a method of the module, which takes turned queries and keys."""
    heard, attend = [], module._attn

    def spy(query, key, value, mask):
        out, weights = attend(query, key, value, mask)
        heard.append(Heard(query, key, value, mask, 1.0 / module.norm_factor, None, out))
        return out, weights

    module._attn = spy
    try:
        with torch.no_grad():
            module(**inputs)
    finally:
        del module._attn
    return heard[0]


def heard_in(model, *inputs, **named):
    """Run a model whose attention is "spy" and give what its layers handed on, one after another."""
    _heard.clear()
    with torch.no_grad():
        model(*inputs, **named)
    return list(_heard)


def attentions_of(model):
    """Give the attention modules of a model's layers, by number; layers that do not attend have none."""
    if model.config.model_type == "longcat_flash":
        return {2 * layer + part: module for layer, both in enumerate(model.layers) for part, module in enumerate(both.self_attn)}
    if model.config.model_type == "zamba2":  # blocks are shared
        return {
            number: layer.shared_transformer.self_attn
            for number, layer in enumerate(model.layers)
            if hasattr(layer, "shared_transformer")
        }
    if model.config.model_type == "hrm_text":  # by run: the lower stack's cycles, then the upper stack
        stacks = [*[model.L_module] * model.config.L_cycles, model.H_module] * model.config.H_cycles
        return dict(enumerate(layer.self_attn for stack in stacks for layer in stack.layers))
    return {
        int(re.search(r"\d+", name)[0]): module
        for name, module in model.named_modules()
        if not isinstance(module, torch.nn.ModuleList)
        and name.split(".")[-1] in ("self_attn", "attn", "attention", "self_attention", "temporal_block")
        and "vision_model" not in name
        and not re.search("Lightning|Delta|RecurrentBlock|Multimodal(Vision|Audio)|MultiheadAttention", type(module).__name__)
    }


def lively(model):
    """Draw weights large enough that attention is far from uniform; norms stay near 1."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            drawn = torch.randn(weight.shape, generator=generator)
            kept = torch.where(weight.abs() < 10, weight, 1.0)  # a module alone leaves some of its weights as memory was
            weight.copy_(drawn * 1.5 * weight.shape[-1] ** -0.5 if weight.ndim > 1 else kept + 0.1 * drawn)
    return model.eval()


def run(values, tokens=TOKENS):
    """Run a tiny model; give its configuration and its layers, None for those that do not attend."""
    config = config_of(values)
    eager = "eager" if config.model_type == "falcon" else "spy"
    model = lively(model_from(config, eager))
    if ROTARY_TYPES[config.model_type].normed_after:  # so that what is handed on is what was turned
        for module in attentions_of(model).values():
            without_norms(module)
    modules, inputs = attentions_of(model), {}
    for module in set(modules.values()):
        bare(module, config.model_type)
        if config.model_type not in OWN_ROTARY:
            handed_angles(module)
    handles = [module.register_forward_pre_hook(functools.partial(_keep, inputs), with_kwargs=True) for module in modules.values()]
    given, named = feed(config, tokens)
    with torch.no_grad():
        unlike = ROTARY_TYPES[config.model_type].causal and not named
        model(*given, **({"use_cache": False} if unlike else named), **beside(config))
    for handle in handles:
        handle.remove()
    layers = {
        number: Layer(module, inputs[module], listen(module, **inputs[module]))
        for number, module in modules.items()
        if module in inputs
    }
    return config, [layers.get(number) for number in range(config.num_hidden_layers)]


def bare(module, model_type):
    """Take away what a module does to queries and keys after they turn, and let its rotary module be given the angles."""
    if model_type in OWN_ROTARY:
        module.rotary_emb = Handed(module.rotary_emb)
    if model_type == "dory":  # scales of the queries by channel
        torch.nn.init.ones_(module.sqk)
        module.sqk_scale = 8.0  # squared, so that attention is far from uniform
        torch.nn.init.normal_(module.v_proj.weight)
    if model_type == "openai_privacy_filter":  # the softmax scale in two parts
        module.kept_scale, module.scaling = module.scaling**2, 1.0


def beside(config):
    """Give what a model needs beside tokens."""
    if config.model_type != "idefics":
        return {}
    return {"image_encoder_embeddings": torch.ones(1, 1, 2, 8), "image_attention_mask": torch.ones(1, LENGTH, 1)}


def _keep(inputs, module, positional, named):
    named = {**dict(zip(inspect.signature(module.forward).parameters, positional, strict=False)), **named}
    if isinstance(getattr(module, "rotary_emb", None), Handed):
        named["position_embeddings"] = module.rotary_emb.own(named["hidden_states"], named["position_ids"])
    inputs[module] = {key: value for key, value in named.items() if key not in ("cache", "past_key_values", "layer_past")}


def angles(config, positions, label, dtype):
    """Give what a model hands to its attention modules for these positions."""
    x = torch.zeros(1, dtype=dtype)
    return rotary_of(config)(x, theirs(positions), *((label,) if config.model_type in PER_TYPE else ()))


def stillness(made, model_type):
    """Give the same for angles of 0: the attention module then leaves its vectors as they are."""
    if made is None:  # a layer that does not turn may be given nothing
        return None
    if model_type in COMPLEX:
        return torch.ones_like(made)
    first, second = made
    return (
        (torch.zeros_like(first), torch.ones_like(second))
        if model_type in SINUSOIDS
        else (torch.ones_like(first), torch.zeros_like(second))
    )
