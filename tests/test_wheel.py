"""What is installed: the built wheel carries its data files, and works without the source tree."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True
    )
    return next(folder.glob("ordinate-*.whl"))


def test_wheel_holds_every_source_file_and_the_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert sources | {"ordinate/py.typed", "ordinate/lab/report.html.jinja"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_wheel_asks_for_torch_and_numpy_only(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert sorted(line.split()[1].split(">")[0] for line in needed) == ["numpy", "torch"]


def test_wheel_works_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(wheel)!r}); import ordinate, torch; "
        "rope = ordinate.Rope(head_dim=4, layout='half'); "
        "print(ordinate.__file__, rope.queries(torch.ones(1, 1, 1, 4), range(0, 1)).tolist())"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    place, values = done.stdout.split(" ", 1)
    assert place.startswith(str(wheel))
    assert values.strip() == "[[[[1.0, 1.0, 1.0, 1.0]]]]"
