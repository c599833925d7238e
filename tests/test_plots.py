"""The figures hold the right numbers: lines, images, directions of axes and labels, against reference.py and closed formulas."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from torch import nn

from ordinate import ALiBi, Deberta, InputScheme, Learned, Rope, Shaw, Sinusoidal, T5Bias, plots, reference, scaling
from ordinate.plots.texts import TEXTS, texts

DEBERTA = {"n_heads": 2, "head_dim": 4, "content_to_position": True, "position_to_content": True}


def drawn_lines(axes: Any) -> list[Any]:
    """Lines of the legend's kind: no axis at 0, no dots."""
    return [
        line
        for line in axes.lines
        if not line.get_label().startswith("_") or (len(line.get_xdata()) > 2 and line.get_marker() == "None")
    ]


def legend_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def image_of(axes: Any) -> Any:
    (image,) = axes.images
    return image


def ticks_of(axis: Any) -> dict[float, str]:
    """Where the visible ticks are and what they say."""
    axis.figure.draw_without_rendering()
    low, high = sorted(axis.get_view_interval())
    return {float(t.get_loc()): t.label1.get_text() for t in axis.get_major_ticks() if low <= t.get_loc() <= high}


# The heat map


def test_heatmap_is_the_second_notes_picture() -> None:
    figure = plots.heatmap(Sinusoidal(d_model=512))
    axes, bar = figure.axes
    image = image_of(axes)
    np.testing.assert_allclose(image.get_array(), reference.sinusoidal(50, 512)[:, :100], rtol=0, atol=1e-12)
    assert image.get_clim() == (-1.0, 1.0)
    assert list(image.get_extent()) == [-0.5, 99.5, 49.5, -0.5]
    assert axes.yaxis_inverted()
    assert not axes.xaxis_inverted()
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == ("dimension of the vector", "position (tokens)", "value")
    assert figure.get_suptitle() == "Sinusoidal position vectors: 50 positions, 100 of 512 dimensions"
    assert figure.get_supxlabel() == repr(Sinusoidal(d_model=512))
    # Position 0 is (0, 1, 0, 1, ...): white and dark red in turn.
    assert image.cmap(image.norm(0.0))[:3] == pytest.approx((0.97, 0.97, 0.97), abs=0.01)
    red, _, blue, _ = image.cmap(image.norm(1.0))
    assert red > 0.3 > blue


def test_heatmap_in_russian_differs_in_words_only() -> None:
    english, russian = (plots.heatmap(Sinusoidal(d_model=8), language=language) for language in ("en", "ru"))
    np.testing.assert_array_equal(image_of(english.axes[0]).get_array(), image_of(russian.axes[0]).get_array())
    assert russian.get_suptitle() == "Синусоидальные позиционные векторы: позиций — 50, измерений — 8 из 8"
    assert russian.axes[0].get_ylabel() == "позиция (токены)"
    assert russian.axes[0].get_xlabel() == "измерение вектора"


@pytest.mark.parametrize(
    ("positions", "places"),
    [
        (range(100, 110, 3), [100, 103, 106, 109]),
        (range(3, -1, -1), [3, 2, 1, 0]),
        (torch.tensor([7, 2, 2**31]), [7, 2, 2**31]),
        (torch.tensor([0.5, 1.25]), [0.5, 1.25]),
    ],
)
def test_rows_and_columns_are_those_asked_for_and_the_ticks_name_them(positions: Any, places: list[float]) -> None:
    axes = plots.heatmap(Sinusoidal(d_model=8), positions=positions, dimensions=range(5, 1, -2)).axes[0]
    expected = reference.sinusoidal(places, 8)[:, [5, 3]]
    np.testing.assert_allclose(image_of(axes).get_array(), expected, rtol=0, atol=1e-6)
    assert ticks_of(axes.xaxis) == {0.0: "5", 1.0: "3"}
    assert ticks_of(axes.yaxis) == {float(row): f"{place}" for row, place in enumerate(places)}


def test_a_table_is_drawn_with_its_own_range() -> None:
    table = np.arange(12.0).reshape(4, 3) - 3.0
    for given in (table, table.tolist(), torch.tensor(table, dtype=torch.float32), nn.Parameter(torch.tensor(table))):
        figure = plots.heatmap(given)
        np.testing.assert_array_equal(image_of(figure.axes[0]).get_array(), table)
        assert image_of(figure.axes[0]).get_clim() == (-8.0, 8.0)
        assert figure.get_suptitle() == "Position vectors: 4 positions, 3 of 3 dimensions"
    figure = plots.heatmap(table, positions=torch.tensor([3, 0]), dimensions=[1])
    assert image_of(figure.axes[0]).get_array().tolist() == [[7.0], [-2.0]]
    assert image_of(plots.heatmap(np.zeros((2, 2))).axes[0]).get_clim() == (-1.0, 1.0)
    for sign, shown in ((1, (0.0, 2.0)), (-1, (-2.0, 0.0))):  # one sign only: half of the colour bar would be empty
        axes, bar = plots.heatmap([[sign * 1.0, sign * 2.0]]).axes
        assert image_of(axes).get_clim() == (-2.0, 2.0)
        assert bar.get_ylim() == shown


def test_a_learned_table_ends_wraps_or_is_refused() -> None:
    scheme = Learned(max_length=32, d_model=4, padding_offset=2)
    table = scheme.weight.detach().double().numpy()
    figure = plots.heatmap(scheme)
    np.testing.assert_array_equal(image_of(figure.axes[0]).get_array(), reference.learned(table, range(32), 2))
    assert figure.get_suptitle() == "Learned position vectors: 32 positions, 4 of 4 dimensions"
    largest = abs(table[2:]).max()
    assert image_of(figure.axes[0]).get_clim() == (-largest, largest)
    with pytest.raises(ValueError, match=r"needed positions 0\.\.31, got 32"):
        plots.heatmap(scheme, positions=range(33))
    wrapping = Learned(max_length=32, d_model=4, overflow="wrap")
    shown = image_of(plots.heatmap(wrapping).axes[0]).get_array()
    np.testing.assert_array_equal(shown[32:], shown[:18])


# Waves


def test_waves_are_four_of_sixteen_dimensions_fast_to_slow() -> None:
    (axes,) = plots.waves(Sinusoidal(d_model=16)).axes
    assert legend_of(axes) == [
        "dimension 0, sine: 6.28",
        "dimension 4, sine: 62.8",
        "dimension 8, sine: 628",
        "dimension 12, sine: 6,283",
    ]
    assert axes.get_legend().get_title().get_text() == "wavelength in positions"
    for line, dimension in zip(drawn_lines(axes), (0, 4, 8, 12), strict=True):
        x, y = line.get_data()
        assert (x[0], x[-1]) == (0.0, 99.0)
        np.testing.assert_allclose(y, np.sin(x * 10000.0 ** (-dimension / 16)), rtol=0, atol=1e-9)
    dots = [line for line in axes.lines if line.get_marker() == "."]
    (fast,) = dots  # the longer waves need none
    assert fast.get_color() == drawn_lines(axes)[0].get_color()
    np.testing.assert_array_equal(fast.get_xdata(), np.arange(100))
    np.testing.assert_allclose(fast.get_ydata(), reference.sinusoidal(100, 16)[:, 0], rtol=0, atol=1e-12)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("position (tokens)", "value")
    assert axes.get_xlim() == (0.0, 99.0)


def test_waves_are_sorted_by_wavelength_and_named_by_kind() -> None:
    figure = plots.waves(Sinusoidal(d_model=16), dimensions=[13, 0, 14, 1], positions=range(10, 21), language="ru")
    (axes,) = figure.axes
    assert legend_of(axes) == [
        "измерение 0, синус: 6.28",
        "измерение 1, косинус: 6.28",
        "измерение 13, косинус: 6\u00a0283",
        "измерение 14, синус: 19\u00a0869",
    ]
    assert figure.get_suptitle() == "Синусоидальные позиционные векторы: измерения 0, 1, 13, 14 из 16"
    assert axes.get_legend().get_title().get_text() == "длина волны в позициях"
    for line, function, frequency in zip(
        drawn_lines(axes), (np.sin, np.cos, np.cos, np.sin), (1, 1, 1e-3, 10 ** (-3.5)), strict=True
    ):
        x, y = line.get_data()
        assert (x[0], x[-1]) == (10.0, 20.0)
        np.testing.assert_allclose(y, function(x * frequency), rtol=0, atol=1e-9)


@pytest.mark.parametrize("layout", ["interleaved", "sin_cos", "cos_sin"])
@pytest.mark.parametrize("spacing", ["open", "closed"])
@pytest.mark.parametrize("width", [5, 8])
def test_every_dimension_has_the_wavelength_of_its_own_values(layout: Any, spacing: Any, width: int) -> None:
    scheme = Sinusoidal(d_model=width, layout=layout, spacing=spacing, base=100.0)
    table = reference.sinusoidal(range(20), width, 100.0, layout, spacing)
    for dimension in range(width):
        length, kind = plots.wave_lines.wave_of(scheme, dimension)
        angles = np.arange(20) * 2 * math.pi / length
        expected = {"sin": np.sin, "cos": np.cos, "": np.zeros_like}[kind](angles)
        np.testing.assert_allclose(table[:, dimension], expected, rtol=0, atol=1e-12)
    lines = drawn_lines(plots.waves(scheme, dimensions=width, positions=20).axes[0])
    assert len(lines) == width
    shown = np.array([line.get_ydata()[:: plots.wave_lines.FINE] for line in lines])
    order = np.argsort([plots.wave_lines.wave_of(scheme, dimension)[0] for dimension in range(width)], kind="stable")
    np.testing.assert_allclose(shown, table[:, order].T, rtol=0, atol=1e-12)


def test_default_waves_of_block_layouts_differ_in_wavelength() -> None:
    labels = legend_of(plots.waves(Sinusoidal(d_model=16, layout="cos_sin")).axes[0])
    assert labels == [
        "dimension 0, cosine: 6.28",
        "dimension 2, cosine: 62.8",
        "dimension 4, cosine: 628",
        "dimension 6, cosine: 6,283",
    ]
    assert legend_of(plots.waves(Sinusoidal(d_model=3)).axes[0]) == ["dimension 0, sine: 6.28", "dimension 2, sine: 2,916"]


def test_waves_of_a_learned_table_are_its_columns() -> None:
    scheme = Learned(max_length=9, d_model=8)
    (axes,) = plots.waves(scheme).axes
    assert legend_of(axes) == ["dimension 0", "dimension 2", "dimension 4", "dimension 6"]
    for line, dimension in zip(drawn_lines(axes), (0, 2, 4, 6), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(9))
        np.testing.assert_array_equal(line.get_ydata(), scheme.weight.detach().double().numpy()[:, dimension])


# Bias


def test_alibi_penalises_distance_on_both_sides_of_zero() -> None:
    figure = plots.bias(ALiBi(n_heads=4, slopes="paper"), positions=6)
    lines, matrix, bar = figure.axes
    slopes = reference.alibi_slopes(4, "paper")
    assert legend_of(lines) == ["head 0, slope 0.25", "head 1, slope 0.0625", "head 2, slope 0.0156", "head 3, slope 0.00391"]
    for line, slope in zip(drawn_lines(lines), slopes, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(-5, 6))
        np.testing.assert_allclose(line.get_ydata(), -slope * abs(np.arange(-5.0, 6.0)), rtol=1e-12)
    assert (lines.get_xlim(), lines.xaxis_inverted()) == ((-5.0, 5.0), False)
    assert (lines.get_title(loc="left"), lines.get_title(loc="right")) == ("← past", "future →")
    assert lines.get_xlabel() == "distance = key position − query position (tokens)"
    assert lines.get_ylabel() == bar.get_ylabel() == "bias added to the score before softmax"
    image = image_of(matrix)
    np.testing.assert_allclose(image.get_array(), reference.alibi(range(6), range(6), slopes)[0], rtol=1e-6)
    assert matrix.yaxis_inverted()
    assert (matrix.get_xlabel(), matrix.get_ylabel()) == ("key position (tokens)", "query position (tokens)")
    assert image.get_clim() == (-1.25, 1.25)
    assert bar.get_ylim() == (-1.25, 0.0)
    assert figure.get_suptitle() == "ALiBi: bias by distance"


def test_past_and_future_stand_on_their_sides_of_the_diagonal() -> None:
    scheme = T5Bias(n_heads=1, n_buckets=4, max_distance=2, bidirectional=True)
    with torch.no_grad():
        scheme.weight[:] = torch.tensor([[0.0], [-1.0], [0.0], [1.0]])
    for language in ("en", "ru"):
        matrix = plots.bias(scheme, positions=8, language=language).axes[1]
        (diagonal,) = matrix.lines
        np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
        values = image_of(matrix).get_array()
        words = {text.get_text(): text.get_position() for text in matrix.texts}
        assert set(words) == {TEXTS[language]["past_side"], TEXTS[language]["future_side"]}
        for word, sign in ((TEXTS[language]["past_side"], -1.0), (TEXTS[language]["future_side"], 1.0)):
            inside = matrix.transData.inverted().transform(matrix.transAxes.transform(words[word]))
            key, query = np.round(inside).astype(int)
            assert values[query, key] == sign == np.sign(key - query)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_t5_is_drawn_in_steps_to_beyond_its_last_bucket(bidirectional: bool) -> None:
    scheme = T5Bias(n_heads=3, n_buckets=8, max_distance=20, bidirectional=bidirectional)
    lines, matrix, _ = plots.bias(scheme, heads=[2, 0]).axes
    table = scheme.weight.detach().double().numpy()
    full = reference.t5(range(31), range(31), table, 20, bidirectional)
    assert legend_of(lines) == ["head 2", "head 0"]
    for line, head in zip(drawn_lines(lines), (2, 0), strict=True):
        assert line.get_drawstyle() == "steps-mid"
        np.testing.assert_array_equal(line.get_xdata(), np.arange(-30, 31))
        np.testing.assert_allclose(line.get_ydata(), [*full[head, 30, :30], *full[head, 0]], rtol=1e-7)
    np.testing.assert_allclose(image_of(matrix).get_array(), full[2], rtol=1e-7)
    assert matrix.get_title() == "Head 2: one row a query, one column a key"


def test_a_slice_of_heads_and_a_stepped_range() -> None:
    scheme = T5Bias(n_heads=4, bidirectional=True)
    lines, matrix, _ = plots.bias(scheme.heads(2, 4), positions=range(10, 20, 3)).axes
    table = scheme.weight.detach().double().numpy()
    expected = reference.t5(range(10, 20, 3), range(10, 20, 3), table, 128, True)
    np.testing.assert_allclose(image_of(matrix).get_array(), expected[2], rtol=1e-7)
    assert list(drawn_lines(lines)[1].get_xdata()) == [*range(-9, 10, 3)]
    np.testing.assert_allclose(drawn_lines(lines)[1].get_ydata()[3:], expected[3, 0], rtol=1e-7)
    assert ticks_of(matrix.yaxis) == {0.0: "10", 1.0: "13", 2.0: "16", 3.0: "19"}


def test_many_heads_are_thinned_and_few_kept() -> None:
    scheme = ALiBi(n_heads=16, slopes="paper")
    lines = drawn_lines(plots.bias(scheme, positions=3).axes[0])
    np.testing.assert_allclose([-line.get_ydata()[1] for line in lines], reference.alibi_slopes(16, "paper")[::2], rtol=1e-12)
    assert len({line.get_color() for line in lines}) == 8
    assert len(drawn_lines(plots.bias(scheme, positions=3, heads=2).axes[0])) == 2


def test_shaw_shows_the_row_each_distance_reads() -> None:
    figure = plots.bias(Shaw(head_dim=4, max_distance=4, values=False), language="ru")
    lines, matrix, bar = figure.axes
    line = drawn_lines(lines)[0]
    distances = np.arange(-6, 7)
    np.testing.assert_array_equal(line.get_xdata(), distances)
    np.testing.assert_array_equal(line.get_ydata(), np.clip(distances, -4, 4) + 4)
    keys, queries = np.meshgrid(np.arange(7), np.arange(7))
    np.testing.assert_array_equal(image_of(matrix).get_array(), np.clip(keys - queries, -4, 4) + 4)
    assert lines.get_ylabel() == bar.get_ylabel() == "строка таблицы"
    assert figure.get_suptitle() == "Shaw: строка таблицы, которую читает каждое расстояние"


def test_deberta_reads_its_table_from_the_future_to_the_past() -> None:
    scheme = Deberta(**DEBERTA, buckets=8, max_distance=32)
    lines, matrix, _ = plots.bias(scheme, positions=50).axes
    line = drawn_lines(lines)[0]
    expected = [max(0, min(reference.deberta_bucket(-distance, 8, 32) + 8, 15)) for distance in range(-49, 50)]
    np.testing.assert_array_equal(line.get_xdata(), np.arange(-49, 50))
    np.testing.assert_array_equal(line.get_ydata(), expected)
    assert expected[0] == 15  # the far past
    assert expected[-1] == 0
    shown = image_of(matrix).get_array()
    np.testing.assert_array_equal(shown[49], expected[:50])
    np.testing.assert_array_equal(shown[0], expected[49:])


def test_rows_of_a_stepped_range_are_those_of_its_distances() -> None:
    lines, matrix, _ = plots.bias(Shaw(head_dim=4, max_distance=4, values=False), positions=range(5, 14, 3)).axes
    assert drawn_lines(lines)[0].get_data()[0].tolist() == [-6, -3, 0, 3, 6]
    assert drawn_lines(lines)[0].get_data()[1].tolist() == [0, 1, 4, 7, 8]
    assert image_of(matrix).get_array().tolist() == [[4, 7, 8], [1, 4, 7], [0, 1, 4]]


def test_heads_say_nothing_where_all_read_the_same_rows() -> None:
    with pytest.warns(UserWarning, match=r"bias: heads=2 has no effect, all heads of Shaw read the same rows"):
        plots.bias(Shaw(head_dim=4, max_distance=4, values=False), heads=2)


# Scores


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_rope_scores_are_the_mean_cosine_of_distance_times_frequency(layout: Any) -> None:
    figure = plots.scores_by_distance(Rope(head_dim=16, layout=layout, base=500.0), distances=40)
    (axes,) = figure.axes
    line = drawn_lines(axes)[0]
    distances = np.arange(-40, 41)
    np.testing.assert_array_equal(line.get_xdata(), distances)
    expected = np.cos(distances[:, None] * 500.0 ** (-np.arange(8) / 8)).mean(axis=1)
    np.testing.assert_allclose(line.get_ydata(), expected, rtol=0, atol=1e-9)
    assert line.get_ydata()[40] == pytest.approx(1.0, abs=1e-12)
    assert axes.get_ylabel() == "q · k for q = k = (1, …, 1) / √16"
    assert figure.get_suptitle() == "RoPE: score by distance"


def test_what_rope_leaves_unturned_stays() -> None:
    (axes,) = plots.scores_by_distance(Rope(head_dim=8, layout="half", rotary_dim=2), distances=range(-3, 1)).axes
    expected = (3 + np.cos(np.arange(-3, 1))) / 4
    np.testing.assert_allclose(drawn_lines(axes)[0].get_ydata(), expected, rtol=0, atol=1e-12)
    assert axes.get_xlim() == (-3.0, 0.0)
    assert (axes.get_title(loc="left"), axes.get_title(loc="right")) == ("← past", "")


def test_rope_scores_are_the_references_at_any_distances() -> None:
    scheme = Rope(head_dim=6, layout="half")
    (axes,) = plots.scores_by_distance(scheme, distances=[3, -7, 100]).axes
    one = np.ones((1, 6)) / math.sqrt(6)
    expected = [
        float(reference.rope(one, [9], "half")[0] @ reference.rope(one, [9 + distance], "half")[0]) for distance in (-7, 3, 100)
    ]
    np.testing.assert_allclose(drawn_lines(axes)[0].get_ydata(), expected, rtol=0, atol=1e-12)


def test_score_schemes_show_what_they_add() -> None:
    for scheme in (ALiBi(n_heads=2, slopes="paper"), T5Bias(n_heads=2, bidirectional=False)):
        (axes,) = plots.scores_by_distance(scheme, distances=5, language="ru").axes
        expected = scheme.by_distance(torch.arange(-5, 6)).detach().double().numpy()
        for line, values in zip(drawn_lines(axes), expected, strict=True):
            np.testing.assert_allclose(line.get_ydata(), values, rtol=1e-6)
        assert axes.get_ylabel() == "прибавка к оценке"
        assert axes.get_xlabel() == "расстояние = позиция ключа − позиция запроса (токены)"


def test_shaw_scores_are_those_of_one_fixed_query() -> None:
    scheme = Shaw(head_dim=4, max_distance=2, values=True)
    (axes,) = plots.scores_by_distance(scheme).axes
    line = drawn_lines(axes)[0]
    expected = reference.shaw(np.full((1, 4), 0.5), [3], range(7), scheme.key_weight.detach().double().numpy())[0] / 2
    np.testing.assert_array_equal(line.get_xdata(), np.arange(-3, 4))
    np.testing.assert_allclose(line.get_ydata(), expected, rtol=0, atol=1e-12)
    assert line.get_drawstyle() == "steps-mid"


def test_sinusoids_meet_with_a_product_of_the_distance_alone() -> None:
    figure = plots.scores_by_distance(Sinusoidal(d_model=12), distances=30)
    (axes,) = figure.axes
    distances = np.arange(-30, 31)
    expected = np.cos(distances[:, None] * 10000.0 ** (-np.arange(6) / 6)).sum(axis=1)
    np.testing.assert_allclose(drawn_lines(axes)[0].get_ydata(), expected, rtol=0, atol=1e-9)
    assert len(axes.collections) == 0  # no band: every position gives the same
    assert axes.get_legend() is None
    assert axes.get_ylabel() == "P[pos] · P[pos + distance]"


def test_a_learned_table_gives_a_mean_and_a_band() -> None:
    scheme = Learned(max_length=10, d_model=4)
    (axes,) = plots.scores_by_distance(scheme).axes
    table = scheme.weight.detach().double().numpy()
    products = {k: [table[p] @ table[p + k] for p in range(10) if 0 <= p + k < 10] for k in range(-5, 6)}
    line = drawn_lines(axes)[0]
    np.testing.assert_array_equal(line.get_xdata(), list(products))
    np.testing.assert_allclose(line.get_ydata(), [np.mean(found) for found in products.values()], rtol=0, atol=1e-12)
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    for k, found in products.items():
        heights = corners[corners[:, 0] == k, 1]
        assert (heights.min(), heights.max()) == pytest.approx((min(found), max(found)), abs=1e-12)
    assert legend_of(axes) == ["mean over\nall positions", "from smallest\nto largest"]


# Precision


def true_pair(position: int, frequency: float) -> tuple[float, float]:
    with mpmath.workdps(40):
        angle = mpmath.mpf(position) * mpmath.mpf(frequency)
        return float(mpmath.cos(angle)), float(mpmath.sin(angle))


def rounded(value: float, dtype: torch.dtype) -> float:
    return torch.tensor(value, dtype=torch.float64).to(dtype).item()


def worst(positions: list[int], frequencies: tuple[float, ...], place: torch.dtype, frequency: torch.dtype) -> float:
    """The largest error with positions and frequencies rounded, and the angle itself exact."""
    found = 0.0
    for p in positions:
        for w in frequencies:
            ways = true_pair(round(rounded(p, place)), rounded(w, frequency)), true_pair(p, w)
            found = max(found, *(abs(one - other) for one, other in zip(*ways, strict=True)))
    return found


def test_precision_is_what_rounded_positions_and_frequencies_do() -> None:
    scheme = Rope(head_dim=8, layout="half")
    frequencies = scheme.inverse_frequencies
    (axes,) = plots.precision(scheme, positions=70_000).axes
    lines = {line.get_label(): line.get_data() for line in drawn_lines(axes)}
    whole = torch.int64
    for label, place, frequency in (
        ("positions in bfloat16", torch.bfloat16, torch.float64),
        ("positions in float16", torch.float16, torch.float64),
        ("frequencies in bfloat16", whole, torch.bfloat16),
        ("frequencies in float16", whole, torch.float16),
    ):
        x, y = lines[label]
        for end in (40, 63, 150, 260):  # the angle in float32 is off by less than 2e-3 there
            drawn = [int(p) for p in x[: end + 1]]
            assert y[end] == pytest.approx(worst(drawn, frequencies, place, frequency), abs=2e-3), (label, end)
    assert lines["exact"][1].max() < 3.1e-8
    for label, (x, y) in lines.items():
        assert x[0] == 1
        assert x[-1] == (69_999 if label != "positions in float16" else max(p for p in lines["exact"][0] if p < 65520)), label
        assert (np.diff(y) >= 0).all(), label
        assert y.max() <= 2.0


def test_precision_of_float32_angles_is_the_published_one() -> None:
    (axes,) = plots.precision(Rope(head_dim=128, layout="half"), positions=131_072).axes
    x, y = drawn_lines(axes)[1].get_data()
    frequencies = Rope(head_dim=128, layout="half").inverse_frequencies
    single = [float(np.float32(w)) for w in frequencies]
    here = [
        abs(part - true)
        for w, s in zip(frequencies, single, strict=True)
        for part, true in zip(true_pair(1, float(np.float32(131_071) * np.float32(s))), true_pair(131_071, w), strict=True)
    ]
    assert y[-1] >= max(here) - 1e-6
    assert 3e-3 < y[-1] < 8e-3
    assert (axes.get_xscale(), axes.get_yscale(), x[-1]) == ("log", "log", 131_071)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("position (tokens)", "largest absolute error up to the position")
    assert legend_of(axes) == [
        "exact",
        "angles in float32",
        "positions in bfloat16",
        "positions in float16",
        "frequencies in bfloat16",
        "frequencies in float16",
    ]


def test_precision_of_sinusoids_uses_their_frequencies() -> None:
    figure = plots.precision(Sinusoidal(d_model=6, base=100.0), positions=300, language="ru")
    (axes,) = figure.axes
    x, y = drawn_lines(axes)[4].get_data()
    frequencies = (1.0, 100.0 ** (-1 / 3), 100.0 ** (-2 / 3))
    assert y[-1] == pytest.approx(worst([int(p) for p in x], frequencies, torch.int64, torch.bfloat16), abs=1e-4)
    assert figure.get_suptitle() == "Sinusoidal: ошибка косинуса и синуса в зависимости от позиции"


# All figures


def every_figure(language: str) -> list[Any]:
    return [
        plots.heatmap(Sinusoidal(d_model=16), language=language),
        plots.waves(Sinusoidal(d_model=16), language=language),
        plots.bias(ALiBi(n_heads=8, slopes="paper"), language=language),
        plots.bias(Deberta(**DEBERTA, max_distance=8), language=language),
        plots.scores_by_distance(Rope(head_dim=8, layout="half"), language=language),
        plots.scores_by_distance(Learned(max_length=8, d_model=4), language=language),
        plots.precision(Rope(head_dim=8, layout="half"), language=language),
    ]


def all_texts(figure: Any) -> list[Any]:
    """All that can be read; matplotlib also keeps ticks beyond the axes' ends, which it does not draw."""
    import matplotlib.text

    beyond = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        beyond |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    found = figure.findobj(matplotlib.text.Text)
    return [text for text in found if text.get_visible() and text.get_text() and text not in beyond]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_words_are_of_one_language_inside_the_figure_and_apart(language: str) -> None:
    for figure in every_figure(language):
        figure.draw_without_rendering()
        cyrillic = [text for text in all_texts(figure) if any("а" <= letter <= "я" for letter in text.get_text().lower())]
        assert bool(cyrillic) == (language == "ru")
        boxes = [(text.get_text(), text.get_window_extent()) for text in all_texts(figure)]
        for text, box in boxes:
            assert -1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, text
            assert -1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1, text
        heads = {figure.get_suptitle(), figure.get_supxlabel()}
        for first, box in boxes:
            for second, other in boxes:
                assert first == second or first not in heads or not box.overlaps(other), f"{first!r} lies on {second!r}"


def test_both_languages_have_all_texts_with_equal_places() -> None:
    import re

    assert list(TEXTS["en"]) == list(TEXTS["ru"])
    for name, english in TEXTS["en"].items():
        assert sorted(re.findall(r"{\w+}", english)) == sorted(re.findall(r"{\w+}", TEXTS["ru"][name])), name


def test_figures_leave_pyplot_and_settings_alone() -> None:
    code = (
        "import matplotlib, sys, io, ordinate\n"
        "settings = lambda: {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != 'backend'}\n"
        "before = settings()\n"
        "figure = ordinate.plots.waves(ordinate.Sinusoidal(d_model=16))\n"
        "import pathlib, tempfile\n"
        "ordinate.plots.save(figure, pathlib.Path(tempfile.mkdtemp()) / 'a.svg')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert settings() == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_weights_on_their_way_keep_their_gradient_and_random_numbers() -> None:
    scheme = T5Bias(n_heads=2, bidirectional=True)
    state = torch.get_rng_state()
    plots.bias(scheme)
    plots.scores_by_distance(scheme)
    assert scheme.weight.requires_grad
    assert scheme.weight.grad is None
    assert torch.equal(torch.get_rng_state(), state)


# Writing


def test_save_writes_what_the_ending_says_and_replaces(tmp_path: Path) -> None:
    figure = plots.heatmap(Sinusoidal(d_model=8))
    for name, start in (("a.png", b"\x89PNG\r\n"), ("b.SVG", b"<?xml")):
        path = tmp_path / name
        path.write_text("old")
        plots.save(figure, str(path))
        assert path.read_bytes().startswith(start)
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b.SVG"]


def test_svg_repeats_and_its_text_is_text(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        plots.save(plots.bias(ALiBi(n_heads=2, slopes="paper"), language="ru"), tmp_path / name)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert "расстояние = позиция ключа − позиция запроса (токены)</text>" in text
    assert "<dc:date>" not in text


@pytest.mark.parametrize("name", ["a.pdf", "a", "png", "a.png.txt"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"path: needed a file name that ends in \.png or \.svg, got .*; rename it"):
        plots.save(plots.heatmap([[1.0]]), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_earlier_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = plots.heatmap([[1.0]])
    path = tmp_path / "a.png"
    path.write_text("old")

    def full(target: Path, **_: Any) -> None:
        target.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", full)
    with pytest.raises(OSError, match="No space"):
        plots.save(figure, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.png"]
    with pytest.raises(FileNotFoundError):
        plots.save(plots.heatmap([[1.0]]), tmp_path / "absent" / "a.png")


# Bad input


class Elsewhere(InputScheme):
    """A user's own scheme."""

    d_model = 2

    def at(self, positions: Any, *, device: Any = None, dtype: Any = torch.float32) -> torch.Tensor:  # noqa: ARG002
        place = torch.as_tensor(list(positions), dtype=dtype)
        return torch.stack((place, -place), dim=-1)

    def forward(self, x: torch.Tensor, positions: Any) -> torch.Tensor:
        return x + self.at(positions)


def test_a_users_own_scheme_is_drawn() -> None:
    shown = image_of(plots.heatmap(Elsewhere(), positions=3).axes[0])
    assert shown.get_array().tolist() == [[0.0, 0.0], [1.0, -1.0], [2.0, -2.0]]
    assert [line.get_ydata().tolist() for line in drawn_lines(plots.waves(Elsewhere(), positions=3).axes[0])] == [
        [0, 1, 2],
        [0, -1, -2],
    ]


SINE, ROPE, ALIBI = Sinusoidal(d_model=16), Rope(head_dim=8, layout="half"), ALiBi(n_heads=2, slopes="paper")


@pytest.mark.parametrize("draw", [plots.heatmap, plots.waves, plots.bias, plots.scores_by_distance, plots.precision])
@pytest.mark.parametrize("language", ["de", "EN", "", None])
def test_other_languages_are_refused(draw: Any, language: Any) -> None:
    with pytest.raises(ValueError, match="language: needed one of en, ru, got"):
        draw(ALIBI if draw is plots.bias else SINE, language=language)
    with pytest.raises(ValueError, match="needed one of en, ru"):
        texts(language)


@pytest.mark.parametrize(
    ("call", "fault", "message"),
    [
        (lambda: plots.heatmap(ROPE), TypeError, r"heatmap: needed a scheme that adds vectors to the input .* or a table \[T, d\]"),
        (lambda: plots.heatmap(None), TypeError, "heatmap: needed a scheme"),
        (
            lambda: plots.heatmap(torch.zeros(3)),
            ValueError,
            r"needed a table of numbers \[T, d\] that is not empty, got float32 \[3\]",
        ),
        (lambda: plots.heatmap(torch.zeros(0, 3)), ValueError, "that is not empty"),
        (lambda: plots.heatmap("table"), ValueError, r"needed a table of numbers \[T, d\], got str 'table'"),
        (lambda: plots.heatmap([[1.0, math.nan]]), ValueError, "values: needed finite numbers to draw, got nan or infinity"),
        (lambda: plots.heatmap([[1.0]], positions=range(2)), ValueError, r"positions: needed rows 0\.\.0 of the table, got 0\.\.1"),
        (lambda: plots.heatmap([[1.0]], positions=range(-1, 0)), ValueError, r"needed rows 0\.\.0 of the table, got -1\.\.-1"),
        (lambda: plots.heatmap([[1.0]], positions=torch.tensor([0.0])), ValueError, "needed whole positions"),
        (lambda: plots.heatmap(SINE, positions=0), ValueError, "positions: needed a whole number >= 1, got 0"),
        (lambda: plots.heatmap(SINE, positions=range(0)), ValueError, "positions: needed at least 1 to draw, got 0"),
        (lambda: plots.heatmap(SINE, positions=2.5), ValueError, "positions: needed a whole number >= 1, got float 2.5"),
        (lambda: plots.heatmap(SINE, positions=torch.zeros(2, 3).long()), ValueError, r"needed a tensor \[T\] for one picture"),
        (lambda: plots.heatmap(SINE, dimensions=0), ValueError, "dimensions: needed a whole number >= 1, got 0"),
        (lambda: plots.heatmap(SINE, dimensions=range(14, 18)), ValueError, r"dimensions: needed numbers 0\.\.15, got 16, 17"),
        (lambda: plots.heatmap(SINE, dimensions=[-1]), ValueError, "dimensions: needed a whole number >= 0, got -1"),
        (lambda: plots.heatmap(SINE, dimensions=[]), ValueError, "dimensions: needed at least 1 to draw, got 0"),
        (lambda: plots.heatmap(SINE, dimensions="all"), ValueError, "dimensions: needed a whole number >= 1, got str 'all'"),
        (lambda: plots.waves(ALIBI), TypeError, r"waves: needed a scheme that adds vectors to the input .* got ALiBi\("),
        (lambda: plots.waves(SINE, dimensions=9), ValueError, "dimensions: needed 1 to 8 to draw, got 9"),
        (lambda: plots.waves(SINE, positions=1), ValueError, "positions: needed a whole number >= 2, got 1"),
        (lambda: plots.waves(SINE, positions=range(0, 2**20, 2**18)), ValueError, "needed a span of at most 131072"),
        (lambda: plots.bias(SINE), TypeError, r"bias: needed a scheme of the scores that looks at the distance .* got Sinusoidal"),
        (lambda: plots.bias(ROPE), TypeError, r"bias: needed a scheme of the scores"),
        (lambda: plots.bias(ALIBI, positions=1), ValueError, "positions: needed a whole number >= 2, got 1"),
        (
            lambda: plots.bias(ALIBI, positions=range(5, 0, -1)),
            ValueError,
            r"needed a rising range of at least 2, got range\(5, 0, -1\)",
        ),
        (lambda: plots.bias(ALIBI, positions=torch.arange(3)), ValueError, "positions: needed a whole number >= 2, got int64"),
        (lambda: plots.bias(ALIBI, heads=[2]), ValueError, r"heads: needed numbers 0\.\.1, got 2"),
        (
            lambda: plots.precision(ALIBI),
            TypeError,
            r"precision: needed a scheme that turns by position times frequency .* got ALiBi",
        ),
        (lambda: plots.precision(ROPE, positions=1), ValueError, "positions: needed a whole number >= 2, got 1"),
        (lambda: plots.precision(ROPE, positions=2**24 + 1), ValueError, "positions: needed at most 16777216, .* got 16777217"),
        (lambda: plots.scores_by_distance(None), TypeError, "scores_by_distance: needed a scheme, got NoneType None"),
        (
            lambda: plots.scores_by_distance(Deberta(**DEBERTA, max_distance=4)),
            TypeError,
            r"got Deberta, whose tables \(keys, queries\)",
        ),
        (lambda: plots.scores_by_distance(ROPE, distances=0), ValueError, "distances: needed a whole number >= 1, got 0"),
        (lambda: plots.scores_by_distance(ROPE, distances=[3]), ValueError, "distances: needed at least 2 to draw, got 1"),
        (lambda: plots.scores_by_distance(ROPE, distances=[0.5, 1]), ValueError, "distances: needed whole numbers, got list"),
        (lambda: plots.scores_by_distance(ROPE, distances="ab"), ValueError, "distances: needed whole numbers, got str"),
        (
            lambda: plots.scores_by_distance(Learned(max_length=4, d_model=2), distances=4),
            ValueError,
            "distances: needed at most 3 within a table of 4 positions, got 4",
        ),
    ],
)
def test_bad_input_says_what_was_needed(call: Any, fault: type[Exception], message: str) -> None:
    with pytest.raises(fault, match=message):
        call()


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"plots: needed matplotlib, got none; install it with: pip install 'ordinate\[plots\]'"):
        plots.heatmap(SINE)


def test_importing_plots_needs_no_matplotlib() -> None:
    code = "import sys; sys.modules['matplotlib'] = None; import ordinate; ordinate.plots.heatmap, ordinate.plots.save"
    subprocess.run([sys.executable, "-c", code], check=True)


# Wavelengths


def test_wavelengths_are_two_pi_over_the_frequencies() -> None:
    rule = scaling.Linear(factor=4.0)
    rope = Rope(head_dim=8, layout="half", base=100.0, scaling=rule)
    figure = plots.wavelengths(rope, trained=32)
    ruled, plain, trained = figure.axes[0].lines
    want = [2 * math.pi * 100.0 ** (2 * pair / 8) for pair in range(4)]
    assert list(plain.get_ydata()) == pytest.approx(want, rel=1e-12)
    assert list(ruled.get_ydata()) == pytest.approx([4 * each for each in want], rel=1e-12)
    assert set(trained.get_ydata()) == {32}
    assert figure.axes[0].get_ylabel() == "tokens for a full turn"
    assert len(plots.wavelengths(Rope(head_dim=8, layout="half"), trained=32, language="ru").axes[0].lines) == 2
    for language, said in (("en", "trained length, 4,096 tokens"), ("ru", "длина обучения, 4\u00a0096 токенов")):
        assert plots.wavelengths(rope, trained=4096, language=language).axes[0].lines[-1].get_label() == said
    still = Rope(head_dim=8, layout="half", scaling=scaling.Proportional(proportion=0.5))
    assert list(plots.wavelengths(still, trained=32).axes[0].lines[0].get_xdata()) == [0, 1]
    with pytest.raises(TypeError, match="needed a Rope"):
        plots.wavelengths(Sinusoidal(d_model=8), trained=32)
    with pytest.raises(ValueError, match="trained"):
        plots.wavelengths(rope, trained=0)
