"""The contract as a kit: hold any rotation, bias, input, position builder or model to it, and have its mistakes named.

``check_*`` return a report of findings, ``assert_*`` raise it; ``pytest --ordinate package.module:Object`` runs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.testing.biases.adapters import from_additive_mask as from_additive_mask
    from ordinate.testing.biases.adapters import from_buckets as from_buckets
    from ordinate.testing.biases.adapters import from_distance as from_distance
    from ordinate.testing.biases.adapters import from_lengths as from_lengths
    from ordinate.testing.biases.adapters import from_score_mod as from_score_mod
    from ordinate.testing.biases.adapters import from_vectors as from_vectors
    from ordinate.testing.biases.check import assert_bias as assert_bias
    from ordinate.testing.biases.check import check_bias as check_bias
    from ordinate.testing.biases.relative_shift import check_relative_shift as check_relative_shift
    from ordinate.testing.counting.context_parallel import check_context_parallel as check_context_parallel
    from ordinate.testing.counting.grids import check_grid as check_grid
    from ordinate.testing.counting.masked import check_masked as check_masked
    from ordinate.testing.counting.multimodal import check_frame_times as check_frame_times
    from ordinate.testing.counting.multimodal import check_multimodal as check_multimodal
    from ordinate.testing.counting.packed import check_packed as check_packed
    from ordinate.testing.counting.resized import check_resize as check_resize
    from ordinate.testing.findings import Finding as Finding
    from ordinate.testing.findings import Report as Report
    from ordinate.testing.inputs.adapters import from_embeddings as from_embeddings
    from ordinate.testing.inputs.adapters import from_length as from_length
    from ordinate.testing.inputs.adapters import from_offset as from_offset
    from ordinate.testing.inputs.check import assert_input as assert_input
    from ordinate.testing.inputs.check import check_input as check_input
    from ordinate.testing.inputs.learned import check_table as check_table
    from ordinate.testing.models.checking import assert_model as assert_model
    from ordinate.testing.models.checking import check_model as check_model
    from ordinate.testing.oracles import oracle as oracle
    from ordinate.testing.rotary.adapters import both_by_offset as both_by_offset
    from ordinate.testing.rotary.adapters import by_length as by_length
    from ordinate.testing.rotary.adapters import by_offset as by_offset
    from ordinate.testing.rotary.adapters import by_rows as by_rows
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
    "assert_bias": "biases.check",
    "assert_frequencies": "rules.check",
    "assert_input": "inputs.check",
    "assert_model": "models.checking",
    "assert_rotary": "rotary.check",
    "both_by_offset": "rotary.adapters",
    "by_length": "rotary.adapters",
    "by_offset": "rotary.adapters",
    "by_rows": "rotary.adapters",
    "by_tensor": "rotary.adapters",
    "check_bias": "biases.check",
    "check_context_parallel": "counting.context_parallel",
    "check_frame_times": "counting.multimodal",
    "check_frequencies": "rules.check",
    "check_grid": "counting.grids",
    "check_input": "inputs.check",
    "check_masked": "counting.masked",
    "check_model": "models.checking",
    "check_multimodal": "counting.multimodal",
    "check_packed": "counting.packed",
    "check_relative_shift": "biases.relative_shift",
    "check_resize": "counting.resized",
    "check_rotary": "rotary.check",
    "check_table": "inputs.learned",
    "cos_sin": "rotary.adapters",
    "counting_from_zero": "rotary.adapters",
    "from_additive_mask": "biases.adapters",
    "from_buckets": "biases.adapters",
    "from_distance": "biases.adapters",
    "from_embeddings": "inputs.adapters",
    "from_length": "inputs.adapters",
    "from_lengths": "biases.adapters",
    "from_offset": "inputs.adapters",
    "from_score_mod": "biases.adapters",
    "from_vectors": "biases.adapters",
    "of_transformers": "rotary.adapters",
    "oracle": "oracles",
    "sequence_first": "rotary.adapters",
    "without_heads": "rotary.adapters",
}
__all__ = [
    "Finding",
    "Report",
    "assert_bias",
    "assert_frequencies",
    "assert_input",
    "assert_model",
    "assert_rotary",
    "both_by_offset",
    "by_length",
    "by_offset",
    "by_rows",
    "by_tensor",
    "check_bias",
    "check_context_parallel",
    "check_frame_times",
    "check_frequencies",
    "check_grid",
    "check_input",
    "check_masked",
    "check_model",
    "check_multimodal",
    "check_packed",
    "check_relative_shift",
    "check_resize",
    "check_rotary",
    "check_table",
    "cos_sin",
    "counting_from_zero",
    "from_additive_mask",
    "from_buckets",
    "from_distance",
    "from_embeddings",
    "from_length",
    "from_lengths",
    "from_offset",
    "from_score_mod",
    "from_vectors",
    "of_transformers",
    "oracle",
    "sequence_first",
    "without_heads",
]


if not TYPE_CHECKING:  # a type checker would take every name for one

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(importlib.import_module(f"ordinate.testing.{_HOMES[name]}"), name)
        raise AttributeError(f"module 'ordinate.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
