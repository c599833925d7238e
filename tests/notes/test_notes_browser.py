"""``ordinate notes`` as a student meets it: started in a folder, driven in a browser without network at two widths, and ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ordinate import notes
from ordinate.notes import controls
from ordinate.notes.texts import SECTIONS, TEXTS

playwright_api = pytest.importorskip("playwright.sync_api", reason="needs playwright and a chromium: pip install playwright")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium on the PATH")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
PATIENCE = 120_000  # milliseconds
ELSEWHERE = re.compile(r"^(?!http://127\.0\.0\.1:|ws://127\.0\.0\.1:|data:|blob:)")
FIGURES = 6
# A number that changes if any figure does, and the alternative texts.
PICTURES = "() => [...document.querySelectorAll('figure.ordinate img')].map(img => [img.alt, img.src.length, img.naturalWidth])"
# What reaches beyond the screen or is wider than it.
TOO_WIDE = """() => [...document.querySelectorAll('body *')].filter(
    part => part.getBoundingClientRect().right > innerWidth + 1 || part.scrollWidth > innerWidth + 1
).map(part => part.tagName + '.' + part.className)"""


@dataclass
class Seen:
    """What a page let slip."""

    faults: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    folder = tmp_path_factory.mktemp("started_here")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "ordinate.cli.main", "notes", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address == f"http://127.0.0.1:{port}", process.stderr.read() if process.stderr else ""
        yield process, address, folder
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as api:
        opened = api.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, served: Any, request: pytest.FixtureRequest) -> Iterator[tuple[Any, Seen]]:
    seen = Seen()
    context = browser.new_context(viewport={"width": getattr(request, "param", 1280), "height": 900})
    context.set_default_timeout(PATIENCE)
    context.on("request", lambda asked: seen.elsewhere.append(asked.url) if ELSEWHERE.match(asked.url) else None)
    context.route(ELSEWHERE, lambda route: route.abort())
    opened = context.new_page()
    opened.on("console", lambda said: seen.faults.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: seen.faults.append(str(error)))
    opened.goto(served[1])
    ready(opened)
    yield opened, seen
    context.close()
    assert seen == Seen()


def ready(opened: Any) -> None:
    """All that the page computes is there."""
    opened.wait_for_function(f"document.querySelectorAll('figure.ordinate img').length === {FIGURES}")
    opened.wait_for_function("document.querySelectorAll('section.words').length === 3")
    opened.wait_for_function("[...document.querySelectorAll('figure.ordinate img')].every(img => img.complete && img.naturalWidth)")
    opened.get_by_role("heading", name=re.compile(f"{TEXTS['notes'].en}|{TEXTS['notes'].ru}")).wait_for()


def headings(opened: Any) -> list[str]:
    return [text.strip() for text in opened.locator("h1, h2").all_inner_texts()]


def expected(language: Any) -> list[str]:
    numbered = [f"{number}. {TEXTS[section].said(language)}" for number, section in enumerate(SECTIONS, start=1)]
    return [TEXTS["title"].said(language), *numbered, TEXTS["notes"].said(language)]


def keep(opened: Any, name: str) -> None:
    """A picture of the whole page, which scrolls inside itself, for one who wants to look."""
    if folder := os.environ.get("ORDINATE_SCREENSHOTS"):
        before = opened.viewport_size
        height = opened.evaluate("Math.max(...[...document.querySelectorAll('*')].map(part => part.scrollHeight))")
        opened.set_viewport_size({"width": before["width"], "height": height + 40})
        opened.screenshot(path=str(Path(folder) / f"notes-{before['width']}-{name}.png"))
        opened.set_viewport_size(before)


@pytest.mark.parametrize("page", [1280, 390], indirect=True)
def test_both_languages_fit_the_screen(page: tuple[Any, Seen]) -> None:
    opened, _ = page
    assert headings(opened) == expected("en")
    assert opened.evaluate(TOO_WIDE) == []
    alts = [alt for alt, *_ in opened.evaluate(PICTURES)]
    assert all(alts)
    keep(opened, "en")
    opened.get_by_text("Русский").click()
    opened.get_by_role("heading", name=expected("ru")[-1]).wait_for()
    for heading in expected("ru"):
        opened.get_by_role("heading", name=heading, exact=True).wait_for()
    ready(opened)
    assert headings(opened) == expected("ru")
    assert opened.evaluate(TOO_WIDE) == []
    assert not set(alts) & {alt for alt, *_ in opened.evaluate(PICTURES)}
    for text in opened.locator("figcaption strong, label, p, section.words p strong").all_inner_texts():
        assert re.search("[а-яА-Я]", text) or text.strip() in ("", "English"), text
    keep(opened, "ru")


def test_a_slider_changes_its_own_figures(page: tuple[Any, Seen]) -> None:
    opened, _ = page
    before = opened.evaluate(PICTURES)
    opened.get_by_role("slider", name=TEXTS["width"].en).focus()
    opened.keyboard.press("ArrowRight")
    opened.locator("img[alt*='32 of 32 dimensions']").wait_for()
    opened.locator("img[alt*='dimensions 0, 8, 16, 24 of 32']").wait_for()
    after = opened.evaluate(PICTURES)
    assert [old != new for old, new in zip(before, after, strict=True)] == [True, True, False, False, False, False]
    opened.get_by_text("Русский").click()  # what was chosen stays
    opened.locator("img[alt*='32 из 32']").wait_for()


def test_the_hands_turn_and_the_score_stays(page: tuple[Any, Seen]) -> None:
    opened, _ = page
    score = opened.get_by_text("m − n = 7")
    said = score.inner_text()
    opened.get_by_role("slider", name=TEXTS["shift"].en).focus()
    opened.keyboard.press("ArrowRight")
    opened.locator("img[alt*='query at 21, key at 14']").wait_for()
    assert score.inner_text() == said
    opened.get_by_role("slider", name=TEXTS["key"].en).focus()
    opened.keyboard.press("ArrowLeft")
    opened.get_by_text("m − n = 8").wait_for()


def test_lists_change_their_figures(page: tuple[Any, Seen]) -> None:
    opened, _ = page
    opened.get_by_label(TEXTS["scheme"].en, exact=True).select_option("DeBERTa")
    opened.locator("img[alt*='Deberta(']").wait_for()
    opened.get_by_label(TEXTS["rule"].en, exact=True).select_option("linear")
    opened.locator("img[alt*='scaling=Linear(']").wait_for()
    opened.get_by_label(TEXTS["task"].en, exact=True).select_option(TEXTS["last"].en)
    opened.locator(f"img[alt^='{TEXTS['last'].en}']").wait_for()


def test_the_slider_of_heads_comes_and_goes_with_the_scheme(page: tuple[Any, Seen]) -> None:
    opened, _ = page
    slider = opened.get_by_role("slider", name=TEXTS["heads"].en, exact=True)
    assert slider.count() == 0
    opened.get_by_label(TEXTS["scheme"].en, exact=True).select_option("ALiBi")
    opened.locator("img[alt*='ALiBi(n_heads=4']").wait_for()
    slider.focus()
    opened.keyboard.press("ArrowRight")
    opened.locator("img[alt*='ALiBi(n_heads=8']").wait_for()
    opened.get_by_label(TEXTS["scheme"].en, exact=True).select_option("RoPE")
    slider.wait_for(state="detached")
    opened.get_by_label(TEXTS["scheme"].en, exact=True).select_option("T5")
    opened.locator("img[alt*='T5Bias(n_heads=8']").wait_for()  # what was chosen stays
    assert slider.get_attribute("aria-valuenow") == str(controls.HEADS.index(8))


def test_verdicts_are_coloured(page: tuple[Any, Seen]) -> None:
    opened, _ = page
    colours = opened.locator(".verdict > strong").evaluate_all(
        "parts => parts.map(part => [part.parentElement.className, getComputedStyle(part).color])"
    )
    found = dict(colours)
    assert sorted(found) == ["verdict condition", "verdict fails", "verdict holds"]
    assert len(set(found.values())) == 3
    assert len({tuple(pair) for pair in colours}) == 3


def test_three_words_of_one_s_own(page: tuple[Any, Seen]) -> None:
    opened, _ = page
    before = opened.locator("section.words").all_inner_texts()
    for name, word in (("first", "мышь"), ("second", "ловит"), ("third", "кот")):
        opened.get_by_label(TEXTS[name].en, exact=True).fill(word)
    opened.locator("section.words th", has_text="мышь").first.wait_for()
    opened.locator("section.words th", has_text="кот").first.wait_for()
    opened.locator("section.words th", has_text="ловит").first.wait_for()
    after = opened.locator("section.words").all_inner_texts()
    assert all(re.findall(r"−?\d\.\d", old) != re.findall(r"−?\d\.\d", new) for old, new in zip(before, after, strict=True))
    assert opened.locator("section.words").evaluate_all("parts => parts.map(part => part.className)") == [
        "words same",
        "words different",
        "words different",
    ]
    assert re.search(r"the largest difference, \de-1\d, is rounding", after[0])


def test_a_claim_is_settled_when_its_box_is_opened(page: tuple[Any, Seen]) -> None:
    opened, _ = page
    assert opened.get_by_text(TEXTS["claim_measured"].en).count() == 0
    opened.get_by_role("button", name=re.compile("Without a mask, self-attention")).click()
    opened.get_by_text(TEXTS["claim_measured"].en).wait_for()
    opened.get_by_text("three words, six permutations").wait_for()


def test_nothing_is_left_after_ctrl_c(page: tuple[Any, Seen], served: tuple[subprocess.Popen[str], str, Path]) -> None:
    """The last test: it ends the server, while a page is open."""
    process, address, folder = served
    opened, seen = page
    opened.goto("about:blank")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (130, "ordinate: stopped")
    with socket.socket() as closed:
        assert closed.connect_ex(("127.0.0.1", int(address.rpartition(":")[2]))) != 0
    assert list(folder.iterdir()) == []
    assert not (Path(notes.__file__).parent / "__marimo__").exists()
    seen.elsewhere.remove("about:blank") if "about:blank" in seen.elsewhere else None
