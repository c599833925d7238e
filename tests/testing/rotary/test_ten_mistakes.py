"""Each of ten common mistakes in a Rope of fifteen lines is named, and the right one has none."""

from __future__ import annotations

from typing import Any

import pytest

from ordinate.testing import assert_rotary, check_rotary
from testing.rotary import ten_mistakes

NAMED = {
    "Layout": ("layout-mismatch", "angles are laid out for interleaved pairs"),
    "Exponent": ("sinusoid-construction", "the exponent is i/d in place of 2i/d"),
    "Bfloat16": ("low-precision-phase", "angles are rounded to bfloat16"),
    "OffsetIgnored": ("decode-offset", "the offset is ignored: every call counts from 0"),
    "Sign": ("layout-mismatch", "the angle has the wrong sign"),
    "Swapped": ("layout-mismatch", "cos and sin are exchanged in the second entry of every pair"),
    "Tail": ("partial-rotary", "the last 8 entries turn in place of the first"),
    "ThetaIgnored": ("config-key-dropped", "the base is ignored: 10000 and 500000 turn alike"),
    "CachedByLength": ("cache-key-and-sharing", "a table is kept by the length of the call, and answers for every offset"),
    "BatchIgnored": ("decode-offset", "positions are ignored where there are several rows: all count from 0"),
}


def test_the_right_one() -> None:
    report = check_rotary(ten_mistakes.Right)
    assert report.broken == ()
    assert {finding.property for finding in report if finding.verdict == "does not apply"} == set()


@pytest.mark.parametrize("name", NAMED)
def test_a_mistake_is_named(name: str) -> None:
    made: Any = getattr(ten_mistakes, name)
    report = check_rotary(made)
    kind, said = NAMED[name]
    assert (kind, said) in [(finding.kind, finding.said[: len(said)]) for finding in report.broken], str(report)
    first = next(finding for finding in report.broken if finding.said.startswith(said))
    assert first.remedy
    assert first.smallest
    with pytest.raises(AssertionError, match=first.property):
        assert_rotary(made)
