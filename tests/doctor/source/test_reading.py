"""A file is only read: bounded, whatever stands in it, and what cannot be looked at is one finding that says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ordinate.doctor.finding import CANNOT, exit_status
from ordinate.doctor.source import diagnose_source, reading

ROUNDED = "def angles(position_ids, f):\n    return (position_ids.half() * f).cos()\n"


def refused(path: Path, why: str) -> None:
    (found,) = diagnose_source(path)
    assert (found.code, found.target) == (CANNOT, str(path))
    assert why in found.message
    assert "\n" not in found.message
    assert exit_status([found]) == 2


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"x = (\n", "a syntax error at line 1"),
        (b"print 'two'\n", "a syntax error at line 1"),
        (b"x = 1\0\n", "NUL bytes"),
        ("x = 1".encode("utf-16"), "NUL bytes"),
        (b"x = '\xff\xfe'\n", "needed source in UTF-8"),
        (b"# coding: nothing-of-the-kind\n", "unknown encoding"),
        (b"# coding: idna\nx = 1\n", "got 'idna'"),
        (b"x = " + b"-" * 100_000 + b"1", "nested too deeply"),
        (b"x = " + b"1+" * 100_000 + b"1", "nested too deeply"),
        (b"x = " + b"(" * 10_000, "a syntax error"),
        (b"x = f'" + b"{a}" * 30_000 + b"'", "at most 20000 opening braces"),
        (b"#" * (2**20 + 1), "at most 1048576 bytes"),
        (b"a," * 300_000, "at most 500000 parts"),
    ],
)
def test_what_is_no_source_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(data)
    refused(path, why)


def test_no_file_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "absent.py", "No such file")
    refused(tmp_path, "got another kind of file")
    os.mkfifo(tmp_path / "pipe.py")
    refused(tmp_path / "pipe.py", "got another kind of file")


@pytest.mark.parametrize("depth", [100, 150])
def test_deep_expressions_are_looked_at(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "deep.py"
    path.write_text(f"x = {'a.b(' * depth}1{')' * depth}\n".replace("(1", "(1") if depth < 200 else "")
    assert [each.code for each in diagnose_source(path)] == []
    path.write_text(f"def f(x):\n    return x{' + x' * depth * 4}\n{ROUNDED}")
    assert [each.code for each in diagnose_source(path)] == ["ORD201"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1251", "latin-1"])
def test_declared_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    head = "" if encoding.startswith("utf") else f"# -*- coding: {encoding} -*-\n"
    word = "угол" if encoding != "latin-1" else "Drehung: ä"
    path = tmp_path / "angles.py"
    path.write_bytes(f"{head}# {word}\n{ROUNDED}".encode(encoding))
    assert [each.code for each in diagnose_source(path)] == ["ORD201"]


def test_odd_spellings_neither_warn_nor_fail(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    path.write_text("x = '\\d' is '\\w'\nassert (x, 'always')\n" + ROUNDED)
    assert [each.where for each in diagnose_source(path)] == ["line 4"]
    path.write_text("")
    assert diagnose_source(path) == []


def test_nothing_of_the_file_runs(tmp_path: Path) -> None:
    path = tmp_path / "evil.py"
    path.write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    assert diagnose_source(path) == []
    assert not (tmp_path / "ran").exists()


def test_neither_torch_nor_transformers_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "rope.py"
    path.write_text(f"import torch, transformers\n{ROUNDED}")
    code = (
        "import sys\nfrom ordinate.doctor.source import diagnose_source\n"
        "assert [each.code for each in diagnose_source(sys.argv[1])] == ['ORD201']\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_limits_are_those_of_the_page() -> None:
    assert (reading.MOST_BYTES, reading.MOST_BRACES, reading.MOST_NODES) == (1_048_576, 20_000, 500_000)
