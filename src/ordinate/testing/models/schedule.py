"""Every layer turns by the settings that its configuration declares for it: base, rule and part of the head."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import torch
from torch import nn

from ordinate.attaching.angles import rope_of
from ordinate.checkpoints.plan import LayerPlan
from ordinate.checkpoints.reading import read
from ordinate.checkpoints.scheme_plans import RopePlan
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.subject import Subject

PROPERTY = "every layer turns by its own settings"
PLACE = 8
NEAR = 1e-4  # float32 angles at a small position, and cos and sin in float32


def own_settings(subject: Subject) -> Finding:
    """Catch the cos and sin that layers are given at position 8, and compare with the configuration.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    config = getattr(subject.model, "config", None)
    if config is None or not subject.of_transformers:
        return not_asked(PROPERTY, "the model has no configuration of transformers")
    if subject.limit <= PLACE:
        return not_asked(PROPERTY, f"it takes {subject.limit} tokens")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            plan = read(config)
    except ValueError as error:
        return not_asked(PROPERTY, f"its configuration cannot be read: {error}")
    if len(plan.stacks) != 1:
        return not_asked(PROPERTY, f"it has {len(plan.stacks)} stacks of layers")
    given = _given(subject.fresh(), len(plan.layers))
    layers = {index: plan.layers[index] for index in given if isinstance(plan.layers[index].scheme, RopePlan)}
    if not layers:
        return not_asked(PROPERTY, "no layer is given cos and sin as position_embeddings")
    for index, layer in layers.items():
        if not _equal(given[index], layer):
            return _wrong(index, given, layers)
    kinds = ", ".join(dict.fromkeys(layer.kind for layer in layers.values()))
    return holds(PROPERTY, f"{len(layers)} layers ({kinds}) at position {PLACE}")


def _given(subject: Subject, count: int) -> dict[int, tuple[torch.Tensor, ...]]:
    """What each layer's attention is given at the position, [n] twice: cos and sin, in some models sin and cos."""
    found: dict[int, tuple[torch.Tensor, ...]] = {}

    def note(module: nn.Module, _args: Any, named: dict[str, Any]) -> None:
        pair, index = named.get("position_embeddings"), getattr(module, "layer_idx", None)
        if isinstance(pair, tuple) and isinstance(index, int) and index < count:
            found[index] = tuple(table.reshape(-1, table.shape[-1])[PLACE].double() for table in pair)

    assert subject.module is not None
    for module in subject.module.modules():
        if "position_embeddings" in inspect.signature(module.forward).parameters:
            module.register_forward_pre_hook(note, with_kwargs=True)
    subject.logits(subject.rows(1, PLACE + 1))
    return found


def _expected(layer: LayerPlan) -> torch.Tensor:
    """The same by the plan, in float64, one number a pair."""
    assert isinstance(layer.scheme, RopePlan)
    rope = rope_of(layer.scheme)
    if rope.scaling is not None and rope.scaling.needs_length:
        rope = rope.at_length(PLACE + 1)
    frequencies = torch.tensor(rope.inverse_frequencies, dtype=torch.float64)
    return rope.magnitude * (PLACE * frequencies).cos()


def _equal(given: tuple[torch.Tensor, ...], layer: LayerPlan) -> bool:
    """Each pair's cos once, twice one after the other, or all of them twice."""
    expected = _expected(layer)
    pairs = len(expected)
    forms = [form for table in given for form in (table[:pairs], table[0 : 2 * pairs : 2])]
    return any(form.shape == expected.shape and torch.allclose(form, expected, rtol=0, atol=NEAR) for form in forms)


def _wrong(index: int, given: dict[int, tuple[torch.Tensor, ...]], layers: dict[int, LayerPlan]) -> Finding:
    layer = layers[index]
    others = [other for other in layers.values() if other.scheme != layer.scheme and _equal(given[index], other)]
    said = f"layer {index} ({layer.kind}) is given the angles of {others[0].kind}" if others else f"layer {index} is given others"
    return broken(
        PROPERTY,
        "per-layer-schedule" if others else "config-key-dropped",
        said,
        smallest=f"position {PLACE}, layer {index}",
        expected=f"cos {[round(number, 6) for number in _expected(layer)[:4].tolist()]}",
        actual=f"cos {[round(number, 6) for number in given[index][0][:4].tolist()]}",
    )
