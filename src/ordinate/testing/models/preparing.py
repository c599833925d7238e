"""A model made ready to be checked: how it takes masks and positions, found by trial, and what its configuration declares."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.models.forms import BLOCK_FORMS, MASK_FORMS, POSITION_FORMS
from ordinate.testing.models.names import names_of
from ordinate.testing.models.subject import LONGEST, Cached, Subject, same

LENGTH_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len")
RULES = {"dynamic": "dynamic-ntk", "longrope": "longrope-switch"}
FIRSTS = (0, 1, 2)  # 1 + the padding token's id, in fairseq's line
LEAST = 4


def prepared(
    model: Callable[..., Any],
    *,
    vocabulary: int | None = None,
    maximum: int | None = None,
    make: Callable[[], nn.Module] | None = None,
    cached: Cached | None = None,
    ids: torch.Tensor | None = None,
) -> Subject:
    """Make a model ready.

    Args:
        model: ids [B, T] to logits [B, T, V].
        vocabulary: ids are smaller; the width of the logits by default.
        maximum: longest sequence; what a configuration declares by default.
        make: makes another model of the same settings.
        cached: asks it with a cache.
        ids: [B, T] to use.

    Returns:
        What checks take.

    Raises:
        ValueError: if an argument is wrong, or the model does not run.

    Example:
        >>> prepared(nn.Embedding(9, 9)).vocabulary
        9
    """
    _check(model, vocabulary, maximum, make, cached, ids)
    config = getattr(model, "config", None)
    if getattr(config, "is_encoder_decoder", False):
        raise ValueError(
            "model: needed ids [B, T] to logits [B, T, vocabulary], got an encoder with a decoder; give a function that calls the "
            "decoder with fixed states of the encoder"
        )
    text_of = getattr(config, "get_text_config", None)
    text = text_of() if callable(text_of) else config
    rule, trained = _rule(text)
    subject = Subject(
        model=_ready(model),
        names=names_of(model),
        vocabulary=vocabulary or 2,
        maximum=maximum if maximum is not None else _declared(text),
        trained=trained,
        rule=rule,
        make=make,
        cached=cached,
        given=None if ids is None else ids.long(),
    )
    short = torch.zeros(1, 2, dtype=torch.long) if ids is None else subject.rows(1, 2)
    logits = attempt(lambda: subject.fresh().logits(short.to(subject.rows(1, 1).device)))
    if isinstance(logits, Failed):
        raise ValueError(f"check_model: needed a model that maps ids [1, 2] to logits [1, 2, vocabulary], got {logits}")
    subject = dataclasses.replace(subject, vocabulary=vocabulary or logits.shape[-1])
    return _with_forms(_with_limit(subject))


def as_dtype(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Cast a module as its caller would; one that refuses, as transformers does once it has read a GGUF, as PyTorch does.

    Args:
        module: any.
        dtype: of its floating weights and buffers.

    Returns:
        The same module.

    Example:
        >>> as_dtype(nn.Linear(1, 1), torch.bfloat16).weight.dtype
        torch.bfloat16
    """
    if isinstance(attempt(lambda: module.to(dtype)), Failed):
        nn.Module.to(module, dtype)
    return module


def _check(
    model: object, vocabulary: int | None, maximum: int | None, make: object, cached: object, ids: torch.Tensor | None
) -> None:
    faults = [
        f"{name}: needed {needed}, got {value!r:.60}"
        for name, needed, value, right in (
            ("model", "a module or another callable", model, callable(model)),
            ("vocabulary", "a whole number, 2 at least, or None", vocabulary, vocabulary is None or _whole(vocabulary, 2)),
            ("maximum", f"a whole number, {LEAST} at least, or None", maximum, maximum is None or _whole(maximum, LEAST)),
            ("make", "a callable or None", make, make is None or callable(make)),
            ("cached", "a callable or None", cached, cached is None or callable(cached)),
            ("ids", "whole numbers [B, T], or None", ids, ids is None or _ids(ids)),
        )
        if not right
    ]
    if faults:
        raise ValueError(f"check_model: {'; '.join(faults)}")


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _ids(value: object) -> bool:
    right = isinstance(value, torch.Tensor) and value.ndim == 2 and value.numel() > 0
    return right and not value.is_floating_point() and value.dtype != torch.bool  # type: ignore[attr-defined]


def _ready(model: Callable[..., Any]) -> Callable[..., Any]:
    """A copy in evaluation mode and float32, so that the caller's model stays as it is; the model itself if it is no module."""
    if not isinstance(model, nn.Module):
        return model
    ready = attempt(lambda: copy.deepcopy(model).eval())
    if isinstance(ready, Failed):
        raise ValueError(f"check_model: needed a module that copy.deepcopy copies, got {ready}; give a function that calls it")
    narrow = any(parameter.dtype in (torch.bfloat16, torch.float16) for parameter in ready.parameters())
    return as_dtype(ready, torch.float32) if narrow else ready


def _declared(config: Any) -> int | None:
    lengths = (getattr(config, key, None) for key in LENGTH_KEYS)
    return next((length for length in lengths if _whole(length, LEAST)), None)


def _rule(config: Any) -> tuple[str | None, int | None]:
    """The kind of the length-dependent rule that a configuration declares, for all layers or for some, and its trained length."""
    declared = getattr(config, "rope_parameters", None) or {}
    blocks = [declared, *(block for block in declared.values() if isinstance(block, dict))]
    block = next((block for block in blocks if block.get("rope_type") in RULES), None)
    if block is None:
        return None, None
    original = block.get("original_max_position_embeddings", getattr(config, "original_max_position_embeddings", None))
    return RULES[block["rope_type"]], original if _whole(original, LEAST) else None


def _with_limit(subject: Subject) -> Subject:
    """Find the longest call: a model that declares no length may have a table all the same."""

    def runs(length: int) -> bool:
        return not isinstance(attempt(lambda: subject.fresh().logits(subject.rows(1, length))), Failed)

    most = min(subject.maximum or LONGEST, LONGEST)
    if runs(most):
        return dataclasses.replace(subject, limit=most)
    low, high = 2, most  # runs, and does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if runs(middle) else (low, middle)
    return dataclasses.replace(subject, limit=low, maximum=subject.maximum or low)


def _with_forms(subject: Subject) -> Subject:
    """Find by trial how the model takes positions and masks: the form that changes nothing where nothing is to change."""
    ids = subject.rows(2, subject.length)
    plain = subject.fresh().logits(ids)
    if subject.names.positions is not None:
        firsts = (0,) if subject.names.needs_positions else FIRSTS
        forms = [{"positions": name, "first": first} for first in firsts for name in POSITION_FORMS]
        subject = _fitting(subject, forms, ids, plain, positions=subject.at(ids))
        if subject.first and subject.maximum is not None:  # rows before position 0 are declared, too
            subject = dataclasses.replace(subject, maximum=subject.maximum - subject.first)
    if subject.names.mask is not None:
        real = torch.ones_like(ids, dtype=torch.bool)
        below = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).tril().expand(len(ids), -1, -1)
        subject = _fitting(subject, [{"mask": name} for name in MASK_FORMS], ids, plain, real=real)
        subject = _fitting(subject, [{"block": name} for name in BLOCK_FORMS], ids, plain, visible=below)
    return subject


def _fitting(
    subject: Subject, forms: list[dict[str, Any]], ids: torch.Tensor, plain: torch.Tensor, **asked: torch.Tensor
) -> Subject:
    for form in forms:
        candidate = dataclasses.replace(subject, **form)
        logits = attempt(lambda candidate=candidate: candidate.fresh().logits(ids, **asked))  # type: ignore[misc]
        if not isinstance(logits, Failed) and same(logits, plain):
            return candidate
    return subject
