"""The pool of processes: it finds what a direct run finds, tells how far it is, and leaves the parent as it was."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lab_tools import SMALL

from ordinate.lab.compare import HELD_OUT_SEED, KEEP_MEMORY, _ctrl_c_held, build_task, compare
from ordinate.lab.order import run_order
from ordinate.lab.results import Comparison, Settings
from ordinate.lab.tasks import LastTask, ShiftTask
from ordinate.lab.train import run


def environments(parent: int) -> list[dict[str, str]]:
    """With what each child of a process was started."""
    found = []
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        entries = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        found.append(dict(entry.decode().split("=", 1) for entry in entries if b"=" in entry))
    return found


def test_outcomes_are_those_of_a_direct_run_and_the_parent_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TOP_PAD_", "4096")
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    before, handler = dict(os.environ), signal.getsignal(signal.SIGINT)
    made = Comparison(Settings(("last", "order"), ("nope", "learned"), 1, SMALL), None, "")
    events = compare(made, workers=2)
    first = next(events)
    # The workers keep freed memory, and it is only theirs.
    assert sum(KEEP_MEMORY.items() <= environment.items() for environment in environments(os.getpid())) >= 2
    assert dict(os.environ) == before
    assert signal.getsignal(signal.SIGINT) is handler
    told = [first, *events]
    assert dict(os.environ) == before
    assert [cell for progress in told for cell in progress.finished] == list(made.outcomes)
    assert set(made.outcomes) == set(made.settings.cells())
    fractions = [progress.fraction for progress in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert told[-1].left == 0.0
    for cell, outcome in made.outcomes.items():
        if cell.task == "order":
            direct = run_order(cell.scheme, SMALL, cell.seed, lambda _: None)
        else:
            task = LastTask(length=16, longest=32, windows=4, seed=HELD_OUT_SEED + cell.seed)
            direct = run(cell.scheme, task, SMALL, cell.seed, lambda _: None)
        assert outcome.losses == pytest.approx(direct.losses, abs=1e-5)
        assert outcome.accuracies == direct.accuracies
        assert (outcome.parameters, outcome.position_parameters) == (direct.parameters, direct.position_parameters)
        assert outcome.difference == pytest.approx(direct.difference, abs=1e-5)


def test_tasks_are_built_by_name() -> None:
    settings = Settings(("shift", "last"), ("nope",), 1, SMALL)
    assert isinstance(build_task("shift", settings, None, 0), ShiftTask)
    last = build_task("last", settings, None, 3)
    assert isinstance(last, LastTask)
    shown = last.evaluation(32).tokens
    assert shown.equal(LastTask(length=16, longest=32, windows=4, seed=HELD_OUT_SEED + 3).evaluation(32).tokens)
    assert not shown.equal(build_task("last", settings, None, 4).evaluation(32).tokens)
    for name in ("order", "text", "txt"):
        with pytest.raises(ValueError, match=f"unknown task '{name}'; there are text, shift, last"):
            build_task(name, settings, None, 0)


def test_ctrl_c_while_the_workers_start_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    before, mask = signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    submit, pressed = ProcessPoolExecutor.submit, []

    def pressing(pool: ProcessPoolExecutor, *arguments: Any) -> Any:
        if not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        return submit(pool, *arguments)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", pressing)
    with pytest.raises(KeyboardInterrupt):
        next(compare(Comparison(Settings(("last",), ("nope",), 1, SMALL), None, ""), workers=1))
    assert pressed
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


def test_ctrl_c_while_the_pool_ends_is_heard_after_it() -> None:
    before = signal.getsignal(signal.SIGINT)
    ended = []

    def ending() -> None:
        with _ctrl_c_held():
            signal.raise_signal(signal.SIGINT)
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        ending()
    assert ended == [True]
    assert signal.getsignal(signal.SIGINT) is before
    with _ctrl_c_held():
        pass


def test_a_process_that_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with _ctrl_c_held():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
