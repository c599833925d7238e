"""Train every scheme on every task, in a pool of one-thread processes, and collect what they reach at each length."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from ordinate.lab.order import run_order
from ordinate.lab.results import ORDER, TASKS, Cell, Comparison, Settings
from ordinate.lab.tasks import Corpus, LastTask, ShiftTask, Task, TextTask
from ordinate.lab.train import Outcome, run

EVALUATION_SHARE = 0.25
POLL_SECONDS = 0.2
REPORT_EVERY = 10
HELD_OUT_SEED = 2**31
# glibc's; other C libraries do not read them
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**32), "MALLOC_TOP_PAD_": str(2**26)}


@dataclass(frozen=True)
class Progress:
    """How far the whole comparison is: a fraction of 1, seconds so far and seconds left, and what has just finished."""

    fraction: float
    elapsed: float
    left: float | None
    finished: tuple[Cell, ...]


def build_task(name: str, settings: Settings, corpus: Corpus | None, seed: int) -> Task:
    """Build a task by name.

    Args:
        name: "text", "shift" or "last".
        settings: lengths and numbers of windows.
        corpus: needed for "text".
        seed: of the held-out sequences that are drawn.

    Returns:
        The task.

    Raises:
        ValueError: for an unknown name, or text without a corpus.
    """
    budget = settings.budget
    if name == "text" and corpus is not None:
        return TextTask(corpus, length=budget.length, longest=budget.longest, windows=budget.windows)
    drawn: dict[str, type[ShiftTask | LastTask]] = {"shift": ShiftTask, "last": LastTask}
    if name in drawn:
        return drawn[name](length=budget.length, longest=budget.longest, windows=budget.windows, seed=HELD_OUT_SEED + seed)
    raise ValueError(f"unknown task {name!r}; there are {', '.join(TASKS)}")


def compare(comparison: Comparison, *, workers: int) -> Iterator[Progress]:
    """Run all cells; outcomes are added to the comparison as they come.

    Args:
        comparison: settings and corpus; receives the outcomes.
        workers: processes of one thread each.

    Yields:
        Progress, a few times a second and after every finished cell.

    Raises:
        BrokenProcessPool: if a worker process died.
    """
    context = multiprocessing.get_context("spawn")
    lifeline, held = context.Pipe(duplex=False)
    steps = context.SimpleQueue()
    cells = comparison.settings.cells()
    started = time.perf_counter()
    done: dict[Cell, float] = dict.fromkeys(cells, 0.0)
    pool = ProcessPoolExecutor(
        min(workers, len(cells)),
        mp_context=context,
        initializer=_start_worker,
        initargs=(comparison.settings, comparison.corpus, lifeline, steps),
    )
    try:
        pending = _submit(pool, cells)
        while pending:
            finished, _ = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            while not steps.empty():
                cell, fraction = steps.get()
                done[cell] = max(done[cell], fraction)
            ready = tuple(pending.pop(future) for future in finished)
            for future, cell in zip(finished, ready, strict=True):
                comparison.outcomes[cell] = future.result()
                done[cell] = 1.0
            yield _progress(sum(done.values()) / len(cells), time.perf_counter() - started, ready)
    except BaseException:
        held.close()
        raise
    finally:
        with _ctrl_c_held():
            pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, cells: list[Cell]) -> dict[Future[Outcome], Cell]:
    """Start the workers deaf to Ctrl-C from their first moment; it is the parent's to handle, once all of them are there."""
    with _ctrl_c_held(), _born_deaf(), _memory_kept():
        futures = {pool.submit(_run_cell, cell): cell for cell in cells}
        # The pool looks for dead workers among those it knew at its last submission: let that be after the last start.
        pool.submit(os.getpid)
        return futures


@contextmanager
def _memory_kept() -> Iterator[None]:
    """Processes started here keep freed memory: else every large tensor is paged in anew, half of the time of some rows."""
    before = {name: os.environ.get(name) for name in KEEP_MEMORY}
    os.environ.update(KEEP_MEMORY)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _born_deaf() -> Iterator[None]:
    """Processes started here inherit a mask without Ctrl-C; the parent, unlike one that ignores the signal, gets it later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _ctrl_c_held() -> Iterator[None]:
    """Let what must not be torn come to its end, then stop if Ctrl-C came meanwhile."""
    deaf = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)  # started in the background, or no handler of Python's
    if deaf or threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    heard = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)
    if pressed:
        raise KeyboardInterrupt


def _progress(fraction: float, elapsed: float, finished: tuple[Cell, ...]) -> Progress:
    left = elapsed * (1 - fraction) / fraction if fraction > 0.02 else None
    return Progress(fraction, elapsed, left, finished)


_worker: dict[str, Any] = {}


def _start_worker(settings: Settings, corpus: Corpus | None, lifeline: Any, steps: Any) -> None:
    """One thread a process, and no worker outlives its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_leave_with, args=(lifeline,), daemon=True).start()
    _worker.update(settings=settings, corpus=corpus, steps=steps)


def _leave_with(lifeline: Any) -> None:
    """End this process when the parent lets go of the pipe, because it was stopped or is gone: there is nothing to save."""
    lifeline.poll(None)
    os._exit(1)


def _run_cell(cell: Cell) -> Outcome:
    settings: Settings = _worker["settings"]
    budget = settings.budget

    def report(step: int) -> None:
        if step % REPORT_EVERY == 0:
            _worker["steps"].put((cell, (1 - EVALUATION_SHARE) * step / budget.steps))

    if cell.task == ORDER:
        return run_order(cell.scheme, budget, cell.seed, report)
    return run(cell.scheme, build_task(cell.task, settings, _worker["corpus"], cell.seed), budget, cell.seed, report)
