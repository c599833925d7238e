"""What a checkpoint's files say of positions, as plain frozen records: no torch, nothing to run, equal if the numbers are equal.

A model has one stack of layers, or several (encoder and decoder). A stack has one input scheme or none, and for every layer what
its attention does with positions. ``build()`` makes the modules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ordinate.checkpoints.grid_plan import GridPlan
from ordinate.checkpoints.scheme_plans import AttentionPlan, DebertaTablePlan, InputPlan

if TYPE_CHECKING:
    from ordinate.checkpoints.built import BuiltStack
    from ordinate.phases import Phases
    from ordinate.positions import Positions
    from ordinate.rotation import Arithmetic

IdsFrom = Literal["order", "mask", "tokens", "heads"]
Turned = Literal["queries and keys", "queries, keys and values", "states"]


@dataclass(frozen=True, kw_only=True)
class QueryScale:
    """Queries are multiplied by 1 + strength log(1 + floor((position + first) / length)).

    Attributes:
        strength: of the growth.
        length: of a step.
        first: what is added to the position.
        rounded: whether the factor is rounded to the queries' dtype before it multiplies.
    """

    strength: float
    length: int
    first: int
    rounded: bool


@dataclass(frozen=True, kw_only=True)
class PowerScale:
    """Queries are multiplied by ((position + first) / length + 1)^exponent, in float32, and rounded to their dtype.

    Attributes:
        exponent: of the growth.
        length: positions below it change little.
        first: what is added to the position.
    """

    exponent: float
    length: int
    first: int


@dataclass(frozen=True, kw_only=True)
class LayerPlan:
    """What one layer's attention does with positions.

    Attributes:
        scheme: at queries, keys or scores; None for a layer without one (NoPE).
        softmax_scale: ``attend(scale=)``.
        window: ``attend(window=)``: keys this far from the query, or farther, are hidden.
        window_back: the same of earlier keys alone, where less of those is seen than of later ones; ``BuiltStack.attend`` knows it.
        window_ahead: the same of later keys alone.
        chunk: tokens see their own chunk of this many only: ``attend(document_ids=positions // chunk)``.
        chunks_back: how many chunks before it they see, too; ``BuiltStack.attend`` knows it.
        chunks_ahead: how many chunks after it they see, too.
        query_scale: factor of the queries by position, after a rotation.
        kind: the layer type's name in the configuration, as "full_attention".
        attends: whether it attends at all; a convolution, recurrence or linear attention has no scheme, and the rest means nothing.
        values_turn: whether values turn as keys do, and what comes out turns back by the query's position (DeepSeek-V4).
        compressed: beside the tokens that it sees, keys are made of this many tokens each, at the position of the first.
        grid_window: patches see their own window of the grid, of this many rows and columns.
        grid: how this layer numbers patches, where it does so otherwise than the stack.
        heads_joined: whether the scheme turns the heads of a token laid end to end, as one wide head.
        heads_turned: how many heads turn, the first ones; None for all.
        turned: what a rotation turns: queries and keys, values too (CLVP), or the states of which queries and keys are made
            ("states", Wav2Vec2-BERT): ``BuiltStack.turned_states``.
    """

    scheme: AttentionPlan | None
    softmax_scale: float
    window: int | None = None
    window_back: int | None = None
    window_ahead: int | None = None
    chunk: int | None = None
    chunks_back: int = 0
    chunks_ahead: int = 0
    query_scale: QueryScale | PowerScale | None = None
    kind: str = "full_attention"
    attends: bool = True
    values_turn: bool = False
    compressed: int | None = None
    grid_window: int | None = None
    grid: GridPlan | None = None
    heads_joined: bool = False
    heads_turned: int | None = None
    turned: Turned = "queries and keys"


@dataclass(frozen=True, kw_only=True)
class PositionIds:
    """How the model counts positions.

    Attributes:
        counted_from: "order" (0, 1, 2, ..., also over padding, unless the caller gives positions), "mask" (real tokens only, from
            the attention mask), "tokens" (real tokens only, those that are not the padding token) or "heads" (a head's number is
            the position of all its queries and keys, wherever they are: X-Codec 2).
        padding_token: its id, for "tokens".
        first: position of the first token that counts: add it to what ``positions`` counts from 0.
        axes: coordinates a token has.
        called: their names, where they are not a row and a column, or a time before those.
    """

    counted_from: IdsFrom = "order"
    padding_token: int | None = None
    first: int = 0
    axes: int = 1
    called: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StackPlan:
    """One stack of layers.

    Attributes:
        name: "decoder", "encoder".
        causal: whether a query sees later keys not.
        max_length: longest sequence the configuration declares; None if it says nothing.
        input: scheme at the input, or None.
        layers: one a layer.
        position_ids: how positions are counted.
        table: relative table that the layers share, or None.
        cross_attention: what attention to another stack does with positions, or None.
        grid: how patches are numbered, for encoders of images; else None.
        cross_grid: how the keys of attention to another stack are numbered, where that is otherwise than ``grid``.
        left_to_model: what the model does with positions beside all this, and a plan does not say.
        cross_input: what is added to the other stack's states before it, or None.
    """

    name: str
    causal: bool
    max_length: int | None
    input: InputPlan | None
    layers: tuple[LayerPlan, ...] = field(repr=False)
    position_ids: PositionIds = PositionIds()
    table: DebertaTablePlan | None = None
    cross_attention: LayerPlan | None = None
    grid: GridPlan | None = None
    cross_grid: GridPlan | None = None
    left_to_model: tuple[str, ...] = ()
    cross_input: InputPlan | None = None

    def build(self, *, phases: Phases | None = None, arithmetic: Arithmetic | None = None) -> BuiltStack:
        """Make the modules; equal schemes are one object.

        Args:
            phases: of rotations, in place of the plan's "float32" (bit for bit what the model computes): "exact".
            arithmetic: of rotations, in place of the plan's.

        Returns:
            The input scheme, each layer's scheme and the shared table; weights are drawn, not loaded.
        """
        from ordinate.checkpoints.built import BuiltStack

        return BuiltStack(self, phases=phases, arithmetic=arithmetic)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One position-related key: where it stands, its value there, and what it became."""

    key: str
    value: Any = field(hash=False)
    source: str
    became: str


@dataclass(frozen=True, kw_only=True)
class PositionPlan:
    """All that a checkpoint's files say of positions, and how it was read.

    Attributes:
        model_type: as in the table of known types.
        source: what was read.
        stacks: one, or encoder and decoder.
        entries: every position-related key, where it came from and what it became.
        warnings: keys that change nothing, and what had to be assumed.
    """

    model_type: str
    source: str
    stacks: tuple[StackPlan, ...]
    entries: tuple[Entry, ...] = field(repr=False)
    warnings: tuple[str, ...]

    def stack(self, name: str | None = None) -> StackPlan:
        """Give a stack of layers.

        Args:
            name: "encoder" or "decoder"; not needed if there is one.

        Returns:
            The stack.

        Raises:
            ValueError: if there is none of that name, or there are several and none was named.
        """
        found = [stack for stack in self.stacks if name in (None, stack.name)]
        if len(found) == 1:
            return found[0]
        names = ", ".join(stack.name for stack in self.stacks)
        raise ValueError(f"{self.model_type}: needed the name of one stack, plan.stack(name), of {names}, got {name!r}")

    @property
    def layers(self) -> tuple[LayerPlan, ...]:
        """What every layer does, for models with one stack."""
        return self.stack().layers

    @property
    def input(self) -> InputPlan | None:
        """The input scheme, for models with one stack."""
        return self.stack().input

    @property
    def position_ids(self) -> PositionIds:
        """How positions are counted, for models with one stack."""
        return self.stack().position_ids

    def build(self, *, phases: Phases | None = None, arithmetic: Arithmetic | None = None) -> BuiltStack:
        """Make the modules of a model with one stack; see ``StackPlan.build``."""
        return self.stack().build(phases=phases, arithmetic=arithmetic)

    def at(self, q_positions: Positions, k_positions: Positions) -> list[Any]:
        """Compute what depends on positions alone, once per distinct scheme, for models with one stack.

        Builds first: a model keeps ``built = plan.build()`` and calls ``built.at`` in every forward.

        Args:
            q_positions: where the queries are.
            k_positions: where the keys are.

        Returns:
            One a layer, for ``attend(at=...)``; layers with equal schemes share one object.
        """
        return self.build().at(q_positions, k_positions)

    def explain(self) -> str:
        """Say every position-related key, where it came from and what it became, then what each layer does."""
        from ordinate.checkpoints.explaining import explain

        return explain(self)
