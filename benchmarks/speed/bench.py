"""One run: its settings, what was found, and a line of progress for every column."""

import sys
import time

from benchmarks.speed.columns import measured


class Bench:
    """Collects records.

    Attributes:
        rounds: of every column, at most.
        long: whether the long sizes and all compiled peers are measured too.
        records: what was measured so far.
    """

    def __init__(self, rounds, long=False):
        self.rounds, self.long, self.records = rounds, long, []
        self._checks, self._start = {}, time.perf_counter()

    def measure(self, column, effort):
        self.say(f"{column.part}: {column.group}, {column.name}")
        self.records.append(measured(column, effort, self._checks))
        return self.records[-1]

    def add(self, record):
        self.records.append(record)

    def seconds(self):
        return time.perf_counter() - self._start

    def say(self, line):
        print(f"[{self.seconds():5.0f} s] {line}", file=sys.stderr, flush=True)
