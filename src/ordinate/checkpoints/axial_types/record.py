"""What a configuration of an encoder of images does not say, and the model type's own code decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ordinate.checkpoints.grid_plan import GridPlan

if TYPE_CHECKING:
    from ordinate.checkpoints.fields import Fields
    from ordinate.rotation import Arithmetic
    from ordinate.schemes.axial_rope import AxialLayout, AxialOrder, Spectrum

# What each layer does otherwise than the usual one: fields of its ``LayerPlan``.
LayerPolicy = Callable[["Fields", int], Sequence[Mapping[str, Any]]]

FRAME = "patches see their own frame of their own image or video: document_ids say which"
CLIP = "patches see their own image or video, all frames of it: document_ids say which"
TABLE = "a table of learned positions is resampled to the grid and added at the input"


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
        partly: whether a head that the axes cannot share out equally keeps its last entries as they are; else it is refused.
        stepped: whether frequencies are made with summed steps, which only for powers of two are the usual ones in every bit.
        base: default base.
        theta: spellings of the base beside the dictionary.
        dictionary: whether there is a dictionary of the rotation.
        declares_axial: whether the dictionary's rule is called "axial".
        sizes: spellings of sizes, in place of the usual ones.
        head_dim: default width of a head, where attention too reads ``head_dim``; None where it divides the width among the heads.
        divisors: sizes by which the width is divided before the heads share it.
        joined: whether a token's heads are turned as one wide head.
        softmax_scale: where it is fixed; else head_dim^-0.5.
        values: keys that must have one of these values where they are there.
        noted: keys about positions that the plan leaves to the model, and what they are.
        stack: name of the stack.
        grid: how patches are numbered.
        merged: whether spatial_merge_size says which patches come together.
        sized: reads what depends on other keys: the grid and more, as fields of the ``StackPlan``.
        policy: what layers do otherwise than the usual one.
        left: what the model does with positions beside the plan.
    """

    layout: AxialLayout = "half"
    arithmetic: Arithmetic = "float32"
    axes: int = 2
    order: AxialOrder = "blocks"
    axis_order: tuple[int, ...] = (0, 1)
    spectrum: Spectrum = "each"
    partly: bool = False
    stepped: bool = False
    base: float = 10000.0
    theta: tuple[str, ...] = ("rope_theta",)
    dictionary: bool = True
    declares_axial: bool = True
    sizes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    head_dim: int | None = None
    divisors: tuple[str, ...] = ()
    joined: bool = False
    softmax_scale: float | None = None
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    noted: Mapping[str, str] = field(default_factory=dict)
    stack: str = "encoder"
    grid: GridPlan = field(default_factory=GridPlan)
    merged: bool = False
    sized: Callable[[Fields, GridPlan], Mapping[str, Any]] | None = None
    policy: LayerPolicy | None = None
    left: tuple[str, ...] = ()
