"""Checkpoints: what their files say of positions, and their weights in the form that a scheme needs.

Names load on first use: reading a configuration needs no torch, converting weights does.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.checkpoints.built import BuiltStack as BuiltStack
    from ordinate.checkpoints.detect import LayoutEvidence as LayoutEvidence
    from ordinate.checkpoints.detect import detect_layout as detect_layout
    from ordinate.checkpoints.layout import convert_layout as convert_layout
    from ordinate.checkpoints.plan import Entry as Entry
    from ordinate.checkpoints.plan import LayerPlan as LayerPlan
    from ordinate.checkpoints.plan import PositionPlan as PositionPlan
    from ordinate.checkpoints.plan import StackPlan as StackPlan
    from ordinate.checkpoints.reading import read as read
    from ordinate.checkpoints.stored import StoredFrequencies as StoredFrequencies
    from ordinate.checkpoints.stored import compare_frequencies as compare_frequencies
    from ordinate.checkpoints.stored import split_derived as split_derived
    from ordinate.checkpoints.tables import resize_bias_table as resize_bias_table
    from ordinate.checkpoints.tables import resize_table as resize_table

_HOMES = {
    "BuiltStack": "built",
    "Entry": "plan",
    "LayerPlan": "plan",
    "LayoutEvidence": "detect",
    "PositionPlan": "plan",
    "StackPlan": "plan",
    "StoredFrequencies": "stored",
    "compare_frequencies": "stored",
    "convert_layout": "layout",
    "detect_layout": "detect",
    "read": "reading",
    "resize_bias_table": "tables",
    "resize_table": "tables",
    "split_derived": "stored",
}

__all__ = [
    "BuiltStack",
    "Entry",
    "LayerPlan",
    "LayoutEvidence",
    "PositionPlan",
    "StackPlan",
    "StoredFrequencies",
    "compare_frequencies",
    "convert_layout",
    "detect_layout",
    "read",
    "resize_bias_table",
    "resize_table",
    "split_derived",
]


if not TYPE_CHECKING:  # a type checker would take every name for one

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            value = getattr(importlib.import_module(f"ordinate.checkpoints.{_HOMES[name]}"), name)
            globals()[name] = value
            return value
        # name and obj let Python itself offer the nearest name.
        raise AttributeError(f"module 'ordinate.checkpoints' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return __all__
