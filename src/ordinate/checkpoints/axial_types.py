"""Encoders of images that turn queries and keys: what their configurations do not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ordinate.checkpoints.plan import GridPlan

if TYPE_CHECKING:
    from ordinate.rotation import Arithmetic
    from ordinate.schemes.axial_rope import AxialLayout, AxialOrder, Spectrum


@dataclass(frozen=True, kw_only=True)
class AxialType:
    """What a model type's own code decides.

    Attributes:
        layout: which entries make a pair.
        arithmetic: as of ``Rope``.
        axes: coordinates of a patch.
        order: whether an axis has one stretch of pairs or the axes take turns.
        axis_order: which coordinate comes first.
        spectrum: whether every axis has frequencies of its own.
        base: default base.
        theta: spellings of the base beside the dictionary.
        declares_axial: whether the dictionary's rule is called "axial".
        sizes: spellings of sizes, in place of the usual ones.
        defaults: values that stand in for absent keys.
        values: keys that must have one of these values where they are there.
        grid: how patches are numbered.
        merged: whether spatial_merge_size says which patches come together.
    """

    layout: AxialLayout = "half"
    arithmetic: Arithmetic = "float32"
    axes: int = 2
    order: AxialOrder = "blocks"
    axis_order: tuple[int, ...] = (0, 1)
    spectrum: Spectrum = "each"
    base: float = 10000.0
    theta: tuple[str, ...] = ("rope_theta",)
    declares_axial: bool = True
    sizes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    grid: GridPlan = field(default_factory=GridPlan)
    merged: bool = False


QWEN = {"num_hidden_layers": ("depth",), "num_attention_heads": ("num_heads",)}

AXIAL_TYPES: dict[str, AxialType] = {
    "qwen2_vl_vision": AxialType(
        sizes={**QWEN, "hidden_size": ("embed_dim",)},
        defaults={"depth": 32, "embed_dim": 1280, "num_heads": 16},
        grid=GridPlan(merge=2),
        merged=True,
    ),
}
