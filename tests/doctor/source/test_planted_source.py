"""Every rule finds its planted faults, names them with their line, and says nothing about the same code without them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from planted_angles import ANGLES
from planted_counting import COUNTING
from planted_settings import SETTINGS
from planted_source import Planted
from planted_state import STATE

from ordinate.doctor.finding import Diagnosis
from ordinate.doctor.source import diagnose_source
from ordinate.faults import KINDS

ALL = (*SETTINGS, *ANGLES, *COUNTING, *STATE)


def diagnosed(folder: Path, text: str) -> list[Diagnosis]:
    path = folder / "rope.py"
    path.write_text(text)
    return diagnose_source(path)


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.kind}: {case.name}")
def test_a_planted_fault_is_found_and_named(tmp_path: Path, case: Planted) -> None:
    found = diagnosed(tmp_path, case.bad)
    assert {each.kind for each in found} == {case.kind}
    one = found[0]
    assert (one.code, one.severity, one.target) == (KINDS[case.kind].code, case.severity, str(tmp_path / "rope.py"))
    assert case.said in one.message
    assert one.remedy
    line = int(one.where.removeprefix("line "))
    assert case.bad.splitlines()[line - 1].split() != []


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.kind}: {case.name}")
def test_the_same_code_without_it_gives_nothing(tmp_path: Path, case: Planted) -> None:
    assert diagnosed(tmp_path, case.clean) == []


def test_every_kind_has_two_planted_faults() -> None:
    counted = Counter(case.kind for case in ALL)
    assert min(counted.values()) >= 2
    assert len(counted) == 20


def test_the_line_is_that_of_the_fault(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef angles(position_ids, f):\n    x = 1\n    return (position_ids.half() * f).cos()\n"
    assert [each.where for each in diagnosed(tmp_path, text)] == ["line 6"]
