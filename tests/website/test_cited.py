"""The numbers of the page on choosing are those of the files."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import pytest
from website.cited import CITED, renewed
from website.measured import RESULTS, value_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "choosing.md"


def test_no_number_of_the_page_is_stale() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert renewed(text) == text, "python -m website.cited docs/choosing.md renews them"
    assert len(CITED.findall(text)) > 80


def test_every_measured_number_says_where_it_is_from() -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", "", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(r"\d+\.\d+", re.sub(r"<!--.*?-->", "", CITED.sub("", text))) == []


def test_a_stale_number_is_renewed_with_as_many_decimals() -> None:
    assert renewed("9.999<!-- compare/text/rope/1 --> and 7") == f"{loss('text', 'rope', 0):.3f}<!-- compare/text/rope/1 --> and 7"


def loss(task: str, scheme: str, place: int) -> float:
    cells = json.loads((ROOT / RESULTS["compare"]).read_text(encoding="utf-8"))["cells"]
    return statistics.fmean(cell["losses"][place] for cell in cells if cell["task"] == task and cell["scheme"] == scheme)


def test_names_mean_what_they_say() -> None:
    compare, stretch, speed = (json.loads((ROOT / RESULTS[name]).read_text(encoding="utf-8")) for name in RESULTS)
    assert value_of("compare/last/alibi/8") == pytest.approx(loss("last", "alibi", 3))
    assert value_of("cost/shaw") == pytest.approx(1000 * compare["milliseconds_a_token"]["shaw"])
    order = [cell["accuracies"][0] for cell in compare["cells"] if cell["task"] == "order" and cell["scheme"] == "alibi"]
    assert value_of("order/alibi/0") == pytest.approx(sum(order) / len(order))
    worst = 0.0
    for scheme in compare["settings"]["schemes"]:
        seeds = [cell["losses"][0] for cell in compare["cells"] if (cell["task"], cell["scheme"]) == ("text", scheme)]
        worst = max(worst, abs(seeds[0] - seeds[1]))
    assert value_of("spread/text/1") == pytest.approx(worst)
    (yarn,) = (cell for cell in stretch["cells"] if cell["rule"] == "yarn")
    assert (value_of("stretch/yarn/all"), value_of("stretch/yarn/8")) == (yarn["loss"], yarn["bins"][7])
    assert value_of("found/yarn") == [row["found"] for row in stretch["needle"] if row["rule"] == "yarn"].count(True)
    assert value_of("shift/float32/1000000") == stretch["shift"]["float32"][-1]["rms"]
    records = {(record["group"], record.get("column")): record.get("rows") for record in speed["records"]}
    time = records["forward, H = 8, D = 64", "float32 n = 8192"]["ordinate T5"]
    assert value_of("speed/forward, H = 8, D = 64/float32 n = 8192/ordinate T5") == time["ratio"]
    peak = records["peak of one call, attention: forward, H = 8, D = 64", "float32 n = 8192"]["ordinate T5"]
    assert value_of("memory/float32 n = 8192/ordinate T5") == peak["median"]


@pytest.mark.parametrize("name", ["compare/text/rope/3", "compare/text/ropes/1", "stretch/yarn/9", "other/x", "order/alibi"])
def test_a_name_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="needed the name of a number in benchmarks/results"):
        value_of(name)
