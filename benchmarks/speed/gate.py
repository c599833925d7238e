"""No figures for code whose tests fail."""

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES_SHOWN = 15
# What is timed: rotation, its kernel, attention with a bias. Several calls, since -k would pick from all files of one.
TESTS = (
    ("tests/test_contract.py", "-k", "(rope_half or rope_interleaved or alibi or t5) and not compile"),
    ("tests/schemes/test_rope.py", "tests/schemes/test_alibi.py", "tests/schemes/test_t5_bias.py"),
    ("tests/kernels/test_cpu_kernel.py", "tests/attention/test_factored.py"),
    ("tests/attention/test_diagonals.py", "-k", "loops"),
)


class TestsFailedError(Exception):
    """Some of the operations' tests failed, or none ran."""


def check(tests=TESTS, root=ROOT):
    """Run the tests in processes of their own, all at once.

    Returns:
        The commands and pytest's closing lines.

    Raises:
        TestsFailedError: with pytest's last lines.
    """
    processes = [_started(chosen, root) for chosen in tests]
    printed = [process.communicate()[0].strip().splitlines() for process in processes]
    outcomes = []
    for chosen, process, lines in zip(tests, processes, printed, strict=True):
        shown = shlex.join(["pytest", "-q", *chosen])
        if process.returncode != 0:
            raise TestsFailedError("\n".join([f"nothing is measured, since this failed: {shown}", *lines[-LINES_SHOWN:]]))
        outcomes.append({"command": shown, "result": lines[-1]})
    return outcomes


def _started(chosen, root):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
