"""What a rotary model type's own code decides, as one record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.layer_kinds import Policy, all_alike
from ordinate.checkpoints.plan import IdsFrom
from ordinate.checkpoints.rope_dictionary import RopeKeys

if TYPE_CHECKING:
    from ordinate.rotation import Arithmetic, Layout

HeadRule = Literal["declared", "divided", "doubled", "latent"]
ScaleRule = Literal["head", "half_head", "query_pre_attn_scalar", "attention_multiplier", "one"]


@dataclass(frozen=True, kw_only=True)
class RotaryType:
    """What a model type's own code decides.

    Attributes:
        layout: which entries make a pair.
        arithmetic: "input" (every step in the activations' dtype), "float32" (rounded once) or "mixed" (cos and sin rounded, too).
        rope: how the settings are spelled.
        layers: which layers turn, and how far they see.
        head: width of a head: "declared" (head_dim, else hidden_size / heads), "divided" (hidden_size / heads, head_dim is not
            read), "doubled" (twice that: Zamba2's see two vectors) or "latent" (the last qk_rope_head_dim of each head turn).
        scale: the softmax scale: head_dim^-0.5, (head_dim / 2)^-0.5, a declared number or 1.
        defaults: values that stand in for absent keys.
        causal: whether attention looks back only.
        sizes: other spellings of sizes.
        values: keys that must have one of these values where they are there: other code would be needed.
        idle: keys that its published configurations have and its code does not read.
        bidirectional: whether ``use_bidirectional_attention`` is read; a window then counts both ways together.
        rotary_dim: whether the width that turns is declared as ``rotary_dim``.
        says_layout: whether ``rope_interleave`` declares the layout.
        query_scale: how queries of layers that do not turn grow with the position: "none", "logarithm" (Llama 4) or "power" (Beam).
        declares_reach: whether an encoder's window is declared for one direction, not both together.
        sign: -1 where pairs turn the other way (nanochat).
        normed_after: whether queries and keys are normed after they turn, not before (HunYuan).
        wide_heads: whether layers that see everything have heads of another width, ``global_head_dim`` (Gemma 4).
        count: how many attentions there are, where that is not the number of layers.
        crosses: whether it attends to pictures, too, without a rotation.
        counted_from: how positions are counted where the caller gives none.
        endless: whether no longest sequence is declared.
        beside: what the model does with positions beside the plan, for the record.
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
    query_scale: Literal["none", "logarithm", "power"] = "none"
    declares_reach: bool = False
    sign: Literal[1, -1] = 1
    normed_after: bool = False
    wide_heads: bool = False
    count: Callable[[Fields], int] | None = None
    crosses: bool = False
    counted_from: IdsFrom = "order"
    endless: bool = False
    beside: str = ""
