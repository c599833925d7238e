"""Layers whose place decides, whatever the list of types says."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.layer_kinds import FULL, Kinds, Policy


def last_sees_all(policy: Policy) -> Policy:
    """Say that the last layer sees everything, also where it is listed as sliding (Gemma 4).

    Args:
        policy: how far the layers see otherwise.

    Returns:
        A policy.

    Example:
        >>> from ordinate.checkpoints.layer_kinds import by_pattern
        >>> fields = Fields({}, source="mapping", model_type="gemma4_text")
        >>> [layer.window for layer in last_sees_all(by_pattern(period=6, window=512))(fields, 2)]
        [512, None]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        layers = policy(fields, n_layers)
        if layers[-1].kind != FULL and fields.has("layer_types"):
            fields.warn("layer_types", f"the last layer sees everything, whatever its type: {fields.model_type} makes it so")
        return [*layers[:-1], replace(layers[-1], kind=FULL, window=None)]

    return read
