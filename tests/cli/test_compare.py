"""The command as its user runs it: what it prints and writes, how it refuses, and that nothing is lost when it is stopped."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ordinate.cli import compare as cli_compare
from ordinate.cli.main import main
from ordinate.lab import curves, report
from ordinate.lab.results import Comparison, Settings
from ordinate.lab.rows import ROWS, Budget

QUICK = [
    *("compare", "--schemes", "nope,learned", "--tasks", "shift", "--seeds", "1"),
    *("--length", "8", "--steps", "4", "--multiples", "1,2"),
]


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ordinate.cli.main", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_small_comparison_from_the_command_line(tmp_path: Path) -> None:
    done = command(*QUICK, "--output", "out", "--workers", "2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "[2/2] shift" in done.stdout
    assert "written: out/report.html" in done.stdout
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [(cell["scheme"], len(cell["losses"])) for cell in stored["cells"]] == [("learned", 2), ("nope", 2)]
    for cell in stored["cells"]:
        assert f"{cell['losses'][0]:.3f}" in done.stdout


def prepared(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Settings:
    """What the command would run, which it does not."""
    found: list[Comparison] = []

    def stop(*_: Any) -> None:
        raise ValueError("enough")

    prepare = cli_compare._prepare
    monkeypatch.setattr(cli_compare, "_prepare", lambda options: found.append(prepare(options)) or found[-1])
    monkeypatch.setattr(report, "claim_folder", stop)
    assert main(["compare", *arguments]) == 2
    monkeypatch.undo()
    return found[0].settings


def test_defaults_are_all_rows_three_tasks_two_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = prepared(monkeypatch)
    rows = ("nope", "sinusoidal", "learned", "shaw", "t5", "deberta", "alibi", "rope", "gru")
    assert settings == Settings(("text", "shift", "last"), rows, 2, Budget(length=64, steps=220, multiples=(1, 2, 4, 8)))
    assert prepared(monkeypatch, "--task", "order").tasks == ("order",)


@pytest.mark.parametrize(
    ("arguments", "seeds", "steps"),
    [
        ([], 1, 100),
        (["--seeds", "3"], 3, 100),
        (["--steps", "7"], 1, 7),
        (["--seeds", "2", "--steps", "250"], 2, 250),
    ],
)
def test_quick_is_one_seed_and_fewer_steps_unless_given(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], seeds: int, steps: int
) -> None:
    settings = prepared(monkeypatch, "--quick", *arguments)
    assert (settings.seeds, settings.budget.steps) == (seeds, steps)
    assert dataclasses.replace(settings.budget, steps=220) == prepared(monkeypatch).budget


def test_word_order_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    assert main(["compare", "--task", "order", "--schemes", "nope,alibi,gru", "--seeds", "1", "--steps", "4"]) == 0
    assert dict(os.environ) == before
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("3 models: 3 rows x 1 task x 1 seed task")
    for sentence in ("order: Without positions both", "order: Two-way ALiBi knows", "order: Order reaches the vectors of gru."):
        assert told.count(sentence) == 1
    stored = json.loads(Path("compare-report/results.json").read_text())
    accuracies = {cell["scheme"]: cell["accuracies"] for cell in stored["cells"]}
    assert (accuracies["nope"], accuracies["alibi"][0]) == ([0.5, 0.5], 0.5)
    assert set(stored["milliseconds_a_token"]) == {"nope", "alibi", "gru"}
    assert stored["text"] is None


@contextmanager
def started(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A long comparison whose two workers (and the resource tracker) are there; it does not outlive its test."""
    running = subprocess.Popen(
        [sys.executable, "-m", "ordinate.cli.main", *QUICK, "--steps", "100000", "--output", "out", "--workers", "2"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(lambda: len(children(running.pid)) >= 3)
        yield running
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--schemes", "rop"], f"unknown scheme 'rop'; did you mean 'rope'? There are {', '.join(ROWS)}"),
        (["--tasks", "txt"], "unknown task 'txt'; there are text, shift, last, order"),
        (["--length", "4"], "--length: needed more than 5 tokens, got 4"),
        (["--multiples", "1,1000000"], "--length: needed at most 32768 tokens in the longest test, got 8000000"),
        (["--seeds", "999999999"], "--seeds: needed at most 10000 models in all"),
        (["--tasks", "text", "--text", "absent.txt"], "needed a readable file, got absent.txt"),
        (["--tasks", "text", "--text", "empty.txt"], "got empty.txt, which is empty"),
        (["--tasks", "text", "--text", "tiny.txt"], "needed at least 320 bytes for contexts of 16, got 4 from tiny.txt"),
        (["--output", "theirs"], "got theirs, which holds diary.txt; choose another folder"),
        (["--output", "tiny.txt"], "needed a folder that can be written, got tiny.txt (File exists)"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "tiny.txt").write_text("tiny")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "diary.txt").write_text("dear")
    before = sorted(tmp_path.rglob("*"))
    assert main([*QUICK, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != "compare-report"] == before


@pytest.mark.parametrize(
    "arguments", [["--seeds", "0"], ["--steps", "ten"], ["--multiples", "1,,2"], ["--overflow", "bend"], ["--tasks", ","]]
)
def test_options_that_are_no_numbers_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*QUICK, *arguments])
    assert stopped.value.code == 2
    assert arguments[1].split(",")[0] in capsys.readouterr().err


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("ordinate.cli.compare.NEEDS", ("rich", "no_such_package"))
    assert main(QUICK) == 2
    assert "needed the packages no_such_package; install them with: pip install 'ordinate[lab]'" in capsys.readouterr().err


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_stopping_midway_leaves_an_earlier_report_and_no_process(tmp_path: Path, sent: signal.Signals, status: int) -> None:
    assert command(*QUICK, "--output", "out", folder=tmp_path).returncode == 0
    earlier = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with started(tmp_path) as running:
        workers = children(running.pid)
        os.kill(running.pid, sent)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == status
    assert "Traceback" not in errors
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == earlier


def test_ctrl_c_twice_ends_at_once(tmp_path: Path) -> None:
    with started(tmp_path) as running:
        os.killpg(running.pid, signal.SIGINT)
        time.sleep(0.2)
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode in (130, -signal.SIGINT)
    assert "most recent call last" not in errors.replace("Exception ignored", "")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_dead_worker_is_one_line(tmp_path: Path) -> None:
    with started(tmp_path) as running:
        os.kill(children(running.pid)[-1], signal.SIGKILL)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 1
    assert errors == "ordinate compare: a worker process died (out of memory?); try fewer --workers or smaller lengths\n"


def test_a_failing_disk_leaves_the_earlier_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*QUICK, "--output", "out"]) == 0
    earlier = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    draw, calls = curves.save, []

    def full_at_the_picture(comparison: Comparison, target: Any, kind: str) -> None:
        calls.append(kind)
        if kind == "png":
            raise OSError(28, "No space left on device")
        draw(comparison, target, kind)

    monkeypatch.setattr(curves, "save", full_at_the_picture)
    assert main([*QUICK, "--output", "out"]) == 1
    assert calls == ["svg", "png"]
    assert capsys.readouterr().err == "ordinate compare: could not write to out (No space left on device)\n"
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == earlier


def test_letters_that_the_terminal_lacks_lose_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ordinate.cli.main", *QUICK, "--seeds", "2", "--output", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").exists()


def children(parent: int) -> list[int]:
    """The resource tracker and the workers of a process."""
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.1)
