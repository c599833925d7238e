"""``ordinate notes`` before anything is served: what it refuses, what it tells the page, what it opens."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ordinate.cli import notes
from ordinate.cli.main import main
from ordinate.lab.kept import KEPT
from ordinate.notes import results, serving


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What would be served, where, and in which environment; the page is said to have started at once."""
    found: dict[str, Any] = {}

    def serve(*, host: str, port: int, started: Callable[[], None]) -> None:
        found.update(host=host, port=port, language=os.environ[results.LANGUAGE], results=os.environ[results.RESULTS])
        started()

    monkeypatch.setattr(serving, "serve", serve)
    for name in (results.LANGUAGE, results.RESULTS):
        monkeypatch.setenv(name, "")  # whatever the command sets is taken back
    return found


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        yield busy.getsockname()[1]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def test_it_prints_the_address_and_tells_the_page(told: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    assert main(["notes", "--no-browser", "--port", str(port), "--language", "ru"]) == 0
    assert told == {"host": "127.0.0.1", "port": port, "language": "ru", "results": ""}
    assert capsys.readouterr() == (f"http://127.0.0.1:{port}\nCtrl-C ends it\n", "")
    assert results.first_language() == "ru"


def test_without_a_port_it_takes_one_that_is_free(told: dict[str, Any], taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "PORT", taken)
    assert main(["notes", "--no-browser"]) == 0
    assert taken < told["port"] < taken + notes.TRIED


def test_it_opens_the_address_in_a_browser(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    port = free_port()
    assert main(["notes", "--port", str(port)]) == 0
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(timeout=1)
    assert told["language"] == "en"
    assert opened == [f"http://127.0.0.1:{port}"]


@pytest.mark.parametrize("given", ["file", "folder", "usual"])
def test_results_of_one_s_own(given: str, told: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "compare-report"
    folder.mkdir()
    shutil.copy(KEPT, folder / "results.json")
    asked = {"file": ["--results", "compare-report/results.json"], "folder": ["--results", str(folder)], "usual": []}[given]
    assert main(["notes", "--no-browser", "--port", str(free_port()), *asked]) == 0
    assert Path(told["results"]) == (folder if given == "folder" else folder / "results.json")
    comparison, path = results.chosen()
    assert (comparison.settings.seeds, path) == (2, Path(told["results"]))


def test_a_report_that_cannot_be_read_gives_way(told: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "compare-report").mkdir()
    (tmp_path / "compare-report" / "results.json").write_text("{}")
    assert main(["notes", "--no-browser", "--port", str(free_port())]) == 0
    assert told["results"] == ""
    said = capsys.readouterr().err
    assert said.startswith("ordinate notes: warning: the package's results are shown: needed a results.json of `ordinate compare`")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--results", "nowhere.json"], "--results: needed a results.json of `ordinate compare`, or its folder, got nowhere.json"),
        (["--results", "."], "--results: needed a results.json of `ordinate compare`, or its folder, got results.json"),
        (["--host", "not a host"], "needed a free port at not a host, got 65000 ("),
    ],
)
def test_bad_input_ends_before_anything_starts(
    arguments: list[str], message: str, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["notes", "--no-browser", "--port", "65000", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"ordinate notes: {message}")
    assert said.count("\n") == 1
    assert told == {}


def test_a_port_that_is_taken_is_refused(told: dict[str, Any], taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notes", "--port", str(taken)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"ordinate notes: needed a free port at 127.0.0.1, got {taken} (")
    assert said.endswith("); choose others with --port and --host\n")
    assert told == {}


@pytest.mark.parametrize("missing", ["marimo", "matplotlib"])
def test_it_says_what_to_install(
    missing: str, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == missing else find(name, *rest))
    assert main(["notes"]) == 2
    assert capsys.readouterr().err == f"ordinate notes: needed {missing}, got none; install with: pip install 'ordinate[notes]'\n"
    assert told == {}


@pytest.mark.parametrize("arguments", [["--port", "0"], ["--port", "65536"], ["--port", "x"], ["--lang", "de"], ["extra"]])
def test_arguments_are_checked(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["notes", *arguments])
    assert stopped.value.code == 2
    assert arguments[-1] in capsys.readouterr().err


def test_help_loads_neither_marimo_nor_torch() -> None:
    code = (
        "import sys\nfrom ordinate.cli.main import main\n"
        "try:\n    main(['notes', '--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('marimo', 'matplotlib', 'torch', 'uvicorn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "--results PATH" in done.stdout
