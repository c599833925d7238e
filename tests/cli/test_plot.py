"""``ordinate plot`` as its user runs it: which figure it draws, what it writes, and how it refuses."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ordinate import SCHEMES, plots, reference
from ordinate.cli import plot
from ordinate.cli.main import main

FITTING = [(name, figure) for name, figures in plot.DRAWN.items() for figure in figures]


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that the command saves, instead of files."""
    found: list[Any] = []
    monkeypatch.setattr(plots, "save", lambda figure, _: found.append(figure))
    return found


def test_every_scheme_but_no_positions_has_a_figure() -> None:
    assert set(plot.DRAWN) == set(SCHEMES) - {"nope"}
    assert {figure for _, figure in FITTING} == set(plot.FIGURES)


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_a_figure_from_the_command_line(tmp_path: Path, suffix: str, start: bytes) -> None:
    command = [sys.executable, "-m", "ordinate.cli.main", "plot", "alibi", "--out", f"bias{suffix}", "--language", "ru"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, f"written: bias{suffix}\n"), done.stderr
    assert (tmp_path / f"bias{suffix}").read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [f"bias{suffix}"]


def test_the_same_command_writes_the_same_file_and_leaves_random_numbers_alone(tmp_path: Path) -> None:
    for seed, name in enumerate(("a.svg", "b.svg")):
        state = torch.manual_seed(seed).get_state()
        assert main(["plot", "t5", "--out", str(tmp_path / name), "--positions", "8"]) == 0
        assert torch.equal(torch.get_rng_state(), state)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("sinusoidal", "Sinusoidal position vectors: 50 positions, 100 of 512 dimensions"),
        ("learned", "Learned position vectors: 50 positions, 100 of 512 dimensions"),
        ("shaw", "Shaw: the table's row that each distance reads"),
        ("t5", "T5: bias by distance"),
        ("deberta", "DeBERTa: the table's row that each distance reads"),
        ("alibi", "ALiBi: bias by distance"),
        ("rope", "RoPE: score by distance"),
    ],
)
def test_the_natural_figure_of_each_scheme(saved: list[Any], name: str, title: str) -> None:
    assert main(["plot", name, "--out", "a.png"]) == 0
    assert saved[0].get_suptitle() == title


@pytest.mark.parametrize(("name", "figure"), FITTING)
def test_random_weights_are_called_so_where_they_are_drawn(saved: list[Any], name: str, figure: str) -> None:
    assert main(["plot", name, "--out", "a.png", "--figure", figure, "--positions", "12", "--language", "ru"]) == 0
    drawn = saved[0].get_supxlabel()
    random = name in ("learned", "t5") or (name, figure) == ("shaw", "scores")
    assert drawn.endswith("случайные начальные веса, до обучения") == random
    assert drawn.startswith(SCHEMES[name].__name__)  # type: ignore[union-attr]


def test_positions_and_dimensions_reach_the_figure(saved: list[Any]) -> None:
    assert main(["plot", "sinusoidal", "--out", "a.png", "--positions", "7", "--dimensions", "5"]) == 0
    np.testing.assert_allclose(saved[0].axes[0].images[0].get_array(), reference.sinusoidal(7, 512)[:, :5], rtol=0, atol=1e-12)
    assert main(["plot", "sinusoidal", "--out", "a.png", "--dimensions", "500,3"]) == 0
    np.testing.assert_allclose(
        saved[1].axes[0].images[0].get_array(), reference.sinusoidal(50, 512)[:, [500, 3]], rtol=0, atol=1e-12
    )
    assert main(["plot", "sinusoidal", "--out", "a.png", "--figure", "waves", "--positions", "9", "--dimensions", "14,2"]) == 0
    assert [text.get_text() for text in saved[2].axes[0].get_legend().get_texts()] == [
        "dimension 2, sine: 19.9",
        "dimension 14, sine: 19,869",
    ]
    assert saved[2].axes[0].get_xlim() == (0.0, 8.0)
    assert main(["plot", "rope", "--out", "a.png", "--positions", "9"]) == 0
    assert saved[3].axes[0].get_xlim() == (-8.0, 8.0)
    assert main(["plot", "alibi", "--out", "a.png", "--positions", "9"]) == 0
    assert saved[4].axes[1].images[0].get_array().shape == (9, 9)


@pytest.mark.parametrize(("asked", "query", "key"), [((), 20, 13), (("--positions", "100"), 100, 93), (("--positions", "3"), 3, 0)])
def test_hands_stand_at_the_position_that_was_asked_for(saved: list[Any], asked: tuple[str, ...], query: int, key: int) -> None:
    assert main(["plot", "rope", "--out", "a.png", "--figure", "hands", *asked]) == 0
    for line, position in zip(saved[0].axes[0].lines[:2], (query, key), strict=True):
        along, up = (ends[1] for ends in line.get_data())
        assert math.cos(math.atan2(along, up) - position) == pytest.approx(1)  # the first pair turns by 1 a token, from twelve


def test_precision_reaches_far_beyond_what_other_figures_draw(saved: list[Any]) -> None:
    assert main(["plot", "rope", "--out", "a.png", "--figure", "precision", "--positions", "131072"]) == 0
    assert saved[0].axes[0].get_xlim() == (1.0, 131071.0)
    assert saved[0].get_supxlabel().startswith("Rope(head_dim=64, ")


def test_waves_are_drawn_for_sixteen_dimensions(saved: list[Any]) -> None:
    assert main(["plot", "sinusoidal", "--out", "a.png", "--figure", "waves"]) == 0
    assert saved[0].get_suptitle() == "Sinusoidal position vectors: dimensions 0, 4, 8, 12 of 16"


def test_an_option_without_effect_is_told(saved: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "rope", "--out", "a.png", "--dimensions", "4"]) == 0
    assert capsys.readouterr().err == "ordinate plot: warning: --dimensions has no effect on scores\n"
    assert len(saved) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rop", "--out", "a.png"], "unknown scheme 'rop'; did you mean 'rope'?"),
        (["nope", "--out", "a.png"], "nope: needed a scheme that adds positions, so that there is something to draw; sinusoidal, "),
        (
            ["rope", "--out", "a.png", "--figure", "waves"],
            "--figure: needed one that fits rope (scores, wavelengths, precision, hands), got waves",
        ),
        (
            ["sinusoidal", "--out", "a.png", "--figure", "bias"],
            "one that fits sinusoidal (heatmap, waves, scores, precision), got bias",
        ),
        (["deberta", "--out", "a.png", "--figure", "scores"], "one that fits deberta (bias), got scores"),
        (["rope", "--out", "a.png", "--positions", "2049"], "--positions: needed at most 2048 for scores, got 2049"),
        (["rope", "--out", "a.jpg"], "--out: needed a file name that ends in .png or .svg, got a.jpg; rename it"),
        (["rope", "--out", "a"], "--out: needed a file name that ends in .png or .svg, got a; rename it"),
        (["rope", "--out", "absent/a.png"], "--out: needed a folder that exists, got absent; make it first"),
        (["rope", "--out", "file.txt/a.png"], "--out: needed a folder that exists, got file.txt; make it first"),
        (["rope", "--out", "folder.png"], "--out: needed a file that can be written, got folder.png (Is a directory)"),
        (["sinusoidal", "--out", "a.png", "--dimensions", "0,512"], "dimensions: needed numbers 0..511, got 512"),
        (["sinusoidal", "--out", "a.png", "--figure", "waves", "--dimensions", "9"], "dimensions: needed 1 to 8 to draw, got 9"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").touch()
    (tmp_path / "folder.png").mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert main(["plot", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("ordinate plot: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["--positions", "1"],
        ["--positions", "16777217"],
        ["--positions", "ten"],
        ["--dimensions", "0"],
        ["--dimensions", "1,,2"],
        ["--dimensions", "-3"],
        ["--language", "de"],
        ["--figure", "map"],
    ],
)
def test_options_that_are_no_choices_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["plot", "rope", "--out", "a.png", *arguments])
    assert stopped.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_file_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["plot", "rope"])
    assert stopped.value.code == 2
    assert "--out" in capsys.readouterr().err


def test_a_full_disk_leaves_the_earlier_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from matplotlib.figure import Figure

    def full(self: Figure, target: Path, **_: Any) -> None:  # noqa: ARG001
        target.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    Path("a.png").write_text("old")
    monkeypatch.setattr(Figure, "savefig", full)
    assert main(["plot", "rope", "--out", "a.png"]) == 2
    assert (
        capsys.readouterr().err == "ordinate plot: --out: needed a file that can be written, got a.png (No space left on device)\n"
    )
    assert Path("a.png").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_missing_matplotlib_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["plot", "rope", "--out", str(tmp_path / "a.png")]) == 2
    assert (
        capsys.readouterr().err
        == "ordinate plot: plots: needed matplotlib, got none; install it with: pip install 'ordinate[plots]'\n"
    )
    assert list(tmp_path.iterdir()) == []
