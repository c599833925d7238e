"""``attach`` and ``detach``."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from types import TracebackType
from typing import Any, Self, get_args

from torch import nn

from ordinate.attaching.angles import Angles, Plan, rope_of
from ordinate.attaching.applying import COMPLEX_SEQUENCE_DIM, INTO_HALVES, Turn, stand_in
from ordinate.attaching.caches import CachedTurning, faults_of_raw_keys
from ordinate.attaching.classes import AttachedModule, attach_module, detach_module
from ordinate.attaching.finding import Found, find
from ordinate.attaching.frequencies import other_frequencies
from ordinate.attaching.functions import rebound
from ordinate.attaching.lengths import GIVEN_ALL_PLACES, Lengths, OnSwitch, unwatch, watch
from ordinate.checkpoints.plan import LayerPlan, PositionPlan, StackPlan
from ordinate.checkpoints.reading import read
from ordinate.phases import Phases
from ordinate.scaling.rule import Rule


class Attached:
    """A model with ordinate's rotation in it; made by ``attach``. As a context manager it detaches at the end.

    Attributes:
        model: the model.
        plan: what its configuration says of positions.
        phases: "float32" or "exact".
        scaling: the rule in place of the model's own, or None.
        on_switch: what happens when a sequence with cached keys outgrows its frequencies.
    """

    def __init__(self, model: nn.Module, plan: PositionPlan, *, phases: Phases, scaling: Rule | None, on_switch: OnSwitch) -> None:
        self.model, self.plan = model, plan
        self.phases, self.scaling, self.on_switch = phases, scaling, on_switch

    def detach(self) -> None:
        """Give the model its own rotation back."""
        detach(self.model)

    def __enter__(self) -> Self:
        """Give the handle: the model is attached already."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Detach, whatever happened, unless that was done inside."""
        if _attached_parts(self.model):
            self.detach()

    def __repr__(self) -> str:
        """Say what was attached."""
        return f"Attached({self.plan.model_type}, phases={self.phases!r}, scaling={self.scaling!r}, on_switch={self.on_switch!r})"


def attach(
    model: nn.Module, *, phases: Phases = "float32", scaling: Rule | None = None, on_switch: OnSwitch = "returned"
) -> Attached:
    """Put ordinate's rotation into a model of transformers that is already running, in place of its own.

    The model's configuration is read as by ``checkpoints.read``. Its rotary modules and the functions by which its attention turns
    are replaced in this model alone; nothing is changed if something stands against it. Encoders of images or
    sounds beside a text model keep their own.

    Args:
        model: of transformers, or one that holds such a model and its ``config``.
        phases: "float32" keeps every bit that the model computes; "exact" takes the float32 frequencies that it was trained with
            for exact numbers, so that only the rounding of position times frequency goes.
        scaling: a rule of ``ordinate.scaling`` in place of the model's own.
        on_switch: for rules that depend on the length, when a sequence with cached keys grows into other frequencies: "returned"
            (all of its keys turn by the new ones), "pin" (it keeps those of its first forward) or "error".

    Returns:
        A handle; as a context manager it detaches at the end.

    Raises:
        ValueError: if the model cannot be read, is attached already, or is built otherwise than the table knows.

    Example:
        >>> import torch
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 9}
        >>> model, tokens = LlamaForCausalLM(LlamaConfig(**sizes)), torch.arange(8)[None]
        >>> before = model(tokens).logits
        >>> with attach(model) as attached:
        ...     torch.equal(model(tokens).logits, before)
        True
    """
    faults = [
        f"{name}: needed one of {', '.join(get_args(known))}, got {value!r}"
        for name, value, known in (("phases", phases, Phases), ("on_switch", on_switch, OnSwitch))
        if value not in get_args(known)
    ]
    if scaling is not None and not isinstance(scaling, Rule):
        faults.append(f"scaling: needed a rule of ordinate.scaling or None, got {scaling!r:.60}")
    if faults:
        raise ValueError(f"attach: {'; '.join(faults)}")
    plan = _read(model)
    if len(plan.stacks) != 1:
        raise ValueError(f"attach: needed a model with one stack of layers, got {plan.model_type} with {len(plan.stacks)}")
    schemes, faults = _schemes(plan.stack(), scaling)
    found, more = find(model, plan.model_type, plan.stack()) if schemes else (None, [])
    if found is not None and len(set(schemes.values())) > 1 and not found.by_type:
        more = ["needed rotary modules that take a layer_type, since rotations differ by layer type, got others"]
    by_length = any(scheme.scaling is not None and scheme.scaling.needs_length for scheme in schemes.values())
    if by_length and plan.model_type in GIVEN_ALL_PLACES:
        more.append("scaling: needed a rule that depends on no length, since angles of cached tokens are made anew at every step")
    if found is not None and by_length and on_switch == "returned":
        more += faults_of_raw_keys(found, plan.model_type, _turn(found, schemes))
    if found is not None:
        more += other_frequencies(found, _schemes(plan.stack(), None)[0])
    if faults or more or found is None:
        raise ValueError(f"attach: {plan.model_type}: {'; '.join([*faults, *more])}")
    _put_in(found, plan, schemes, phases, on_switch if by_length else None)
    return Attached(model, plan, phases=phases, scaling=scaling, on_switch=on_switch)


def detach(model: nn.Module) -> None:
    """Give a model its own rotation back.

    Args:
        model: attached, or a deep copy of one.

    Raises:
        ValueError: if it is not attached.

    Example:
        >>> detach(nn.Identity())
        Traceback (most recent call last):
        ValueError: detach: needed an attached model, got Identity without ordinate's rotation
    """
    parts = _attached_parts(model)
    if not parts:
        raise ValueError(f"detach: needed an attached model, got {type(model).__name__} without ordinate's rotation")
    for module in parts:
        detach_module(module)
    for module in model.modules():
        unwatch(module)


def _attached_parts(model: nn.Module) -> list[nn.Module]:
    return [module for module in model.modules() if isinstance(module, AttachedModule)]


def _read(model: nn.Module) -> PositionPlan:
    config = getattr(model, "config", None)
    if not isinstance(model, nn.Module) or config is None:
        raise ValueError(f"attach: needed a model of transformers with its config, got {type(model).__name__}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # keys that change nothing: ``read`` is asked for the plan alone
        try:
            return read(config)
        except ValueError as error:
            raise ValueError(f"attach: {error}") from None


def _schemes(stack: StackPlan, scaling: Rule | None) -> tuple[dict[str, Plan], list[str]]:
    """The plan's rotations by layer type, with the new rule where far tokens are seen; and what is wrong with them."""
    turning = [layer for layer in stack.layers if isinstance(layer.scheme, Plan)]
    schemes: dict[str, Any] = {layer.kind: layer.scheme for layer in turning}
    others = {layer.scheme.scheme for layer in stack.layers if layer.scheme is not None and not isinstance(layer.scheme, Plan)}
    if schemes and (others or any(layer.heads_joined or layer.heads_turned is not None for layer in turning)):
        got = " and ".join(others) or "heads that turn together or not at all"
        return {}, [f"needed one rotation a head in all layers, got {got}, too"]
    if others:
        return {}, [f"needed layers that turn queries and keys by one position or M-RoPE's coordinates, got {' and '.join(others)}"]
    if not schemes:
        return {}, ["needed layers that turn queries and keys, found no scheme in them"]
    faults = [
        f"{layer.kind}: needed one rotation for a layer type, found two" for layer in turning if layer.scheme != schemes[layer.kind]
    ]
    shared = len(set(schemes.values())) == 1
    if scaling is not None:
        far = {layer.kind for layer in turning if shared or layer.window is None} or set(schemes)
        try:
            scaled = {kind: dataclasses.replace(scheme, scaling=scaling) for kind, scheme in schemes.items() if kind in far}
            factors = {rope_of(scheme).softmax_scale(1) for scheme in (*scaled.values(), *(schemes[kind] for kind in far))}
            if factors != {1.0}:
                faults.append("scaling: needed rules that leave the softmax scale alone, which the model computes itself")
            schemes |= scaled
        except ValueError as error:
            faults.append(f"scaling: {error}")
    # where the pairs begin a head, its width does not matter
    same = {
        (one.scheme, one.layout, one.arithmetic, one.rotary_start, one.rotary_start and one.head_dim) for one in schemes.values()
    }
    if len(same) != 1:
        faults.append("needed one sort of rotation, layout, arithmetic and first entry for all layers, found several")
    return schemes, list(dict.fromkeys(faults))


def _turn(found: Found, schemes: dict[str, Plan]) -> Turn:
    """How the model turns; where neighbours go through a function that gives halves, the other function takes halves."""
    scheme = next(iter(schemes.values()))
    half = any(INTO_HALVES in names for _, names in found.attentions)
    layout = "half" if half else scheme.layout
    return Turn(layout=layout, arithmetic=scheme.arithmetic, head_dim=scheme.head_dim, start=scheme.rotary_start)


def _put_in(found: Found, plan: PositionPlan, schemes: dict[str, Plan], phases: Phases, on_switch: OnSwitch | None) -> None:
    """Change the modules; on_switch is None where no rule needs a length."""
    turn, made = _turn(found, schemes), {scheme: rope_of(scheme) for scheme in schemes.values()}
    ropes = {kind: made[scheme] for kind, scheme in schemes.items()}
    angles = Angles(ropes, phases=phases, arithmetic=turn.arithmetic, form=found.form)
    lengths = None if on_switch is None else Lengths(angles, on_switch=on_switch)
    for module in found.rotaries:
        attach_module(module, _angles_forward, lengths or angles)
    for module, calls in found.attentions:
        place = COMPLEX_SEQUENCE_DIM.get(plan.model_type)
        whole, queries = (
            rebound(
                inspect.getattr_static(type(module), "forward"),
                {name: stand_in(name, function, turn, complex_dim=place, keys=keys) for name, function in calls.items()},
            )
            for keys in (True, False)
        )
        if lengths is None:
            attach_module(module, whole, turn)
        else:
            layer = _layer(module, plan)
            turns = layer is None or layer.scheme is not None
            kind = layer.kind if layer is not None and turns else None
            cached = CachedTurning(
                lengths=lengths, kind=kind, turn=turn, whole=whole, queries=queries if turns and on_switch == "returned" else None
            )
            attach_module(module, _attention_forward, cached)
    if lengths is not None:
        watch(found.owner, lengths)


def _layer(module: nn.Module, plan: PositionPlan) -> LayerPlan | None:
    """The plan of a module's layer; encoders' modules, which have no cache, need not know their number."""
    index = getattr(module, "layer_idx", None)
    return plan.layers[index] if isinstance(index, int) and index < len(plan.layers) else None


def _angles_forward(self: Any, x: Any, position_ids: Any, layer_type: str | None = None) -> Any:
    """What a rotary module does while attached."""
    return self.state(x, position_ids, layer_type)


def _attention_forward(self: Any, *positional: Any, **named: Any) -> Any:
    """What an attention module does while attached, where a rule needs lengths."""
    return self.state(self, *positional, **named)
