"""No complex numbers and no float64 in the forward of a float32 model: some backends have neither."""

from __future__ import annotations

from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.subject import Subject
from ordinate.testing.models.watching import Watching

PROPERTY = "dtypes that all backends have"
KIND = "backend-dtype"


def usual_dtypes(subject: Subject) -> Finding:
    """Watch a forward.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.module is None:
        return not_asked(PROPERTY, "a function's weights, and so the dtype that it should keep, are not known")
    with Watching() as watching:
        subject.logits(subject.rows(1, min(2, subject.length)))
    seen = watching.seen
    if seen.complexes:
        return _broken(
            "complex numbers", "pairs of real numbers", seen.complexes, "turn with pairs of real numbers: x1 cos - x2 sin"
        )
    if seen.doubles:
        return _broken("float64 activations", "float32", seen.doubles, "make cos and sin float32 before they meet queries and keys")
    return holds(PROPERTY, "neither complex numbers nor float64 activations")


def _broken(what: str, expected: str, operators: list[str], remedy: str) -> Finding:
    return broken(
        PROPERTY,
        KIND,
        f"{what} in the forward, which ONNX, MPS and some accelerators have not",
        smallest="ids [1, 2]",
        expected=expected,
        actual=f"{what} out of {', '.join(list(dict.fromkeys(operators))[:3])}",
        remedy=remedy,
    )
