"""A comparison read back is what was written; anything else is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ordinate.lab.kept import KEPT, read_comparison

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "results" / "compare_2cores_202612" / "results.json"


def test_the_package_carries_the_benchmarks_results() -> None:
    assert KEPT.read_bytes() == BENCHMARK.read_bytes()


def test_figures_come_back() -> None:
    told = json.loads(KEPT.read_text())
    comparison = read_comparison()
    assert len(comparison.outcomes) == len(told["cells"]) == 4 * 9 * 2
    for cell, outcome in comparison.outcomes.items():
        (kept,) = [row for row in told["cells"] if (row["task"], row["scheme"], row["seed"]) == (cell.task, cell.scheme, cell.seed)]
        assert list(outcome.losses) == kept["losses"]
        assert list(outcome.accuracies) == kept["accuracies"]
    last = [row["losses"] for row in told["cells"] if (row["task"], row["scheme"]) == ("text", "rope")]
    spread = comparison.spread("text", "rope", 3)
    assert spread is not None
    assert spread.mean == pytest.approx(sum(losses[3] for losses in last) / 2)


def test_own_results_are_read_from_file_or_folder(tmp_path: Path) -> None:
    told = json.loads(KEPT.read_text())
    told["command"] = "ordinate compare --mine"
    (tmp_path / "results.json").write_text(json.dumps(told))
    for path in (tmp_path, tmp_path / "results.json"):
        assert read_comparison(path).command == "ordinate compare --mine"


def _changed(**changes: Any) -> str:
    return json.dumps({**json.loads(KEPT.read_text()), **changes})


CELL = json.loads(KEPT.read_text())["cells"][0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("[]", "list indices"),
        ("{}", "without 'made_by'"),
        (_changed(made_by="ordinate stretch"), "made by 'ordinate stretch'"),
        (_changed(format=1), "format 1"),
        (_changed(settings={}), "without 'budget'"),
        (_changed(cells=[{**CELL, "scheme": "other"}]), "which the settings do not name"),
        (_changed(cells=[{**CELL, "losses": [1.0]}]), "1 losses where 4 belong"),
        (_changed(cells=[{**CELL, "losses": ["a"] * 4}]), "could not convert"),
        ("[" * 100_000, ""),
    ],
    ids=range(10),
)
def test_other_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "results.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"needed a results\.json of `ordinate compare` in format 2") as error:
        read_comparison(file)
    assert reason in str(error.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        read_comparison(tmp_path / "results.json")
