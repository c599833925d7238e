"""Numbers that follow from the configuration, kept as buffers or parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ordinate.doctor.source.buffers import Buffer, buffers_of
from ordinate.doctor.source.names import argument, dotted, last, named
from ordinate.doctor.source.spotted import Spotted, note, warning
from ordinate.doctor.source.tree import Function, Source
from ordinate.doctor.source.vocabulary import DERIVED

STORED, EMPTY = "derived-keys-in-checkpoint", "derived-buffer-uninit"
# Kept in many published checkpoints for the sake of old files; they differ in length at most.
COUNTED = ("position_ids", "pe", "alibi")
# What fills buffers again after memory was taken for a module made on the meta device.
REFILLING = frozenset(
    {"_init_weights", "reset_parameters", "rope_init", "_apply", "to_empty", "reset_buffers", "_init_buffers", "init_buffers"}
    | {"rope_init_fn", "_rope_init", "reset_rope", "init_weights", "post_init", "_init_rope", "__init_weights__"}
)
RANDOM = frozenset({"rand", "randn", "randint", "normal_", "uniform_", "randn_like"})
UNSTORED = "say persistent=False: the state dict then holds learned weights only"
REFILL = "compute it in forward, or in a method that is called again after to_empty (reset_parameters)"


def spot(source: Source) -> Iterator[Spotted]:
    """Find derived numbers that a state dict stores, and such that nothing fills again after the meta device.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for function in source.functions:
        if function.owner is None:
            continue
        for buffer in buffers_of(function):
            if _derived(function, buffer.value):
                yield from _stored(buffer) if buffer.persistent else _never_filled(source, function, buffer)
        yield from _parameters(function)


def _derived(function: Function, value: ast.expr | None) -> bool:
    """Whether a value is computed: neither absent, nor random, nor filled in later."""
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return False
    earlier = [each for _, each in function.assigned.get(dotted(value), [])]
    return not any(RANDOM & named(each) for each in (value, *earlier))


def _stored(buffer: Buffer) -> Iterator[Spotted]:
    name = buffer.name
    if DERIVED.fullmatch(name):
        message = (
            f"{name} is stored with the weights: a strict load fails where it is missing, and a cast checkpoint brings it rounded"
        )
        yield warning(STORED, buffer.place, message, UNSTORED)
    elif name in COUNTED:
        yield note(STORED, buffer.place, f"{name} is stored with the weights, though it follows from the configuration", UNSTORED)


def _parameters(function: Function) -> Iterator[Spotted]:
    """Frequencies as a parameter that is not trained."""
    for name, values in function.assigned.items():
        if not name.startswith("self.") or not DERIVED.fullmatch(name.removeprefix("self.")):
            continue
        for _, value in values:
            trained = (
                argument(value, 1, "requires_grad") if isinstance(value, ast.Call) and last(value.func) == "Parameter" else None
            )
            if isinstance(value, ast.Call) and isinstance(trained, ast.Constant) and trained.value is False:
                message = f"{name} is a parameter that is never trained: checkpoints store it, and model.to(bfloat16) rounds it"
                yield warning(STORED, value, message, "derive it from base and rotary_dim; a buffer with persistent=False at most")


def _never_filled(source: Source, function: Function, buffer: Buffer) -> Iterator[Spotted]:
    if function.name != "__init__" or not DERIVED.fullmatch(buffer.name) or _refilled(source, function, buffer.name):
        return
    message = f"{buffer.name} is computed in __init__ alone and stored nowhere: after the meta device and to_empty it is garbage"
    yield note(EMPTY, buffer.place, message, REFILL)


def _refilled(source: Source, function: Function, name: str) -> bool:
    """Whether a hook for it is named in the file, or another method of the class makes the buffer again."""
    if source.words & REFILLING:
        return True
    others = [each for each in source.methods.get(function.owner, []) if each.name != "__init__"] if function.owner else []
    return any(f"self.{name}" in each.assigned or any(made.name == name for made in buffers_of(each)) for each in others)
