"""The contract on every way that a call can go, beside the one that this machine takes by itself.

A part of it here; all of it, with the faults, by ``make test-paths``.
"""

from __future__ import annotations

from typing import Any

import pytest

from cases import CASES
from contract_checks import CHECKS, HELD
from paths import PATHS, ROTATIONS

ROTARY = ("rope half", "rope interleaved", "rope partial", "rope tail")
SCORES = ("alibi", "t5", "shaw", "deberta", "nope")
# They compile, or choose the way themselves.
ELSEWHERE = {"compiled", "fused_equals_plain"}
# It changes how attention computes between forward and backward, when blocks are computed again.
NOT_BY_BLOCKS = "empty_rows"


def _held() -> list[Any]:
    known = {(check, case.name) for check, case in HELD}
    found = []
    for path in PATHS:
        for name in ROTARY if path in ROTATIONS else SCORES:
            assert name in CASES, name
            found += [
                pytest.param(path, check, name, id=f"{path}-{check}-{name}".replace(" ", "_"))
                for check in CHECKS
                if (check, name) in known and check not in ELSEWHERE and not (path == "blocks" and check == NOT_BY_BLOCKS)
            ]
    return found


@pytest.mark.parametrize(("path", "check", "name"), _held())
def test_contract_on_every_path(path: str, check: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PATHS[path](monkeypatch)
    CHECKS[check](CASES[name])
