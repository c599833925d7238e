"""Layers without a rotation, and layers that see otherwise far before a query than after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST, Reading, row_of, short
from ordinate.checkpoints.layer_kinds import Kinds, LayerKind, Policy

Pair = tuple[int, int]


def resting(policy: Policy) -> Policy:
    """Say that layers do not turn.

    Args:
        policy: what else is said of them.

    Returns:
        A policy.

    Example:
        >>> resting(lambda *_: [LayerKind(window=8)])(Fields({}, source="mapping", model_type="moshi_depth"), 1)[0].turns
        False
    """
    return lambda fields, n_layers: [replace(layer, turns=False) for layer in policy(fields, n_layers)]


def pairs_of_windows(*, cycle: Sequence[Pair]) -> Policy:
    """Say that ``sliding_windows`` lists for each layer how far it sees before a query and after it, and that no layer turns.

    Args:
        cycle: pairs without a list, over and over.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({"sliding_windows": [[16, 4]]}, source="mapping", model_type="moonshine_streaming_encoder")
        >>> [(layer.window, layer.window_ahead) for layer in pairs_of_windows(cycle=())(fields, 1)]
        [(16, 4)]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        usual = [list(cycle[layer % len(cycle)]) for layer in range(n_layers)] if cycle else None
        length = None if fields.faults else n_layers
        became = "windows before and after the query"
        pairs = fields.take(("sliding_windows",), row_of(_pair, length=length), became, default=usual, needed=True)
        if fields.faults or len(pairs) != n_layers:
            return [LayerKind(turns=False)] * n_layers
        return [LayerKind(turns=False, window=before, window_ahead=max(after, 1)) for before, after in pairs]

    return read


def _pair(value: Any) -> Reading[Pair]:
    """How many tokens are seen before the query, itself among them, and the distance after it from which none are."""
    whole = isinstance(value, (list, tuple)) and len(value) == 2
    if whole and all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= MOST for one in value):
        before, after = value
        if before >= max(after, 1):
            return (before, after), ""
    return (1, 0), f"needed two whole numbers, the first at least 1 and at least the second, got {short(value)}"
