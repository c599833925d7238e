"""Which modules of a model make angles and which turn by them; and what stands against putting others in their place."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from types import FunctionType

from torch import nn

from ordinate.attaching.angles import Plan
from ordinate.attaching.applying import COMPLEX_SEQUENCE_DIM, FORMS, Form, form_of
from ordinate.attaching.classes import AttachedModule
from ordinate.attaching.functions import innermost, named_functions
from ordinate.checkpoints.plan import StackPlan

ROTARY_CLASS = "RotaryEmbedding"
TURNS = re.compile(r"rot|rope", re.IGNORECASE)
HOME = "transformers.models."
# Arguments of a rotary module's forward; the last one where angles differ by layer type.
ANGLES = (["self", "x", "position_ids"], ["self", "x", "position_ids", "layer_type"])


@dataclass(frozen=True, kw_only=True)
class Found:
    """The modules of a model that take part.

    Attributes:
        owner: what holds the rotary modules, and in whose forward they run.
        rotaries: modules that make cos and sin.
        by_type: whether they are asked for a layer type's.
        attentions: modules that turn, with the apply functions that they call, by name.
        form: how cos and sin are handed on.
    """

    owner: nn.Module
    rotaries: list[nn.Module]
    by_type: bool
    attentions: list[tuple[nn.Module, dict[str, FunctionType]]]
    form: Form


def find(model: nn.Module, model_type: str, stack: StackPlan) -> tuple[Found | None, list[str]]:
    """Find a model's rotary modules and what turns by them.

    Args:
        model: of transformers.
        model_type: of the plan.
        stack: what the plan says of its layers.

    Returns:
        What was found, None if a fault stands against it, and the faults.

    Example:
        >>> from ordinate.checkpoints import read
        >>> config = {"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 1}
        >>> find(nn.Identity(), "llama", read(config).stack())
        (None, ['model: needed one module with rotary modules in a model of type llama, found 0'])
    """
    owners = [module for module in model.modules() if _own_rotaries(module) and _type_of(module) in (model_type, _type_of(model))]
    if len(owners) != 1:
        return None, [f"model: needed one module with rotary modules in a model of type {model_type}, found {len(owners)}"]
    owner = owners[0]
    rotaries = [module for module in owner.modules() if _is_rotary(module)]
    attentions = [(module, calls) for module in owner.modules() if not _is_rotary(module) and (calls := _calls(module))]
    faults = [fault for module in rotaries for fault in _forward_faults(module)]
    takes = {type(module).__name__: list(inspect.signature(innermost(type(module).forward)).parameters) for module in rotaries}  # type: ignore[arg-type]
    for name, arguments in takes.items():
        if arguments not in ANGLES:
            faults.append(f"{name}: needed the arguments x and position_ids, got {', '.join(arguments[1:])}")
    faults += [fault for module, calls in attentions for fault in (*_forward_faults(module), *_call_faults(module, calls))]
    forms = {form for _, calls in attentions for function in calls.values() if (form := form_of(function))}
    if "one tensor" in forms and model_type not in COMPLEX_SEQUENCE_DIM:
        faults.append(f"{model_type}: needed a type whose complex factors are known, {' or '.join(COMPLEX_SEQUENCE_DIM)}")
    faults += _layer_faults(owner, attentions, stack)
    if len(forms) > 1:
        faults.append(f"{model_type}: needed one way to hand cos and sin on, found {', '.join(sorted(forms))}")
    faults = list(dict.fromkeys(faults))
    if faults or not forms:
        return None, faults or [f"{model_type}: needed apply functions that attention calls, found none"]
    by_type = all("layer_type" in arguments for arguments in takes.values())
    return Found(owner=owner, rotaries=rotaries, by_type=by_type, attentions=attentions, form=forms.pop()), []


def _type_of(module: nn.Module) -> str | None:
    return getattr(getattr(module, "config", None), "model_type", None)


def _is_rotary(module: nn.Module) -> bool:
    return type(module).__name__.endswith(ROTARY_CLASS)


def _own_rotaries(module: nn.Module) -> bool:
    return any(_is_rotary(child) for child in module.children()) and not isinstance(module, nn.ModuleList)


def _calls(module: nn.Module) -> dict[str, FunctionType]:
    """Functions with a rotation in their name that a module's forward calls."""
    forward = inspect.getattr_static(type(module), "forward")
    if not isinstance(forward, FunctionType):
        return {}
    return {name: function for name, function in named_functions(forward).items() if TURNS.search(name)}


def _forward_faults(module: nn.Module) -> list[str]:
    name, forward = type(module).__name__, inspect.getattr_static(type(module), "forward")
    if isinstance(module, AttachedModule):
        return ["model: needed one without an attached rotation, got an attached one; call ordinate.detach(model) first"]
    if "forward" in vars(module):
        return [f"{name}: needed its class's forward, got one set on the module, as accelerate's hooks and hub kernels do"]
    home = innermost(forward).__module__ if isinstance(forward, FunctionType) else "no function"
    if not home.startswith(HOME):
        return [f"{name}: needed a forward from {HOME}*, got one from {home}"]
    return []


def _call_faults(module: nn.Module, calls: dict[str, FunctionType]) -> list[str]:
    faults = []
    for name, function in calls.items():
        if form_of(function) is None or not name.startswith("apply_rot"):
            known = "; ".join(", ".join(arguments) for arguments in FORMS)
            got = ", ".join(inspect.signature(function).parameters)
            faults.append(f"{type(module).__name__}: needed {name} with the arguments {known}, got {got}")
    return faults


def _layer_faults(owner: nn.Module, attentions: list[tuple[nn.Module, dict[str, FunctionType]]], stack: StackPlan) -> list[str]:
    """Something that turns would be left out if there are fewer modules than layers that turn."""
    modules = {id(module) for module, _ in attentions}
    inner = {id(part) for module, _ in attentions for part in module.modules() if part is not module}
    turning = sum(isinstance(layer.scheme, Plan) for layer in stack.layers)
    if len(modules - inner) < turning:
        return [f"{type(owner).__name__}: needed a module that turns in each of {turning} layers, found {len(modules - inner)}"]
    return []
