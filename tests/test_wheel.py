"""What is installed: the built wheel carries its data files, and works without the source tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return build(folder)


def build(folder: Path, **environment: str) -> Path:
    """Build a wheel from a copy of the sources, so that nothing is left among them."""
    copy = folder / "source"
    kept = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__"))
    for name in kept:
        shutil.copy(ROOT / name, copy / name)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(copy)],
        check=True,
        capture_output=True,
        env={**os.environ, **environment},
    )
    return next(folder.glob("ordinate-*.whl"))


def test_wheel_holds_every_source_file_and_the_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert sources | {"ordinate/py.typed", "ordinate/lab/report.html.jinja"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any("tests" in name or name.endswith((".pyc", ".egg-info")) for name in names)


def test_wheel_asks_for_torch_and_numpy_only(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert sorted(line.split()[1].split(">")[0] for line in needed) == ["numpy", "torch"]


CODE = """
import sys; sys.path.insert(0, sys.argv[1])
import ordinate, torch
from ordinate.kernels import cpu
rope = ordinate.Rope(head_dim=4, layout="half")
print(ordinate.__file__)
print(rope.queries(torch.ones(1, 1, 1, 4), range(0, 1)).tolist())
print(cpu.CALL is not None, cpu.REASON)
"""


def used(wheel: Path, folder: Path) -> list[str]:
    """What a fresh process says that has the unpacked wheel and not the source tree."""
    zipfile.ZipFile(wheel).extractall(folder)
    done = subprocess.run([sys.executable, "-I", "-c", CODE, str(folder)], cwd=folder, capture_output=True, text=True, check=True)
    place, values, kernel = done.stdout.splitlines()
    assert place.startswith(str(folder))
    assert values == "[[[[1.0, 1.0, 1.0, 1.0]]]]"
    return [kernel]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: the kernel cannot be built here")
def test_with_a_compiler_the_kernel_is_built_for_every_python(wheel: Path, tmp_path: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    assert "ordinate/kernels/_rotate.abi3.so" in zipfile.ZipFile(wheel).namelist()
    (kernel,) = used(wheel, tmp_path)
    assert kernel.startswith("True ")


def test_without_a_compiler_the_formula_serves(tmp_path: Path) -> None:
    wheel = build(tmp_path, CC="no-such-compiler")
    assert not any("_rotate" in name and name.endswith(".so") for name in zipfile.ZipFile(wheel).namelist())
    (kernel,) = used(wheel, tmp_path / "unpacked")
    assert kernel.startswith("False it was not built")
