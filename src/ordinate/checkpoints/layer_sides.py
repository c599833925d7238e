"""Windows of both directions that reach farther one way than the other."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.layer_kinds import Kinds, Policy


def sides(policy: Policy) -> Policy:
    """Say that a declared window is the number of tokens seen, of which one more comes later than earlier if it is even.

    Args:
        policy: how far the layers see.

    Returns:
        A policy.

    Example:
        >>> from ordinate.checkpoints.layer_kinds import windowed
        >>> fields = Fields({"sliding_window": 8}, source="mapping", model_type="t5gemma2")
        >>> [(layer.window, layer.window_back) for layer in sides(windowed())(fields, 1)]
        [(5, 4)]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        return [
            layer
            if layer.window is None
            else replace(layer, window=layer.window // 2 + 1, window_back=None if layer.window % 2 else layer.window // 2)
            for layer in policy(fields, n_layers)
        ]

    return read
