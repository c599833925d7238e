"""The contract: every check by name, and the holes, each with its reason. A check is a function of a case that asserts values."""

from __future__ import annotations

from collections.abc import Callable

import contract_attention as attention
import contract_modules as modules
import contract_numerics as numerics
import contract_rotation as rotation
import contract_scheme as scheme
from cases import CASES, Case

CHECKS: dict[str, Callable[[Case], None]] = {
    check.__name__: check
    for check in (
        attention.constant_shift,
        attention.decode_raw_keys,
        attention.decode_turned_keys,
        attention.left_padding,
        attention.packed_documents,
        attention.permutation,
        attention.context_parallel,
        attention.cross_lengths,
        attention.given_scale,
        modules.module_oracle,
        modules.decode_module,
        modules.embedding_module,
        modules.no_tokens_in_modules,
        scheme.scheme_oracle,
        scheme.layer_oracle,
        scheme.small_shapes,
        scheme.no_tokens,
        scheme.positions_matter,
        scheme.other_instance,
        scheme.history,
        scheme.train_mode,
        scheme.state,
        scheme.head_slices,
        numerics.module_casts,
        numerics.autocast,
        numerics.meta_device,
        numerics.dtypes,
        numerics.memory_layouts,
        numerics.compiled,
        numerics.gradients,
        numerics.fused_equals_plain,
        numerics.empty_rows,
        rotation.norms_kept,
        rotation.origin_is_identity,
        rotation.inverse_by_negative,
        rotation.shift_of_turned_keys,
        rotation.scores_depend_on_distance,
        rotation.small_rotations,
        rotation.one_call_forms,
    )
}

_NOT_A_ROTATION = {
    "nope": "turns no vectors",
    "sinusoidal": "adds vectors at the input, turns none",
    "learned": "adds vectors at the input, turns none",
    "alibi": "adds to scores, turns no vectors",
    "t5": "adds to scores, turns no vectors",
    "shaw": "adds to scores and outputs, turns no vectors",
    "deberta": "adds to scores, turns no vectors",
}
_IN_THE_ATTENTION = "acts in the attention: the embedding refuses it"
_NOTHING_TO_CARRY = {"nope": "no scheme is None: there is no module, angle or bias"}

# check -> scheme (as in SCHEMES) -> why the property does not hold. Every hole is tried: the check must fail there.
HOLES: dict[str, dict[str, str]] = {
    "constant_shift": {
        "sinusoidal": "absolute: the vector of a position, not of a distance, is added to the token",
        "learned": "absolute: each position has a row of its own, and negative ones have none",
    },
    "positions_matter": {"nope": "without a mask attention is blind to order: that is what no scheme means"},
    "head_slices": {
        "nope": "no scheme has nothing a head",
        "sinusoidal": "acts on tokens before there are heads",
        "learned": "acts on tokens before there are heads",
        "rope": "treats all heads alike",
    },
    "decode_turned_keys": _NOT_A_ROTATION,
    "embedding_module": dict.fromkeys(("rope", "alibi", "t5", "shaw", "deberta"), _IN_THE_ATTENTION),
    "module_casts": _NOTHING_TO_CARRY,
    "autocast": _NOTHING_TO_CARRY,
    "meta_device": _NOTHING_TO_CARRY,
} | {
    check.__name__: _NOT_A_ROTATION
    for check in (
        rotation.norms_kept,
        rotation.origin_is_identity,
        rotation.inverse_by_negative,
        rotation.shift_of_turned_keys,
        rotation.scores_depend_on_distance,
        rotation.small_rotations,
        rotation.one_call_forms,
    )
}


def is_hole(check: str, case: Case) -> bool:
    return case.scheme in HOLES.get(check, {})


HELD = [(check, case) for check in CHECKS for case in CASES.values() if not is_hole(check, case)]
MISSING = [(check, case) for check in CHECKS for case in CASES.values() if is_hole(check, case)]
