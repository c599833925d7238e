"""Layers that a configuration lists as blocks: attention and the rest one after another, or types in a cycle."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, one_of, row_of, short
from ordinate.checkpoints.layer_kinds import FULL, SLIDING, Kinds, LayerKind, declared_window, types_of
from ordinate.checkpoints.layer_mixes import LINEAR

MLP, KINDS = "mlp", "layer_types"


def attention_blocks(fields: Fields) -> int:
    """Count Dory's layers; released files count the attention and the MLP of each as two, and list both.

    Args:
        fields: the configuration.

    Returns:
        How many.

    Example:
        >>> config = {"num_hidden_layers": 4, "layer_types": ["sliding_attention", "mlp", "full_attention", "mlp"]}
        >>> attention_blocks(Fields(config, source="mapping", model_type="dory"))
        2
    """
    if not _in_blocks(fields):
        return fields.size(("num_hidden_layers",), "{} layers", most=MOST_LAYERS)
    count = fields.size(("num_hidden_layers",), "{} blocks, attention and MLP in turn", most=2 * MOST_LAYERS)
    if not fields.faults and count % 2:
        fields.fault("num_hidden_layers", f"needed an even number of blocks, attention and MLP in turn, got {count}")
    return max(count // 2, 1)


def _in_blocks(fields: Fields) -> bool:
    listed = fields.values.get(KINDS)
    return isinstance(listed, (list, tuple)) and MLP in listed


def dory(fields: Fields, n_layers: int) -> Kinds:
    """Give Dory's layers: every fourth sees everything, the others have a window.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> [layer.window for layer in dory(Fields({}, source="mapping", model_type="dory"), 4)]
        [1024, 1024, 1024, None]
    """
    pattern = [FULL if (layer + 1) % 4 == 0 else SLIDING for layer in range(n_layers)]
    kinds = (
        _of_blocks(fields, n_layers, pattern)
        if _in_blocks(fields)
        else types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
    )
    reach = declared_window(fields, default=1024) if SLIDING in kinds else None
    return [LayerKind(kind=kind, window=reach if kind == SLIDING else None) for kind in kinds]


def _of_blocks(fields: Fields, n_layers: int, pattern: list[str]) -> list[str]:
    length, before = None if fields.faults else 2 * n_layers, len(fields.faults)
    blocks = list(fields.take((KINDS,), row_of(one_of(FULL, SLIDING, MLP), length=length), "types of the blocks"))
    if len(fields.faults) == before and (MLP in blocks[::2] or set(blocks[1::2]) != {MLP}):
        fields.fault(KINDS, f"needed attention and MLP in turn, got {short(blocks)}")
    return pattern if before or len(fields.faults) > before else blocks[::2]


def griffin(fields: Fields, n_layers: int) -> Kinds:
    """Give RecurrentGemma's layers: of each three the last attends within a window; ``block_types`` may declare another cycle.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> [layer.window for layer in griffin(Fields({}, source="mapping", model_type="recurrent_gemma"), 4)]
        [None, None, 2048, None]
    """
    words = row_of(one_of("recurrent", "attention"))
    cycle = fields.take(("block_types",), words, "types of the layers, in a cycle", default=["recurrent", "recurrent", "attention"])
    if not cycle and not fields.faults:
        fields.fault("block_types", "needed at least one, got none")
    attends = [cycle[layer % len(cycle)] == "attention" for layer in range(n_layers)] if cycle else [True] * n_layers
    reach = declared_window(fields, default=2048, keys=("attention_window_size", "sliding_window"))
    return [
        LayerKind(kind=SLIDING, window=reach) if attend else LayerKind(kind=LINEAR, attends=False, turns=False)
        for attend in attends
    ]
