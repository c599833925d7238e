"""Which layers attend, turn and see how far, as single model types say it."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import whole
from ordinate.checkpoints.layer_kinds import Kinds, windowed


def doge(fields: Fields, n_layers: int) -> Kinds:
    """Give Doge's layers: all have the window, and beyond ``keep_window_size`` keys the values choose which are seen.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> doge(Fields({"sliding_window": 8}, source="mapping", model_type="doge"), 1)[0].window
        8
    """
    became = "of more keys than {}, their values choose those that are seen: the plan is of the attention to those"
    fields.take(("keep_window_size",), whole(least=1), became, default=2048)
    return windowed()(fields, n_layers)
