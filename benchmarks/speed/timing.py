"""Samples of several functions, taken in turns: every round in a new random order, so that none inherits another's warm memory."""

import gc
import random
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_REPEATS = 1 << 20


def page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@dataclass(frozen=True)
class Meter:
    """What is read before and after a sample."""

    clock: Callable[[], float] = time.perf_counter
    faults: Callable[[], int] = page_faults


@dataclass(frozen=True)
class Effort:
    """How long to measure: a sample repeats its function for sample_seconds at least, a slow function gets fewer rounds."""

    rounds: int = 20
    fewest: int = 3
    sample_seconds: float = 0.002
    seconds: float = 2.0


@dataclass
class Samples:
    """Seconds and page faults of one call, one entry a round, and which round it was."""

    repeats: int
    turns: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    faults: list[float] = field(default_factory=list)


METER = Meter()


def take(run, repeats, meter=METER):
    """One sample: seconds and page faults a call."""
    faults, start = meter.faults(), meter.clock()
    for _ in range(repeats):
        run()
    stop = meter.clock()
    return (stop - start) / repeats, (meter.faults() - faults) / repeats


def repeats_for(run, sample_seconds, meter=METER):
    """Calls that last sample_seconds at least, and the seconds of one."""
    repeats = 1
    while True:
        seconds, _ = take(run, repeats, meter)
        if seconds * repeats >= sample_seconds or repeats >= MOST_REPEATS:
            return repeats, seconds
        repeats = min(MOST_REPEATS, max(2 * repeats, int(1.2 * sample_seconds / max(seconds, 1e-9))))


def rounds_for(seconds, repeats, effort):
    """All rounds for a fast function; for a slow one as many as fit into the effort's seconds, but the fewest."""
    fitting = int(effort.seconds / max(seconds * repeats, 1e-9))
    return min(effort.rounds, max(effort.fewest, fitting))


def is_due(turn, needed, rounds):
    """Whether a function with `needed` samples is due in this round: they are spread evenly over all rounds."""
    return turn * needed // rounds != (turn + 1) * needed // rounds


def interleaved(runs, effort, meter=METER, order=None):
    """Samples of every function by name; they have been called before and are warm."""
    order = order or random.Random()
    collecting = gc.isenabled()
    gc.disable()
    try:
        samples, needed = {}, {}
        for name, run in runs.items():
            repeats, seconds = repeats_for(run, effort.sample_seconds, meter)
            samples[name], needed[name] = Samples(repeats), rounds_for(seconds, repeats, effort)
        for turn in range(effort.rounds):
            due = [name for name in runs if is_due(turn, needed[name], effort.rounds)]
            order.shuffle(due)
            for name in due:
                seconds, faults = take(runs[name], samples[name].repeats, meter)
                samples[name].turns.append(turn)
                samples[name].seconds.append(seconds)
                samples[name].faults.append(faults)
    finally:
        if collecting:
            gc.enable()
    return samples
