"""``pytest --ordinate`` as its user runs it, in a project of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testing.rotary import ten_mistakes

MODEL = """
from torch import nn


class TinyModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table, self.out = nn.Embedding(8, width), nn.Linear(width, 8)

    def forward(self, ids):
        return self.out(self.table(ids))


made = TinyModel(4)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "__init__.py").write_text("")
    shutil.copy(str(ten_mistakes.__file__), tmp_path / "mypkg" / "rope.py")
    (tmp_path / "mypkg" / "broken.py").write_text("raise RuntimeError('no luck')")
    (tmp_path / "mypkg" / "exits.py").write_text("import sys\nsys.exit(0)")
    (tmp_path / "test_other.py").write_text("def test_other():\n    assert False\n")
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def test_a_right_class_and_a_wrong_one(project: Path) -> None:
    done = run(project, "--ordinate", "mypkg.rope:Right", "--ordinate", "mypkg.rope:Swapped", "-v")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "mypkg.rope:Right[formula] PASSED" in done.stdout
    assert "mypkg.rope:Swapped[formula] FAILED" in done.stdout
    assert "cos and sin are exchanged in the second entry of every pair [ORD301 layout-mismatch]" in done.stdout
    assert "1 failed" in done.stdout
    assert "test_other" not in done.stdout  # no path was given: the contract alone
    assert "Traceback" not in done.stdout + done.stderr


def test_with_paths_both_run(project: Path) -> None:
    done = run(project, "--ordinate", "mypkg.rope:Right head_dim=8", "test_other.py")
    assert "1 failed" in done.stdout
    assert "test_other.py F" in done.stdout


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("mypkg.rope:Nothing", "mypkg.rope has no Nothing"),
        ("nowhere:Rope", "could not import nowhere"),
        ("mypkg.rope", "needed package.module:Object"),
        ("mypkg.rope:Right kind=song", "kind: needed one of rotary, bias, input, model"),
        ("mypkg.rope:Right head_dim=7", "needed even numbers"),
        ("mypkg.broken:Rope", "importing mypkg.broken fails: RuntimeError: no luck"),
        ("mypkg.exits:Rope", "importing mypkg.exits fails: SystemExit: 0"),
        ("mypkg.rope:Right layout=foo", "layout: needed 'half' or 'interleaved', got 'foo'"),
        ("mypkg.rope:Right name=x", "needed settings that a word can say, got name"),
        ("json:dumps", "its name does not say what it is"),
    ],
)
def test_targets_that_cannot_be_run(project: Path, target: str, said: str) -> None:
    done = run(project, "--ordinate", target)
    assert done.returncode == 4, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_fixture(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\nordinate =\n    mypkg.rope:Right\n    mypkg.rope:Sign head_dim=8\n")
    (project / "test_mine.py").write_text("def test_mine(ordinate_finding):\n    assert ordinate_finding.verdict != 'broken'\n")
    done = run(project, "test_mine.py")
    assert done.stdout.count("FAILED") == 1, done.stdout
    assert "FAILED test_mine.py::test_mine[mypkg.rope:Sign-formula]" in done.stdout


def test_a_model_by_its_class(project: Path) -> None:
    (project / "mypkg" / "small.py").write_text(MODEL)
    done = run(project, "--ordinate", "mypkg.small:TinyModel width=16 compiled=false")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    wrong = run(project, "--ordinate", "mypkg.small:TinyModel compiled=false")
    assert wrong.returncode == 4
    assert "could not be made" in wrong.stderr
    named = run(project, "--ordinate", "mypkg.small:made vocabulary=8 depth=2 kind=model")
    assert "needed a class for the settings depth" in named.stderr
