"""The end of a reading: keys that nothing read, and one error for all faults."""

from __future__ import annotations

from typing import NamedTuple

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import nearest, short
from ordinate.checkpoints.plan import PositionPlan, StackPlan
from ordinate.checkpoints.vocabulary import KNOWN, NEEDED_ON, TELLING, is_off, looks_positional

MOST_FAULTS = 50


class Record(NamedTuple):
    """What was read of a configuration, before anything is refused."""

    fields: Fields
    stacks: tuple[StackPlan, ...]
    model_type: str


def check_leftovers(fields: Fields) -> None:
    """Look at the keys that nothing read: position-related ones change nothing, or cannot be honoured.

    Args:
        fields: the configuration, after reading.

    Example:
        >>> fields = Fields({"alibi": True, "hidden_act": "silu"}, source="mapping", model_type="llama")
        >>> check_leftovers(fields)
        >>> fields.faults
        ['alibi: cannot be honoured: llama reads no such key, got True']
    """
    noted = {entry.key for entry in fields.entries}
    for key, value in fields.values.items():
        if fields.name(key) in noted or not looks_positional(key):
            continue
        if value is False and key in NEEDED_ON and key not in fields.used:
            fields.fault(key, f"cannot be honoured: {fields.model_type} has no such switch, got False", sort="unread")
            continue
        if is_off(value) or key in fields.used:
            if value is None or key not in fields.used:
                fields.note(key, value, "nothing: it is off")
            continue
        harmless = key == "partial_rotary_factor" and value == 1
        if key == "rotary":  # GPT-J's published files say that it is on
            continue
        if key not in KNOWN:
            several = len(fields.faults) >= MOST_FAULTS  # the search for a likely name takes its time
            meant = (None if several else nearest(key, KNOWN)) or "if it is not one, pass it in ignore="
            fields.fault(key, f"looks like a key of positions and is unknown, got {short(value)}; {meant}", sort="unknown")
        elif key in TELLING and not harmless:
            fields.fault(key, f"cannot be honoured: {fields.model_type} reads no such key, got {short(value)}", sort="unread")
        else:
            fields.note(key, value, "nothing")
            fields.warn(key, f"changes nothing: {fields.model_type} reads no such key")


def check_causal(fields: Fields, stacks: tuple[StackPlan, ...]) -> None:
    """Read ``is_causal``: transformers lets it turn any model around; what its windows mean then is no setting of the type.

    Args:
        fields: the configuration.
        stacks: what was read of it.

    Example:
        >>> fields = Fields({"is_causal": True}, source="mapping", model_type="bert")
        >>> check_causal(fields, (StackPlan(name="encoder", causal=False, max_length=None, input=None, layers=()),))
        >>> fields.faults
        ['is_causal: cannot be honoured: needed False for bert, got True']
    """
    fields.used.add("is_causal")
    if fields.has("is_causal"):
        value, wanted = fields.values["is_causal"], [stack.causal for stack in stacks]
        if all(value is causal for causal in wanted):
            fields.note("is_causal", value, "as the model type has it")
        else:
            fields.fault("is_causal", f"cannot be honoured: needed {short(wanted[0])} for {fields.model_type}, got {short(value)}")


def finished(fields: Fields, stacks: tuple[StackPlan, ...], model_type: str) -> PositionPlan:
    """Make the plan, or raise all faults at once.

    Args:
        fields: the record.
        stacks: what was read.
        model_type: of the model.

    Returns:
        The plan.

    Raises:
        ValueError: if there is a fault.

    Example:
        >>> finished(Fields({}, source="mapping", model_type="bert"), (), "bert").stacks
        ()
    """
    if fields.faults:
        more = len(fields.faults) - MOST_FAULTS
        said = [*fields.faults[:MOST_FAULTS], *([f"and {more} more"] if more > 0 else [])]
        raise ValueError(f"{fields.source}: {'; '.join(said)}")
    return PositionPlan(
        model_type=model_type,
        source=fields.source,
        stacks=stacks,
        entries=tuple(fields.entries),
        warnings=tuple(fields.warnings),
    )
