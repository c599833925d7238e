"""The rotation rows with the compiled kernel switched off, in a process of its own, against transformers: never slower.

`python -m benchmarks.speed.without_kernel ROUNDS` is that process; it prints JSON.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace

from benchmarks.speed import rotation
from benchmarks.speed.bench import Bench
from benchmarks.speed.columns import Target
from benchmarks.speed.environment import paths_in_use
from benchmarks.speed.gate import ROOT
from benchmarks.speed.rotators import CLONE, GPTJ, OURS, TRANSFORMERS
from benchmarks.speed.timing import Effort
from benchmarks.speed.vectors import STORAGES

SWITCH = {"ORDINATE_KERNEL": "off"}
AT_MOST = 1.0
SECONDS = 0.5


def run(bench):
    """Add what the process without the kernel measured."""
    bench.say("without the kernel: a process of its own")
    command = [sys.executable, "-m", "benchmarks.speed.without_kernel", str(bench.rounds)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **SWITCH}, stdout=subprocess.PIPE, text=True, check=True)
    for record in json.loads(done.stdout.splitlines()[-1]):
        bench.add(record)


def measured(rounds):
    """Records of every rotation column, ours and transformers' only."""
    bench, records, paths = Bench(rounds), [], paths_in_use()
    for backward in (False, True):
        for storage in STORAGES:
            rotators = tuple(rotator for rotator in (CLONE, *OURS, TRANSFORMERS, GPTJ) if storage in rotator.storages)
            for name, shape in rotation.SHAPES.items():
                for dtype_name in rotation.DTYPES:
                    column = rotation.column_of(shape, dtype_name, storage, backward, rotators, name, _targets(rotators))
                    record = bench.measure(replace(column, part="without kernel"), Effort(rounds=rounds, seconds=SECONDS))
                    records.append({**record, "paths": paths})
    return records


def _targets(rotators):
    """Interleaved pairs against GPT-J's code where it takes this storage, else against Llama's, the same work in halves."""
    interleaved = GPTJ if GPTJ in rotators else TRANSFORMERS
    peers = {"half": TRANSFORMERS, "interleaved": interleaved}
    return tuple(Target(rotator.name, peers[rotator.layout].name, AT_MOST) for rotator in rotators if rotator in OURS)


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
