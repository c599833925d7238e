"""Layers of which the first few are dense and follow a pattern of their own."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import one_of, row_of, whole
from ordinate.checkpoints.layer_kinds import FULL, SLIDING, Kinds, LayerKind, declared_window, types_of

DENSE = "dense"


def cohere2_moe(fields: Fields, n_layers: int) -> Kinds:
    """Give Cohere2-MoE's layers: sliding ones turn, and dense ones of which none slides by their pattern.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> fields = Fields({"first_k_dense_replace": 1}, source="mapping", model_type="cohere2_moe")
        >>> [(layer.window, layer.turns) for layer in cohere2_moe(fields, 5)]
        [(None, True), (4096, True), (4096, True), (4096, True), (None, False)]
    """
    first = fields.take(("first_k_dense_replace",), whole(), "the first {} layers are dense", default=0)
    dense_every = fields.take(
        ("prefix_dense_sliding_window_pattern",), whole(least=1), "one dense layer of each {} sees everything", default=1
    )
    every = fields.take(("sliding_window_pattern",), whole(least=1), "one layer of each {} sees everything", default=4)
    if not fields.faults and first > n_layers:
        fields.fault("first_k_dense_replace", f"needed at most {n_layers}, got {first}")
    dense = [FULL if (layer + 1) % dense_every == 0 else SLIDING for layer in range(min(first, n_layers))]
    rest = [FULL if (layer + 1) % every == 0 else SLIDING for layer in range(n_layers - len(dense))]
    kinds = types_of(fields, n_layers, (FULL, SLIDING), default=dense + rest)
    reach = declared_window(fields, default=4096)
    if SLIDING in kinds and reach is None:
        fields.fault("sliding_window", "needed beside sliding layers, got none")
    forced = [is_dense and dense_every == 1 for is_dense in _dense(fields, n_layers, first)]
    return [
        LayerKind(kind=kind, window=reach if kind == SLIDING else None, turns=kind == SLIDING or turns)
        for kind, turns in zip(kinds, forced, strict=True)
    ]


def _dense(fields: Fields, n_layers: int, first: int) -> list[bool]:
    pattern = [layer < first for layer in range(n_layers)]
    if not fields.has("mlp_layer_types"):
        return pattern
    length, before = None if fields.faults else n_layers, len(fields.faults)
    kinds = row_of(one_of(DENSE, "sparse"), length=length)
    listed = fields.take(("mlp_layer_types",), kinds, "dense layers turn, if none of them slides by their pattern")
    return pattern if before or len(fields.faults) > before else [kind == DENSE for kind in listed]
