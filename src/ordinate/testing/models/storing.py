"""The state dict holds what was learned, and nothing that follows from the configuration."""

from __future__ import annotations

import re

import torch

from ordinate.checkpoints.stored import split_derived
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.subject import Subject

PROPERTY = "state dict holds weights alone"
KIND = "derived-keys-in-checkpoint"
# Last part of a buffer's name: a buffer is never learned, so what is called so follows from the configuration.
DERIVED = re.compile(
    r"(.*inv_freqs?|freqs?(_cis|_cos|_sin)?|(cos|sin)(_?(cached?|table|sin|cos))*|cos_sin_cache|theta|angles|rope(_\w+)?|"
    r"pe|pos(ition)?s?(_?(ids?|emb\w*|enc\w*|table|bias|index))?|positional_\w+|alibi\w*|slopes|sinusoid\w*|"
    r"rel(ative)?_pos\w*|buckets?|tril|triu|causal_mask)"
)


def no_derived_keys(subject: Subject) -> Finding:
    """Look through the state dict.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.module is None:
        return not_asked(PROPERTY, "a function has no state dict")
    state, buffers = subject.module.state_dict(), dict(subject.module.named_buffers())
    stored = [name for name in state if name in buffers]
    known = set(split_derived({name: state[name] for name in stored}).derived)
    found = [name for name in stored if name in known or DERIVED.fullmatch(name.split(".")[-1])]
    if not found:
        return holds(PROPERTY, f"{len(state)} entries, {len(stored)} of them buffers")
    first = state[found[0]]
    return broken(
        PROPERTY,
        KIND,
        f"{', '.join(found[:4])}{', ...' if len(found) > 4 else ''} {'is' if len(found) == 1 else 'are'} stored with the weights",
        smallest=f"model.state_dict()[{found[0]!r}]",
        expected="no such key: it follows from the configuration, and a file without it does not load strictly",
        actual=f"{str(first.dtype).removeprefix('torch.')} {list(first.shape)}, {_few(first)}",
        remedy="register_buffer(..., persistent=False), and ordinate.checkpoints.split_derived for files that have the key",
    )


def _few(tensor: torch.Tensor) -> str:
    numbers = ", ".join(f"{number:.5g}" for number in tensor.detach().flatten()[:4].tolist() if not isinstance(number, complex))
    return f"[{numbers}{', ...' if tensor.numel() > 4 else ''}]"
