"""The built site: strict, whole, and loading nothing from elsewhere."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from itertools import product
from pathlib import Path

import pytest
from browsing import browser, found, served, watched
from built_site import Site
from links import Page, broken, is_external, parsed

from ordinate.claims import CLAIMS
from ordinate.doctor.catalogue import ENTRIES
from ordinate.faults import KINDS
from ordinate.scaling import RULES
from ordinate.schemes import AXES_SCHEMES, LARGE_SCHEMES, SCHEMES
from website import api, concerns, figures, homes, ledger, links, navigation, written

ROOT = Path(__file__).parents[2]
EVERY_SCHEME = [*SCHEMES, *AXES_SCHEMES, *LARGE_SCHEMES]
# Opened at two widths.
OPENED = ("index.html", "start.html", "schemes/rope.html", "scaling.html", "choosing.html", "ru/index.html")
# Plain blocks, as formulas are, whose lines go beyond their box.
CUT_OFF = """[...document.querySelectorAll(".highlight > pre > code")].filter(code => code.querySelector("span[class]") === null)
    .filter(code => code.scrollWidth > code.clientWidth).map(code => code.innerText)"""
# How many of the first page's cards stand side by side.
CARDS = """[...document.querySelectorAll(".grid.cards > ul > li")]
    .filter((card, _, all) => card.offsetTop === all[0].offsetTop).length"""
# Whole words and a beginning, and a page that has each.
RUSSIAN_WORDS = {"позиц": "ru/notes.html", "позиция": "ru/claims.html", "таблица": "ru/notes.html", "кэш": "ru/start.html"}
ADDRESS = re.compile(r"""url\(\s*['"]?(?:https?:)?//|@import""")


def test_the_strict_build_gives_no_warning(site: Site) -> None:
    assert site.warnings == []
    assert len(site.pages) > 100


def test_every_link_and_every_anchor_is_there(site: Site) -> None:
    assert broken(site.folder, site.pages) == []


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    text = '<a href="b.html#x">ok</a><a href="b.html#y">no</a><a href="c.html">no</a><img src="d.png"><a href="#top">no</a>'
    (tmp_path / "a.html").write_text(f"<html>{text}</html>", encoding="utf-8")
    (tmp_path / "b.html").write_text('<h2 id="x">', encoding="utf-8")
    pages = {name: parsed(tmp_path / name) for name in ("a.html", "b.html")}
    assert broken(tmp_path, pages) == [f"a.html -> {target}" for target in ("b.html#y", "c.html", "#top", "d.png")]


def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    assert [(name, target) for name, page in site.pages.items() for target in page.loaded if is_external(target)] == []
    styles = {name: " ".join(page.styles) for name, page in site.pages.items()}
    styles |= {path.name: path.read_text(encoding="utf-8") for path in site.folder.rglob("*.css")}
    assert [name for name, text in styles.items() if ADDRESS.search(text)] == []


@pytest.mark.parametrize(
    ("element", "outside"),
    [
        ('<script src="https://cdn.example/x.js"></script>', True),
        ('<link href="//fonts.example/css">', True),
        ('<img src="data:,">', False),
        ('<a href="https://arxiv.org/abs/2104.09864">', False),
    ],
)
def test_what_would_be_loaded_is_recognised(element: str, outside: bool, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(element, encoding="utf-8")
    assert any(map(is_external, parsed(tmp_path / "a.html").loaded)) is outside


def figure_of(page: Page, name: str) -> list[str]:
    return [alt for source, alt in page.images if source == f"{name}.png"]


@pytest.mark.parametrize("name", EVERY_SCHEME)
def test_a_scheme_has_its_page_with_a_figure(site: Site, name: str) -> None:
    page = site.pages[f"schemes/{name}.html"]
    (alt,) = figure_of(page, name)
    assert alt == figures.SCHEMES[name][1]
    assert (site.folder / f"schemes/{name}.png").read_bytes().startswith(b"\x89PNG")
    kind = {**SCHEMES, **AXES_SCHEMES, **LARGE_SCHEMES}[name]
    assert kind is None or f"{kind.__module__}.{kind.__name__}" in page.anchors
    told = {link.partition("#")[2] for link in page.links if "claims.html#" in link}
    assert told == {claim.name for claim in CLAIMS if name in claim.schemes}


def test_every_rule_has_its_wavelengths(site: Site) -> None:
    page = site.pages["scaling.html"]
    assert {source for source, alt in page.images} == {f"scaling/{name}.png" for name in RULES}
    assert {f"{kind.__module__}.{kind.__name__}" for kind in RULES.values()} <= page.anchors
    contents = re.search(
        r'<nav class="md-nav md-nav--secondary".*?</nav>\s*</div>', (site.folder / "scaling.html").read_text(), re.DOTALL
    )
    assert contents
    assert re.findall(r'href="#([^"]+)"', contents[0]) == [kind.__name__.lower() for kind in RULES.values()]


def test_every_image_says_what_it_shows(site: Site) -> None:
    assert [(name, source) for name, page in site.pages.items() for source, alt in page.images if len(alt) < 25] == []


def test_both_ledgers_have_every_claim(site: Site) -> None:
    for name in ("claims.html", "ru/claims.html"):
        assert {claim.name for claim in CLAIMS} <= site.pages[name].anchors


def test_schemes_of_claims_are_pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for claim in CLAIMS:
        assert {f"schemes/{name}.html" for name in claim.schemes} <= site.pages.keys(), claim.name
    wrong = dataclasses.replace(next(claim for claim in CLAIMS if claim.schemes), schemes=("rope", "ropes"))
    monkeypatch.setattr(ledger, "CLAIMS", (wrong,))
    with pytest.raises(ValueError, match=rf"^{wrong.name}: needed schemes out of .*, got ropes$"):
        ledger.page("en")


def test_both_ledgers_say_what_was_measured(site: Site) -> None:
    longest = 2 * math.pi * 10000 ** (1 - 2 / 512)
    for name, word in (("claims.html", "Measured"), ("ru/claims.html", "Измерено")):
        text = (site.folder / name).read_text(encoding="utf-8")
        assert text.count(f"<strong>{word}:</strong>") == len(CLAIMS)
        assert f"{longest:.2f}" in text


def test_russian_pages_are_declared_russian(site: Site) -> None:
    for name, page in site.pages.items():
        assert page.language == ("ru" if name.startswith("ru/") else "en"), name


def test_every_public_name_is_in_the_reference(site: Site) -> None:
    assert api.missing() == set()
    index = site.pages["api/index.html"]
    assert sum("#ordinate." in link for link in index.links) >= sum(map(len, api.NAMES.values()))


def test_what_concerns_a_scheme_is_said_of_all_faults() -> None:
    assert set(concerns.FAULTS) == set(KINDS)
    assert {entry.kind for entry in ENTRIES.values() if entry.kind} == set(KINDS)
    named = {name for schemes in (*concerns.FAULTS.values(), *concerns.DECISIONS.values()) for name in schemes}
    assert named | {"nope"} == set(EVERY_SCHEME) == set(homes.TITLES)


def test_links_out_of_docs_find_a_place_on_the_site() -> None:
    results = "benchmarks/results/speed_2cores_202612.json"
    text = f"[a](../../src/ordinate/schemes/rope.py) [b](../../{results}) [c](ORD101.md) `[d](../../x)`"
    want = f"[a](../schemes/rope.md) [b](../source/{results}) [c](ORD101.md) `[d](../../x)`"
    assert links.inside_the_site("findings/README.md", text) == want
    assert links.inside_the_site("contributing.md", "[a](docs/decisions) [b](docs/speed.md#measured)") == (
        "[a](decisions/README.md) [b](speed.md#measured)"
    )
    claim = "[a](../../src/ordinate/claims/#scales-automatically)"
    assert links.inside_the_site("ru/notes.md", claim) == "[a](claims.md#scales-automatically)"
    assert links.inside_the_site("findings/README.md", claim) == "[a](../claims.md#scales-automatically)"
    found = links.pointed_to({"index.md": "[a](../examples/) [b](../src/ordinate/schemes/rope.py) [c](https://example.org/x.py)"})
    assert "source/examples/index.md" in found
    assert "source/examples/small_model.py.md" in found
    assert not any("rope" in path for path in found)


def test_a_pattern_of_the_navigation_gives_what_is_not_named_beside_it() -> None:
    pages = ["schemes/alibi.md", "schemes/rope.md", "schemes/index.md", "ru/a.md"]
    assert navigation.filled([{"All": ["schemes/*"]}], pages) == [
        {"All": ["schemes/index.md", "schemes/rope.md", "schemes/alibi.md"]}
    ]
    assert navigation.filled(["ru/a.md", "schemes/rope.md", "schemes/*"], pages)[2:] == ["schemes/index.md", "schemes/alibi.md"]
    with pytest.raises(ValueError, match="needed a pattern that stands for a page, got migrated"):
        navigation.filled(["migrated/*"], pages)


def test_links_of_the_pages_hold_in_the_repository_too() -> None:
    made = set(written.pages())
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = re.sub(r"(?ms)^ *```.*?^ *```|`[^`\n]*`", "", path.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target and not (path.parent / target).exists():
                assert os.path.relpath(path.parent / target, ROOT / "docs") in made, f"{path}: {target}"


def test_pages_fit_search_finds_and_the_language_changes(site: Site) -> None:
    """In one browser, so that it starts once; in this file, so that the site is built once."""
    faults: list[str] = []
    with served(site.folder) as address, browser() as running:
        page = watched(running, address, faults)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            for path in OPENED:
                page.goto(address + path)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
                assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)"), path
                assert page.evaluate(CUT_OFF) == [], (path, width)
        page.goto(address + "index.html")
        assert page.evaluate(CARDS) == 1
        page.set_viewport_size({"width": 1280, "height": 900})
        assert page.evaluate(CARDS) == 2
        assert found(page, address + "start.html", "ALiBi")[0] == address + "schemes/alibi.html"
        assert address + "api/checkpoints.html" in found(page, address + "index.html", "rotations")
        for start, (words, leads) in product(("index.html", "ru/index.html"), RUSSIAN_WORDS.items()):
            assert address + leads in found(page, address + start, words), (start, words)
        page.goto(address + "start.html")
        page.get_by_role("button", name="Select language").hover()
        page.get_by_role("link", name="Русский").first.click()
        page.wait_for_url(address + "ru/start.html", timeout=5000)
        assert page.evaluate("document.documentElement.lang") == "ru"
        assert page.get_by_role("link", name="English").first.evaluate("link => link.href") == address + "start.html"
        page.goto(address + "index.html")
        page.locator("label[title=Dark]").click()
        assert page.evaluate("document.body.dataset.mdColorScheme") == "slate"
        page.close()
    assert faults == []
