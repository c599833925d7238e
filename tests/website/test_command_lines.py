"""Every command line of every page is one that the programs take; quick ones are run."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest
from blocks import PAGES, ROOT, command_lines

from ordinate.cli import main as cli

LINES = [(page, line) for page in PAGES for line in command_lines(page)]
ORDINATE = sorted({tuple(line[1:]) for _, line in LINES if line[0] == "ordinate"})
RUN = [("schemes",), ("info",), ("theory",), ("plot",), ("claims", "--list")]
QUICK = [line for line in ORDINATE if any(line[: len(begins)] == begins for begins in RUN)]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = re.compile(r"^(?:\.|ordinate)\[(?P<extras>[\w,-]+)\]$")


def where(program: str) -> list[tuple[str, list[str]]]:
    return [(page, line[1:]) for page, line in LINES if line[0] == program]


@pytest.mark.parametrize("line", ORDINATE, ids=" ".join)
def test_the_command_takes_the_line(line: tuple[str, ...]) -> None:
    if {"--help", "--version"} & {*line}:
        with pytest.raises(SystemExit) as stopped, contextlib.redirect_stdout(io.StringIO()):
            cli.parser().parse_args(list(line))
        assert stopped.value.code == 0
    else:
        assert callable(cli.parser().parse_args(list(line)).run)


@pytest.mark.parametrize("line", QUICK, ids=" ".join)
def test_a_quick_line_runs(line: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(list(line)) == 0


def test_targets_of_make_are_there() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = [(page, word) for page, words in where("make") for word in words if re.fullmatch(r"[a-z-]+", word)]
    assert named
    assert [each for each in named if each[1] not in targets] == []


def test_extras_are_declared() -> None:
    named = [(page, name) for page, words in where("pip") for word in words for name in _extras(word)]
    assert {"lab", "hf"} <= {name for _, name in named}
    assert [each for each in named if each[1] not in PROJECT["optional-dependencies"]] == []
    assert _extras(".[lab,no]") == ["lab", "no"]


def test_extras_of_the_running_text_are_declared() -> None:
    for page in PAGES:
        for extras in re.findall(r"pip install '(?:\.|ordinate)\[([\w,-]+)\]'", (ROOT / page).read_text(encoding="utf-8")):
            assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), page


def _extras(word: str) -> list[str]:
    match = EXTRAS.match(word)
    return match["extras"].split(",") if match else []
