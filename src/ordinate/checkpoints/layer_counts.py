"""How many attentions a model has, where that is not the number of its layers."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, whole


def two_of_each(fields: Fields) -> int:
    """Count LongCat-Flash's attentions: two in each of ``num_layers``; ``num_hidden_layers`` is their number, where it is declared.

    Args:
        fields: the configuration.

    Returns:
        How many.

    Example:
        >>> two_of_each(Fields({"num_layers": 3}, source="mapping", model_type="longcat_flash"))
        6
    """
    if not fields.has("num_layers"):
        fields.used.add("num_layers")
        count = fields.size(("num_hidden_layers",), "{} attentions, two a layer", most=MOST_LAYERS)
        if not fields.faults and count % 2:
            fields.fault("num_hidden_layers", f"needed an even number, two attentions a layer, got {count}")
        return count
    count = 2 * fields.size(("num_layers",), "{} layers of two attentions", most=MOST_LAYERS // 2)
    return _repeated(fields, count)


def of_cycles(fields: Fields) -> int:
    """Count HRM-Text's attentions: each of its two stacks runs once a cycle, and each run has a place of its own in the cache.

    Args:
        fields: the configuration.

    Returns:
        How many.

    Example:
        >>> of_cycles(Fields({"num_hidden_layers": 4, "H_cycles": 2, "L_cycles": 3}, source="mapping", model_type="hrm_text"))
        32
    """
    high = fields.take(("H_cycles",), whole(least=1, most=100), "{} cycles of the upper stack", default=2)
    low = fields.take(("L_cycles",), whole(least=1, most=100), "{} cycles of the lower stack in each of them", default=3)
    runs = high * (low + 1)
    saved = fields.has("num_layers_per_stack")  # saved configurations count all runs beside it
    key = "num_layers_per_stack" if saved else "num_hidden_layers"
    count = runs * fields.size((key,), "{} layers a stack", most=MOST_LAYERS)
    if count > MOST_LAYERS:
        fields.fault(key, f"needed at most {MOST_LAYERS} attentions in {runs} runs, got {count}")
        return 1
    return _repeated(fields, count) if saved else count


def _repeated(fields: Fields, count: int) -> int:
    if fields.has("num_hidden_layers") and not fields.faults:
        declared = fields.take(("num_hidden_layers",), whole(least=1, most=MOST_LAYERS), "{} attentions")
        if declared != count:
            fields.fault("num_hidden_layers", f"needed {count}, the number of attentions, got {declared}")
    return count
