"""The page with figures, and targets that are code: objects are run, source is read."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from checkpoints_on_disk import LLAMA, written
from planted_configs import LONG, YARN, ruled

from ordinate.cli.main import main
from testing.rotary import ten_mistakes


def test_a_page_with_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = written(tmp_path / "<b>&", ruled(LONG, YARN, factor=2.0))
    assert main(["doctor", str(wrong), "--report", str(tmp_path / "page.html")]) == 1
    assert "written:" in capsys.readouterr().err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page
    assert "ORD104" in page
    assert "2 x 32768 = 65536 &lt; 131072" in page
    assert re.findall(r"https?://(?!www\.w3\.org|purl\.org|creativecommons\.org|matplotlib\.org)\S+", page) == []
    assert main(["doctor", str(wrong), "--report", str(tmp_path / "nowhere" / "page.html")]) == 2
    assert "--report: could not write" in capsys.readouterr().err


def test_a_page_without_rotations(tmp_path: Path) -> None:
    bare = written(tmp_path, {"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2})
    assert main(["doctor", str(bare), "--report", str(tmp_path / "page.html")]) == 0
    assert "<svg" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert main(["doctor", str(written(tmp_path, LLAMA)), "--report", str(tmp_path / "page.html"), "--quiet"]) == 0


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(str(ten_mistakes.__file__), tmp_path / "ropes_of_mine.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_an_object_is_held_to_the_contract(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "ropes_of_mine:Right head_dim=8"]) == 0
    assert main(["doctor", "ropes_of_mine:Sign"]) == 1
    said = capsys.readouterr().out
    assert "ORD301 error  ropes_of_mine:Sign  [layout-mismatch]" in said
    assert "the angle has the wrong sign" in said
    for target, why in (("ropes_of_mine:Nothing", "has no Nothing"), ("nowhere_at_all:Rope", "could not import nowhere_at_all")):
        assert main(["doctor", target]) == 2
        assert why in capsys.readouterr().out
    assert project.is_dir()


def test_a_file_is_read_and_not_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "loud.py"
    path.write_text("raise SystemExit('run')\n" + (project / "ropes_of_mine.py").read_text(), encoding="utf-8")
    assert main(["doctor", str(path)]) == 1
    assert "ORD301" in capsys.readouterr().out
