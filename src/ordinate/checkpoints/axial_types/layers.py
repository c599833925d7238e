"""Layers of encoders of images that do otherwise than the others: windows of the grid, convolutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import one_of, row_of, whole

FULL, WINDOW, CONVOLUTION = "full_attention", "window_attention", "conv"
MOST_PATCHES = 2**20
USUAL: Mapping[str, Any] = {}


def windows_but_some(fields: Fields, n_layers: int) -> Sequence[Mapping[str, Any]]:
    """Read Qwen2.5-VL's windows: all layers but the listed ones have them.

    Args:
        fields: the configuration.
        n_layers: how many layers there are.

    Returns:
        What each layer does otherwise.

    Example:
        >>> windows_but_some(Fields({"fullatt_block_indexes": [1]}, source="mapping", model_type="qwen2_5_vl_vision"), 2)
        [{'kind': 'window_attention', 'grid_window': 8}, {}]
    """
    listed = fields.take(
        ("fullatt_block_indexes",), row_of(whole()), "layers without windows {}, the others have them", default=[7, 15, 23, 31]
    )
    pixels = fields.take(
        ("window_size",), whole(least=1, most=MOST_PATCHES), "windows of {0} x {0} pixels, in layers that have them", default=112
    )
    patch = fields.take(("patch_size",), whole(least=1, most=MOST_PATCHES), "pixels of a patch's side {}", default=14)
    merge = fields.take(
        ("spatial_merge_size",), whole(least=1, most=MOST_PATCHES), "patches come in blocks of {0} x {0}", default=2
    )
    side = pixels // merge // patch * merge
    if not fields.faults and not side:
        fields.fault("window_size", f"needed at least {merge * patch}, a block of patches, got {pixels}")
    windowed = {"kind": WINDOW, "grid_window": max(side, 1)}
    return [USUAL if number in listed else windowed for number in range(n_layers)]


def windows_by_type(fields: Fields, n_layers: int) -> Sequence[Mapping[str, Any]]:
    """Read Muse's windows: layer types say which layers have them, as wide as the table of positions has rows.

    Args:
        fields: the configuration.
        n_layers: how many layers there are.

    Returns:
        What each layer does otherwise.

    Example:
        >>> [bool(layer) for layer in windows_by_type(Fields({}, source="mapping", model_type="muse_glimmer_vision"), 6)]
        [True, True, True, False, True, False]
    """
    side = fields.take(
        ("pos_emb_height",),
        whole(least=1, most=MOST_PATCHES),
        "windows of {0} x {0} patches; rows of the table of positions at the input",
        default=32,
    )
    usual = [FULL if number % 4 == 3 or number == n_layers - 1 else WINDOW for number in range(n_layers)]
    windowed = {"kind": WINDOW, "grid_window": side}
    return [USUAL if kind == FULL else windowed for kind in _kinds(fields, usual, (FULL, WINDOW))]


def convolutions_by_type(fields: Fields, n_layers: int) -> Sequence[Mapping[str, Any]]:
    """Read LFM3-VL's layers: some are convolutions, which do not attend.

    Args:
        fields: the configuration.
        n_layers: how many layers there are.

    Returns:
        What each layer does otherwise.

    Example:
        >>> [bool(layer) for layer in convolutions_by_type(Fields({}, source="mapping", model_type="lfm3_vl_vision"), 5)]
        [True, True, False, True, False]
    """
    usual = [CONVOLUTION if number < 2 or number % 2 else FULL for number in range(n_layers)]
    still = {"kind": CONVOLUTION, "attends": False, "scheme": None}
    return [USUAL if kind == FULL else still for kind in _kinds(fields, usual, (FULL, CONVOLUTION))]


def _kinds(fields: Fields, usual: list[str], known: tuple[str, ...]) -> Sequence[str]:
    kinds = fields.take(
        ("layer_types",), row_of(one_of(*known), length=len(usual)), "a type for each layer: full attention or not", default=usual
    )
    return kinds if len(kinds) == len(usual) else usual
