"""The gallery: every image is made by the code beside it, kept files are what that code gives, figures hold the right numbers."""

from __future__ import annotations

import contextlib
import difflib
import math
import re
from pathlib import Path
from typing import Any

import matplotlib
import mpmath
import numpy as np
import pytest
import torch
from website.gallery import FOLDER, PAGE, Entry, draw, entries, main

from ordinate import T5Bias, reference

TEXT = (FOLDER / PAGE).read_text(encoding="utf-8")
ENTRIES = {entry.file: entry for entry in entries(TEXT)}
LARGEST_FOLDER = 3_000_000
PINNED = dict(re.findall(r"^(\S+)==(\S+)$", (FOLDER.parents[1] / "constraints.txt").read_text(), flags=re.MULTILINE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gallery")


@pytest.fixture(scope="module")
def figures(folder: Path) -> dict[str, Any]:
    """Every figure, drawn in a folder of its own."""
    return {file: draw(entry, folder)["figure"] for file, entry in ENTRIES.items()}


def lines_of(figure: Any) -> dict[str, Any]:
    return {line.get_label(): line.get_ydata() for line in figure.axes[0].lines if not line.get_label().startswith("_")}


def test_every_image_of_the_folder_is_on_the_page_and_no_other() -> None:
    there = {file.name for file in FOLDER.iterdir()} - {PAGE}
    assert there == set(ENTRIES)
    assert len(ENTRIES) == len(entries(TEXT)) >= 18
    assert len(re.findall(r"!\[|<img", TEXT)) == len(ENTRIES)
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < LARGEST_FOLDER


@pytest.mark.parametrize("file", ENTRIES)
def test_the_kept_file_is_what_its_block_makes(file: str, figures: dict[str, Any], folder: Path) -> None:
    assert file in figures
    if matplotlib.__version__ != PINNED["matplotlib"]:
        pytest.skip(f"drawn with matplotlib {PINNED['matplotlib']}; {matplotlib.__version__} is installed and draws other bytes")
    if file.endswith(".svg"):
        assert (folder / file).read_bytes() == (FOLDER / file).read_bytes()
        return
    from matplotlib.image import imread

    made, kept = imread(folder / file), imread(FOLDER / file)
    assert made.shape == kept.shape
    assert abs(made - kept).mean() < 1e-3
    assert (abs(made - kept) > 0.05).mean() < 1e-3


def test_two_figures_would_not_pass_for_each_other() -> None:
    """The tolerance on pixels tells a figure from the same one with a wrong number in it."""
    from matplotlib.image import imread

    alike = imread(FOLDER / "shaw.png")
    other = alike.copy()
    other[300:330, 300:400] = 1 - other[300:330, 300:400]
    assert (abs(alike - other) > 0.05).mean() > 1e-3


def test_alternative_texts_describe() -> None:
    for entry in ENTRIES.values():
        assert len(entry.alt) >= 60, entry.heading
        assert entry.alt.endswith("."), entry.heading
        assert entry.heading.lower() not in entry.alt.lower()
    for first in ENTRIES.values():
        for second in ENTRIES.values():
            if first is not second:
                assert difflib.SequenceMatcher(None, first.alt, second.alt).ratio() < 0.8, (first.heading, second.heading)


def test_figures_have_titles_and_named_axes(figures: dict[str, Any]) -> None:
    for file, figure in figures.items():
        assert figure.get_suptitle() or all(axes.get_title() for axes in figure.axes if axes.axison), file
        for axes in figure.axes:
            table = file == "beyond.png" and axes.images  # of numbers: its rows and columns are named one by one
            assert not axes.axison or table or axes.get_ylabel() or axes.get_xlabel(), file


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("## A\n\n```python\n```\n", "A: needed one image and one python block, got 0 and 1"),
        ("## A\n\n![a](a.svg)\n", "A: needed one image and one python block, got 1 and 0"),
        ('## A\n\n![a](a.svg)\n\n```python\nplots.save(figure, "b.svg")\n```\n', 'ends with plots.save(figure, "a.svg"), got'),
    ],
)
def test_a_page_that_does_not_fit_is_refused(page: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        entries(page)


SECTION = '## {name}\n\n![{name}]({file})\n\n```python\n{code}plots.save(figure, "{file}")\n```\n'


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("# Gallery\n\nNothing yet.\n", "needed a page with a section for each figure, got none"),
        ("".join(SECTION.format(name=name, file="a.svg", code="") for name in "AB"), "got a.svg more than once"),
        *(
            (
                SECTION.format(name="A", file=file, code=""),
                f"A: needed a plain name of a .png or .svg file beside the page, got {file}",
            )
            for file in ("../a.svg", "/tmp/a.svg", "b/a.svg", "..svg/a", "a.pdf", ".a.svg")
        ),
    ],
)
def test_a_page_of_no_figures_or_of_files_elsewhere_is_refused(page: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        entries(page)


def test_a_block_that_leaves_the_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"^A: needed a block that runs to its end, got SystemExit\(0\)$"):
        draw(Entry("A", "a.svg", "", "raise SystemExit(0)\n"), tmp_path)


@pytest.mark.parametrize("end", ["", "raise ZeroDivisionError\n"])
def test_a_default_dtype_ends_with_its_block(end: str, tmp_path: Path) -> None:
    with contextlib.suppress(ZeroDivisionError):
        draw(Entry("A", "a.svg", "", f"import torch\ntorch.set_default_dtype(torch.float64)\n{end}"), tmp_path)
    assert torch.get_default_dtype() == torch.float32


def test_the_command_writes_beside_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = 'from ordinate import plots\nfigure = plots.canvas.empty("", "", size=(1, 1))\nplots.save(figure, "a.svg")\n'
    entry = Entry("A", "a.svg", "", code)
    (tmp_path / PAGE).write_text(f"## A\n\n![]({entry.file})\n\n```python\n{entry.code}```\n", encoding="utf-8")
    monkeypatch.setattr("website.gallery.FOLDER", tmp_path)
    main()
    assert capsys.readouterr().out == f"a.svg: {(tmp_path / 'a.svg').stat().st_size:,} bytes\n"


def test_rules_against_the_definitions(figures: dict[str, Any]) -> None:
    plain = reference.rope_frequencies(10000.0, 128)
    expected = {
        "Linear": [w / 4 for w in plain],
        "NTK": reference.rope_frequencies(reference.ntk_base(10000.0, 128, 4.0), 128),
        "YaRN": reference.yarn(10000.0, 128, 4.0, 4096, 32.0, 1.0, True),
        "Llama3": reference.llama3(10000.0, 128, 4.0, 1.0, 4.0, 4096),
    }
    drawn = lines_of(figures["rules.svg"])
    assert drawn.keys() == expected.keys()
    for name, frequencies in expected.items():
        np.testing.assert_allclose(drawn[name], np.divide(frequencies, plain), rtol=1e-9)
    # As the words say.
    assert [sum(value > 0.999 for value in drawn[name]) for name in ("YaRN", "Llama3")] == [21, 36]
    assert [min(np.flatnonzero(np.array(drawn[name]) < 0.2501)) for name in ("YaRN", "Llama3")] == [46, 46]


def test_buckets_against_the_definition(figures: dict[str, Any]) -> None:
    drawn = lines_of(figures["t5-buckets.svg"])
    for label, both in {"causal (decoder)": False, "two-way (encoder)": True}.items():
        assert list(drawn[label]) == [reference.t5_bucket(distance, 32, 128, both) for distance in range(-150, 151)]
    last = [T5Bias(n_heads=1, bidirectional=both).buckets(torch.tensor([-113, -112, -91, -90])).tolist() for both in (False, True)]
    assert last == [[31, 30, 29, 29], [15, 15, 15, 14]]


def test_axial_angles_against_a_loop(figures: dict[str, Any]) -> None:
    panels = figures["axial.png"].axes[:4]
    for axes, (pair, along) in zip(panels, ((0, 0), (6, 0), (0, 1), (6, 1)), strict=True):
        w = 100.0 ** (-2 * pair / 32)
        expected = [[math.cos(((row, column)[along] - 12) * w) for column in range(25)] for row in range(25)]
        np.testing.assert_allclose(axes.images[0].get_array(), expected, atol=1e-6)


def test_errors_at_131071_against_mpmath(figures: dict[str, Any]) -> None:
    drawn = lines_of(figures["float32-131071.svg"])
    with mpmath.workdps(40):
        for pair in (0, 1, 5, 20, 40, 63):
            w = 500000.0 ** (-2 * pair / 128)
            true = mpmath.cos(mpmath.mpf(w) * 131071)
            angle = np.float32(131071) * np.float32(w)
            wrong = abs(np.float64(np.cos(np.float64(angle)).astype(np.float32)) - float(true))
            assert drawn["angles in float32"][pair] == pytest.approx(wrong, abs=7e-8)
            assert drawn["exact"][pair] == pytest.approx(abs(float(np.float32(float(true)) - true)), abs=1e-12)
    assert max(drawn["exact"]) < 4e-8
    assert drawn["angles in float32"][0] < 4e-8
    assert max(drawn["angles in float32"][1:9]) > 1e-3


def test_coordinates_by_hand(figures: dict[str, Any]) -> None:
    before, after, image = list(range(5)), list(range(10, 15)), range(20)
    drawn = {name: list(line) for name, line in lines_of(figures["m-rope.svg"]).items()}
    assert drawn == {
        "time": [*before, *[5] * 20, *after],
        "row": [*before, *[5 + n // 5 for n in image], *after],
        "column": [*before, *[5 + n % 5 for n in image], *after],
    }


def test_shifted_keys_are_those_turned_afresh(figures: dict[str, Any]) -> None:
    torch.manual_seed(1)
    keys, query = torch.randn(1, 1, 32, 64)[0, 0].double().numpy(), 2 * torch.randn(1, 1, 1, 64)[0, 0].double().numpy()

    def weights(first: int) -> Any:
        scores = reference.rope(query, [31], "half") @ reference.rope(keys, range(first, first + 32), "half").T / 8
        return (np.exp(scores) / np.exp(scores).sum())[0]

    drawn = lines_of(figures["shift.svg"])
    np.testing.assert_allclose(drawn["turned afresh"], weights(0), atol=1e-6)
    np.testing.assert_allclose(drawn["shifted"], weights(0), atol=1e-6)
    np.testing.assert_allclose(drawn["left as they were"], weights(16), atol=1e-6)
    assert abs(weights(16) - weights(0)).max() > 0.1
    assert weights(16)[15:17].sum() > 0.5
    assert weights(0).argmax() == 15


def test_toeplitz_against_sums_of_cosines(figures: dict[str, Any]) -> None:
    image = figures["toeplitz.png"].axes[0].images[0].get_array()
    for m, n in ((0, 0), (127, 127), (3, 100), (60, 61)):
        expected = sum(math.cos((m - n) * w) for w in reference.rope_frequencies(10000.0, 128))
        assert float(image[m, n]) == pytest.approx(expected, abs=1e-4)


def test_numbers_in_the_words() -> None:
    def longest(base: float) -> float:
        return 2 * math.pi * base ** (126 / 128)

    assert f"{longest(1e4):,.0f}" == "54,410"
    assert (round(longest(5e5) / 1e6, 1), round(longest(1e6) / 1e6, 1)) == (2.6, 5.1)
    assert TEXT.count("54,410") == 2
    assert round(2 * math.pi * 10000 ** (98 / 512)) == 37
    assert min(pair for pair in range(64) if 2 * math.pi * 10000 ** (pair / 64) > 4096) == 46
    assert round(math.degrees(3 * 10000 ** (-24 / 32)), 1) == 0.2
    assert torch.tensor([256, 257]).to(torch.bfloat16).tolist() == [256, 256]
