"""The contract as a kit: hold any rotation, bias, input or model to it, and have its mistakes named.

``check_*`` return a report of findings, ``assert_*`` raise it; ``pytest --ordinate package.module:Object`` runs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.testing.findings import Finding as Finding
    from ordinate.testing.findings import Report as Report
    from ordinate.testing.rotary.adapters import both_by_offset as both_by_offset
    from ordinate.testing.rotary.adapters import by_offset as by_offset
    from ordinate.testing.rotary.adapters import by_tensor as by_tensor
    from ordinate.testing.rotary.adapters import cos_sin as cos_sin
    from ordinate.testing.rotary.adapters import counting_from_zero as counting_from_zero
    from ordinate.testing.rotary.adapters import of_transformers as of_transformers
    from ordinate.testing.rotary.adapters import sequence_first as sequence_first
    from ordinate.testing.rotary.adapters import without_heads as without_heads
    from ordinate.testing.rotary.check import assert_rotary as assert_rotary
    from ordinate.testing.rotary.check import check_rotary as check_rotary
    from ordinate.testing.rules.check import assert_frequencies as assert_frequencies
    from ordinate.testing.rules.check import check_frequencies as check_frequencies

_HOMES = {
    "Finding": "findings",
    "Report": "findings",
    "assert_frequencies": "rules.check",
    "assert_rotary": "rotary.check",
    "both_by_offset": "rotary.adapters",
    "by_offset": "rotary.adapters",
    "by_tensor": "rotary.adapters",
    "check_frequencies": "rules.check",
    "check_rotary": "rotary.check",
    "cos_sin": "rotary.adapters",
    "counting_from_zero": "rotary.adapters",
    "of_transformers": "rotary.adapters",
    "sequence_first": "rotary.adapters",
    "without_heads": "rotary.adapters",
}
__all__ = sorted(_HOMES)


if not TYPE_CHECKING:  # a type checker would take every name for one

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(importlib.import_module(f"ordinate.testing.{_HOMES[name]}"), name)
        raise AttributeError(f"module 'ordinate.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
