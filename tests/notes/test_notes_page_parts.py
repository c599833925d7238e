"""What the page is made of: its texts, controls, figures and links, each against a calculation of its own."""

from __future__ import annotations

import ast
import base64
import html
import importlib
import json
import math
import re
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import marimo as mo
import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

import ordinate.lab.kept as kept_results
from ordinate import notes
from ordinate.claims import CLAIMS, find
from ordinate.claims.claim import TITLES, VERDICTS, Verdict
from ordinate.notes import choices, controls, curves, figures, linked, pictures, results, serving, words
from ordinate.notes.texts import SCHEMES, SECTIONS, TEXTS
from ordinate.plots import canvas
from ordinate.schemes import SCHEMES as KNOWN

APP = Path(notes.__file__).with_name("app.py")
LANGUAGES: tuple[Any, ...] = ("en", "ru")
MAKERS: dict[str, Any] = {
    "encoding": controls.encoding,
    "rotation": controls.rotation,
    "distance": controls.distance,
    "heads": lambda kept, language: {"heads": controls.heads(kept, "alibi", language)[0]},
    "stretching": controls.stretching,
    "words": controls.words,
    "beyond": lambda kept, language: {"task": controls.task(kept, ("text", "shift", "last"), language)},
}


def alt_of(page: str) -> str:
    (alt,) = re.findall(r'alt="([^"]*)"', page)
    return html.unescape(alt)


def label_of(element: Any) -> str:
    (label,) = re.findall(r"data-label='([^']*)'", element.text)
    return str(json.loads(html.unescape(label)))


# Texts


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_in_both_languages_with_the_same_places(name: str) -> None:
    text = TEXTS[name]
    assert text.en.strip() == text.en != ""
    assert text.ru.strip() == text.ru != ""
    places = [sorted(field for _, field, _, _ in string.Formatter().parse(said) if field) for said in (text.en, text.ru)]
    assert places[0] == places[1]
    assert not re.search("[а-яА-Я]", text.en)
    assert re.search("[а-яА-Я]", text.ru) or name in ("ntk", "yarn", "llama3"), "left in English"


def test_no_text_is_left_over() -> None:
    code = "".join(path.read_text() for path in APP.parent.glob("*.py") if path.name != "texts.py")
    built = {f"{section}{ending}" for section in SECTIONS for ending in ("", "_says")}
    built |= {f"pairs_{name}" for name in ("half", "interleaved")} | {f"word_{place}" for place in (1, 2, 3)}
    assert [name for name in TEXTS if name not in built and f'"{name}"' not in code and f"'{name}'" not in code] == []


# Controls


@pytest.mark.parametrize("section", MAKERS)
def test_controls_keep_what_was_chosen_when_the_language_changes(section: str) -> None:
    kept: dict[str, Any] = {}
    for element in MAKERS[section](kept, "en").values():
        options = getattr(element, "options", None) or getattr(element, "steps", None) or ["cats"]
        last = list(options.values() if isinstance(options, dict) else options)[-1]
        element._on_change(last)
    again = {name: element.value for name, element in MAKERS[section](kept, "ru").items()}
    assert len(again) == len(kept)
    assert list(again.values()) == list(kept.values())
    fresh = {name: element.value for name, element in MAKERS[section]({}, "ru").items()}
    assert all(again[name] != fresh[name] for name in again)


@pytest.mark.parametrize("section", MAKERS)
def test_controls_are_labelled_in_the_language(section: str) -> None:
    for name, element in MAKERS[section]({}, "ru").items():
        assert re.search("[а-яА-Я]", label_of(element)), name
    for name, element in MAKERS[section]({}, "en").items():
        assert not re.search("[а-яА-Я]", label_of(element)), name


def test_the_first_figure_is_the_first_notes() -> None:
    chosen = {name: element.value for name, element in controls.encoding({}, "en").items()}
    assert chosen == {"width": 16, "base": 10_000, "length": 100, "layout": "interleaved"}
    assert alt_of(figures.waves(**chosen, language="en")).startswith("Sinusoidal position vectors: dimensions 0, 4, 8, 12 of 16.")


def test_every_scheme_and_rule_is_offered() -> None:
    assert set(SCHEMES) == set(KNOWN) - {"nope"}
    assert set(controls.distance({}, "en")["scheme"].options.values()) == set(SCHEMES)
    assert set(controls.stretching({}, "en")["rule"].options.values()) == {"none", "linear", "ntk", "dynamic", "yarn", "llama3"}
    assert set(controls.order({}, "abc", "en").options.values()) == set(words.ORDERS)


# Figures


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("layout", ["interleaved", "sin_cos", "cos_sin"])
def test_encoding_figures_name_what_was_chosen(layout: Any, language: Any) -> None:
    for draw in (figures.heatmap, figures.waves):
        page = draw(width=8, base=100, length=10, layout=layout, language=language)
        assert f"Sinusoidal(d_model=8, base=100, layout='{layout}')" in alt_of(page)
        assert ("позиционные" in page) == (language == "ru")


def test_the_score_is_the_mean_cosine_and_ignores_a_shift() -> None:
    for query, key, shift in ((20, 13, 0), (20, 13, 77), (3, 90, 5)):
        said = figures.score(head_width=16, base=500, query=query, key=key, shift=shift, language="en")
        mean = sum(math.cos((query - key) * 500 ** (-pair / 8)) for pair in range(8)) / 8
        assert said.split("**")[1] == f"{mean:+.3f}".replace("-", "−")
        assert said.startswith(f"m − n = {query - key}:")


def test_clock_hands_name_both_tokens_shifted() -> None:
    page = figures.clock_hands(head_width=64, base=1e4, layout="interleaved", query=4, key=2, shift=10, language="ru")
    assert "запрос в позиции 14, ключ в позиции 12" in alt_of(page)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_is_drawn_against_the_distance(scheme: str) -> None:
    alt = alt_of(figures.against_distance(scheme=scheme, heads=2, reach=16, language="en"))
    assert type(choices.named(scheme, heads=2)).__name__ + "(" in alt
    assert ("random initial weights" in alt) == (scheme in ("t5", "shaw", "learned"))


def test_tables_are_the_same_every_time() -> None:
    first = choices.named("t5", heads=2).state_dict()
    torch.manual_seed(1)
    second = choices.named("t5", heads=2).state_dict()
    assert all(bool((first[name] == second[name]).all()) for name in first)


@pytest.mark.parametrize(
    ("rule", "slowest"),
    [
        ("none", 1.0),
        ("linear", 4.0),
        ("ntk", 4.0),
        ("dynamic", 4 * 4 - 3),
        ("yarn", 4.0),
        ("llama3", 4.0),
    ],
)
def test_rules_slow_the_slowest_pair(rule: Any, slowest: float) -> None:
    made = choices.rope(head_width=64, base=1e4, rule=rule, factor=4.0, trained=4096)
    plain = 10000 ** (-62 / 64)
    assert made.inverse_frequencies[-1] == pytest.approx(plain / slowest, rel=1e-9)
    assert made.inverse_frequencies[0] == pytest.approx(0.25 if rule == "linear" else 1.0, rel=1e-9)


@pytest.mark.parametrize("rule", controls.RULES)
def test_wavelengths_count_the_pairs_that_finished_a_turn_in_training(rule: Any) -> None:
    page = figures.wavelengths(head_width=64, base=10_000, rule=rule, factor=4, trained=4096, language="en")
    inside = sum(2 * math.pi * 10000 ** (pair / 32) <= 4096 for pair in range(32))
    assert inside == 23
    assert f"Without a rule, as in training, {inside} of 32 pairs finish a turn" in alt_of(page)
    assert ("scaling=" in alt_of(page)) == (rule != "none")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_slider_of_heads_is_shown_where_the_figure_changes(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(figure: Any, **_: str) -> Any:
        FigureCanvasAgg(figure)
        figure.supxlabel("")  # the call names the heads in any case
        figure.canvas.draw()
        return np.asarray(figure.canvas.buffer_rgba()).tobytes()

    monkeypatch.setattr(figures, "shown", drawn)
    one, many = (figures.against_distance(scheme=scheme, heads=heads, reach=8, language="en") for heads in (1, 8))
    _, shown = controls.heads({}, scheme, "en")
    assert shown == (one != many)


def test_pictures_escape_their_words() -> None:
    figure = canvas.empty("a < b", "f(x='<b>')", size=(4, 3))
    figure.subplots()
    page = pictures.shown(figure, note='"quoted"')
    assert "<strong>a &lt; b</strong>" in page
    assert "<code>f(x=&#x27;&lt;b&gt;&#x27;)</code>" in page
    assert alt_of(page) == "a < b. \"quoted\". f(x='<b>')"


def test_a_narrow_screen_has_a_drawing_of_its_own() -> None:
    page = figures.heatmap(width=8, base=100, length=10, layout="interleaved", language="en")
    widths = []
    for coded in re.findall(r"base64,([A-Za-z0-9+/=]+)", page):
        (inches,) = re.findall(r'<svg [^>]*?width="([\d.]+)pt"', base64.b64decode(coded).decode(), re.DOTALL)
        widths.append(float(inches) / 72)
    assert widths == pytest.approx([4.3, 9.2])
    assert f"(max-width: {pictures.NARROW_SCREEN}px)" in page


# The curves


def test_curves_are_the_means_of_the_file() -> None:
    data = json.loads(kept_results.KEPT.read_text())
    comparison = kept_results.read_comparison()
    for task in ("text", "shift", "last"):
        axes = curves.drawn(comparison, task=task, language="ru").axes[0]
        lines = {line.get_label(): line for line in axes.lines}
        for scheme in data["settings"]["schemes"]:
            runs = [cell["losses"] for cell in data["cells"] if (cell["task"], cell["scheme"]) == (task, scheme)]
            np.testing.assert_allclose(lines[scheme].get_ydata(), np.mean(runs, axis=0), rtol=1e-12)
            assert list(lines[scheme].get_xdata()) == [64, 128, 256, 512]
        assert ("угадывание" in lines) == (task != "text")


def test_a_line_that_ends_early_says_so() -> None:
    comparison = kept_results.read_comparison()
    for cell, outcome in list(comparison.outcomes.items()):
        if cell.scheme == "learned" and cell.task == "shift":
            object.__setattr__(outcome, "losses", (outcome.losses[0], None, None, None))
    labels = [line.get_label() for line in curves.drawn(comparison, task="shift", language="en").axes[0].lines]
    assert "learned, no rows beyond" in labels


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_whose_results_they_are(language: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison, path = results.chosen()
    assert path is None
    assert f"<code>{comparison.command}</code>" in html.unescape(results.whose(comparison, path, language=language))
    own = tmp_path / "study.json"
    own.write_text(kept_results.KEPT.read_text().replace('"length": 64', '"length": 32'))
    monkeypatch.setenv(results.RESULTS, str(own))
    comparison, path = results.chosen()
    said = results.whose(comparison, path, language=language)
    assert path == own
    assert f"<code>{own}</code>" in html.unescape(said)
    assert "32" in said


def test_what_a_file_says_stays_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = "ordinate `compare` <img src=x onerror=alert(1)> [a](javascript:b) **c** $d$ &amp;\n\n<script>e</script>"
    data = json.loads(kept_results.KEPT.read_text())
    data["command"] = evil
    own = tmp_path / "`<b>own`"
    own.mkdir()
    (own / "results.json").write_text(json.dumps(data))
    monkeypatch.setenv(results.RESULTS, str(own))
    page = mo.md(results.whose(*results.chosen(), language="en")).text
    assert not re.search("<(img|script|a|strong|b|marimo-tex)\\b", page)
    assert [html.unescape(said) for said in re.findall("<code>(.*?)</code>", page, re.DOTALL)] == [str(own), evil]


@pytest.mark.parametrize("left", ["no cells", "no losses", "no numbers"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_comparison_without_losses_says_so(left: str, language: Any) -> None:
    comparison = kept_results.read_comparison()
    if left == "no cells":
        comparison.outcomes.clear()
    for outcome in comparison.outcomes.values():
        object.__setattr__(outcome, "losses", (None if left == "no losses" else math.nan,) * len(outcome.losses))
    for task in comparison.settings.length_tasks:
        assert curves.curves(comparison, task=task, language=language) == f"<p>{TEXTS['results_empty'].said(language)}</p>"


# Three words


def attended(x: list[list[float]], hidden: bool) -> list[list[float]]:
    """Attention in plain loops, with the projections that the ledger's check fixes."""
    width = len(x[0])
    projections = (np.random.default_rng(0).normal(size=(3, width, width)) / width**0.5).tolist()
    q, k, v = (
        [[sum(a * row[j] for a, row in zip(token, p, strict=True)) for j in range(width)] for token in x] for p in projections
    )
    out = []
    for i, query in enumerate(q):
        seen = range(i + 1) if hidden else range(len(x))
        weights = [math.exp(sum(a * b for a, b in zip(query, k[j], strict=True)) / width**0.5) for j in seen]
        out.append([sum(w * v[j][d] for w, j in zip(weights, seen, strict=True)) / sum(weights) for d in range(width)])
    return out


@pytest.mark.parametrize("how", words.HOWS)
def test_outputs_are_attention_s(how: Any) -> None:
    vectors = [np.random.default_rng([*word.encode()]).normal(size=8).tolist() for word in ("кот", "ест", "суп")]
    if how == "positions":
        for place, vector in enumerate(vectors):
            for d in range(8):
                angle = place * 10000 ** (-(d - d % 2) / 8)
                vector[d] += math.cos(angle) if d % 2 else math.sin(angle)
    np.testing.assert_allclose(words.outputs(("кот", "ест", "суп"), how), attended(vectors, how == "causal"), rtol=0, atol=1e-12)


def test_other_orders_are_told_apart_by_masks_and_positions_only() -> None:
    for order in words.ORDERS[1:]:
        assert words.difference(("a", "b", "c"), order, "plain") < 1e-12
        assert words.difference(("a", "b", "c"), order, "causal") > 0.1
        assert words.difference(("a", "b", "c"), order, "positions") > 0.01


def test_the_strips_show_the_numbers_of_both_orders() -> None:
    page = words.shuffled((" dog", "bites", "<man>"), (2, 0, 1), language="en")
    plain = page.partition("</section>")[0]
    assert re.findall("<th>(.*?)</th>", plain) == ["dog", "bites", "&lt;man&gt;", "&lt;man&gt;", "dog", "bites"]
    numbers = [float(cell.replace("−", "-")) for cell in re.findall(r"<td[^>]*>(.*?)</td>", plain)]
    first = words.outputs(("dog", "bites", "<man>"), "plain")
    np.testing.assert_allclose(numbers, [*first.flatten(), *first[[2, 0, 1]].flatten()], rtol=0, atol=0.0501)
    assert re.findall(r'class="words (\w+)" data-how="(\w+)"', page) == [
        ("same", "plain"),
        ("different", "causal"),
        ("different", "positions"),
    ]
    assert 'class="words unmoved"' in words.shuffled(("a", "b", "c"), (0, 1, 2), language="ru")


# Claims


def test_every_section_has_claims_and_every_name_is_one() -> None:
    names = [claim.name for claim in CLAIMS]
    assert set(linked.CLAIMED) == set(SECTIONS)
    for section, claimed in linked.CLAIMED.items():
        assert claimed, section
        assert [name for name in claimed if name not in names] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_opened_box_has_all_of_the_claim(language: Any) -> None:
    claim = find("causal-mask")
    verdict = VERDICTS[claim.verdict].said(language)
    label = f'<span class="verdict holds">**{verdict}**: {claim.statement.said(language)}</span>'
    assert linked.label("causal-mask", language=language) == label
    said = linked.opened("causal-mask", language=language)
    assert claim.truth.said(language) in said
    assert f"→ **{verdict}**" in said
    assert "«Позиционные представления»" in said
    measured = f"{claim.check().values['difference']:.2f}"
    assert measured in said
    assert ("`ordinate claims causal-mask --lang ru`" in said) == (language == "ru")


@pytest.mark.parametrize(
    ("verdict", "heading"),
    [
        (Verdict.HOLDS, ("Remark", "Замечание")),
        (Verdict.CONDITION, ("Condition", "Условие")),
        (Verdict.FAILS, ("What is true", "Что верно на деле")),
    ],
)
def test_a_truth_is_called_by_the_verdict(verdict: Verdict, heading: tuple[str, str]) -> None:
    name = next(claim.name for claim in CLAIMS if claim.verdict is verdict and claim.truth.en)
    for language, said in zip(LANGUAGES, heading, strict=True):
        assert f"**{said}:** {find(name).truth.said(language)}" in linked.opened(name, language=language)


def test_verdicts_have_colours_that_can_be_read() -> None:
    style = APP.with_name("app.css").read_text()
    colours = dict(re.findall(r"\.verdict\.(\w+) > strong { color: #(\w{6}); }", style))
    assert sorted(colours) == sorted(kind.name.lower() for kind in {claim.verdict for claim in CLAIMS})
    for colour in colours.values():
        parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5  # contrast with white, as WCAG has it


# The app


def test_marimo_finds_nothing_to_mend_in_the_app() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "marimo", "check", "--strict", str(APP)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_app_runs_without_a_browser(language: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(results.LANGUAGE, language)
    outputs, _ = importlib.import_module("ordinate.notes.app").app.run()
    page = "".join(output.text for output in outputs if output is not None)
    assert page.count("<figure class=") == 6
    for section in SECTIONS:
        assert TEXTS[section].said(language) in page
    assert all(f"«{title.ru}»" in page for title in TITLES.values())


def test_a_comparison_without_lengths_has_no_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.loads(kept_results.KEPT.read_text())
    data["settings"]["tasks"] = ["order"]
    data["cells"] = [cell for cell in data["cells"] if cell["task"] == "order"]
    (tmp_path / "results.json").write_text(json.dumps(data))
    monkeypatch.setenv(results.RESULTS, str(tmp_path))
    outputs, _ = importlib.import_module("ordinate.notes.app").app.run()
    page = "".join(output.text for output in outputs if output is not None)
    assert page.count("<figure class=") == 5
    assert TEXTS["results_none"].en in page


def test_each_figure_waits_for_its_own_controls_only() -> None:
    cells = [node for node in ast.parse(APP.read_text()).body if isinstance(node, ast.FunctionDef) and node.name == "_"]
    makers = {}
    for cell in cells:
        for made in re.findall(r"= controls\.(\w+)\(", ast.unparse(cell)):
            returned = cell.body[-1]
            assert isinstance(returned, ast.Return)
            assert returned.value is not None
            makers |= dict.fromkeys(re.findall(r"\w+", ast.unparse(returned.value)), made)
    of_figures = [{makers[a.arg] for a in cell.args.args if a.arg in makers} for cell in cells if "figures." in ast.unparse(cell)]
    assert of_figures == [{"encoding"}, {"encoding"}, {"rotation"}, {"rotation"}, {"distance", "heads"}, {"stretching"}]
    assert all(len({makers[a.arg] for a in cell.args.args if a.arg in makers} - {"heads"}) <= 1 for cell in cells)


def test_the_style_sheet_is_beside_the_app() -> None:
    assert serving.APP == APP
    assert APP.with_name("app.css").is_file()
    assert 'css_file="app.css"' in APP.read_text()
    assert not re.search(r"https?://|@import|url\(", APP.with_name("app.css").read_text())
