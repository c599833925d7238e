"""Arguments of schemes, as plain frozen records: no torch, nothing to run, equal if the numbers are equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from ordinate.scaling.rule import Rule

if TYPE_CHECKING:
    from ordinate.phases import Phases
    from ordinate.rotation import Arithmetic, Layout
    from ordinate.schemes.axial_rope import AxialLayout, AxialOrder, Spectrum
    from ordinate.schemes.entrywise_rope import EntrywisePhases
    from ordinate.schemes.sinusoidal import SinusoidLayout, Spacing
    from ordinate.schemes.transformer_xl import DistanceLayout
    from ordinate.sections import SectionOrder


@dataclass(frozen=True, kw_only=True)
class LearnedPlan:
    """Arguments of ``Learned``."""

    scheme: ClassVar[str] = "learned"
    max_length: int
    d_model: int
    padding_offset: int = 0


@dataclass(frozen=True, kw_only=True)
class SinusoidalPlan:
    """Arguments of ``Sinusoidal``."""

    scheme: ClassVar[str] = "sinusoidal"
    d_model: int
    layout: SinusoidLayout
    spacing: Spacing
    base: float = 10000.0


@dataclass(frozen=True, kw_only=True)
class RopePlan:
    """Arguments of ``Rope``."""

    scheme: ClassVar[str] = "rope"
    head_dim: int
    layout: Layout
    base: float
    rotary_dim: int
    rotary_start: int = 0
    scaling: Rule | None = None
    sign: Literal[1, -1] = 1
    phases: Phases = "float32"
    arithmetic: Arithmetic = "input"


@dataclass(frozen=True, kw_only=True)
class MultimodalRopePlan:
    """Arguments of ``MultimodalRope``."""

    scheme: ClassVar[str] = "multimodal_rope"
    head_dim: int
    layout: Layout
    sections: tuple[int, ...]
    order: SectionOrder
    base: float
    rotary_dim: int
    rotary_start: int = 0
    scaling: Rule | None = None
    phases: Phases = "float32"
    arithmetic: Arithmetic = "input"


@dataclass(frozen=True, kw_only=True)
class AxialRopePlan:
    """Arguments of ``AxialRope``."""

    scheme: ClassVar[str] = "axial_rope"
    head_dim: int
    layout: AxialLayout
    base: float
    rotary_dim: int
    axes: int = 2
    order: AxialOrder = "blocks"
    axis_order: tuple[int, ...] = (0, 1)
    spectrum: Spectrum = "each"
    phases: Phases = "float32"
    arithmetic: Arithmetic = "float32"


@dataclass(frozen=True, kw_only=True)
class EntrywiseRopePlan:
    """Arguments of ``EntrywiseRope``."""

    scheme: ClassVar[str] = "entrywise_rope"
    head_dim: int
    layout: Layout
    shares: tuple[int, ...]
    spectrum: Spectrum
    base: float
    scaling: Rule | None = None
    phases: EntrywisePhases = "float32"
    arithmetic: Arithmetic = "input"


@dataclass(frozen=True, kw_only=True)
class AlibiPlan:
    """Arguments of ``ALiBi``."""

    scheme: ClassVar[str] = "alibi"
    n_heads: int
    slopes: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class T5Plan:
    """Arguments of ``T5Bias``, and which table it reads: layers with one number share one."""

    scheme: ClassVar[str] = "t5"
    n_heads: int
    n_buckets: int
    max_distance: int
    bidirectional: bool
    table: int = 0


@dataclass(frozen=True, kw_only=True)
class ShawPlan:
    """Arguments of ``Shaw``, and which tables it reads: layers with one number share them."""

    scheme: ClassVar[str] = "shaw"
    head_dim: int
    max_distance: int
    max_future: int
    values: bool
    table: int = 0


@dataclass(frozen=True, kw_only=True)
class TransformerXLPlan:
    """Arguments of ``TransformerXL``, and which weights it reads: layers with one number share them."""

    scheme: ClassVar[str] = "transformer_xl"
    n_heads: int
    head_dim: int
    d_model: int
    layout: DistanceLayout
    base: float = 10000.0
    table: int = 0


@dataclass(frozen=True, kw_only=True)
class DebertaPlan:
    """Arguments of ``Deberta``."""

    scheme: ClassVar[str] = "deberta"
    n_heads: int
    head_dim: int
    content_to_position: bool
    position_to_content: bool
    buckets: int | None
    max_distance: int


@dataclass(frozen=True, kw_only=True)
class DebertaTablePlan:
    """Arguments of ``DebertaTable``, which all layers of the stack share."""

    d_model: int
    span: int
    layer_norm: bool
    layer_norm_epsilon: float


InputPlan = LearnedPlan | SinusoidalPlan
RotaryPlan = RopePlan | MultimodalRopePlan | AxialRopePlan | EntrywiseRopePlan
AttentionPlan = RotaryPlan | AlibiPlan | T5Plan | ShawPlan | TransformerXLPlan | DebertaPlan
