"""The report in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ordinate.cli.main import main
from stretching.conftest import text, tiny

__all__ = ["text", "tiny"]

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"
# What the page looks like is written into it, since only its text comes back.
SEEN = """<script>
const box = element => { const { width, height } = element.getBoundingClientRect(); return [width, height]; };
const figures = Object.fromEntries(["loss", "shift", "needle"].map(id => [id, box(document.querySelector(`#${id} svg`))]));
const wide = document.documentElement.scrollWidth;
document.body.dataset.seen = JSON.stringify({ figures, wide, block: document.querySelector("#block").innerText });
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="needs a browser: apt-get install chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_figures_and_recommendation(tiny: Path, text: Path, tmp_path: Path, width: int) -> None:
    report = tmp_path / "report"
    arguments = [tiny, "--start", "10", "--lengths", "320", "--rules", "none,yarn", "--text", text, "--output", report]
    assert main(["stretch", *map(str, arguments)]) == 0
    page = tmp_path / "page.html"
    page.write_text((report / "report.html").read_text().replace("</body>", SEEN + "</body>"))
    assert BROWSER is not None
    command = [BROWSER, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900"]
    shown = subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'data-seen="([^"]*)"', shown)
    assert found is not None
    seen = json.loads(html.unescape(found[1]))
    for name, (wide, high) in seen["figures"].items():
        assert 250 <= wide <= max(width, 500), name
        assert high > 50, name
    assert seen["wide"] <= max(width, 500)  # tables scroll by themselves; a headless window has 500 pixels at least
    assert json.loads(seen["block"]) == json.loads((report / "config-block.json").read_text())
    lines = re.search(r'id="recommendation">.*?<ul>(.*?)</ul>', shown, re.DOTALL)
    assert lines is not None
    assert "320 tokens: " in lines[1]
    assert "goes furthest" in lines[1]
