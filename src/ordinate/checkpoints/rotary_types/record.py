"""What a rotary model type's own code decides, as one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ordinate.checkpoints.layer_kinds import Policy, all_alike
from ordinate.checkpoints.plan import IdsFrom
from ordinate.checkpoints.rope_dictionary import RopeKeys

if TYPE_CHECKING:
    from ordinate.rotation import Arithmetic, Layout

HeadRule = Literal["declared", "divided", "latent"]
ScaleRule = Literal["head", "query_pre_attn_scalar", "attention_multiplier", "one"]


@dataclass(frozen=True, kw_only=True)
class RotaryType:
    """What a model type's own code decides.

    Attributes:
        layout: which entries make a pair.
        arithmetic: "input" (every step in the activations' dtype), "float32" (rounded once) or "mixed" (cos and sin rounded, too).
        rope: how the settings are spelled.
        layers: which layers turn, and how far they see.
        head: width of a head: "declared" (head_dim, else hidden_size / heads), "divided" (hidden_size / heads, head_dim is not
            read) or "latent" (DeepSeek: the last qk_rope_head_dim of each head turn).
        scale: the softmax scale: head_dim^-0.5, a declared number or 1.
        defaults: values that stand in for absent keys.
        causal: whether attention looks back only.
        sizes: other spellings of sizes.
        values: keys that must have one of these values where they are there: other code would be needed.
        idle: keys that its published configurations have and its code does not read.
        bidirectional: whether ``use_bidirectional_attention`` is read; a window then counts both ways together.
        rotary_dim: whether the width that turns is declared as ``rotary_dim``.
        says_layout: whether ``rope_interleave`` declares the layout.
        query_scale: whether queries of layers without a rotation grow with the position (Llama 4).
        declares_reach: whether an encoder's window is declared for one direction, not both together.
        sign: -1 where pairs turn the other way (nanochat).
        normed_after: whether queries and keys are normed after they turn, not before (HunYuan).
        ids: how positions are counted.
        remark: what the model does beside a rotation, which a user of the plan must do too.
    """

    layout: Layout = "half"
    arithmetic: Arithmetic = "input"
    rope: RopeKeys = field(default_factory=RopeKeys)
    layers: Policy = all_alike
    head: HeadRule = "declared"
    scale: ScaleRule = "head"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    causal: bool = True
    sizes: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    bidirectional: bool = False
    rotary_dim: bool = False
    says_layout: bool = False
    query_scale: bool = False
    declares_reach: bool = False
    sign: Literal[1, -1] = 1
    normed_after: bool = False
    ids: IdsFrom = "order"
    remark: str = ""
