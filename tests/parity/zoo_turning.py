"""A model type's own rotary module and the function that applies it, called by themselves, beside what ``read`` makes of it."""

import inspect

import torch
from reading_models import COMPLEX, IN_HALVES, MODELS, PER_TYPE, SINUSOIDS, config_of, file_of, plan_of, rotary_of
from reading_multimodal import AXES, ours, theirs

ULP = 2.0**-23
LENGTH = 12
PLACES = torch.tensor([*range(LENGTH - 3), 1000, 40000, 1000003])
IN_TABLE = torch.tensor([*range(LENGTH - 1), 1000])
BY_TOKEN = ("llama4_text", *SINUSOIDS)  # vectors [B, T, H, D]
IN_FLOAT32 = ("codegen",)  # whose attention hands float32 on


def coordinates(model_type):
    """Positions [T], or [T, A] that differ on every axis."""
    places = IN_TABLE if model_type in SINUSOIDS else PLACES
    if model_type not in AXES:
        return places
    return torch.stack([places // (axis + 1) for axis in range(AXES[model_type])], dim=-1)


def vectors(heads, width, dtype, seed):
    return torch.randn(1, heads, LENGTH, width, generator=torch.Generator().manual_seed(seed)).to(dtype)


def function_of(model_type):
    """The function that turns queries and keys of this type."""
    file = file_of(model_type)
    if model_type in IN_HALVES:
        return file.apply_rotary_pos_emb_interleave
    return file.apply_rotary_emb if model_type in COMPLEX else file.apply_rotary_pos_emb


def applied(model_type, q, k, made):
    """Call it as its attention does."""
    function = function_of(model_type)
    parameters = inspect.signature(function).parameters
    first, by_token = next(iter(parameters)), model_type in BY_TOKEN
    if first in ("x", "tensor"):  # one at a time
        by_token |= "unsqueeze_dim" in parameters and parameters["unsqueeze_dim"].default == 2
        return tuple(_swapped(function(_swapped(x, by_token), *made), by_token) for x in (q, k))
    if model_type in COMPLEX:
        return tuple(_swapped(x, by_token) for x in function(_swapped(q, by_token), _swapped(k, by_token), made))
    return tuple(function(q, k, *made))


def _swapped(x, by_token):
    return x.transpose(1, 2) if by_token else x


def interleaved(x):
    """DeepSeek-V3's order after a rotation, all first entries and then all second ones, undone."""
    return torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)


def turned_both(model_type, dtype):
    """Give (theirs, ours) of queries and keys, for the first layer of each sort that turns."""
    values = {"model_type": model_type, **MODELS[model_type]}
    config, stack = config_of(values), plan_of(values).stack()
    module, places = rotary_of(config), coordinates(model_type)
    built = stack.build()
    sorts = {(layer.kind, layer.scheme): index for index, layer in enumerate(stack.layers) if layer.scheme is not None}
    for (label, _), index in sorts.items():
        scheme, work = built.layers[index], torch.float32 if model_type in IN_FLOAT32 else dtype
        asked = (torch.zeros(1, dtype=dtype), theirs(places), *((label,) if model_type in PER_TYPE else ()))
        made = module(*asked)
        q, k = (vectors(heads, scheme.head_dim, dtype, heads) for heads in (4, 2))
        turning = slice(scheme.rotary_start, scheme.rotary_start + scheme.rotary_dim)
        found = [scheme.queries(q, ours(places)), scheme.keys(k, ours(places))]
        try:
            wanted = applied(model_type, q.to(work), k.to(work), made)
        except RuntimeError:  # functions that are given the entries that turn alone
            wanted = applied(model_type, q[..., turning], k[..., turning], made)
            found = [x[..., turning] for x in found]
        if model_type in IN_HALVES:
            wanted = [interleaved(x) for x in wanted]
        yield from zip((x.to(dtype) for x in wanted), found, strict=True)
