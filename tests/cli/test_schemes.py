"""``ordinate schemes``: every cell of the printed table, in both languages, is what the classes say."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys

import pytest

from ordinate.catalogue import SchemeRow, schemes_table
from ordinate.cli.columns import aligned
from ordinate.cli.main import main
from ordinate.cli.schemes import RUSSIAN

SIZES = ["--d-model", "48", "--n-heads", "4", "--max-length", "20"]
SMALL = {"d_model": 48, "n_heads": 4, "max_length": 20}


def cells_of(text: str) -> tuple[list[list[str]], str]:
    """Cells of the printed table, its broken lines joined, with the columns read off the rule; and what stands below."""
    head, _, note = text.partition("\n\n")
    lines = head.splitlines()
    columns = [match.span() for match in re.finditer("-+", lines[1])]
    rows: list[list[str]] = []
    for line in (lines[0], *lines[2:]):
        parts = [line[first:last].strip() for first, last in columns]
        if parts[0] and (not rows or parts[0] != rows[-1][0]):
            rows.append(parts)
        else:
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], parts, strict=True)]
    return rows, note.strip()


def expected(row: SchemeRow) -> list[str]:
    count = f"{row.count:,}".replace(",", " ")
    return [row.name, row.applied, row.parameters, count, row.max_length, row.encodes]


def test_the_table_is_that_of_the_classes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes"]) == 0
    (heading, *rows), note = cells_of(capsys.readouterr().out)
    assert heading == ["name", "applied at", "parameters", "number", "maximum length", "encodes"]
    assert rows == [expected(row) for row in schemes_table()]
    assert rows[2][3] == "393 216"
    assert note == "number: learned numbers of one table, for d_model 768, 12 heads, max_length 512"


def test_sizes_change_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes", *SIZES]) == 0
    (_, *rows), note = cells_of(capsys.readouterr().out)
    assert [row[3] for row in rows] == ["0", "0", "960", "792", "128", "960", "0", "0", "0", "0", "0", "2 400"]
    assert note.endswith("for d_model 48, 4 heads, max_length 20")


def test_json_is_the_table_with_sources(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, rows in (([], schemes_table()), (SIZES, schemes_table(**SMALL))):
        assert main(["schemes", "--json", *arguments]) == 0
        assert json.loads(capsys.readouterr().out) == [dataclasses.asdict(row) for row in rows]


def test_every_word_of_the_classes_has_a_russian_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes", "--language", "ru"]) == 0
    (heading, *rows), note = cells_of(capsys.readouterr().out)
    for row, english in zip(rows, schemes_table(), strict=True):
        name, applied, parameters, _, longest, encodes = row
        assert (name, parameters) == (english.name, english.parameters)
        for text, said in ((applied, english.applied), (longest, english.max_length), (encodes, english.encodes)):
            if said == "max_length":  # the name of an argument
                assert text == said
            else:
                assert text == RUSSIAN[said]
                assert re.fullmatch("[а-яё,; ]+", text)
    assert not re.search("[A-Za-z]", "".join(heading))
    assert "768" in note
    used = {text for row in schemes_table() for text in (row.applied, row.max_length, row.encodes)}
    assert used - {"max_length"} == set(RUSSIAN), "nothing is translated that no class says"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--d-model", "10", "--n-heads", "3"], "n_heads: needed an even width a head, d_model / n_heads, got 10 / 3"),
        (["--d-model", "0"], "d_model: needed a whole number >= 1, got 0"),
        (["--n-heads", "-2"], "n_heads: needed a whole number >= 1, got -2"),
        (["--max-length", "0"], "max_length: needed a whole number >= 4, got 0"),
        (["--max-length", "1000000000000"], "max_length: needed a whole number from 4 to 131072, got 1000000000000"),
        (["--d-model", "3072000000"], "d_model: needed a whole number from 1 to 65536, got 3072000000"),
        (["--d-model", "9", "--n-heads", "3"], "n_heads: needed an even width a head, d_model / n_heads, got 9 / 3"),
    ],
)
def test_sizes_that_do_not_fit_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    for form in ([], ["--json"], ["--language", "ru"]):
        assert main(["schemes", *arguments, *form]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(f"ordinate schemes: {message}")
        assert printed.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--d-model", "wide"], ["--language", "de"], ["--max-length", "1.5"]])
def test_options_that_cannot_be_read_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["schemes", *arguments])
    assert stopped.value.code == 2
    assert arguments[1] in capsys.readouterr().err


def test_long_words_are_not_broken() -> None:
    assert aligned([("a", "bb"), ("abcdef", "x y")], widest=3) == ["a       bb", "------  ---", "abcdef  x y"]


@pytest.mark.parametrize(
    ("target", "said"), [("> /dev/full", "ordinate: could not write (No space left on device)\n"), ("| true", "")]
)
def test_output_that_cannot_be_written_is_at_most_one_line(target: str, said: str) -> None:
    code = "import sys, time; from ordinate.cli.main import main; time.sleep(0.3); sys.exit(main(['schemes', '--json']))"
    script = f'set -o pipefail; "$0" -c "$1" {target}'
    done = subprocess.run(["bash", "-c", script, sys.executable, code], capture_output=True, text=True, check=False)
    assert done.stderr == said
    assert done.returncode == 1
