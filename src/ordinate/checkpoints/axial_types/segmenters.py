"""SAM 2, SAM 3 and EdgeTAM: columns before rows, neighbours in pairs, grids of one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ordinate.checkpoints.axial_types.layers import MOST_PATCHES, USUAL, WINDOW
from ordinate.checkpoints.axial_types.record import AxialType
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.grid_plan import GridPlan
from ordinate.checkpoints.kinds import row_of, short, whole

SIDE = whole(least=1, most=MOST_PATCHES)
OF_MEMORY = "the images' own encoder is not read: the plan is of the attention to memory"
EMBEDDED = "sinusoids of places, and learned or sinusoidal times, are added to features and memory"
POINTERS = "object pointers come after all keys and are not turned: their coordinates are 0"


def _pair(fields: Fields, key: str, became: str, default: list[int]) -> tuple[int, int]:
    """Rows and columns, which are written the other way round."""
    found = fields.take((key,), row_of(SIDE, length=2), became, default=default)
    columns, rows = found if len(found) == 2 else (1, 1)
    return rows, columns


def _same(fields: Fields, _grid: GridPlan) -> Mapping[str, Any]:
    size = _pair(fields, "memory_attention_rope_feat_sizes", "columns and rows of the grid {}", [64, 64])
    return {"grid": GridPlan(size=size), **_to_memory(GridPlan(size=size))}


def _of_image(fields: Fields, _grid: GridPlan) -> Mapping[str, Any]:
    """SAM 3 makes the grid of the image's size, and passes over what is declared."""
    pixels = fields.take(("image_size",), SIDE, "pixels of an image's side {}", default=1008)
    inner: Any = fields.values
    for key in ("vision_config", "backbone_config"):
        inner = inner.get(key) if isinstance(inner, Mapping) else None
    part = fields.part("vision_config", {}).part("backbone_config", inner if isinstance(inner, Mapping) else {})
    patch = part.take(("patch_size",), SIDE, "pixels of a patch's side {}", default=14)
    side = max(pixels // patch, 1)
    declared = _pair(fields, "memory_attention_rope_feat_sizes", "columns and rows of the grid {}", [side, side])
    if not fields.faults and declared != (side, side):
        fields.fault(
            "memory_attention_rope_feat_sizes",
            f"cannot be honoured: needed {[side, side]}, which image_size and patch_size make, got {short(list(declared))}",
        )
    return {"grid": GridPlan(size=(side, side)), **_to_memory(GridPlan(size=(side, side)))}


def _resampled(fields: Fields, _grid: GridPlan) -> Mapping[str, Any]:
    """EdgeTAM's memory is a grid of its own, after latents without a place."""
    size = _pair(fields, "memory_attention_rope_feat_sizes", "columns and rows of the grid {}", [64, 64])
    keys = _pair(fields, "memory_attention_rope_k_sizes", "columns and rows of a remembered frame {}", [16, 16])
    latents = fields.take(
        ("perceiver_resampler_num_latents",),
        whole(most=MOST_PATCHES),
        "{} keys before the patches of each remembered frame, which are not turned",
        default=256,
    )
    return {"grid": GridPlan(size=size), **_to_memory(GridPlan(size=keys, prefix=latents))}


def _to_memory(keys: GridPlan) -> Mapping[str, Any]:
    """Attention to remembered frames turns queries and keys as attention within the image does."""
    return {"cross_grid": keys}


def _windows(fields: Fields) -> tuple[int, int]:
    """Patches of a window's side and of the image's."""
    window = fields.take(("window_size",), SIDE, "windows of {0} x {0} patches, in layers that have them", default=24)
    image = fields.take(("image_size",), SIDE, "pixels of an image's side {}", default=1008)
    patch = fields.take(("patch_size",), SIDE, "pixels of a patch's side {}", default=14)
    return window, max(image // patch, 1)


def _stretched(fields: Fields, _grid: GridPlan) -> Mapping[str, Any]:
    """Layers without windows stretch the grid to the size of a window."""
    window, side = _windows(fields)
    return {"grid": GridPlan(size=(side, side), times=window / side)}


def _windows_but_some(fields: Fields, n_layers: int) -> Sequence[Mapping[str, Any]]:
    """Layers with windows number the patches of each window anew."""
    window, _ = _windows(fields)
    listed = fields.take(("global_attn_indexes",), row_of(whole()), "layers without windows {}", default=[7, 15, 23, 31])
    windowed = {"kind": WINDOW, "grid_window": window, "grid": GridPlan(size=(window, window))}
    return [USUAL if number in listed else windowed for number in range(n_layers)]


MEMORY = {
    "num_hidden_layers": ("memory_attention_num_layers",),
    "num_attention_heads": ("memory_attention_num_attention_heads",),
    "hidden_size": ("memory_attention_hidden_size",),
}


def _of_memory(**changes: Any) -> AxialType:
    return AxialType(
        layout="interleaved",
        axis_order=(1, 0),
        theta=("rope_theta", "memory_attention_rope_theta"),
        sizes=MEMORY,
        divisors=("memory_attention_downsample_rate",),
        noted={"memory_attention_rope_dropout": "nothing about positions: it is of training"},
        stack="memory_attention",
        left=(POINTERS, EMBEDDED, OF_MEMORY),
        **changes,
    )


SEGMENTERS: dict[str, AxialType] = {
    "sam2_video": _of_memory(sized=_same),
    "sam3_tracker_video": _of_memory(sized=_of_image),
    "edgetam_video": _of_memory(sized=_resampled),
    "sam3_vit_model": AxialType(
        layout="interleaved",
        axis_order=(1, 0),
        sized=_stretched,
        policy=_windows_but_some,
        left=(
            "a table of learned positions is tiled over the grid at the input",
            "layers with windows fill up those at the border with zeros, which are seen",
        ),
    ),
}
