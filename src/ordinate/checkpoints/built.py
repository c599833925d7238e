"""The modules of a plan."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn

from ordinate.attention import AttentionScheme, attend, attention_at
from ordinate.checkpoints import scheme_plans as plans
from ordinate.checkpoints.patches import window_ids
from ordinate.checkpoints.plan import LayerPlan, PowerScale, QueryScale, StackPlan
from ordinate.checkpoints.scheme_plans import AttentionPlan, InputPlan, RotaryPlan
from ordinate.checkpoints.turning_otherwise import narrowed, sees_chunks, turned_by_heads, turned_heads, turned_states
from ordinate.phases import Phases
from ordinate.positions import Positions, as_tensor
from ordinate.rotation import Arithmetic
from ordinate.schemes.alibi import ALiBi
from ordinate.schemes.angles import AngleScheme
from ordinate.schemes.axial_rope import AxialRope
from ordinate.schemes.deberta import Deberta
from ordinate.schemes.deberta_table import DebertaTable
from ordinate.schemes.entrywise_rope import EntrywiseRope
from ordinate.schemes.learned import Learned
from ordinate.schemes.multimodal_rope import MultimodalRope
from ordinate.schemes.rope import Rope
from ordinate.schemes.shaw import Shaw
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.schemes.t5 import T5Bias
from ordinate.schemes.transformer_xl import TransformerXL
from ordinate.visibility import DocumentIds, Order, document_pair

LONGEST = 2**40  # more chunks than a document has
MODULES: dict[type, type[nn.Module]] = {
    plans.LearnedPlan: Learned,
    plans.SinusoidalPlan: Sinusoidal,
    plans.RopePlan: Rope,
    plans.MultimodalRopePlan: MultimodalRope,
    plans.AxialRopePlan: AxialRope,
    plans.EntrywiseRopePlan: EntrywiseRope,
    plans.AlibiPlan: ALiBi,
    plans.T5Plan: T5Bias,
    plans.ShawPlan: Shaw,
    plans.TransformerXLPlan: TransformerXL,
    plans.DebertaPlan: Deberta,
}


class BuiltStack(nn.Module):
    """The schemes of one stack of layers: equal ones are one object, computed once a forward and shared.

    Args:
        plan: what to build.
        phases: of rotations, in place of the plan's.
        arithmetic: of rotations, in place of the plan's.

    Attributes:
        plan: what was built.
        input: the input scheme, or None.
        cross_input: what is added to another stack's states before cross-attention, or None.
        schemes: the distinct attention schemes.
        table: relative table that the layers share (DeBERTa), or None.

    Raises:
        ValueError: if a scheme refuses its numbers.

    Example:
        >>> from ordinate import checkpoints
        >>> config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3}
        >>> built = checkpoints.read(config).build()
        >>> len(built.layers), len(built.schemes), built.layers[0] is built.layers[2]
        (3, 1, True)
        >>> at = built.at(range(5), range(5))
        >>> at[0] is at[2]
        True
    """

    def __init__(self, plan: StackPlan, *, phases: Phases | None = None, arithmetic: Arithmetic | None = None) -> None:
        super().__init__()
        wanted = {name: value for name, value in (("phases", phases), ("arithmetic", arithmetic)) if value is not None}
        by_object = {id(layer): _changed(layer.scheme, wanted) for layer in plan.layers}  # readers share objects: few are compared
        schemes = dict.fromkeys(scheme for scheme in by_object.values() if scheme is not None)
        distinct = {scheme: place for place, scheme in enumerate(schemes)}
        places = {key: None if scheme is None else distinct[scheme] for key, scheme in by_object.items()}
        self.plan = plan
        self.input = None if plan.input is None else _module(plan.input)
        self.cross_input = None if plan.cross_input is None else _module(plan.cross_input)
        self.schemes = nn.ModuleList(_module(scheme) for scheme in distinct)
        self.table = None if plan.table is None else DebertaTable(**_arguments(plan.table))
        self._place = [places[id(layer)] for layer in plan.layers]

    @property
    def layers(self) -> list[AttentionScheme | None]:
        """One scheme a layer, or None."""
        return [None if place is None else self.schemes[place] for place in self._place]  # type: ignore[misc]

    def at(self, q_positions: Positions, k_positions: Positions, *, device: torch.device | str | None = None) -> list[Any]:
        """Compute what depends on positions alone, once per distinct scheme.

        Args:
            q_positions: where the queries are.
            k_positions: where the keys are.
            device: the model's device, for ranges.

        Returns:
            One a layer, for ``attend(at=...)``.
        """
        found = [attention_at(scheme, q_positions, k_positions, device=device) for scheme in self.schemes]  # type: ignore[arg-type]
        return [None if place is None else found[place] for place in self._place]

    def at_length(self, length: int) -> BuiltStack:
        """Give the stack for a sequence of this length, where a scaling rule depends on it; weights are shared.

        Args:
            length: of the whole sequence, prompt and continuation.

        Returns:
            A stack; this one if no rule needs a length.

        Raises:
            ValueError: if length is no whole number >= 1.
        """
        schemes = [scheme.at_length(length) if isinstance(scheme, AngleScheme) else scheme for scheme in self.schemes]
        if all(new is old for new, old in zip(schemes, self.schemes, strict=True)):
            return self
        again = BuiltStack.__new__(BuiltStack)
        nn.Module.__init__(again)
        again.plan, again.input, again.table, again._place = self.plan, self.input, self.table, self._place
        again.cross_input = self.cross_input
        again.schemes = nn.ModuleList(schemes)
        return again.train(self.training)

    def attend(
        self,
        layer: int,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        *,
        q_positions: Positions,
        k_positions: Positions,
        at: list[Any] | None = None,
        order: Order | None = None,
        document_ids: DocumentIds | None = None,
        mask: torch.Tensor | None = None,
        extras: dict[str, torch.Tensor] | None = None,
        dropout: float = 0.0,
    ) -> torch.Tensor:
        """Attend as a layer of the model does: its scheme, causal order, window, chunks, softmax scale and factor of queries.

        What is not about positions stays the model's: sinks, caps on scores, norms of queries and keys.

        Args:
            layer: its number.
            q: queries, neither turned nor scaled; made of ``turned_states`` where the plan's ``turned`` is "states".
            k: keys, not turned; made of the same states.
            v: values.
            q_positions: where the queries are.
            k_positions: where the keys are.
            at: from ``at``, to save work.
            order: (q_order, k_order), places in the sequence; needed where tokens have several coordinates and order matters.
            document_ids: as in ``ordinate.attend``.
            mask: as in ``ordinate.attend``.
            extras: as in ``ordinate.attend``.
            dropout: as in ``ordinate.attend``.

        Returns:
            Attended values.

        Shape:
            q [B, H, Q, D], k and v [B, H_kv, K, D] -> [B, H, Q, D]

        Raises:
            ValueError: if something does not fit.
        """
        plan = self.plan.layers[layer]
        if not plan.attends:
            raise ValueError(f"layer: needed one that attends, got {layer} ({plan.kind})")
        if plan.compressed is not None:
            kind = f"{layer} ({plan.kind}: one key more for each {plan.compressed} tokens)"
            raise ValueError(
                f"layer: needed one whose keys are tokens, got {kind}; turn with built.layers[{layer}] and call attend"
            )
        scheme = self.layers[layer]
        turned = scheme if plan.values_turn and isinstance(scheme, Rope) else None
        v = v if turned is None else turned.keys(v, k_positions)
        parted = [self._part(plan, places, q.device) for places in order or (q_positions, k_positions)]
        if parted[0] is not None and parted[1] is not None:
            q_ids, k_ids = parted[0], parted[1]
            documents = document_pair(document_ids, q, k)
            if documents is not None:
                q_ids, k_ids = q_ids + LONGEST * documents[0], k_ids + LONGEST * documents[1]
            document_ids = (q_ids, k_ids)
        q, scheme, layer_at = self.scaled_queries(layer, q, q_positions), scheme, None if at is None else at[layer]
        if isinstance(scheme, Rope) and self.plan.position_ids.counted_from == "heads":
            q, k = turned_by_heads(scheme, q, k)
            scheme = layer_at = None
        if isinstance(scheme, Rope) and plan.turned == "queries, keys and values":
            v = scheme.keys(v, k_positions if layer_at is None else layer_at[1])
        if plan.turned == "states":
            scheme = layer_at = None
        if isinstance(scheme, AngleScheme) and (plan.heads_joined or plan.heads_turned is not None):
            q_at, k_at = (q_positions, k_positions) if layer_at is None else layer_at
            q, k = (turned_heads(plan, turn, x, x_at) for turn, x, x_at in ((scheme.queries, q, q_at), (scheme.keys, k, k_at)))
            scheme = layer_at = None
        out = attend(
            q,
            k,
            v,
            scheme=scheme,
            q_positions=q_positions,
            k_positions=k_positions,
            at=layer_at,
            order=order,
            causal=self.plan.causal,
            window=plan.window,
            document_ids=document_ids,
            mask=narrowed(plan, mask, *(order or (q_positions, k_positions)), q.device),
            extras=extras,
            scale=plan.softmax_scale,
            dropout=dropout,
        )
        return out if turned is None else turned.queries(out, _negative(q_positions))

    def _part(self, plan: LayerPlan, positions: Positions, device: torch.device) -> torch.Tensor | None:
        """Which chunk or window every token is in, or None where a layer has neither."""
        if plan.chunk is not None and not sees_chunks(plan):
            return _chunks(positions, plan.chunk, device)
        if plan.grid_window is not None and isinstance(positions, torch.Tensor):
            grid = plan.grid or self.plan.grid
            return window_ids(positions, plan.grid_window, first=0 if grid is None else grid.first)
        return None

    def turned_states(self, layer: int, states: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Turn the states of which a layer makes queries and keys (not values), where its plan's ``turned`` is "states".

        Args:
            layer: its number.
            states: what goes into its projections.
            positions: where they are.

        Returns:
            The states; as they are for layers that turn something else.

        Shape:
            states [B, T, W] -> [B, T, W]
        """
        scheme = self.layers[layer]
        turns = isinstance(scheme, Rope) and self.plan.layers[layer].turned == "states"
        return turned_states(scheme, states, positions) if turns else states  # type: ignore[arg-type]

    def scaled_queries(self, layer: int, q: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Multiply queries by the layer's factor of their positions; most layers have none.

        Args:
            layer: its number.
            q: queries after a rotation.
            positions: where they are.

        Returns:
            The queries, in their dtype.

        Shape:
            q [B, H, T, D], positions [T] or [B, T] -> [B, H, T, D]
        """
        rule = self.plan.layers[layer].query_scale
        if rule is None:
            return q
        factors = query_factors(rule, positions, device=q.device)
        if isinstance(rule, PowerScale):
            return (q.float() * factors).to(q.dtype) if q.dtype != torch.float64 else q * factors
        return (q * (factors.to(q.dtype) if rule.rounded else factors)).to(q.dtype)


def query_factors(rule: QueryScale | PowerScale, positions: Positions, *, device: torch.device | str | None = None) -> torch.Tensor:
    """Give 1 + strength log(1 + floor((position + first) / length)), or ((position + first) / length + 1)^exponent.

    Args:
        rule: its numbers.
        positions: where the queries are.
        device: where a range's result is made.

    Returns:
        Factors of queries [B, H, T, D], float32.

    Shape:
        positions [T] or [B, T] -> [T, 1] or [B, 1, T, 1]

    Example:
        >>> query_factors(QueryScale(strength=0.1, length=8192, first=1, rounded=False), range(8190, 8192))
        tensor([[1.0000],
                [1.0693]])
    """
    place = as_tensor(positions, device)
    if isinstance(rule, PowerScale):
        factors = torch.exp(rule.exponent * torch.log1p((place.float() + rule.first) / rule.length))  # as Beam computes it
        return factors[..., None] if factors.ndim == 1 else factors[:, None, :, None]
    steps = ((place.double() + rule.first) / rule.length).floor().float()
    growth = (1.0 + steps).log() if rule.rounded else steps.log1p()  # as the two models that have it compute it
    factors = 1.0 + rule.strength * growth
    return factors[..., None] if factors.ndim == 1 else factors[:, None, :, None]


def _negative(positions: Positions) -> Positions:
    return range(-positions.start, -positions.stop, -positions.step) if isinstance(positions, range) else -positions


def _chunks(positions: Positions, size: int, device: torch.device) -> torch.Tensor:
    return torch.div(as_tensor(positions, device), size, rounding_mode="floor").long()


def _changed(scheme: AttentionPlan | None, wanted: dict[str, Any]) -> AttentionPlan | None:
    return dataclasses.replace(scheme, **wanted) if isinstance(scheme, RotaryPlan) and wanted else scheme


def _module(plan: InputPlan | AttentionPlan) -> nn.Module:
    arguments = _arguments(plan)
    arguments.pop("table", None)  # tells tables apart; a module is its own
    return MODULES[type(plan)](**arguments)


def _arguments(plan: Any) -> dict[str, Any]:
    return {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)}
