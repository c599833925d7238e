"""``ordinate theory``: settings are read as they are written, and the printed numbers are those of ``theory``."""

from __future__ import annotations

import json

import pytest

from ordinate import theory
from ordinate.cli.main import main
from ordinate.scaling import LongRoPE, YaRN

PLAIN = ["theory", "theta=10000", "head_dim=16", "trained=64", "length=256"]


def test_the_table_has_every_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAIN, "rule=yarn", "factor=4", "beta_fast=8", "truncate=false"]) == 0
    printed = capsys.readouterr().out
    rule = YaRN(factor=4, original_length=64, beta_fast=8, truncate=False)
    found = theory(base=10000, rotary_dim=16, trained=64, length=256, rule=rule)
    rows = [line.split() for line in printed.splitlines()[2:10]]
    for row, pair in zip(rows, found.pairs, strict=True):
        wanted = (pair.wavelength, pair.turns_trained, pair.slowed_by, pair.scaled_wavelength, pair.turns_at_length)
        assert int(row[0]) == pair.pair
        assert [float(number) for number in row[1:6]] == pytest.approx(wanted, rel=6e-3)
        assert row[6:] == (["unseen", "phases"] if pair.unseen else [])
    assert f"rule: {rule!r}" in printed
    assert f"{found.never_complete} of 8 pairs never complete a turn within 64 tokens" in printed
    assert f"{found.unseen} of 8 pairs reach phases at 256 tokens that training did not show" in printed


def test_json_holds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    settings = [
        "rule=longrope",
        "factor=4",
        "short_factors=1,1,1,1,1,1,1,1",
        "long_factors=1,2,3,4,5,6,7,8.5",
        "original_length=128",
    ]
    assert main([*PLAIN, *settings, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    factors = (1, 2, 3, 4, 5, 6, 7, 8.5)
    rule = LongRoPE(factor=4, short_factors=(1,) * 8, long_factors=factors, original_length=128)
    found = theory(base=10000, rotary_dim=16, trained=64, length=256, rule=rule)
    assert [pair["slowed_by"] for pair in said["pairs"]] == pytest.approx(factors)
    assert said["magnitude"] == found.magnitude
    assert said["unseen"] == found.unseen


def test_a_pair_that_stands_still_has_no_wavelength(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAIN, "rule=proportional", "proportion=0.5", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [pair["scaled_wavelength"] is None for pair in said["pairs"]] == [False] * 4 + [True] * 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["theta=10000"], "needed trained, length, one of head_dim and rotary_dim"),
        ([*PLAIN[1:], "rotary_dim=8"], "needed one of head_dim and rotary_dim"),
        ([*PLAIN[1:], "theta=1"], "theta: needed once, got it twice"),
        ([*PLAIN[1:], "factor=4"], "factor: needed a rule beside it, as rule=yarn"),
        (
            [*PLAIN[1:], "rule=yam"],
            "rule: needed one of linear, ntk_alpha, dynamic, yarn, longrope, llama3, proportional, learned_scale, turns, got 'yam'",
        ),
        ([*PLAIN[1:], "rule=yarn"], "yarn: needed factor"),
        ([*PLAIN[1:], "rule=linear", "factor=4", "alpha=2"], "linear: needed settings of factor, got alpha"),
        ([*PLAIN[1:], "rule=linear", "factor=four"], "factor: needed a number, got 'four'"),
        ([*PLAIN[1:], "rule=linear", "factor=1e400"], "Linear: factor: needed a finite number >= 1, got inf"),
        (["theta=1e4", "head_dim=15", "trained=64", "length=1"], "theory: rotary_dim: needed an even number up to 65536, got 15"),
        (["theta", "head_dim=16"], "needed settings as key=value, got 'theta'"),
        (["theta=", "head_dim=16"], "needed settings as key=value, got 'theta='"),
    ],
)
def test_bad_settings_are_one_line(capsys: pytest.CaptureFixture[str], settings: list[str], message: str) -> None:
    assert main(["theory", *settings]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"ordinate theory: {message}\n"
