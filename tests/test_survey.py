"""The survey finds what is known of other libraries, where they are installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from benchmarks.survey.cases import CASES, Case, checked

MODULES = {"FlexAttention": "torch"}


def test_every_case_is_found_or_explained() -> None:
    assert all(case.why for case in CASES if case.check is None)
    assert {case.package for case in CASES} >= {"transformers", "x-transformers", "rotary-embedding-torch", "positional-encodings"}


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case.check is not None], ids=lambda case: case.what[:40])
def test_a_known_fault_is_found(case: Case) -> None:
    module = MODULES.get(case.package, case.package.replace("-", "_"))
    if find_spec(module) is None:
        pytest.skip(f"{case.package} is not installed; make survey installs it")
    report = checked(case)
    assert report is not None
    assert case.kind is None or case.kind in report.kinds, str(report)
