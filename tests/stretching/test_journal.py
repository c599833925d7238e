"""What was finished is on disk at once, and an end in the middle of a line costs that line alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ordinate.stretching.journal import ENDED, Journal

RUN = {"model": "a", "length": 8}


def filled(path: Path) -> Journal:
    journal = Journal(path, RUN)
    for number in range(3):
        journal.add({"window": 0, "chunk": number, "first": 0, "losses": [0.1, number / 3]})
    return journal


def test_every_cut_keeps_whole_lines(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole.jsonl").path.read_bytes()
    lines = [json.loads(line) for line in whole.splitlines()][1:]
    ends = [place + 1 for place, letter in enumerate(whole) if letter == 10]
    for cut in range(len(whole) + 1):
        path = tmp_path / "torn.jsonl"
        path.write_bytes(whole[:cut])
        journal = Journal(path, RUN)
        kept = max(sum(end <= cut for end in ends) - 1, 0)
        assert journal.lines == lines[:kept], cut
        journal.add({"chunk": 7})
        assert Journal(path, RUN).lines == [*lines[:kept], {"chunk": 7}], cut


def test_garbage_behind_whole_lines_is_cut_off(tmp_path: Path) -> None:
    journal = filled(tmp_path / "cell.jsonl")
    with journal.path.open("ab") as file:
        file.write(b'\x00\x00\n{"chunk": 9}\n')
    assert Journal(journal.path, RUN).lines == journal.lines


@pytest.mark.parametrize("held", [b"my notes\n", b"{}\n", b'[1]\n{"run": 1}\n', b"\xff\xfe\x00"])
def test_what_is_not_a_journal_is_left_alone(tmp_path: Path, held: bytes) -> None:
    path = tmp_path / "cell.jsonl"
    path.write_bytes(held)
    with pytest.raises(ValueError, match="something else"):
        Journal(path, RUN)
    assert path.read_bytes() == held


def test_another_run_is_refused(tmp_path: Path) -> None:
    journal = filled(tmp_path / "cell.jsonl")
    before = journal.path.read_bytes()
    with pytest.raises(ValueError, match="another run; choose another folder"):
        Journal(journal.path, {**RUN, "length": 9})
    assert journal.path.read_bytes() == before


def test_an_end_is_known(tmp_path: Path) -> None:
    journal = filled(tmp_path / "cell.jsonl")
    assert not journal.has_ended
    journal.add({ENDED: True})
    assert Journal(journal.path, RUN).has_ended
