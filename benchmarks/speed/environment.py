"""What the figures depend on: versions, processor, threads, the kernel in use, and memory that is left to others."""

import contextlib
import io
import os
import platform
import re
import resource
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from ordinate.cli.main import main as ordinate_command

PACKAGES = ("torch", "ordinate", "transformers", "torchtune", "rotary-embedding-torch", "x-transformers", "numpy")
SHARE_OF_MEMORY = 0.8


def versions():
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def described():
    return {
        "command": " ".join(["python -m benchmarks.speed", *sys.argv[1:]]),
        "versions": versions(),
        "cpu": processor(),
        "cores": os.cpu_count(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "paths": paths_in_use(),
        "environment": {
            name: os.environ[name] for name in ("ORDINATE_KERNEL", "OMP_NUM_THREADS", "GLIBC_TUNABLES") if name in os.environ
        },
    }


def paths_in_use():
    """What `ordinate info` says, by row: the compiled kernel and its instruction set, or why there is none."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        ordinate_command(["info"])
    return dict(re.split(r"  +", line, maxsplit=1) for line in printed.getvalue().splitlines())


def available_bytes():
    """What the system can still give, by /proc; None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def leave_memory():
    """A variant that asks for too much gets an error, a row that says so, and does not take the machine down."""
    free = available_bytes()
    if free is None:
        return
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + int(SHARE_OF_MEMORY * free), hard))
