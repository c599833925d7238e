"""A comparison read back is what was written; anything else is refused."""

from __future__ import annotations

import json
import os
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
        (_changed(cells=[{**CELL, "losses": [1.0]}]), "1 losses and 0 accuracies where 4 and 0 belong"),
        (_changed(cells=[{**CELL, "losses": ["a"] * 4}]), "as a finite number of 0 or more, got str 'a'"),
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


def _cell(**changes: Any) -> str:
    return _changed(cells=[{**CELL, **changes}])


def _settings(**changes: Any) -> str:
    told = json.loads(KEPT.read_text())["settings"]
    return _changed(settings={**told, **changes})


def _budget(**changes: Any) -> str:
    return _settings(budget={**json.loads(KEPT.read_text())["settings"]["budget"], **changes})


LOSSES = [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_cell(losses=[float("inf"), *LOSSES]), "loss of 'last' and 'alibi' as a finite number of 0 or more, got float inf"),
        (_cell(losses=[float("nan"), *LOSSES]), "got float nan"),
        (_cell(losses=[-1.0, *LOSSES]), "got float -1.0"),
        (_cell(losses=[True, *LOSSES]), "got bool True"),
        (_cell(losses=["1.0", *LOSSES]), "got str '1.0'"),
        (_cell(losses=[10**400, *LOSSES]), "too large"),
        (_cell(losses=0.5), "needed losses as list, got float 0.5"),
        (
            _cell(task="order", losses=[0.1, 0.1], accuracies=[0.5, 1.5]),
            "accuracy of 'order' and 'alibi' as a finite number from 0 to 1",
        ),
        (_cell(task="order", losses=[0.1, 0.1]), "0 accuracies where 2 and 2 belong"),
        (_cell(seed=True), "seed of a cell as a whole number from 0 to 1, got bool True"),
        (_cell(seed=0.0), "got float 0.0"),
        (_cell(seed=2), "got int 2"),
        (_cell(parameters=-1), "parameters of 'last' and 'alibi' as a whole number"),
        (_cell(seconds="long"), "seconds of 'last' and 'alibi' as a finite number"),
        (_cell(difference=[]), "difference of 'last' and 'alibi' as a finite number"),
        (_changed(cells=[CELL, CELL]), "needed one cell of 'last', 'alibi' and seed 0, got two"),
        (_changed(cells=[]), "needed cells, got none"),
        (_changed(cells={"a": 1}), "needed cells as list, got dict"),
        (_changed(command=3), "needed command as str"),
        (_changed(milliseconds_a_token={"rope": None}), "milliseconds_a_token of 'rope' as a finite number"),
        (_settings(tasks=["text", "sums"]), "needed a known task (text, shift, last, order), got str 'sums'"),
        (_settings(schemes=["rop"]), "unknown scheme 'rop'"),
        (_settings(schemes=[1]), "needed scheme as str"),
        (_settings(seeds=0), "seeds as a whole number from 1 to 1000, got int 0"),
        (_settings(seeds=1001), "got int 1001"),
        (_settings(seeds=1.5), "got float 1.5"),
        (_budget(multiples=[1, 2, 2, 8]), "needed multiples that rise, got [1, 2, 2, 8]"),
        (_budget(multiples=[8, 4, 2, 1]), "needed multiples that rise"),
        (_budget(multiples=[]), "needed multiples that rise"),
        (_budget(multiples=[0, 1, 2, 4]), "multiple as a whole number"),
        (_budget(multiples=[1, 2.5, 4, 8]), "got float 2.5"),
        (_budget(length=0), "length as a whole number from 1 to 1000000"),
        (_budget(length=10**6 + 1), "got int 1000001"),
        (_budget(overflow="grow"), "needed a known overflow (error, wrap, clamp), got str 'grow'"),
        (_budget(d_model="64"), "d_model as a whole number"),
        (_budget(learning_rate=[]), "learning_rate as a finite number"),
        (_budget(another=1), "another"),
    ],
    ids=range(37),
)
def test_values_that_no_comparison_has_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "results.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"needed a results\.json of `ordinate compare` in format 2") as error:
        read_comparison(file)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_rows_without_a_scheme_and_refused_lengths_are_known(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    cells = [{**CELL, "scheme": "gru"}, {**CELL, "scheme": "nope", "losses": [0.5, None, None, None]}]
    file.write_text(_changed(cells=cells), encoding="utf-8-sig")  # with a byte order mark
    found = read_comparison(file).outcomes
    assert sorted(cell.scheme for cell in found) == ["gru", "nope"]
    assert list(found.values())[1].losses == (0.5, None, None, None)


def test_what_is_not_a_regular_file_is_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "results.json"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(ValueError, match="needed a regular file"):
            read_comparison(path)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    with file.open("wb") as sparse:
        sparse.truncate(8 * 2**20 + 1)
    with pytest.raises(ValueError, match="needed at most 8388608 bytes, got 8388609"):
        read_comparison(file)
