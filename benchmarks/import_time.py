"""What `import ordinate` adds to `import torch`: median of fresh processes, in random order. Prints JSON."""

import json
import platform
import random
import statistics
import subprocess
import sys

import torch

STATEMENTS = {
    "import torch": "import torch",
    "import torch, ordinate": "import torch, ordinate",
    "and every public name": "import torch, ordinate; [getattr(ordinate, name) for name in ordinate.__all__]",
}
ROUNDS = 5


def seconds(statement):
    timed = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True).stdout)


def measure():
    jobs = [name for name in STATEMENTS for _ in range(ROUNDS)]
    random.shuffle(jobs)
    times = {name: [] for name in STATEMENTS}
    for name in jobs:
        times[name].append(seconds(STATEMENTS[name]))
    medians = {name: round(statistics.median(values), 3) for name, values in times.items()}
    base = medians["import torch"]
    return {
        "command": "python benchmarks/import_time.py",
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "median_seconds": medians,
        "added_seconds": {name: round(value - base, 3) for name, value in medians.items() if name != "import torch"},
        "all_seconds": {name: [round(value, 3) for value in values] for name, values in times.items()},
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
