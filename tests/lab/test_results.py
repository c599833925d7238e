"""What may be said about figures: means, spreads, ties, and the report that says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab_tools import comparison

from ordinate.lab import report, said
from ordinate.lab.results import Spread

EXAMPLE = {
    "rope": [(1.0, 3.0), (1.2, 3.4)],
    "alibi": [(1.1, 1.1), (1.3, 1.4)],
    "nope": [(2.0, 2.2), (2.1, 2.2)],
}


def test_spread_is_mean_lowest_and_highest() -> None:
    spread = comparison(EXAMPLE).spread("shift", "rope", 1)
    assert spread is not None
    assert (spread.mean, spread.low, spread.high) == pytest.approx((3.2, 3.0, 3.4))


def test_schemes_inside_the_spread_are_not_told_apart() -> None:
    made = comparison(EXAMPLE)
    assert made.lowest("shift", 0) == ["rope", "alibi"]
    assert made.lowest("shift", 1) == ["alibi"]


def test_overlap_is_symmetric_and_ends_where_the_tables_do() -> None:
    low, near, far = Spread(1.05, 1.0, 1.1, 2), Spread(1.155, 1.109, 1.2, 2), Spread(1.3, 1.25, 1.35, 2)
    for first, second, together in ((low, near, True), (near, far, False), (low, far, False)):
        assert first.overlaps(second) is together
        assert second.overlaps(first) is together


def test_rise_is_paired_by_seed() -> None:
    rise = comparison(EXAMPLE).rise("shift", "alibi")
    assert rise is not None
    assert (rise.mean, rise.low, rise.high) == pytest.approx((0.05, 0.0, 0.1))


def test_findings_name_ties_and_rises() -> None:
    sentences = said.findings(comparison(EXAMPLE), "shift")
    assert sentences[0] == "At 1x, rope is lowest (1.10 nats); alibi cannot be told from it with these seeds."
    assert sentences[1] == "At 8x, alibi is lowest (1.25 nats)."
    assert sentences[2] == "From 1x to 8x, alibi rises least (+0.05 nats), rope most (+2.10)."


def test_one_seed_claims_no_difference() -> None:
    spread = comparison({"rope": [(1.0, 2.0)]}).spread("shift", "rope", 0)
    assert spread is not None
    assert spread.half is None
    sentences = said.findings(comparison({"rope": [(1.0, 2.0)], "nope": [(1.01, 2.5)]}), "shift")
    assert any("how far seeds scatter is not known" in sentence for sentence in sentences)
    assert not any("is lowest" in sentence for sentence in sentences)


def test_a_refused_length_is_shown_as_what_it_is() -> None:
    made = comparison({"learned": [(0.5, None)], "rope": [(0.4, 2.0)]})
    assert "learned refuses 8x: its table has no rows there." in said.findings(made, "shift")
    assert "refused" in report.render(made)


def test_report_is_one_page_without_outside_resources() -> None:
    page = report.render(comparison(EXAMPLE))
    assert "3.20" in page
    assert "<svg" in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not any(f'{attribute}="http' in page.replace("http://www.w3.org", "") for attribute in ("src", "href"))


def test_results_hold_every_figure(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    report.claim_folder(folder)
    report.write(comparison(EXAMPLE), folder)
    stored = json.loads((folder / "results.json").read_text())
    cells = {(cell["scheme"], cell["seed"]): cell["losses"] for cell in stored["cells"]}
    assert cells == {(scheme, seed): list(row) for scheme, rows in EXAMPLE.items() for seed, row in enumerate(rows)}
    assert cells["alibi", 1] == [1.3, 1.4]
    assert stored["settings"]["seeds"] == 2
    assert set(stored["versions"]) >= {"torch", "ordinate", "python"}
    assert sorted(path.name for path in folder.iterdir()) == ["curves.png", "report.html", "results.json"]
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_own_folder_is_taken_again_and_others_are_left_alone(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    report.claim_folder(ours)
    report.write(comparison(EXAMPLE), ours)
    (ours / "notes.txt").write_text("mine")
    report.claim_folder(ours)
    report.write(comparison(EXAMPLE), ours)
    assert (ours / "notes.txt").read_text() == "mine"
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "results.json").write_text('{"made_by": "somebody else"}')
    with pytest.raises(ValueError, match=r"needed a new or empty folder.*got .*theirs, which holds results\.json; choose another"):
        report.claim_folder(theirs)
    assert (theirs / "results.json").read_text() == '{"made_by": "somebody else"}'
