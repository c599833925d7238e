"""``probe``: what positions do in a real model on a short text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ordinate.doctor.probe.recording import recorded
from ordinate.doctor.probe.scores import positional_sensitivity, semantic_stability
from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.models.names import names_of
from ordinate.testing.models.padding import padded
from ordinate.testing.models.subject import Subject

OFFSETS = (0, 1000, 100_000)
PADS, STEPS = 5, 4
LENGTH_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len")


@dataclass(frozen=True, kw_only=True)
class Change:
    """How far log-probabilities are from those of the plain run.

    Attributes:
        rms: root mean square over tokens and vocabulary, in nats.
        largest: of them, in nats.
    """

    rms: float
    largest: float


@dataclass(frozen=True, kw_only=True)
class LayerProbe:
    """What distance does to one layer's scores.

    Attributes:
        index: of the layer.
        kind: the layer type's name in the configuration.
        sensitivity: ``positional_sensitivity`` of its queries and keys.
        stability: ``semantic_stability`` of them over the trained length.
    """

    index: int
    kind: str
    sensitivity: float
    stability: float


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What a probe found; a string in place of a number says why it was not asked.

    Attributes:
        model: its class.
        tokens: of the passage.
        trained: length that the configuration declares, None if none.
        shifts: change by offset of all positions, against offset 0.
        cached: change when the last tokens come one by one with a cache.
        padded: change of real tokens behind padding.
        layers: of those that turn queries and keys.
    """

    model: str
    tokens: int
    trained: int | None
    shifts: dict[int, Change | str]
    cached: Change | str
    padded: Change | str
    layers: tuple[LayerProbe, ...] | str


def probe(model: Any, ids: torch.Tensor, *, offsets: Sequence[int] = OFFSETS) -> ProbeResult:
    """Measure shift invariance, cache, padding, and what distance does to each layer's scores.

    Args:
        model: a causal model of transformers.
        ids: a passage, one row, of 8 tokens at least.
        offsets: of the shifted runs; the first one is what others are compared with.

    Returns:
        The numbers.

    Raises:
        ValueError: if an argument is wrong.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 9}
        >>> found = probe(LlamaForCausalLM(LlamaConfig(**sizes)).eval(), torch.arange(9)[None])
        >>> found.cached.largest < 1e-3, found.shifts[1000].largest < 1e-2
        (True, True)
    """
    if not isinstance(ids, torch.Tensor) or ids.ndim != 2 or ids.shape[0] != 1 or ids.shape[1] < 8 or ids.is_floating_point():
        got = list(ids.shape) if isinstance(ids, torch.Tensor) else type(ids).__name__
        raise ValueError(f"probe: needed ids [1, T] of 8 tokens at least, got {got}")
    if len(offsets) == 0 or any(offset < 0 for offset in offsets):
        raise ValueError(f"probe: needed offsets, 0 or larger, got {list(offsets)}")
    config = getattr(model, "config", None)
    if config is None or not hasattr(config, "model_type"):
        raise ValueError(f"probe: needed a model of transformers with its config, got {type(model).__name__}")
    names = names_of(model)
    subject = Subject(
        model=model,
        names=names,
        mask=None if names.mask is None else "1 for real tokens",
        positions=None if names.positions is None else "[B, T]",
    )
    lengths = (getattr(config.get_text_config(), key, None) for key in LENGTH_KEYS)
    trained = next((length for length in lengths if isinstance(length, int)), None)
    plain = subject.logits(ids)
    return ProbeResult(
        model=type(model).__name__,
        tokens=ids.shape[1],
        trained=trained,
        shifts=_shifts(subject, ids, offsets),
        cached=_change(lambda: _one_by_one(subject, ids), plain),
        padded=_change(lambda: _behind_padding(subject, ids), plain) if names.mask is not None else "forward takes no mask",
        layers=_layers(subject, ids, trained or ids.shape[1]),
    )


def _change(run: Callable[[], torch.Tensor], plain: torch.Tensor) -> Change | str:
    logits = attempt(run)
    if isinstance(logits, Failed):
        return str(logits)
    moved = (logits.log_softmax(-1) - plain.log_softmax(-1)).double()
    return Change(rms=moved.square().mean().sqrt().item(), largest=moved.abs().max().item())


def _shifts(subject: Subject, ids: torch.Tensor, offsets: Sequence[int]) -> dict[int, Change | str]:
    if subject.names.positions is None:
        return dict.fromkeys(offsets[1:], "forward takes no positions")
    first = subject.logits(ids, positions=subject.at(ids, offsets[0]))
    return {
        offset: _change(lambda offset=offset: subject.logits(ids, positions=subject.at(ids, offset)), first)  # type: ignore[misc]
        for offset in offsets[1:]
    }


def _one_by_one(subject: Subject, ids: torch.Tensor) -> torch.Tensor:
    if subject.names.cache is None:
        raise ValueError("forward takes no cache")
    return torch.cat(subject.decoded(ids, (ids.shape[1] - STEPS, *([1] * STEPS))), dim=1)


def _behind_padding(subject: Subject, ids: torch.Tensor) -> torch.Tensor:
    whole, real, positions = padded(subject, ids, PADS)
    return subject.logits(whole, real=real, positions=positions)[:, PADS:]


def _layers(subject: Subject, ids: torch.Tensor, trained: int) -> tuple[LayerProbe, ...] | str:
    layers = recorded(subject.model, lambda: subject.logits(ids), ids.shape[1])
    if isinstance(layers, str):
        return layers
    return tuple(
        LayerProbe(
            index=layer.index,
            kind=layer.kind,
            sensitivity=positional_sensitivity(layer.q, layer.k, layer.turning),
            stability=semantic_stability(layer.q, layer.k, layer.turning, trained=trained),
        )
        for layer in layers
    )
