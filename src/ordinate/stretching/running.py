"""A loaded model under a rule: what every test runs on, one chunk of tokens after the other."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from ordinate.attaching import attach
from ordinate.attaching.lengths import CACHE_NAMES
from ordinate.checkpoints.tables import resize_table
from ordinate.phases import Phases
from ordinate.stretching.rules import NATIVE, setting_of
from ordinate.stretching.subject import Subject


@contextlib.contextmanager
def under(model: Any, subject: Subject, rule: str, length: int, phases: Phases = "float32") -> Iterator[Any]:
    """Put a rule into a model, and take it out again.

    Args:
        model: loaded.
        subject: its checkpoint.
        rule: as the command takes it.
        length: that the rule is made for.
        phases: how angles are made.

    Yields:
        The model.
    """
    if subject.kind == "rotary":
        by_length = subject.native_rule is not None and subject.native_rule.needs_length
        if rule == NATIVE and phases == "float32" and not by_length:
            yield model  # its own code, untouched; but where that remembers earlier lengths, figures would depend on them
            return
        with attach(model, phases=phases, scaling=setting_of(rule, subject, length).rule):
            yield model
        return
    if rule == NATIVE:
        yield model
        return
    with _resized(model, subject, length, method=rule.removeprefix("resize-")):
        yield model


def new_cache(model: Any) -> Any:
    """Make an empty cache of keys and values.

    Args:
        model: of transformers.

    Returns:
        A cache that keeps every token.
    """
    from transformers import DynamicCache, EncoderDecoderCache

    if model.config.is_encoder_decoder:
        return EncoderDecoderCache(DynamicCache(), DynamicCache())
    return DynamicCache(config=model.config)


@torch.inference_mode()
def fed(model: Any, tokens: torch.Tensor, cache: Any, *, keep: int = 0) -> torch.Tensor:
    """Give tokens to the model, after those in the cache.

    Args:
        model: of transformers.
        tokens: ids.
        cache: grows by them.
        keep: how many of the last tokens' logits are wanted; 0: all.

    Returns:
        Logits, float32.

    Shape:
        [T] -> [T or keep, vocabulary]
    """
    named: dict[str, Any] = {cache_name(type(model)): cache, **_last_alone(type(model), keep)}
    logits: torch.Tensor = model(input_ids=tokens[None].to(model.device), use_cache=True, **named).logits[:, -keep:]
    return logits[0].float()


def losses_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Give each token's loss, in nats.

    Args:
        logits: of the model.
        targets: the tokens that follow.

    Returns:
        -log softmax(logits)[target].

    Shape:
        [T, vocabulary] and [T] -> [T]

    Example:
        >>> losses_of(torch.zeros(1, 4), torch.tensor([2]))
        tensor([1.3863])
    """
    return F.cross_entropy(logits, targets.to(logits.device), reduction="none").cpu()


def keeps_all(cache: Any) -> bool:
    """Whether every layer keeps all tokens, so that the last ones can be forgotten again.

    Args:
        cache: of transformers, filled.

    Returns:
        False where a layer has a window, or keeps something else.
    """
    return all(getattr(layer, "keys", None) is not None and not getattr(layer, "is_sliding", False) for layer in cache.layers)


def cut(cache: Any, length: int) -> None:
    """Forget what comes after the first tokens of a cache.

    Args:
        cache: of transformers.
        length: tokens that stay, one at least.
    """
    if cache.get_seq_length() > length:
        cache.crop(length - cache.get_seq_length())


def cache_name(model: type) -> str:
    """Ask what this release of transformers calls the cache.

    Args:
        model: class of a model.

    Returns:
        Name of the argument of ``forward``.
    """
    arguments = inspect.signature(model.forward).parameters  # type: ignore[attr-defined]
    return next(name for name in CACHE_NAMES if name in arguments)


def _last_alone(model: type, keep: int) -> dict[str, int]:
    """Ask for the last logits alone, of models that can."""
    return {"logits_to_keep": keep} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}  # type: ignore[attr-defined]


@contextlib.contextmanager
def _resized(model: Any, subject: Subject, length: int, method: Any) -> Iterator[None]:
    """Stretch the learned table to a length, and put the old one back."""
    table = table_of(model, subject)
    plan: Any = subject.stack.input
    old, limit = table.weight, getattr(model.config, "max_position_embeddings", None)
    new = resize_table(old.detach(), max(length, subject.trained), method=method, padding_offset=plan.padding_offset)
    buffers = _position_buffers(model, subject.trained)
    try:
        table.weight, table.num_embeddings = torch.nn.Parameter(new, requires_grad=False), len(new)
        for module, name, values in buffers:
            places = (
                torch.arange(length, device=values.device).expand(1, -1) if name == "position_ids" else values.new_zeros(1, length)
            )
            setattr(module, name, places)
        yield
    finally:
        table.weight, table.num_embeddings = old, len(old)
        if limit is not None:
            model.config.max_position_embeddings = limit
        for module, name, values in buffers:
            setattr(module, name, values)


def table_of(model: Any, subject: Subject) -> Any:
    """Find the module that holds the learned positions.

    Args:
        model: loaded.
        subject: its checkpoint.

    Returns:
        An embedding.

    Raises:
        ValueError: if there is none, or there are several, of the size that the configuration declares.
    """
    plan: Any = subject.stack.input
    rows = plan.max_length + plan.padding_offset
    found = [
        module
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Embedding)
        and module.weight.shape[0] == rows
        and ("pos" in name.lower() or name.split(".")[-1] == "wpe")
    ]
    if len(found) != 1:
        raise ValueError(f"MODEL: needed one table of {rows} positions, found {len(found)} in {type(model).__name__}")
    return found[0]


def _position_buffers(model: Any, trained: int) -> list[tuple[Any, str, torch.Tensor]]:
    """Buffers that some encoders keep, one entry a position."""
    return [
        (module, name, buffer)
        for module in model.modules()
        for name, buffer in module.named_buffers(recurse=False)
        if name in ("position_ids", "token_type_ids") and buffer.shape[-1] == trained
    ]
