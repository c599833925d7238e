"""A model type's own rotary module and the function that applies it, called by themselves, beside what ``read`` makes of the type."""

import inspect

import torch
from reading_models import PER_TYPE, SINUSOIDS
from reading_multimodal import AXES, theirs

ULP = 2.0**-23
LENGTH = 12
PLACES = torch.tensor([*range(LENGTH - 3), 1000, 40000, 1000003])
IN_TABLE = torch.tensor([*range(LENGTH - 1), 1000])


def coordinates(model_type):
    """Positions [T], or [T, A] that differ on every axis."""
    places = IN_TABLE if model_type in SINUSOIDS else PLACES
    if model_type not in AXES:
        return places
    return torch.stack([places // (axis + 1) for axis in range(AXES[model_type])], dim=-1)


def vectors(heads, width, dtype, seed):
    return torch.randn(1, heads, LENGTH, width, generator=torch.Generator().manual_seed(seed)).to(dtype)


def made_by(module, model_type, label, dtype):
    """cos and sin as the module makes them for activations of a dtype."""
    asked = [torch.zeros(1, dtype=dtype), theirs(coordinates(model_type))]
    if model_type in PER_TYPE:
        asked.append(label)
    return module(*asked)


def applied(function, q, k, made):
    """Call the function as its attention does."""
    names = list(inspect.signature(function).parameters)
    if names[0] in ("tensor", "x"):  # one at a time
        order = (
            2
            if q.ndim == 4 and "unsqueeze_dim" in names and inspect.signature(function).parameters["unsqueeze_dim"].default == 2
            else 1
        )
        turned = []
        for x in (q, k):
            x = x.transpose(1, 2) if order == 2 or names[0] == "tensor" else x
            out = function(x, *made)
            turned.append(out.transpose(1, 2) if order == 2 or names[0] == "tensor" else out)
        return tuple(turned)
    if not isinstance(made, tuple) and "freqs_cis" in names:
        turned = function(q.transpose(1, 2), k.transpose(1, 2), made)
        return tuple(x.transpose(1, 2) for x in turned)
    return function(q, k, *made) if isinstance(made, tuple) else function(q, k, made)
