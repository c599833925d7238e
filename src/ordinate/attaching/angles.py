"""cos and sin for a model's layers: what is called in place of a rotary module's forward."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from ordinate import phases as phase_recipes
from ordinate.attaching.applying import Form
from ordinate.checkpoints.scheme_plans import MultimodalRopePlan, RopePlan
from ordinate.phases import Frequencies, Phases
from ordinate.rotation import Arithmetic
from ordinate.schemes.multimodal_rope import MultimodalRope
from ordinate.schemes.rope import Rope

Plan = RopePlan | MultimodalRopePlan
Scheme = Rope | MultimodalRope


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wheel:
    """Frequencies as the model has them, float32 values, and what cos and sin are multiplied by.

    Attributes:
        frequencies: one number a pair.
        magnitude: factor of cos and sin.
        phases: how they are made.
        axes: the coordinate of each pair, None where a token has one position.
    """

    frequencies: Frequencies
    magnitude: float
    phases: Phases
    axes: tuple[int, ...] | None

    def cos_sin(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Give cos and sin, float32, magnitude included.

        Shape:
            positions [B, T], or [B, T, A] -> two of [B, T, n]
        """
        if self.phases == "exact":
            cos, sin = phase_recipes.exact(positions, self.frequencies, axes=self.axes)
        else:
            cos, sin = phase_recipes.float32(positions, self.frequencies.radians, axes=self.axes)
        return (cos, sin) if self.magnitude == 1.0 else (cos * self.magnitude, sin * self.magnitude)


def wheel_of(rope: Scheme, phases: Phases) -> Wheel:
    """Give a float32 scheme's frequencies and magnitude.

    Args:
        rope: with phases="float32".
        phases: "float32", or "exact": the float32 frequencies count as exact numbers, and the products lose nothing.

    Returns:
        What makes cos and sin.

    Example:
        >>> wheel_of(Rope(head_dim=4, layout="half", phases="float32"), "exact").frequencies.radians
        (1.0, 0.009999999776482582)
    """
    axes = rope.axis_of_pair if isinstance(rope, MultimodalRope) else None
    frequencies = phase_recipes.from_values(rope.inverse_frequencies)
    return Wheel(frequencies=frequencies, magnitude=rope.magnitude, phases=phases, axes=axes)


def rope_of(plan: Plan) -> Scheme:
    """Give a plan's scheme with the model's own roundings.

    Args:
        plan: of a layer.

    Returns:
        A scheme with phases="float32".

    Example:
        >>> rope_of(RopePlan(head_dim=4, layout="half", base=10000.0, rotary_dim=4)).phases
        'float32'
    """
    arguments = {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)}
    arguments["phases"] = "float32"
    return MultimodalRope(**arguments) if isinstance(plan, MultimodalRopePlan) else Rope(**arguments)


class Angles:
    """Positions to cos and sin, for a model whose frequencies are the same at every length.

    Args:
        ropes: float32 schemes by layer type; one alone stands for all.
        phases: "float32" or "exact".
        arithmetic: of the model, which says whether it rounds cos and sin to the activations' dtype.
        form: in which they are handed on.

    Example:
        >>> rope = Rope(head_dim=4, layout="half", phases="float32")
        >>> angles = Angles({"full_attention": rope}, phases="float32", arithmetic="input", form="cos sin")
        >>> cos, sin = angles(torch.zeros(1, 3, 8, dtype=torch.bfloat16), torch.arange(3)[None], None)
        >>> cos.shape, cos.dtype
        (torch.Size([1, 3, 2]), torch.bfloat16)
    """

    def __init__(self, ropes: Mapping[str, Scheme], *, phases: Phases, arithmetic: Arithmetic, form: Form) -> None:
        self.ropes, self.phases, self.arithmetic, self.form = dict(ropes), phases, arithmetic, form
        self.wheels = {label: wheel_of(rope, phases) for label, rope in ropes.items()}
        self.axes = next(iter(ropes.values())).axes
        self.only = next(iter(ropes)) if len(set(map(id, ropes.values()))) == 1 else None

    def label(self, layer_type: str | None) -> str:
        """Give the layer type whose frequencies are asked for: the model names it, or it has one set for all."""
        label = layer_type if self.only is None else self.only
        if label not in self.ropes:
            raise ValueError(f"layer_type: needed one that turns, {' or '.join(self.ropes)}, got {layer_type!r}")
        return label

    def __call__(self, x: torch.Tensor, positions: torch.Tensor, layer_type: str | None) -> Any:
        """Give what the model's layers take for cos and sin."""
        return self.handed_on(*self.wheels[self.label(layer_type)].cos_sin(self.coordinates_last(positions)), x.dtype)

    def coordinates_last(self, positions: torch.Tensor) -> torch.Tensor:
        """Give positions as schemes take them: the model has coordinates first, or one row for all where there is text alone.

        Shape:
            [B, T] -> [B, T]; [A, B, T], [1, B, T] or [B, T] -> [B, T, A] where a token has A coordinates
        """
        return positions if self.axes == 1 else positions.expand(self.axes, -1, -1).movedim(0, -1)

    def handed_on(self, cos: torch.Tensor, sin: torch.Tensor, dtype: torch.dtype) -> Any:
        """Round cos and sin where the model does, and put them in its form."""
        if self.arithmetic != "float32":
            cos, sin = cos.to(dtype), sin.to(dtype)
        if self.form == "one tensor":
            return torch.stack((cos, sin), dim=-1)
        return (cos, sin) if self.form == "cos sin" else (sin, cos)
